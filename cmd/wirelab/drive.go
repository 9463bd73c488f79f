package main

import (
	"github.com/spf13/cobra"
	"wirelab/cli"

	"wirelab/agent"
)

// newDriveCommand is the driver that an experiment starts as a child. It is
// hidden because it speaks room control's lines and not a person's words.
func newDriveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "drive",
		Short:  "Drive a cell as an experiment's child",
		Hidden: true,
		Args:   cli.Arguments(0, 0, "no arguments"),
		RunE: func(command *cobra.Command, _ []string) error {
			return agent.Drive(command.Context(), a.cell, a.Stdin, a.Stdout)
		},
	}
}
