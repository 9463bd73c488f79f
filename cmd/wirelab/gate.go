package main

import (
	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/result"
	"wirelab/results/report/terminal"
)

func newCheckCommand(a *app) *cobra.Command {
	var g desk.Gate
	c := &cobra.Command{
		Use:               "check RESULT",
		Short:             "Check a stored result, or an exported file, against thresholds",
		Long:              desk.HelpText("check") + desk.HelpText("fail-if"),
		Example:           desk.HelpText("check.examples"),
		Args:              cli.Arguments(1, 1, "one id or file"),
		ValidArgsFunction: a.CompleteIDs,
	}
	g.Register(c.Flags())
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(g.FailIf) == 0 {
			return cli.Usage("nothing to check: give a threshold with --fail-if")
		}
		r, err := a.Find(c.Context(), args[0])
		if err != nil {
			return g.NoWord(err)
		}
		if err := g.Prepare(r.Asked(), g.FailIf, *asJSON); err != nil {
			return err
		}
		analysis := result.Analyse(r)
		j := g.Judge(r, &analysis)
		if err := g.Write(a.Stdout, r, &analysis, j); err != nil {
			return g.NoWord(err)
		}
		switch {
		case *asJSON:
			err = a.PrintJSON(j)
		case !g.OwnsOutput():
			err = terminal.WriteCheck(a.Stdout, r, j, a.Style())
		}
		if err != nil {
			return g.NoWord(err)
		}
		return desk.OutcomeError(r, j, !*asJSON && !g.OwnsOutput())
	}
	return c
}
