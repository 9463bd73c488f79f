package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/agent"
	"wirelab/lab/control"
	"wirelab/pipeline/part"
	"wirelab/pipeline/stack"
)

// newPartCommand makes the hidden command with which package stack starts the parts of a pipeline. The environment
// names the part, and has the passwords.
func newPartCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "part NAME",
		Short:  "Run one part of a pipeline (a child of wirelab up)",
		Args:   cli.Arguments(0, 1, "a name, for lists of processes"),
		Hidden: true,
		RunE: func(c *cobra.Command, args []string) error {
			config, err := stack.ParseConfig(a.Getenv(stack.Variable))
			if err != nil {
				return err
			}
			return part.Run(c.Context(), strings.Join(args, ""), config, a.Stderr, a.asChild)
		},
	}
}

// asChild runs a part under the orders of the parent process.
func (a *app) asChild(ctx context.Context, name string, work func(context.Context) error, ready part.Ready) error {
	return agent.Part(ctx, name, work, control.Ready{Endpoints: ready.Endpoints, Database: ready.About}, a.Stdin, a.Stdout)
}
