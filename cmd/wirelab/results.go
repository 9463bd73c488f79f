package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/doctor"
	"wirelab/results/measure"
	"wirelab/results/store"
)

func newResultsCommand(a *app) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:     "results",
		Short:   "List, show, name, check, export, copy and remove results",
		Long:    desk.HelpText("results"),
		Example: desk.HelpText("results.examples"),
	})
	c.AddCommand(newListCommand(a), newShowCommand(a), newNameCommand(a), newCheckCommand(a), newExportCommand(a), newImportCommand(a),
		newPushCommand(a), newPullCommand(a), newRemoveCommand(a))
	return c
}

// listFlags choose results.
type listFlags struct {
	store.Filter
	since time.Duration
	flags *pflag.FlagSet
}

func (f *listFlags) register(flags *pflag.FlagSet) {
	f.flags = flags
	flags.StringVar(&f.Name, "name", "", "only results with this `name`, or of this preset or plan")
	flags.StringVar(&f.Workload, "workload", "", "only results of this workload")
	flags.StringVar(&f.Operation, "operation", "", "only results of this operation")
	flags.StringVar(&f.Protocol, "protocol", "", "only results with an arm over this protocol")
	flags.StringVar(&f.Host, "host", "", "only results of this machine")
	flags.DurationVar(&f.since, "since", 0, "only results that are not older, such as 48h")
	flags.IntVar(&f.Limit, "limit", 0, fmt.Sprintf("at most this number of results, 1 to %d, the latest", store.ListLimit))
}

// filter is what the flags say.
func (f *listFlags) filter(now time.Time) (store.Filter, error) {
	switch {
	case f.flags.Changed("limit") && (f.Limit < 1 || f.Limit > store.ListLimit):
		return store.Filter{}, cli.Usage("--limit is %d; it must be 1 to %d", f.Limit, store.ListLimit)
	case f.since < 0:
		return store.Filter{}, cli.Usage("--since is %v; it must not be below 0", f.since)
	case f.since > 0:
		f.Since = now.Add(-f.since)
	}
	return f.Filter, nil
}

func newListCommand(a *app) *cobra.Command {
	var flags listFlags
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the latest results",
		Long:    fmt.Sprintf(desk.HelpText("list"), store.ListDefault),
		Example: desk.HelpText("list.examples"),
		Args:    cli.Arguments(0, 0, "no arguments"),
	}
	flags.register(c.Flags())
	all := c.Flags().Bool("all", false, "also calibration runs")
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		f, err := flags.filter(a.Now())
		if err != nil {
			return err
		}
		if !*all && !*asJSON && f.Name == "" { // a program that reads the list gets what it always got
			f.Hide = doctor.BurstName
		}
		return a.WithStore(c.Context(), func(s store.Store) error {
			list, err := s.List(c.Context(), f)
			if err != nil {
				return err
			}
			if *asJSON {
				return a.PrintJSON(list)
			}
			if len(list) == 0 {
				a.Note("no results; wirelab presets lists experiments to run")
			}
			text, err := measure.ListText(c.Context(), s, list, a.Columns())
			if err := cli.Both(err, a.Printf("%s", text)); err != nil {
				return err
			}
			if total, err := s.Total(c.Context(), f); err != nil {
				return err
			} else if total.Results > len(list) {
				a.Note("%d of %d results; --limit shows more", len(list), total.Results)
			}
			return nil
		})
	}
	return c
}

func newRemoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "rm ID...",
		Short:             "Remove results permanently; ids must be whole",
		Example:           "  wirelab results rm r-20261121-140512-7f3a",
		Args:              cli.Arguments(1, 1000, "whole ids"),
		ValidArgsFunction: a.CompleteIDs,
		RunE: func(c *cobra.Command, args []string) error {
			return a.WithStore(c.Context(), func(s store.Store) error {
				for _, id := range args {
					if err := s.Delete(c.Context(), id); err != nil {
						return err
					}
					a.Note("removed %s", id)
				}
				return nil
			})
		},
	}
}

func newImportCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "import FILE...",
		Short:   "Import result files into the store; - reads standard input",
		Long:    desk.HelpText("import"),
		Example: "  wirelab results import r-20261121-140512-7f3a.json",
		Args:    cli.Arguments(1, 1000, "files"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.With(c.Context(), a.OpenStore, func(s store.Store) error {
				for _, file := range args {
					if err := a.importOne(c.Context(), s, file); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

// importOne stores the result in a file, its text as it is, so that its digest stays.
func (a *app) importOne(ctx context.Context, s store.Store, file string) error {
	in, err := a.ReadResult(ctx, file)
	if err != nil {
		return err
	}
	from := file
	if file == "-" {
		from = "standard input"
	}
	if err := in.Put(ctx, s, "imported from "+from, a.Now()); err != nil {
		return err
	}
	a.NoteUnread(in.Result)
	return a.Printf("%s\n", in.Result.ID)
}
