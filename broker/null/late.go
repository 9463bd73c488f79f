package null

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// late runs functions a fixed delay after they were submitted, in order.
type late struct {
	by time.Duration

	mu   sync.Mutex // guards what
	what []task
	more chan struct{} // holds one element once tasks were added
}

// task is a function and the time at which it is due.
type task struct {
	due time.Time
	do  func()
}

func newLate(by time.Duration) *late { return &late{by: by, more: make(chan struct{}, 1)} }

// do runs a function after the delay, or at once if there is none.
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

// spin is how long before a task is due late starts to poll the clock: timers of Go may fire a millisecond late in
// an idle process.
const spin = 1500 * time.Microsecond

// run runs due tasks until ctx ends.
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
