package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"wirelab/cli"
	"wirelab/doctor"
	"wirelab/experiment"
	"wirelab/load"
	"wirelab/plan"
	"wirelab/probe"
	"wirelab/report/terminal"
	"wirelab/store"
)

// watchTime is how long the doctor watches the machine: long enough for shares
// of a hundredth, which the kernel counts in ticks of 10 ms.
const watchTime = 3 * time.Second

func newDoctorCommand(a *app) *cobra.Command {
	var o doctorOptions
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what makes measurements wrong or imprecise on this machine",
		Long: `Doctor looks at what makes measurements wrong or vague on this machine: its
CPUs, its clock, what else runs, memory and limits. Each finding is fine, a
warning (numbers hold, but need more rounds or care) or bad (they would be wrong,
or be refused), and says what to do.

Then it compares a thing with itself in fresh processes, round after round. What
is equal and yet differs is the machine's doing, and how much it differs tells
the smallest difference that can be seen here in 10 s, in a minute, in five: the
certificate. Experiments of the next hour carry it in their reports.

The exit code is 0 if nothing is bad, else 1.`,
		Example: `  wirelab doctor
  wirelab doctor --burst 30s          a certificate from more rounds
  wirelab doctor --no-burst           look only
  wirelab doctor --json`,
		Args: cli.Arguments(0, 0, "no arguments"),
	}
	asJSON := cli.JSONFlag(c)
	c.Flags().DurationVar(&o.burst, "burst", 10*time.Second, "how long a thing is compared with itself; ten rounds are always run")
	c.Flags().BoolVar(&o.noBurst, "no-burst", false, "make no certificate")
	c.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "no progress on standard error")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if o.burst < time.Second || o.burst > time.Hour {
			return cli.Usage("--burst %v: want 1s to 1h", o.burst)
		}
		e, err := a.examine(c.Context(), o)
		if err != nil {
			return err
		}
		if *asJSON {
			err = a.PrintJSON(e)
		} else {
			err = terminal.Examination(a.Stdout, e, a.style())
		}
		if err == nil && !e.Fit {
			return cli.With(exitFailed, nil)
		}
		return err
	}
	return c
}

// doctorOptions are the flags.
type doctorOptions struct {
	burst          time.Duration
	noBurst, quiet bool
}

// examine reads the machine, watches it, judges both, and makes a certificate.
func (a *app) examine(ctx context.Context, o doctorOptions) (e doctor.Examination, err error) {
	// The store is opened first: better no burst than one with nowhere to go.
	var results store.Store
	if !o.noBurst {
		if results, err = a.openStore(ctx); err != nil {
			return e, err
		}
		defer func() { err = cli.Both(err, results.Close()) }()
	}
	place, err := experiment.NewProcesses("", plan.Plan{Pin: plan.PinAuto})
	if err != nil {
		return e, err
	}
	if !o.quiet {
		a.Note("watching the machine for %v …", watchTime)
	}
	root := os.DirFS("/")
	machine := probe.ReadMachine(root)
	watched, err := probe.Watch(ctx, root, load.SystemClock{}, load.SpinMargin, watchTime)
	if err != nil {
		return e, err
	}
	e = doctor.Examine(machine, watched, place.Placement())
	if o.noBurst {
		return e, nil
	}
	r, err := a.burst(ctx, results, o.burst, o.quiet)
	switch {
	case ctx.Err() != nil:
		return e, context.Cause(ctx)
	case err != nil:
		e.Uncertified = describe(err)
	default:
		e.Certificate, e.Result = r.Certificate, r.ID
	}
	return e, nil
}
