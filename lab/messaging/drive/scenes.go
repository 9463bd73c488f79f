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

// crashPause is the time between the kill of a reader process and the start of the next one, as in the published
// scenario.
const crashPause = 2 * time.Second

// dealtAfter is how long after its arrival a message is surely handled: a reader takes at most a second for it, and
// acknowledges it at once.
const dealtAfter = 5 * time.Second

// failAt is the divisor that places a fault in the window: it is injected at a third, because recovery takes longer
// than the steady part before it.
const failAt = 3

// play performs the scenario's actions and returns them. They begin at half of the window, or at a third of it if the
// broker's recovery is measured. play returns only when the broker and the readers work as before, even if the window
// ends earlier.
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

// until waits for a time of the run's clock. It returns false if ctx ended first.
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

// dealt waits for the time of a disturbance. Some time before it, dealt tells the account which messages have no
// excuse to come again.
func (r *run) dealt(ctx context.Context, at int64) bool {
	if !r.until(ctx, at-int64(dealtAfter)) {
		return false
	}
	r.ledger.Dealt()
	return r.until(ctx, at)
}

// since converts a time of the run's clock to a time from the beginning of the window.
func (r *run) since(at int64) plan.Duration { return plan.Duration(at - r.begin) }

// crash kills the reader process of the first group, and starts another one later.
func (p *prepared) crash(ctx context.Context, r *run) ([]result.Disturbance, error) {
	r.ledger.Disturb(account.During)
	done := result.Disturbance{What: plan.Crash, Who: "reader", Began: r.since(r.clock.Now())}
	first, ok := r.reader(0).(*outside)
	if !ok {
		return nil, fmt.Errorf("the reader is not a separate process")
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

// disturb asks the fault server to inject the scenario's fault.
func (r *run) disturb(ctx context.Context, stage *stage) ([]result.Disturbance, error) {
	if stage == nil {
		return nil, fmt.Errorf("faults cannot be injected into a broker that runs elsewhere")
	}
	r.ledger.Disturb(account.During)
	done, err := stage.do(ctx, control.Fault{What: r.load.Scenario, Topic: r.topics[0].Name})
	now, wall := r.clock.Now(), time.Now()
	if err != nil {
		return nil, err
	}
	// The cluster may need more time to elect a leader than a node needs to restart. Until it acknowledges messages
	// again, sends count as made during the failure.
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

// readOutside starts a group's reader in a separate process.
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

// attend starts the readers that a scenario has from the beginning.
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
