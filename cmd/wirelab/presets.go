package main

import (
	"strings"

	"github.com/spf13/cobra"

	"wirelab/cli"
	"wirelab/plan"
)

func newPresetsCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "presets [NAME]",
		Short: "List the experiments that are ready to run, or show one's plan",
		Long: `Lists the experiments that come with wirelab. With a name it prints that
experiment's whole plan, defaults filled in, as JSON: a plan file that "wirelab
run" takes, to start your own from.`,
		Example: "  wirelab presets\n  wirelab presets quick > mine.json",
		Args:    cli.Arguments(0, 1, "at most one name"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return presetNames(), cobra.ShellCompDirectiveNoFileComp
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
			done.Seed = p.Seed // a drawn one would make every run of the file the same
			return a.PrintJSON(done)
		}
		if *asJSON {
			return a.PrintJSON(plan.Presets())
		}
		// In lines and not in columns: some have six arms with settings.
		for _, p := range plan.Presets() {
			arms := make([]string, len(p.Arms))
			for i, arm := range p.Arms {
				arm.Name = "" // what they are called in the report is not what they are
				arms[i] = arm.String()
			}
			if err := a.Printf("%s  %s.%s\n    %s\n    %s\n", p.Name, p.Workload, p.Operation, p.About, strings.Join(arms, " ")); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// presetNames are the names of the presets, in order.
func presetNames() []string {
	var names []string
	for _, p := range plan.Presets() {
		names = append(names, p.Name)
	}
	return names
}
