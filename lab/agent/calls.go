package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/load"
)

// callLoad makes calls, by whichever client.
type callLoad struct{}

// goldenTime is how long the first calls of a load may take in all. A service that is slower
// is asked less often: how fast it is, is its own.
const goldenTime = 5 * time.Second

// check makes the first calls of a load one after the other.
func (callLoad) check(ctx context.Context, p *prepared) error {
	deadline := max(p.Plan.Deadline, time.Second)
	var took []time.Duration
	began := time.Now()
	for i := 0; i < max(goldenCalls, p.width) && time.Since(began) < goldenTime; i++ {
		sent := time.Now()
		ctx, cancel := context.WithTimeout(ctx, deadline)
		err := p.call(ctx, i%p.width)
		cancel()
		took = append(took, time.Since(sent))
		switch {
		case err != nil && wirelab.CodeOf(err) == wirelab.DeadlineExceeded:
			return first(i, "call",
				fmt.Errorf("no reply within its deadline of %v; if the service is that slow, give calls more time "+
					"(deadline in the plan)", deadline))
		case err != nil:
			return first(i, "call", err)
		}
	}
	slices.Sort(took)
	p.pace = took[(len(took)-1)/2]
	return nil
}

func (callLoad) warm(ctx context.Context, p *prepared, order control.Warm, served Served) (*load.Warmth, error) {
	warmth, err := p.Meter.Warm(ctx, order, served)
	if err == nil && p.follow != nil {
		err = p.follow.settle(ctx) // now, so that no slice pays for it
	}
	return warmth, err
}

func (callLoad) slice(ctx context.Context, p *prepared, order control.Slice) (*control.Measured, error) {
	if p.follow != nil {
		if err := p.follow.settle(ctx); err != nil {
			return nil, err
		}
	}
	if p.steps != nil {
		p.steps.reset()
	}
	made := p.made()
	measured, err := p.Meter.Slice(ctx, order)
	if err != nil {
		return nil, err
	}
	measured.Calls = p.made() - made
	if p.steps != nil {
		measured.Steps = p.steps.times()
	}
	if p.follow != nil {
		ended := measured.Recording.Began.Add(time.Duration(order.For))
		measured.Followed, err = p.follow.account(ctx, ended)
	}
	return measured, err
}
