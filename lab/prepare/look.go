package prepare

import (
	"context"
	"time"

	"wirelab/lab/doctor"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/workload/catalog"
)

// BurstPlan is the burst's complete plan, with the raw driver where there is one.
func (l *Lab) BurstPlan(long time.Duration) (plan.Plan, error) {
	p := doctor.Burst(long, plan.DriverRaw)
	cell, err := l.Cell(p.Workload, p.Arms[0].Protocol, "", "")
	if err != nil {
		return plan.Plan{}, err
	}
	if catalog.RawCarries(cell, p.Operation) != nil {
		p = doctor.Burst(long, plan.DriverClient)
	}
	return p.Complete()
}

// Calibrations are what the arms of a result did in the closed loop.
func Calibrations(r *result.Result) []result.Calibrated {
	var all []result.Calibrated
	for _, round := range r.Rounds {
		for _, t := range round.Trials {
			if t.Window > 0 && t.Completed > 0 {
				rate := float64(t.Completed) / time.Duration(t.Window).Seconds()
				all = append(all, result.Calibrated{Arm: t.Arm, InFlight: r.Plan.Loads[t.Load].InFlight, Rate: rate})
			}
		}
	}
	return all
}

// Look runs one short round of a plan, to find what the plan that is meant
// depends on. What it measures is no result: nothing of it is stored or shown.
func (l *Lab) Look(ctx context.Context, p plan.Plan, what string) (*result.Result, error) {
	p.Rounds, p.For, p.Until = plan.Rounds{Min: 1, Max: 1}, 0, 0
	p, err := p.Complete()
	if err != nil {
		return nil, err
	}
	if p, _, err = l.Present(ctx, p); err != nil { // who measures says it
		return nil, err
	}
	arms, err := l.Arms(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := experiment.Needs(p, arms).Refused(l.systemLimits()); err != nil {
		return nil, err
	}
	runner, err := l.Runner(ctx, p, arms)
	if err != nil {
		return nil, err
	}
	watch := l.Watching(what)
	runner.Observe = watch.ObserveAs(what + ": ")
	r, err := runner.Run(ctx)
	watch.Done()
	if err != nil {
		return nil, err
	}
	if r.Ending == result.Interrupted {
		return nil, ErrInterrupted
	}
	return r, nil
}

// What a slice of the closed loop is to hold: calls enough that the one at its
// edge hardly counts.
const (
	sliceCalls = 10
	sliceLook  = plan.Duration(400 * time.Millisecond) // long enough to see calls that a usual slice cannot hold
	sliceUsual = 30 * time.Millisecond
	sliceMost  = 2 * time.Second
)

// SliceFor returns how long slices of a closed loop must be to hold calls
// enough, after a look at one arm of each data set; 0 where the usual length
// does. Sizes of data are what makes calls so different in length.
func (l *Lab) SliceFor(ctx context.Context, p plan.Plan) (plan.Duration, error) {
	p.Arms = oneOfEach(p)
	p.Loads = p.Loads[:min(1, len(p.Loads))]
	p.Slices, p.Slice, p.WarmUp, p.Primary, p.Floor = 1, sliceLook, plan.Duration(50*time.Millisecond), "",
		plan.FloorNone
	p.Explain, p.Published, p.Notes, p.Contrasts, p.Advice = plan.Corners{}, nil, nil, nil, nil
	r, err := l.Look(ctx, p, "looking how long calls take")
	if err != nil {
		return 0, err
	}
	var longest time.Duration
	for _, round := range r.Rounds {
		for _, t := range round.Trials {
			longest = max(longest, time.Duration(t.Response.Mean()))
		}
	}
	if sliceCalls*longest <= sliceUsual {
		return 0, nil
	}
	return plan.Duration(min(sliceMost, (sliceCalls * longest).Round(10*time.Millisecond))), nil
}

// oneOfEach are the first arms of each data set.
func oneOfEach(p plan.Plan) []plan.Arm {
	var arms []plan.Arm
	seen := map[string]bool{}
	for _, arm := range p.Arms {
		if data := p.DataOf(arm); !seen[data] {
			seen[data] = true
			arms = append(arms, arm)
		}
	}
	return arms
}
