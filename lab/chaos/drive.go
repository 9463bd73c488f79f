package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"wirelab"
	"wirelab/lab/load"
	"wirelab/lab/trace"
)

const (
	// trialFor is how long the trial lasts, and trialWidth how many callers it has: as many as the published benchmark.
	trialFor   = 2 * time.Second
	trialWidth = 50
	// trialShare is the share of the sustained rate that is sent, so that capacity is left to catch up.
	trialShare = 0.5
	// rateLeast is the rate for a pipeline that sustains hardly anything.
	rateLeast = 10
)

// watch returns a function that notes a call that has ended.
func (r *run) watch(outside bool) func(load.Ended) {
	return func(e load.Ended) {
		if e.Err == errOver { //nolint:errorlint // this very one, which is never wrapped
			return // this entry was not sent
		}
		r.noted[e.Caller] = append(r.noted[e.Caller], trace.Call{
			ID: r.last[e.Caller](), Caller: e.Caller, Due: e.Due, Sent: e.Sent, Ended: e.End,
			Failed: e.Err != nil, Outside: outside,
		})
		r.learn(r.last[e.Caller](), e, outside)
	}
}

// learn records what the end of a call shows about its entry.
func (r *run) learn(id string, e load.Ended, outside bool) {
	r.mu.Lock()
	f := r.entryState(id)
	if e.Err != nil {
		f.code = wirelab.CodeOf(e.Err)
	}
	if outside {
		r.mu.Unlock()
		return
	}
	f.due = e.Due
	stored := f.stored
	r.mu.Unlock()
	r.pulse.answer(e.Due, e.End, e.Err != nil)
	if stored > 0 { // the journal's event came before the caller's reply
		r.pulse.store(e.Due, stored)
	}
}

// errOver is the error of a call that is not made because the load is over.
var errOver = errors.New("the load is over")

// counted wraps a call so that it counts as in flight while it runs. Once r.over is set it is not made.
func (r *run) counted(call load.Call) load.Call {
	return func(ctx context.Context) error {
		r.flying.Add(1)
		defer r.flying.Add(-1)
		if r.over.Load() {
			return errOver
		}
		return call(ctx)
	}
}

// trial measures the rate that can be sustained: the entries of a closed loop, divided by the time until all of them
// are stored.
func (r *run) trial(ctx context.Context) error {
	width := min(trialWidth, r.InFlight)
	rec, err := load.NewRunner(r.calls[:width]).Run(ctx, load.Plan{
		Duration: trialFor, Deadline: DefaultDeadline, Watch: r.watch(true), Classify: classify,
	})
	if err != nil {
		return err
	}
	if rec.Failures() > 0 || rec.OK == 0 {
		return wirelab.Errorf(wirelab.Unavailable, "%d of %d entries were refused before anything failed: %s",
			rec.Failures(), rec.Sent, load.Kinds(rec.Errors))
	}
	last, err := r.settleByJournals(ctx, r.Patience)
	if err != nil {
		return err
	}
	took := max(trialFor, time.Unix(0, last).Sub(rec.Began))
	r.sustained = float64(rec.Sent) / took.Seconds()
	r.Rate = max(rateLeast, r.sustained*trialShare)
	r.Say(fmt.Sprintf("%.0f entries/s can be sustained to their storage; sending %.0f/s", r.sustained, r.Rate))
	return nil
}

// classify returns the class of a failed call: its code.
func classify(err error) string { return wirelab.CodeOf(err).String() }

// schedule returns the constant rate with the bursts in it.
func (r *run) schedule(at []time.Duration) *load.Schedule {
	s := &load.Schedule{Law: load.Even}
	done := time.Duration(0)
	steady := func(until time.Duration) {
		if until > done {
			s.Stages = append(s.Stages, load.Stage{Duration: until - done, From: r.Rate, To: r.Rate})
			done = until
		}
	}
	for i, f := range r.Faults {
		if f.Kind == Burst {
			steady(at[i])
			high := r.sustained * f.Times
			s.Stages = append(s.Stages, load.Stage{Duration: f.Length, From: high, To: high})
			done += f.Length
		}
	}
	s.Stages = append(s.Stages, load.Stage{From: r.Rate, To: r.Rate})
	return s
}

// drive sends entries and makes the faults. The recording is nil only if nothing was sent. If ctx is not done, an error
// is that of a fault that could not be made.
func (r *run) drive(ctx context.Context) (*load.Recording, error) {
	at, whole, err := r.layout()
	if err != nil {
		return nil, err
	}
	r.phases = make([]phase, len(r.Faults))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	runner := load.NewRunner(r.calls)
	began := time.Now()
	over := make(chan struct{}) // closed at the end of the load: no fault begins after it
	var conducting sync.WaitGroup
	var failed error
	conducting.Go(func() {
		if failed = r.conduct(ctx, began, at, over); failed != nil {
			cancel(failed) // a measurement after a failed fault means nothing
			return
		}
		if r.For == 0 && len(r.Faults) > 0 && r.calm(ctx, over) {
			cancel(errOver)
		}
	})
	rec, err := runner.Run(ctx, load.Plan{
		Schedule: r.schedule(at), Duration: whole, Deadline: DefaultDeadline, Drain: r.Patience + DefaultDeadline,
		Watch: r.watch(false), Classify: classify,
	})
	close(over)
	conducting.Wait()
	if failed != nil {
		return rec, failed
	}
	if r.over.Load() {
		// The load was ended early, while all was well. Calls are left over only at the end of a load, and what was due
		// at that moment had not waited for anything.
		rec.Unsent = 0
		return rec, nil
	}
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	return rec, err
}

// conduct makes the faults, each at its time. If the one before ends late, the next begins after it.
func (r *run) conduct(ctx context.Context, began time.Time, at []time.Duration, over <-chan struct{}) error {
	for i, f := range r.Faults {
		due := began.Add(at[i])
		if !wait(ctx, time.Until(due), over) {
			return nil
		}
		p := &r.phases[i]
		p.Fault = f
		r.Say(fmt.Sprintf("%v after %v", f, time.Since(began).Round(step)))
		if f.Kind == Burst {
			// A burst is in the schedule, so its time is fixed even if an earlier fault is late.
			p.begun, p.ended = due.UnixNano(), due.Add(f.Length).UnixNano()
			if !wait(ctx, time.Until(due.Add(f.Length)), over) {
				return nil
			}
			continue
		}
		p.begun = time.Now().UnixNano()
		if err := r.strike(ctx, f, over); err != nil {
			return fmt.Errorf("%v: %w", f, err)
		}
		p.ended = time.Now().UnixNano()
	}
	return nil
}

// calm waits until all has been well again for a while after the last fault, and then for the last calls in flight. It
// returns false if ctx or the load ended first.
func (r *run) calm(ctx context.Context, over <-chan struct{}) bool {
	last := r.phases[len(r.phases)-1]
	if last.ended == 0 || !wait(ctx, time.Until(time.Unix(0, last.ended).Add(pauseCalm)), over) {
		return false
	}
	for !r.pulse.calm(time.Now().UnixNano()) {
		if !wait(ctx, step, over) {
			return false
		}
	}
	r.over.Store(true)
	for r.flying.Load() > 0 {
		if !wait(ctx, step/10, over) {
			break // the load ended for another reason; calls in flight are counted when they end
		}
	}
	return true
}

// strike ends a component and starts it again, even if ctx is done: the account needs the logger.
func (r *run) strike(ctx context.Context, f Fault, over <-chan struct{}) error {
	victim, err := f.victim(r.Path.Protocol.Name, r.Stack.Brokers)
	if err != nil {
		return err
	}
	whole := context.WithoutCancel(ctx)
	if f.Kind == LoggerDown {
		err = r.stack.Halt(whole, victim)
		wait(ctx, f.Length, over)
	} else {
		err = r.stack.Kill(whole, victim)
	}
	return errors.Join(err, r.stack.Restart(whole, victim))
}

// wait waits for d, and returns false if ctx or the load ended first.
func wait(ctx context.Context, d time.Duration, over <-chan struct{}) bool {
	timer := time.NewTimer(max(0, d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-over:
	case <-ctx.Done():
	}
	return false
}

// sent returns all calls, by caller, in order.
func (r *run) sent() []trace.Call { return slices.Concat(r.noted...) }
