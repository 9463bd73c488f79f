package load

import (
	"context"
	"runtime"
	"time"
)

// SystemClock is the real time.
type SystemClock struct{}

// Now implements [Clock].
func (SystemClock) Now() int64 { return sinceEpoch() }

// SleepUntil implements [Clock].
func (c SystemClock) SleepUntil(ctx context.Context, due int64) time.Duration {
	TimerClock{}.SleepUntil(ctx, due-int64(100*time.Microsecond))
	from := sinceEpoch()
	for sinceEpoch() < due && ctx.Err() == nil {
		runtime.Gosched()
	}
	return time.Duration(sinceEpoch() - from)
}
