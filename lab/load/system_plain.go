package load

import (
	"context"
	"time"
)

// openPlain is open without a timerfd.
func openPlain(ctx context.Context) (opened, func()) {
	return opened{func(d time.Duration) {
		TimerClock{}.SleepUntil(ctx, sinceEpoch()+int64(d))
	}}, func() {}
}
