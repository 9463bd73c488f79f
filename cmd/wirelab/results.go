package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wirelab/report/verify"
	"wirelab/result"
	"wirelab/store"
)

func newResultsCommand(a *app) *cobra.Command {
	c := group(&cobra.Command{
		Use:   "results",
		Short: "List, show, check, export, import and remove results",
		Long: `Results are kept in one file: $WIRELAB_STORE, else
$XDG_DATA_HOME/wirelab/results.db, else ~/.local/share/wirelab/results.db.
An id may be shortened to its beginning, as long as one result begins so.`,
		Example: `  wirelab results list --protocol grpc
  wirelab results show
  wirelab results export r-20261121-140512-7f3a --format markdown -o REPORT.md`,
	})
	c.AddCommand(newListCommand(a), newShowCommand(a), newCheckCommand(a), newExportCommand(a), newImportCommand(a), newRemoveCommand(a))
	return c
}

// withStore calls do with the store and closes it.
func (a *app) withStore(ctx context.Context, do func(store.Store) error) error {
	s, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	return both(do(s), s.Close())
}

func newListCommand(a *app) *cobra.Command {
	var f store.Filter
	var since time.Duration
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the latest results",
		Example: "  wirelab results list\n  wirelab results list --workload routeguide --since 48h --json",
		Args:    arguments(0, 0, "no arguments"),
	}
	c.Flags().StringVar(&f.Name, "name", "", "only of this preset or plan")
	c.Flags().StringVar(&f.Workload, "workload", "", "only of this workload")
	c.Flags().StringVar(&f.Operation, "operation", "", "only of this operation")
	c.Flags().StringVar(&f.Protocol, "protocol", "", "only with an arm over this protocol")
	c.Flags().DurationVar(&since, "since", 0, "only begun at most so long ago, such as 48h")
	c.Flags().IntVar(&f.Limit, "limit", store.ListDefault, fmt.Sprintf("at most so many, 1 to %d", store.ListLimit))
	asJSON := addJSONFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		switch {
		case f.Limit == 0:
			return usage("--limit is 0; it must be 1 to %d", store.ListLimit)
		case since < 0:
			return usage("--since is %v; it must not be below 0", since)
		case since > 0:
			f.Since = a.now().Add(-since)
		}
		return a.withStore(c.Context(), func(s store.Store) error {
			list, err := s.List(c.Context(), f)
			if err != nil {
				return err
			}
			if *asJSON {
				return a.printJSON(list)
			}
			return a.printList(list)
		})
	}
	return c
}

// printList prints summaries as a table.
func (a *app) printList(list []store.Summary) error {
	if len(list) == 0 {
		a.note("no results; wirelab presets lists experiments to run")
		return nil
	}
	rows := [][]string{{"ID", "BEGAN", "PLAN", "WORK", "PROTOCOLS", "LOADS", "ROUNDS", "ENDED BY"}}
	for _, m := range list {
		name := m.Name
		if name == "" {
			name = "-"
		}
		rows = append(rows, []string{
			m.ID, m.Began.Local().Format("2006-01-02 15:04"), name, m.Workload + "." + strings.Join(m.Operations, ","),
			strings.Join(m.Protocols, " "), fmt.Sprint(m.Loads), fmt.Sprint(m.Rounds), string(m.Ending),
		})
	}
	return a.printTable(rows)
}

func newRemoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "rm ID...",
		Short:             "Remove results for good; ids must be whole",
		Example:           "  wirelab results rm r-20261121-140512-7f3a",
		Args:              arguments(1, 1000, "whole ids"),
		ValidArgsFunction: a.completeIDs,
		RunE: func(c *cobra.Command, args []string) error {
			return a.withStore(c.Context(), func(s store.Store) error {
				for _, id := range args {
					if err := s.Delete(c.Context(), id); err != nil {
						return err
					}
					a.note("removed %s", id)
				}
				return nil
			})
		},
	}
}

func newImportCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE...",
		Short: "Take result files into the store; - reads standard input",
		Long: `Takes in what "results export --format json" wrote on this or another machine,
or what was rescued when the store had no room.`,
		Example: "  wirelab results import r-20261121-140512-7f3a.json",
		Args:    arguments(1, 1000, "files"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withStore(c.Context(), func(s store.Store) error {
				for _, file := range args {
					r, err := a.readResult(file)
					if err != nil {
						return err
					}
					if err := s.Put(c.Context(), r); err != nil {
						return err
					}
					if err := a.printf("%s\n", r.ID); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

// readResult reads a result file; "-" is standard input.
func (a *app) readResult(name string) (*result.Result, error) {
	data, err := a.readFile(name)
	if err != nil {
		return nil, err
	}
	// An exported document holds the result beside what follows from it; a
	// rescued file is the result alone.
	raw, _, err := verify.Split(data)
	if err != nil {
		return nil, usage("%s: %s", name, describe(err))
	}
	r, err := store.Decode(raw)
	if err != nil {
		return nil, usage("%s: %s", name, describe(err))
	}
	return r, nil
}

// completeIDs completes the ids of results for a shell, as far as they can be read.
func (a *app) completeIDs(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	err := a.withStore(c.Context(), func(s store.Store) error {
		list, err := s.List(c.Context(), store.Filter{})
		for _, m := range list {
			ids = append(ids, m.ID)
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
