package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/results/measure"
	"wirelab/results/store"
)

// addNameFlag adds the flag of every command that stores a result.
func addNameFlag(flags *pflag.FlagSet, name *string) {
	flags.StringVar(name, "name", "", "a `name` for the result, such as 'before cache'; use it in lists and in place of the id")
}

func newNameCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "name ID [TEXT]",
		Short:             "Give a result a name, or without TEXT remove its name",
		Long:              helpText("name"),
		Example:           helpText("name.examples"),
		Args:              cli.Arguments(1, 2, "an id and a name, in quotes if it has spaces"),
		ValidArgsFunction: a.completeIDs,
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
