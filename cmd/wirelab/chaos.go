package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/chaos"
	"wirelab/lab/databases"
	"wirelab/results/outages"
)

// chaosFlags are the flags of "chaos logging".
type chaosFlags struct {
	outages.Asked
	asJSON, quiet bool
	database      databases.Choice
}

func newChaosCommand(a *app) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:     "chaos",
		Short:   "Make parts of a pipeline fail, and count the lost entries",
		Long:    "Chaos starts services that work together, makes them fail under load, and counts the lost entries.",
		Example: `  wirelab chaos logging log-rabbit --fault all`,
	})
	c.AddCommand(newChaosLoggingCommand(a))
	return c
}

func newChaosLoggingCommand(a *app) *cobra.Command {
	var f chaosFlags
	c := &cobra.Command{
		Use:     "logging [PATH…]",
		Short:   "Make parts of the log pipeline fail, and count the lost entries",
		Long:    desk.HelpText("chaos-logging"),
		Example: desk.HelpText("chaos-logging.examples"),
		RunE:    func(c *cobra.Command, args []string) error { return a.chaosLogging(c.Context(), args, f) },
	}
	f.register(c.Flags())
	return c
}

func (f *chaosFlags) register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.Faults, "fault", nil,
		"`fault` of a run: logger-down=10s, listener-kill, broker-restart, burst=10x5s, several joined with +, or all "+
			"(default: one run for each)")
	flags.StringVar(&f.Rate, "rate", outages.RateAuto, "`entries` per second, such as 500/s, or auto")
	flags.DurationVar(&f.Whole, "for", 0,
		"how long entries are sent in each run (default: until everything works again after the fault, at most 15s, "+
			"or 90s after a burst)")
	flags.StringVar(&f.Slo, "slo", "p99<"+chaos.DefaultLimit.String(),
		"the `objective`: a limit for the 99th percentile")
	flags.DurationVar(&f.Every, "every", 0, "`time` between two rows of the report, in steps of 100ms (default 1s)")
	flags.DurationVar(&f.Patience, "patience", chaos.DefaultPatience,
		"how long to wait for the next stored entry; accepted entries that are not stored then count as missing")
	flags.IntVar(&f.InFlight, "in-flight", chaos.DefaultInFlight,
		"most calls in flight; further calls wait, and this time counts")
	flags.StringVar(&f.Queue, "queue", "", "`kind` of RabbitMQ's queue: quorum or classic (default quorum)")
	flags.BoolVar(&f.NoConfirms, "no-confirms", false,
		"let the gateway reply before the broker has confirmed the entry")
	flags.BoolVar(&f.Topology, "published-topology", false, topologyHelp)
	flags.BoolVar(&f.Transient, "transient", false, "let the broker keep entries in memory, if its queue can")
	flags.Uint64Var(&f.Seed, "seed", 0, "seed of the entries (default: random)")
	flags.BoolVar(&f.asJSON, "json", false, "print all runs as JSON, for programs")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
	desk.RegisterDatabase(&f.database, flags)
}

// chaosLogging makes the runs, one after the other.
func (a *app) chaosLogging(ctx context.Context, paths []string, f chaosFlags) error {
	runs, err := f.Plan(ctx, &a.Lab, a.Stderr, strings.TrimSpace(cli.ThisBuild().Version+" "+cli.ThisBuild().Commit),
		f.database, paths, f.quiet)
	if err != nil {
		return err
	}
	a.sayAbsent(runs, f.quiet)
	var failed []error
	for i := range runs {
		r := &runs[i]
		switch {
		case r.Absent != "":
		case ctx.Err() != nil:
			r.Failed = outages.NotRun
		default:
			if !f.quiet {
				done, all := outages.Possible(runs[:i]), outages.Possible(runs)
				a.Note("run %d of %d: %s, %s; %s to go", done+1, all, r.Path, r.Faults, outages.Estimate(runs[i:]))
			}
			running := a.Doing(fmt.Sprintf("run %d of %d: %s, %s", outages.Possible(runs[:i])+1, outages.Possible(runs),
				r.Path, r.Faults))
			r.Report, err = chaos.Run(ctx, r.Options)
			running.Done()
			if err != nil && ctx.Err() == nil {
				r.Failed = desk.Describe(err)
				failed = append(failed, fmt.Errorf("%s, %s: %w", r.Path, r.Faults, err))
			}
			if r.Report == nil && ctx.Err() != nil {
				r.Failed = outages.NotRun
			}
			outages.Agree(runs[i+1:], r)
		}
		if !f.asJSON {
			if err := outages.Print(a, *r); err != nil {
				return err
			}
		}
	}
	if f.asJSON {
		if err := a.PrintJSON(runs); err != nil {
			return err
		}
	}
	return concludeChaos(ctx, runs, failed)
}

// sayAbsent names each path that is not available, once.
func (a *app) sayAbsent(runs []outages.Run, quiet bool) {
	for i, r := range runs {
		if !quiet && r.Wanting && (i == 0 || runs[i-1].Path != r.Path) {
			a.Note("%s is absent: %s; continuing with the others", r.Path, r.Absent)
		}
	}
}

// concludeChaos returns the exit code. A lost entry decides it, whatever else went wrong.
func concludeChaos(ctx context.Context, runs []outages.Run, failed []error) error {
	for _, r := range runs {
		if r.Report != nil && r.Report.Broken() > 0 && !r.Report.Interrupted {
			failed = append(failed,
				wirelab.Errorf(wirelab.Internal,
					"%s, %s: %d entries that were accepted are missing, and %d are stored twice",
					r.Path, r.Faults, r.Report.Account.Missing, r.Report.Account.Twice))
		}
	}
	switch {
	case len(failed) > 0:
		return cli.With(desk.ExitFailed, errors.Join(failed...))
	case ctx.Err() != nil:
		return cli.With(desk.ExitNoWord, errors.New("interrupted; what was measured until then is above"))
	}
	for _, r := range runs {
		if r.Wanting {
			return cli.With(desk.ExitNoWord, fmt.Errorf("%s is absent: %s", r.Path, r.Absent))
		}
	}
	return nil
}
