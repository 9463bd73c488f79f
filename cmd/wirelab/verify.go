package main

import (
	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/results/recheck"
	"wirelab/results/report/verify"
)

func newVerifyCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:               "verify RESULT...",
		Short:             "Check whether a result was edited: compute all of it again",
		Long:              desk.HelpText("verify"),
		Example:           desk.HelpText("verify.examples"),
		Args:              cli.Arguments(1, 1000, "ids or files"),
		ValidArgsFunction: a.CompleteIDs,
	}
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		all := make([]*verify.Verification, 0, len(args))
		holds := true
		for _, name := range args {
			v, err := recheck.Verify(c.Context(), &a.Measurer, name)
			if err != nil {
				return err
			}
			all = append(all, v)
			holds = holds && v.Holds()
			if *asJSON {
				continue
			}
			if err := a.Printf("%s", recheck.Text(name, v)); err != nil {
				return err
			}
		}
		if *asJSON {
			if err := a.PrintJSON(all); err != nil {
				return err
			}
		}
		if !holds {
			return cli.With(desk.ExitFailed, nil)
		}
		return nil
	}
	return c
}
