package main

import (
	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/lab/agent"
	"wirelab/lab/control"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/workload/external"
)

// newDriveCommand makes the driver that an experiment starts as a child. It is hidden, because it speaks the lines of
// package control and not a user's language.
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

// driven returns the cell that the parent's order names.
func (a *app) driven(order control.Dial) (wirelab.Cell, error) {
	if len(order.Seen) > 0 {
		return observed(order)
	}
	if order.External == nil {
		arm := plan.Arm{Protocol: order.Protocol, Server: order.Server, Client: order.Client}
		cell, err := a.ArmCell(order.Workload, arm)
		if err == nil && arm.Direct() {
			cell.Database = wirelab.DatabaseAddress{
				Kind:   cell.Protocol.Name,
				Source: a.Getenv(experiment.DatabaseVariable),
			}
		}
		return cell, err
	}
	service, err := external.ParsePrepared(order.External)
	if err != nil {
		return wirelab.Cell{}, err
	}
	return service.Cell(order.Protocol)
}

// observed returns the cell of a service that is described by the recorded bytes of its client.
func observed(order control.Dial) (wirelab.Cell, error) {
	seen := map[string][]external.Observed{}
	for operation, all := range order.Seen {
		for _, r := range all {
			seen[operation] = append(seen[operation], external.Observed{
				Method: r.Method, URL: r.URL, Header: r.Header, Body: r.Body, HTTP2: r.HTTP2, Schema: r.Schema,
			})
		}
	}
	service, err := external.Observe(order.Workload, order.Protocol, seen)
	if err != nil {
		return wirelab.Cell{}, err
	}
	return service.Cell(order.Protocol)
}
