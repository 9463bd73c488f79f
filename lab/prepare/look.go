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

// BurstPlan is the complete plan of a calibration run, with the raw driver if there is one.
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

// Calibrations returns the rates that the arms of a result reached in the closed loop.
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

// Look runs one short round of a plan to find values that the real plan depends on. Its measurements are no result:
// they are neither stored nor shown.
func (l *Lab) Look(ctx context.Context, p plan.Plan, what string) (*result.Result, error) {
	p.Rounds, p.For, p.Until = plan.Rounds{Min: 1, Max: 1}, 0, 0
	p, err := p.Complete()
	if err != nil {
		return nil, err
	}
	if p, _, err = l.Present(ctx, p); err != nil { // the experiment itself reports the absent arms
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

// The length of a slice in the closed loop. A slice needs enough calls that the one at its edge hardly matters.
const (
	sliceCalls = 10
	sliceLook  = plan.Duration(400 * time.Millisecond) // long enough for calls that do not fit into a usual slice
	sliceUsual = 30 * time.Millisecond
	sliceMost  = 2 * time.Second
)

// SliceFor looks at one arm of each data set, and returns how long slices of a closed loop must be to contain enough
// calls. It returns 0 if the usual length is enough. One arm is enough, because the size of the data is what makes
// calls differ so much in duration.
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

// oneOfEach returns the first arm of each data set.
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
