package load

import (
	"context"
	"runtime"
	"time"
)

// SystemClock is the real time. It sleeps until [SpinMargin] before the due
// time, on a timer with nanoseconds (Linux: a timerfd), and spins the rest.
//
// Go's own timers wake up to a millisecond late in an idle process, because
// its poller waits in whole milliseconds: at 2,000 calls/s their median error
// was 430 µs here. clock_nanosleep is as exact as a timerfd, but blocks a
// thread together with its P: on one processor replies then wait for the
// sleeper, and the median service time read 175 µs instead of 110. A timerfd
// is waited for by the poller itself, beside the sockets. Its timer has no
// slack, so PR_SET_TIMERSLACK is not needed.
type SystemClock struct{}

// SpinMargin is how long before the due time the clock wakes up to spin. The
// timer is about 45 µs late on a virtual machine, so less would be late
// itself; while it spins on a single processor replies are not read, so more
// would distort what is measured (100 µs raised the median service time by a
// third at 10,000 calls/s).
const SpinMargin = 50 * time.Microsecond

// Now implements [Clock].
func (SystemClock) Now() int64 { return sinceEpoch() }

// SleepUntil implements [Clock]. A run does not use this method but opens
// the clock once, which saves a few microseconds each time.
func (c SystemClock) SleepUntil(ctx context.Context, due int64) time.Duration {
	opened, done := c.open(ctx)
	defer done()
	return opened.SleepUntil(ctx, due)
}

// opened is a clock with what it needs for one run.
type opened struct {
	// sleep sleeps for about d, or until the run's context ends.
	sleep func(d time.Duration)
}

func (opened) Now() int64 { return sinceEpoch() }

func (o opened) SleepUntil(ctx context.Context, due int64) time.Duration {
	if wait := time.Duration(due-sinceEpoch()) - SpinMargin; wait > 0 {
		o.sleep(wait)
	}
	began := sinceEpoch()
	now := began
	for i := 0; now < due; i++ {
		if i%64 == 0 && ctx.Err() != nil {
			break
		}
		runtime.Gosched() // what is ready to run goes first
		now = sinceEpoch()
	}
	return time.Duration(now - began)
}
