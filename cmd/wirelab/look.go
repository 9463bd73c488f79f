package main

import (
	"context"
	"errors"
	"time"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// look runs one short round of a plan, to find what the plan that is meant
// depends on. What it measures is no result: nothing of it is stored or shown.
func (a *app) look(ctx context.Context, p plan.Plan, what string) (*result.Result, error) {
	p.Rounds, p.For, p.Until = plan.Rounds{Min: 1, Max: 1}, 0, 0
	p, err := p.Complete()
	if err != nil {
		return nil, err
	}
	if p, _, err = a.present(ctx, p); err != nil { // who measures says it
		return nil, err
	}
	arms, err := a.arms(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := experiment.Needs(p, arms).Refused(a.systemLimits()); err != nil {
		return nil, err
	}
	conductor, err := a.conductor(ctx, p, arms)
	if err != nil {
		return nil, err
	}
	watch := a.watch(what)
	conductor.Observe = watch.observeAs(what + ": ")
	r, err := conductor.Run(ctx)
	watch.Done()
	if err != nil {
		return nil, err
	}
	if r.Ending == result.Interrupted {
		return nil, cli.With(exitNoWord, errors.New("interrupted before anything was measured"))
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

// sliceFor returns how long slices of a closed loop must be to hold calls
// enough, after a look at one arm of each data set; 0 where the usual length
// does. Sizes of data are what makes calls so different in length.
func (a *app) sliceFor(ctx context.Context, p plan.Plan) (plan.Duration, error) {
	p.Arms = oneOfEach(p)
	p.Loads = p.Loads[:min(1, len(p.Loads))]
	p.Slices, p.Slice, p.WarmUp, p.Primary, p.Floor = 1, sliceLook, plan.Duration(50*time.Millisecond), "", plan.FloorNone
	p.Explain, p.Published, p.Notes, p.Contrasts, p.Advice = plan.Corners{}, nil, nil, nil, nil
	r, err := a.look(ctx, p, "looking how long calls take")
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
