package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"wirelab/doctor"
	"wirelab/experiment"
	"wirelab/load"
	"wirelab/plan"
	"wirelab/probe"
	"wirelab/report/terminal"
)

// watchTime is how long the doctor watches the machine: long enough for shares
// of a hundredth, which the kernel counts in ticks of 10 ms.
const watchTime = 3 * time.Second

func newDoctorCommand(a *app) *cobra.Command {
	var quiet bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what is wrong with this machine as a place to measure on",
		Long: `Doctor looks at what makes measurements wrong or vague on this machine: its
CPUs, its clock, what else runs, memory and limits. Each finding is fine, a
warning (numbers hold, but need more rounds or care) or bad (they would be wrong,
or be refused), and says what to do.

The exit code is 0 if nothing is bad, else 1.`,
		Example: "  wirelab doctor\n  wirelab doctor --json",
		Args:    arguments(0, 0, "no arguments"),
	}
	asJSON := addJSONFlag(c)
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "no progress on standard error")
	c.RunE = func(c *cobra.Command, _ []string) error {
		e, err := a.examine(c.Context(), quiet)
		if err != nil {
			return err
		}
		if *asJSON {
			err = a.printJSON(e)
		} else {
			err = terminal.Examination(a.stdout, e, terminal.Style{Color: a.colour(), Width: a.width()})
		}
		if err == nil && !e.Fit {
			return exitWith(exitFailed, nil)
		}
		return err
	}
	return c
}

// examine reads the machine, watches it and judges both.
func (a *app) examine(ctx context.Context, quiet bool) (doctor.Examination, error) {
	place, err := experiment.NewProcesses("", plan.Plan{Pin: plan.PinAuto})
	if err != nil {
		return doctor.Examination{}, err
	}
	if !quiet {
		a.note("watching the machine for %v …", watchTime)
	}
	root := os.DirFS("/")
	machine := probe.ReadMachine(root)
	watched, err := probe.Watch(ctx, root, load.SystemClock{}, load.SpinMargin, watchTime)
	if err != nil {
		return doctor.Examination{}, err
	}
	return doctor.Examine(machine, watched, place.Placement()), nil
}
