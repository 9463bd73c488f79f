package main

import (
	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/internal/process"
	"wirelab/lab/control"
	"wirelab/lab/inject"
)

// newSpinCommand makes the hidden command with which the self-test disturbs experiments. It uses a processor and does
// nothing until its input ends. With --idle it runs only when no other process wants the processor, and so keeps the
// processor from idling.
func newSpinCommand(a *app) *cobra.Command {
	idle := false
	c := &cobra.Command{
		Use:    "hog",
		Short:  "Use a processor until standard input ends (a self-test's child)",
		Args:   cli.Arguments(0, 0, "no arguments"),
		Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			if err := process.WriteLine(a.Stdout, control.Reply{Ready: &control.Ready{}}); err != nil {
				return err
			}
			return inject.Burn(a.Stdin, idle)
		},
	}
	c.Flags().BoolVar(&idle, "idle", false, "only while no other program wants it")
	return c
}
