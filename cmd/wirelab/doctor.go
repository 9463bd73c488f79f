package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/doctor"
	"wirelab/lab/experiment"
	"wirelab/lab/load"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/results/report/terminal"
	"wirelab/results/store"
)

// watchTime is how long the doctor watches the machine: long enough for shares
// of a hundredth, which the kernel counts in ticks of 10 ms.
const watchTime = 3 * time.Second

func newDoctorCommand(a *app) *cobra.Command {
	var o doctorOptions
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Find what makes measurements on this machine wrong or imprecise",
		Long: `Doctor checks what can make measurements wrong or imprecise on this machine: CPUs,
clock, other programs, memory and limits. Each finding says what to do. It is

  fine       no problem
  warning    numbers are right, but need more rounds or care
  bad        numbers would be wrong, or be refused

Then doctor compares a server with itself, in rounds with new processes. Both arms
are equal, so every difference comes from the machine. From this it computes the
smallest difference that the machine can detect in 10 s, in a minute and in five
minutes: the certificate. Experiments of the next hour show it in their reports.

Exit code 0: nothing is bad; 1: something is.`,
		Example: `  wirelab doctor
  wirelab doctor --burst 30s          a certificate from more rounds
  wirelab doctor --no-burst           look only
  wirelab doctor --json`,
		Args: cli.Arguments(0, 0, "no arguments"),
	}
	asJSON := cli.JSONFlag(c)
	c.Flags().DurationVar(&o.burst, "burst", 10*time.Second, "how long a server is compared with itself; there are always ten rounds")
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
