package measure

import (
	"context"
	"os"
	"time"

	"wirelab/internal/fault"
	"wirelab/lab/doctor"
	"wirelab/lab/experiment"
	"wirelab/lab/load"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/results/store"
)

// watchTime is how long the doctor watches the machine: long enough for shares of a hundredth, since the kernel
// counts in ticks of 10 ms.
const watchTime = 3 * time.Second

// ExamineOptions are the values of the flags.
type ExamineOptions struct {
	Burst          time.Duration
	NoBurst, Quiet bool
}

// Examine reads the machine, watches it, judges both, and makes a calibration.
func (m *Measurer) Examine(ctx context.Context, o ExamineOptions) (e doctor.Examination, err error) {
	// Open the store first: without it the calibration run would be lost.
	var results store.Store
	if !o.NoBurst {
		if results, err = m.OpenStore(ctx); err != nil {
			return e, err
		}
		defer func() { err = fault.Both(err, results.Close()) }()
	}
	place, err := experiment.NewProcesses("", plan.Plan{Pin: plan.PinAuto})
	if err != nil {
		return e, err
	}
	if !o.Quiet {
		m.Tell.Note("watching the machine for %v …", watchTime)
	}
	root := os.DirFS("/")
	machine := probe.ReadMachine(root)
	watched, err := probe.Watch(ctx, root, load.SystemClock{}, load.SpinMargin, watchTime)
	if err != nil {
		return e, err
	}
	e = doctor.Examine(machine, watched, place.Placement())
	if o.NoBurst {
		return e, nil
	}
	r, err := m.burst(ctx, results, o.Burst, o.Quiet)
	switch {
	case ctx.Err() != nil:
		return e, context.Cause(ctx)
	case err != nil:
		e.Uncertified = fault.Describe(err)
	default:
		e.Certificate, e.Result = r.Certificate, r.ID
	}
	return e, nil
}
