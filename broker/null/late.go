package null

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// late does things a fixed time after it was told to, in their order.
type late struct {
	by time.Duration

	mu   sync.Mutex // guards what
	what []task
	more chan struct{} // holds one once what has grown
}

// task is what is to be done, and when.
type task struct {
	due time.Time
	do  func()
}

func newLate(by time.Duration) *late { return &late{by: by, more: make(chan struct{}, 1)} }

// do does something, at once where there is no delay.
func (l *late) do(something func()) {
	if l.by == 0 {
		something()
		return
	}
	l.mu.Lock()
	l.what = append(l.what, task{time.Now().Add(l.by), something})
	l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// spin is how long before it is due a task is waited for by looking at the clock: Go's
// timers may be a millisecond late in a process that idles.
const spin = 1500 * time.Microsecond

// run does what is due until ctx ends.
func (l *late) run(ctx context.Context) {
	for {
		select {
		case <-l.more:
		case <-ctx.Done():
			return
		}
		l.mu.Lock()
		all := l.what
		l.what = nil
		l.mu.Unlock()
		for _, d := range all {
			if wait := time.Until(d.due) - spin; wait > 0 {
				timer := time.NewTimer(wait)
				select {
				case <-timer.C:
				case <-ctx.Done():
					timer.Stop()
					return
				}
			}
			for time.Now().Before(d.due) {
				runtime.Gosched()
			}
			d.do()
		}
	}
}
