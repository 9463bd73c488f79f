package drive

import (
	"context"
	"fmt"
	"time"

	"wirelab/lab/control"
	"wirelab/lab/messaging/account"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// crashPause is how long after a reader's process was killed another comes, as the
// published scenario has it.
const crashPause = 2 * time.Second

// dealtAfter is how long after it came a message that was read is dealt with for good:
// a reader takes a second at the most, and tells its broker as soon as it has.
const dealtAfter = 5 * time.Second

// failAt is at which part of the window something is done to the broker: what follows
// takes longer than what comes before.
const failAt = 3

// play does what a scenario asks for, at half of the window or where it is to be seen
// how a broker recovers before that, and returns what it did. It returns once all is as
// before, though the window be over.
func (p *prepared) play(ctx context.Context, r *run) ([]result.Disturbance, error) {
	select {
	case <-r.opened:
	case <-ctx.Done():
		return nil, nil
	}
	half, third := r.begin+(r.end-r.begin)/2, r.begin+(r.end-r.begin)/failAt
	switch scenario := r.load.Scenario; {
	case scenario == plan.Late:
		if !r.until(ctx, half) {
			return nil, nil
		}
		return nil, r.readAll(ctx)
	case scenario == plan.Crash:
		if !r.dealt(ctx, half) {
			return nil, nil
		}
		return p.crash(ctx, r)
	case plan.Load{Scenario: scenario}.Fails():
		if !r.dealt(ctx, third) {
			return nil, nil
		}
		return r.disturb(ctx, p.stage)
	}
	return nil, nil
}

// until waits for a time of the run's clock; false where ctx ended first.
func (r *run) until(ctx context.Context, at int64) bool {
	timer := time.NewTimer(time.Duration(at - r.clock.Now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// dealt waits for a time at which something will be done, of which it gives notice to
// the account.
func (r *run) dealt(ctx context.Context, at int64) bool {
	if !r.until(ctx, at-int64(dealtAfter)) {
		return false
	}
	r.ledger.Dealt()
	return r.until(ctx, at)
}

// since is a time from the window's beginning.
func (r *run) since(at int64) plan.Duration { return plan.Duration(at - r.begin) }

// crash kills the first audience's process and has another come later.
func (p *prepared) crash(ctx context.Context, r *run) ([]result.Disturbance, error) {
	r.ledger.Disturb(account.During)
	done := result.Disturbance{What: plan.Crash, Who: "reader", Began: r.since(r.clock.Now())}
	first, ok := r.reader(0).(*outside)
	if !ok {
		return nil, fmt.Errorf("the reader is not a process of its own")
	}
	if err := first.kill(); err != nil {
		return nil, err
	}
	r.until(ctx, r.clock.Now()+int64(crashPause))
	next, err := p.readOutside(ctx, r, 0)
	if err != nil {
		return nil, err
	}
	r.attach(0, next)
	r.ledger.Disturb(account.After)
	done.Over = r.since(r.clock.Now())
	return []result.Disturbance{done}, nil
}

// disturb has something done to the broker.
func (r *run) disturb(ctx context.Context, stage *stage) ([]result.Disturbance, error) {
	if stage == nil {
		return nil, fmt.Errorf("nothing can be done to a broker that runs elsewhere")
	}
	r.ledger.Disturb(account.During)
	done, err := stage.do(ctx, control.Fault{What: r.load.Scenario, Topic: r.topics[0].Name})
	now, wall := r.clock.Now(), time.Now()
	if err != nil {
		return nil, err
	}
	// A cluster may take longer to agree on a leader than a node takes to be back: what is
	// sent until it acknowledges again is sent into the failure.
	again := r.within(ctx, func() bool { return r.taken(now) })
	r.ledger.Disturb(account.After)
	if again != 0 {
		again = r.within(ctx, func() bool { return r.ledger.Heard() > again })
	}
	at := func(t time.Time) plan.Duration { return r.since(now - int64(wall.Sub(t))) }
	did := result.Disturbance{What: r.load.Scenario, Who: done.Who, Began: at(done.Began), Over: at(done.Over)}
	if again != 0 {
		did.Again = r.since(again)
	}
	return []result.Disturbance{did}, nil
}

// readOutside has an audience read from a process of its own.
func (p *prepared) readOutside(ctx context.Context, r *run, group int) (reader, error) {
	ctx, cancel := context.WithTimeout(ctx, teardownLimit)
	defer cancel()
	what := p.reading
	what.Subscription = r.subscription(group)
	o, err := startOutside(ctx, p.options.Outside, what, r.ledger.ConsumerGroup(group))
	if err != nil {
		return nil, err
	}
	return o, nil
}

// attend has the readers of a run read that are there from the beginning.
func (p *prepared) attend(ctx context.Context, r *run) error {
	if r.load.Scenario == plan.Crash {
		first, err := p.readOutside(ctx, r, 0)
		if err != nil {
			return err
		}
		r.attach(0, first)
	}
	if !readEarly(r.load.Scenario) {
		return nil
	}
	return r.readAll(ctx)
}
