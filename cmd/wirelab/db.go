package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/databases"
	"wirelab/system/postgres"
	"wirelab/workload/ledger"
	kept "wirelab/workload/ledger/database/postgres"
)

func newDBCommand(a *app) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "db",
		Short: "Run a private PostgreSQL server, and write data sets into it",
		Long: desk.HelpText("db") + postgres.Variable +
			` is set to a connection string, commands use that server instead.`,
		Example: desk.HelpText("db.examples"),
	})
	c.AddCommand(newDBStartCommand(a), newDBStopCommand(a), newDBStatusCommand(a), newDBSeedCommand(a))
	return c
}

func newDBStartCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "start",
		Short:   "Start the server if it does not run",
		Long:    desk.HelpText("dbstart"),
		Example: "  wirelab db start\n  wirelab db start --json",
		Args:    cli.Arguments(0, 0, "no arguments"),
	}
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		r, started, err := postgres.Reside(c.Context(), postgres.Options{Getenv: a.Getenv})
		if err != nil {
			return err
		}
		if *asJSON {
			return a.printDBStatus(c.Context(), true)
		}
		what := "runs already"
		if started {
			what = "started"
		}
		a.noteOtherDB()
		return a.Printf("PostgreSQL %s %s at %s, process %d; wirelab db stop ends it\n", r.Version, what,
			postgres.Redact(r.Source), r.PID)
	}
	return c
}

func newDBStopCommand(a *app) *cobra.Command {
	var keep, discard bool
	c := &cobra.Command{
		Use:     "stop",
		Short:   "Stop the server and remove its data",
		Long:    desk.HelpText("dbstop"),
		Example: "  wirelab db stop\n  wirelab db stop --keep",
		Args:    cli.Arguments(0, 0, "no arguments"),
	}
	c.Flags().BoolVar(&keep, "keep", false, "keep the data for the next db start")
	c.Flags().BoolVar(&discard, "discard", false, "remove all data")
	c.MarkFlagsMutuallyExclusive("keep", "discard")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !keep && !discard {
			if err := databases.OnlySets(c.Context(), a.Getenv); err != nil {
				return err
			}
		}
		r, ok, err := postgres.Dismiss(c.Context(), a.Getenv, keep)
		switch {
		case err != nil:
			return err
		case !ok:
			a.Note("no server of wirelab db start is there")
			return nil
		case keep:
			a.Note("stopped; its data stay in %s for wirelab db start", r.Directory)
			return nil
		}
		a.Note("stopped, and removed")
		return nil
	}
	return c
}

func newDBStatusCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "status",
		Short:   "Show whether the server runs, and which data it has",
		Example: "  wirelab db status\n  wirelab db status --json",
		Args:    cli.Arguments(0, 0, "no arguments"),
	}
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error { return a.printDBStatus(c.Context(), *asJSON) }
	return c
}

func (a *app) printDBStatus(ctx context.Context, asJSON bool) error {
	s, err := databases.StatusOf(ctx, a.Getenv)
	if err != nil {
		return err
	}
	if asJSON {
		return a.PrintJSON(s)
	}
	if !s.Running {
		a.noteOtherDB()
		if s.Directory != "" {
			return a.Printf("not running; its data is in %s, and wirelab db start uses it again\n", s.Directory)
		}
		return a.Printf("not running\n")
	}
	if err := a.PrintTable([][]string{
		{"PostgreSQL", s.Version},
		{"address", s.Address},
		{"process", fmt.Sprint(s.PID)},
		{"since", s.Started.Local().Format("2006-01-02 15:04:05")},
		{"directory", s.Directory},
		{"connection string", "in " + s.State},
	}); err != nil {
		return err
	}
	a.noteOtherDB()
	if s.Problem != "" {
		return a.Printf("\n%s\n", s.Problem)
	}
	if len(s.Sets) == 0 {
		return a.Printf("\nno data sets yet; wirelab db seed writes one\n")
	}
	rows := [][]string{{"DATA SET", "ACCOUNTS", "TRANSACTIONS", "MB ON DISK"}}
	for _, h := range s.Sets {
		rows = append(rows, []string{
			"ledger " + h.Name, fmt.Sprint(h.Accounts), fmt.Sprint(h.Transactions),
			fmt.Sprintf("%.1f", float64(h.Bytes)/1e6),
		})
	}
	if err := a.Printf("\n"); err != nil {
		return err
	}
	return a.PrintTable(rows)
}

// noteOtherDB says that the environment names another database.
func (a *app) noteOtherDB() {
	if other := a.Getenv(postgres.Variable); other != "" {
		a.Note("%s is set: commands use %s instead", postgres.Variable, postgres.Redact(other))
	}
}

func newDBSeedCommand(a *app) *cobra.Command {
	var again bool
	var accounts, transactions int
	c := &cobra.Command{
		Use:   "seed",
		Short: "Write a data set of the ledger into the server if it is not there",
		Long: `Seed writes a data set into the server of "db start", or into the one that
` + postgres.Variable + ` names. The same sizes always give the same data. Each set has its own
schema; nothing else in the database is touched.`,
		Example: "  wirelab db seed\n  wirelab db seed --accounts 100 --transactions 1000 --again",
		Args:    cli.Arguments(0, 0, "no arguments"),
	}
	usual, usualLog := databases.UsualSet()
	c.Flags().IntVar(&accounts, "accounts", usual, "number of accounts")
	c.Flags().IntVar(&transactions, "transactions", usualLog, "number of transactions in the log")
	c.Flags().BoolVar(&again, "again", false, "remove the set first, with all transactions that were added")
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		set, err := ledger.SetOf(fmt.Sprintf("%dx%d", accounts, transactions))
		if err != nil {
			return err
		}
		source, err := databases.SeedSource(a.Getenv)
		if err != nil {
			return err
		}
		defer a.Doing("writing data set " + set.Name()).Done()
		done, err := kept.Seed(c.Context(), source, set, again)
		if err != nil {
			return err
		}
		if *asJSON {
			return a.PrintJSON(dbSeeded{set.Name(), done})
		}
		if !done.Written {
			return a.Printf("data set %s is there already\n", set.Name())
		}
		return a.Printf("data set %s written in %v\n", set.Name(), done.Took.Round(10*time.Millisecond))
	}
	return c
}

// dbSeeded is the output of "db seed".
type dbSeeded struct {
	Set string `json:"set"`
	kept.Seeded
}
