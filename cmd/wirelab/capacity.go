package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/cmd/internal/fleet"
	"wirelab/lab/databases"
	"wirelab/lab/experiment"
	"wirelab/lab/kind/capacity"
	"wirelab/lab/plan"
	"wirelab/lab/prepare"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/results/measure"
	"wirelab/results/report"
)

// capacityFlags are the flags of "capacity".
type capacityFlags struct {
	ratedFlags
	slo, certificate string
	name             string
	probe            time.Duration
	rounds           int
	json, quiet      bool
	network          desk.NetworkFlag
	hosts            fleet.Flags
	secure           desk.SecureFlags
	database         databases.Choice
}

// probeMin is the shortest probe: a probe has ten parts, which must be long compared with the precision of timers.
const probeMin = 100 * time.Millisecond

func newCapacityCommand(a *app) *cobra.Command {
	var f capacityFlags
	command := &cobra.Command{
		Use:     "capacity ARM… --slo OBJECTIVE",
		Short:   "Find the highest rate at which each arm keeps an objective",
		Long:    desk.HelpText("capacity"),
		Example: desk.HelpText("capacity.examples"),
		Args:    a.ArmArguments("an ARM, such as grpc"),
		RunE:    func(command *cobra.Command, args []string) error { return f.run(command.Context(), a, args) },
	}
	f.register(command)
	flags := command.Flags()
	flags.StringVar(&f.slo, "slo", "", "the `objective`, such as 'p99<10ms,errors<0.1%' (required)")
	flags.IntVar(&f.rounds, "rounds", 0,
		"rounds (default: as many as are needed to claim a difference, 6 for two arms; with fewer than 5 none is "+
			"claimed)")
	flags.DurationVar(&f.probe, "probe", 0,
		"length of a probe, to try things out (default 5s, or 100 calls beyond the highest percentile)")
	flags.BoolVar(&f.json, "json", false, "print the result and its claims as JSON")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on standard error")
	desk.AddCertificateFlag(flags, &f.certificate)
	desk.AddNameFlag(flags, &f.name)
	f.network.Register(flags)
	f.hosts.Register(flags)
	f.secure.Register(flags)
	desk.RegisterDatabase(&f.database, flags)
	a.AddFullFlag(flags)
	a.AddRefusedFlag(flags)
	if err := command.MarkFlagRequired("slo"); err != nil {
		panic(err) // the flag is defined above
	}
	return command
}

func (f *capacityFlags) run(ctx context.Context, a *app, args []string) error {
	p, said, err := f.parse(ctx, a, "capacity", args)
	if err != nil {
		return err
	}
	return f.measure(ctx, a, p, said)
}

// measure searches for the capacities of a plan without loads. said names the driver if it was chosen automatically.
func (f *capacityFlags) measure(ctx context.Context, a *app, p plan.Plan, said string) error {
	objective, err := capacity.ParseObjective(f.slo)
	if err != nil {
		return err
	}
	if f.probe != 0 && (f.probe < probeMin || f.probe > capacity.ProbeMost) {
		return cli.Usage("--probe %v: want %v to %v", f.probe, probeMin, capacity.ProbeMost)
	}
	if p, err = f.database.Apply(ctx, &a.Databases, a.Catalog, f.network.Apply(f.secure.Apply(p))); err != nil {
		return err
	}
	if p, err = f.hosts.Use(ctx, a.Desk, p, false); err != nil {
		return err
	}
	p, settings := prepare.CapacitySearch(p, objective, f.inFlight, f.rounds, f.probe)
	if p, err = p.Complete(); err != nil {
		return err
	}
	arms, err := a.Arms(ctx, p)
	if err != nil {
		return err
	}
	if _, _, err := a.Present(ctx, p); err != nil {
		return err
	}
	a.sayDriver(said, f.quiet)
	if err := a.Named(f.name); err != nil {
		return err
	}
	r, err := a.MeasureBy(ctx, p, arms, f.certificate, f.quiet,
		func(c *experiment.Runner, ctx context.Context) (*result.Result, error) {
			return c.SearchCapacity(ctx, settings)
		})
	if err != nil {
		return err
	}
	return a.Incomplete(r, a.concludeCapacity(r, f.json))
}

// concludeCapacity prints a stored search, and returns an error that says how it ended.
func (a *app) concludeCapacity(r *result.Result, asJSON bool) error {
	analysis := analyse.Result(r)
	if err := a.PrintResult(r, &analysis, nil, asJSON); err != nil {
		return err
	}
	if r.Ending == result.Interrupted {
		return a.Interrupted(measure.CompleteRounds(len(r.Capacity.Rounds)), r.ID)
	}
	var unknown, bounds []string
	for i := range analysis.Capacity.Arms {
		arm := &analysis.Capacity.Arms[i]
		switch {
		case arm.Kind == claim.CapacityFound:
		case arm.Kind == claim.CapacityUnknown || arm.Limited:
			unknown = append(unknown, arm.Name+": "+report.CapacityOf(arm))
		default:
			bounds = append(bounds, arm.Name+": "+report.CapacityOf(arm))
		}
	}
	switch {
	case len(unknown) > 0:
		return cli.With(desk.ExitNoWord,
			fmt.Errorf("no valid capacity of %s%s", strings.Join(unknown, "; "), a.Stored("the result is ", r.ID)))
	case len(bounds) > 0:
		return cli.With(desk.ExitUndecided,
			fmt.Errorf("only a bound of %s%s", strings.Join(bounds, "; "), a.Stored("the result is ", r.ID)))
	}
	return nil
}
