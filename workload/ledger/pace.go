package ledger

import (
	"context"
	"errors"
	"iter"
	"time"

	"wirelab"
)

// readAhead is how many transactions a stream reads at once. It reads the next batch while half of the last is
// still to be sent.
const readAhead = 256

// Stream implements StreamTransactions over a source, on the schedule of the contract. It is the only place where
// events are numbered and timed, so that memory and every database behave the same.
func Stream(ctx context.Context, feed Feed, source Source) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := feed.Validate(); err != nil {
			yield(Event{}, err)
			return
		}
		behind, err := start(ctx, source, feed.After, feed.Since)
		if err != nil {
			yield(Event{}, err)
			return
		}
		r := reader{source: source, feed: feed, behind: behind, left: feed.Limit}
		defer r.close()
		p := pace{rate: feed.Rate}
		defer p.stop()
		for n := uint64(1); feed.Limit == 0 || n <= uint64(feed.Limit); n++ {
			t, waited, err := r.next(ctx)
			if errors.Is(err, errEnd) {
				return
			}
			var due time.Time
			if err == nil {
				due, err = p.wait(ctx, n == 1 || waited)
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			if !yield(Event{Transaction: t, Stamp: stampOf(n, due)}, nil) {
				return
			}
		}
	}
}

// stampOf returns the stamp of the nth event, which is sent now. A zero due means now.
func stampOf(n uint64, due time.Time) wirelab.Stamp {
	sent := time.Now().UnixNano()
	if due.IsZero() {
		return wirelab.Stamp{Sequence: n, Due: sent, Sent: sent}
	}
	// The two clocks in a time are read one after the other, so an event sent on time may seem some nanoseconds
	// early.
	return wirelab.Stamp{Sequence: n, Due: due.UnixNano(), Sent: max(sent, due.UnixNano())}
}

// pace keeps a stream to its schedule. It never skips: an event that is late is due in the past, and so is sent at
// once.
type pace struct {
	rate  int64       // events per second; 0: none
	begin time.Time   // when the first event of the schedule is due
	count int64       // events of the schedule so far
	timer *time.Timer // created when first needed
}

// wait waits until the next event is due, and returns that time. anew says that the event has just become
// available: then it is due now, unless its turn is later.
func (p *pace) wait(ctx context.Context, anew bool) (due time.Time, err error) {
	if p.rate == 0 {
		return time.Time{}, ctx.Err()
	}
	due = p.begin.Add(after(p.count, p.rate))
	now := time.Now()
	if anew && due.Before(now) {
		p.begin, p.count, due = now, 0, now
	}
	p.count++
	ahead := due.Sub(now)
	if ahead <= 0 {
		return due, ctx.Err()
	}
	if p.timer == nil {
		p.timer = time.NewTimer(ahead)
	} else {
		p.timer.Reset(ahead)
	}
	select {
	case <-p.timer.C:
		return due, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}

// after returns the time from the first event of the schedule to the one n events later. Whole seconds are
// separated, since the product would exceed 64 bits after 2.5 hours at the highest rate.
func after(n, rate int64) time.Duration {
	return time.Duration(n/rate)*time.Second + time.Duration(n%rate)*time.Second/time.Duration(rate)
}

func (p *pace) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}
