package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/result"
	"wirelab/results/report"
	"wirelab/results/store"
)

// addNameFlag adds the flag of every command that stores a result.
func addNameFlag(flags *pflag.FlagSet, name *string) {
	flags.StringVar(name, "name", "", "a `name` for the result, such as 'before cache'; use it in lists and in place of the id")
}

// named says what the next result is to be named, before it is measured.
func (a *app) named(name string) error {
	if name == "" {
		return nil
	}
	if err := store.CheckLabel(name); err != nil {
		return cli.Usage("--name: %s", describe(err))
	}
	a.label = name
	return nil
}

// beside keeps with a result that is stored its name and what lists say of it.
func (a *app) beside(ctx context.Context, s store.Store, r *result.Result) error {
	if err := s.SetOrigin(ctx, r.ID, store.Measured); err != nil {
		return err
	}
	if a.label != "" {
		if _, err := s.SetLabel(ctx, r.ID, a.label); err != nil {
			return err
		}
		r.Label = a.label
	}
	_, err := report.ListedGist("", func() (*result.Result, error) { return r, nil },
		func(text string) error { return s.SetFinding(ctx, r.ID, text) })
	return err
}

func newNameCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "name ID [TEXT]",
		Short: "Give a result a name, or without TEXT remove its name",
		Long: `Name gives a result a name. Lists and reports show it, and every command that
takes an id also takes the name. The result itself does not change, so verify
still passes. ID is an id, its beginning, the present name, or latest.`,
		Example: `  wirelab results name latest 'before cache'
  wirelab results show 'before cache'
  wirelab results name 'before cache'`,
		Args:              cli.Arguments(1, 2, "an id and a name, in quotes if it has spaces"),
		ValidArgsFunction: a.completeIDs,
		RunE: func(c *cobra.Command, args []string) error {
			return a.withStore(c.Context(), func(s store.Store) error {
				id, err := latest(c.Context(), s, args[0])
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
