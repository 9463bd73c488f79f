// Package kept has the commands over stored results: list, show, name, check, export, copy, report, decide, verify
// and serve. It knows flags and what commands share. It must not know how a result is measured.
package kept

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/fault"
	"wirelab/lab/doctor"
	"wirelab/lab/result/analyse"
	"wirelab/results/measure"
	"wirelab/results/report/terminal"
	"wirelab/results/store"
)

func newCheckCommand(a *commands) *cobra.Command {
	var g desk.Gate
	c := &cobra.Command{
		Use:               "check RESULT",
		Short:             "Check a stored result, or an exported file, against thresholds",
		Long:              desk.HelpText("check") + desk.HelpText("fail-if"),
		Example:           desk.HelpText("check.examples"),
		Args:              cli.Arguments(1, 1, "one id or file"),
		ValidArgsFunction: a.CompleteIDs,
	}
	g.Register(c.Flags())
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(g.FailIf) == 0 {
			return cli.Usage("nothing to check: give a threshold with --fail-if")
		}
		r, err := a.Find(c.Context(), args[0])
		if err != nil {
			return g.NoWord(err)
		}
		if err := g.Prepare(r.Asked(), g.FailIf, *asJSON); err != nil {
			return err
		}
		analysis := analyse.Result(r)
		j := g.Judge(r, &analysis)
		if err := g.Write(a.Stdout, r, &analysis, j); err != nil {
			return g.NoWord(err)
		}
		switch {
		case *asJSON:
			err = a.PrintJSON(j)
		case !g.OwnsOutput():
			err = terminal.WriteCheck(a.Stdout, r, j, a.Style())
		}
		if err != nil {
			return g.NoWord(err)
		}
		return desk.OutcomeError(r, j, !*asJSON && !g.OwnsOutput())
	}
	return c
}

func newNameCommand(a *commands) *cobra.Command {
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
					if err := store.CheckLabel(label); err != nil { // an empty text must not remove a name
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

func newResultsCommand(a *commands) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:     "results",
		Short:   "List, show, name, check, export, copy and remove results",
		Long:    desk.HelpText("results"),
		Example: desk.HelpText("results.examples"),
	})
	c.AddCommand(newListCommand(a), newShowCommand(a), newNameCommand(a), newCheckCommand(a), newExportCommand(a),
		newImportCommand(a),
		newPushCommand(a), newPullCommand(a), newRemoveCommand(a))
	return c
}

// listFlags select results.
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
	flags.IntVar(&f.Limit, "limit", 0,
		fmt.Sprintf("at most this number of results, 1 to %d, the latest", store.ListLimit))
}

// filter returns the filter that the flags describe.
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

func newListCommand(a *commands) *cobra.Command {
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
		if !*all && !*asJSON && f.Name == "" { // programs that read the list get all runs, as before
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
			if err := fault.Both(err, a.Printf("%s", text)); err != nil {
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

func newRemoveCommand(a *commands) *cobra.Command {
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

func newImportCommand(a *commands) *cobra.Command {
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

// importOne stores the result in a file. It keeps the text unchanged, so that its digest still matches.
func (k *commands) importOne(ctx context.Context, s store.Store, file string) error {
	in, err := k.ReadResult(ctx, file)
	if err != nil {
		return err
	}
	from := file
	if file == "-" {
		from = "standard input"
	}
	if err := in.Put(ctx, s, "imported from "+from, k.Now()); err != nil {
		return err
	}
	k.NoteUnread(in.Result)
	return k.Printf("%s\n", in.Result.ID)
}
