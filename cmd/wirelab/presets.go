package main

import (
	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/plan"
	"wirelab/lab/presets"
)

func newPresetsCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "presets [NAME]",
		Short:   "List the experiments that are ready to run, or show one's plan",
		Long:    desk.HelpText("presets"),
		Example: "  wirelab presets\n  wirelab run quick\n  wirelab presets quick > mine.json",
		Args:    cli.Arguments(0, 1, "at most one name"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return presets.Names(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	asJSON := cli.JSONFlag(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 1 {
			p, err := plan.Preset(args[0])
			if err != nil {
				return err
			}
			done, err := p.Complete()
			if err != nil {
				return err
			}
			done.Seed = p.Seed // with a random seed, every run of the file would be the same
			return a.PrintJSON(done)
		}
		if *asJSON {
			return a.PrintJSON(plan.Presets())
		}
		return a.Printf("%s", presets.Text(plan.Presets(), a.Columns()))
	}
	return c
}
