package ledger

import (
	"context"
	"errors"
	"iter"
	"time"

	"wirelab"
)

// readAhead is how many transactions a stream reads at once. It reads the next
// as many while half of these are still to be sent.
const readAhead = 256

// Stream answers StreamTransactions from a source, on the schedule that the
// contract gives: the one place where events are stamped and timed, so that
// memory and every database send alike.
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

// stampOf returns the stamp of the nth event, which is sent now. A zero due is now.
func stampOf(n uint64, due time.Time) wirelab.Stamp {
	sent := time.Now().UnixNano()
	if due.IsZero() {
		return wirelab.Stamp{Sequence: n, Due: sent, Sent: sent}
	}
	// The two clocks in a time are read one after the other, so what is sent in
	// time may seem some nanoseconds early.
	return wirelab.Stamp{Sequence: n, Due: due.UnixNano(), Sent: max(sent, due.UnixNano())}
}

// pace keeps a stream to its schedule. It never skips: an event that is late
// is due in the past, and so is sent at once.
type pace struct {
	rate  int64       // events per second; 0: none
	begin time.Time   // when the first event of the schedule is due
	count int64       // events of the schedule so far
	timer *time.Timer // nil until it is needed
}

// wait returns when the next event is due, once it is. anew says that the event
// was not there before now: it is due now, unless its turn is yet to come.
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

// after returns how long after the first the event behind n others is due. The
// whole seconds are taken out, or the product would not fit 64 bits after 2.5
// hours at the highest rate.
func after(n, rate int64) time.Duration {
	return time.Duration(n/rate)*time.Second + time.Duration(n%rate)*time.Second/time.Duration(rate)
}

func (p *pace) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}
