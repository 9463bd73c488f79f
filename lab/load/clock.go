package load

import (
	"context"
	"time"
)

// Clock is the time that a run goes by.
type Clock interface {
	// Now is a monotonic time in nanoseconds from some fixed point.
	Now() int64
	// SleepUntil returns when Now() >= due, never before, or when ctx has
	// ended. spun is how much of the wait kept a processor busy.
	SleepUntil(ctx context.Context, due int64) (spun time.Duration)
}

// epoch is the fixed point of both clocks: never changed, only subtracted.
// time.Since reads the monotonic clock alone, half the cost of time.Now.
var epoch = time.Now()

func sinceEpoch() int64 { return int64(time.Since(epoch)) }

// TimerClock waits on Go's timers. They may be a millisecond late in a
// process that is otherwise idle, so it is for tests, where testing/synctest
// makes them exact, and for pacing that need not be.
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
