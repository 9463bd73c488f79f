package load

import (
	"context"
	"time"
)

// Clock is the clock of a run.
type Clock interface {
	// Now is a monotonic time in nanoseconds since some fixed point.
	Now() int64
	// SleepUntil returns when Now() >= due and never before, or when ctx is done. spun is how much of the wait kept a
	// CPU busy.
	SleepUntil(ctx context.Context, due int64) (spun time.Duration)
}

// epoch is the fixed point of both clocks. It never changes and is only subtracted. time.Since reads only the monotonic
// clock, at half the cost of time.Now.
var epoch = time.Now()

func sinceEpoch() int64 { return int64(time.Since(epoch)) }

// TimerClock waits with Go's timers. These may be a millisecond late in an otherwise idle process. It is meant for
// tests, in which testing/synctest makes them exact, and for pacing that need not be exact.
type TimerClock struct{}

// Now implements [Clock].
func (TimerClock) Now() int64 { return sinceEpoch() }

// SleepUntil implements [Clock]. It never spins.
func (TimerClock) SleepUntil(ctx context.Context, due int64) time.Duration {
	wait := due - sinceEpoch()
	if wait <= 0 {
		return 0
	}
	timer := time.NewTimer(time.Duration(wait))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return 0
}
