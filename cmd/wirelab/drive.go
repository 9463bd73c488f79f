package main

import (
	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/lab/agent"
	"wirelab/lab/control"
	"wirelab/workload/external"
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
			return agent.Drive(command.Context(), a.driven, a.Stdin, a.Stdout)
		},
	}
}

// driven is the cell that a conductor's order names.
func (a *app) driven(order control.Dial) (wirelab.Cell, error) {
	if order.External == nil {
		return a.Cell(order.Workload, order.Protocol, order.Server, order.Client)
	}
	service, err := external.ParsePrepared(order.External)
	if err != nil {
		return wirelab.Cell{}, err
	}
	return service.Cell(order.Protocol)
}
