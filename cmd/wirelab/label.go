package main

import (
	"strings"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/results/measure"
	"wirelab/results/store"
)

func newNameCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "name ID [TEXT]",
		Short:             "Give a result a name, or without TEXT remove its name",
		Long:              desk.HelpText("name"),
		Example:           desk.HelpText("name.examples"),
		Args:              cli.Arguments(1, 2, "an id and a name, in quotes if it has spaces"),
		ValidArgsFunction: a.CompleteIDs,
		RunE: func(c *cobra.Command, args []string) error {
			return a.WithStore(c.Context(), func(s store.Store) error {
				id, err := measure.Latest(c.Context(), s, args[0])
				if err != nil {
					return err
				}
				label := strings.Join(args[1:], "")
				if len(args) > 1 {
					if err := store.CheckLabel(label); err != nil { // an empty one takes no name away by mistake
						return err
					}
				}
				if id, err = s.SetLabel(c.Context(), id, label); err != nil {
					return err
				}
				if label == "" {
					a.Note("%s has no name now", id)
				} else {
					a.Note("%s is named %q", id, label)
				}
				return nil
			})
		},
	}
}
