package relay

import (
	"container/heap"
	"sync"
	"time"
)

// alarm wakes flows at their times, with one timer of the kernel for all, which is exact to some tens of microseconds
// (docs/adr/0006). It never polls: a relay shares its CPU, and what polling would save is measured instead and reported
// as the relay's floor.
type alarm struct {
	clock clock
	timer timer

	mu    sync.Mutex // guards all below
	calls calls
	set   int64 // when the timer is set to expire; 0: it is not set
	over  bool
}

// timer is a timer that one goroutine waits for.
type timer interface {
	// after makes wait return after d. A second call replaces the first.
	after(d time.Duration)
	// wait returns true when the timer expires, and false after it is closed.
	wait() bool
	close()
}

func newAlarm(c clock) *alarm { return &alarm{clock: c, timer: newTimer()} }

// at wakes a flow at a time. The flow may be woken earlier too.
func (a *alarm) at(when int64, f *flow) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	heap.Push(&a.calls, call{when, f})
	if a.set == 0 || when < a.set {
		a.set = when
		a.timer.after(time.Duration(max(1, when-a.clock.now())))
	}
}

// run wakes flows until the alarm is closed.
func (a *alarm) run() {
	var due []*flow
	for a.timer.wait() {
		a.mu.Lock()
		now := a.clock.now()
		for len(a.calls) > 0 && a.calls[0].when <= now {
			due = append(due, heap.Pop(&a.calls).(call).flow)
		}
		a.set = 0
		if len(a.calls) > 0 {
			a.set = a.calls[0].when
			a.timer.after(time.Duration(max(1, a.set-now)))
		}
		a.mu.Unlock()
		for i, f := range due {
			f.wake.notify()
			due[i] = nil
		}
		due = due[:0]
	}
}

// close ends run. By then no flow may be waiting.
func (a *alarm) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over, a.calls = true, nil
	a.timer.close()
}

// call is a flow to wake. A flow has only a few at the same time: see [flow.rearm].
type call struct {
	when int64
	flow *flow
}

// calls is a heap with the earliest call first.
type calls []call

func (c calls) Len() int           { return len(c) }
func (c calls) Less(i, j int) bool { return c[i].when < c[j].when }
func (c calls) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *calls) Push(x any)        { *c = append(*c, x.(call)) }

func (c *calls) Pop() any {
	last := len(*c) - 1
	x := (*c)[last]
	(*c)[last] = call{}
	*c = (*c)[:last]
	return x
}

// bell wakes one waiting goroutine. Several notifications before it waits count as one.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

func (b bell) notify() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// plain is a timer of Go's runtime, which may be a millisecond late.
type plain struct {
	timer *time.Timer
	over  chan struct{}
}

func newPlain() *plain {
	p := &plain{time.NewTimer(time.Hour), make(chan struct{})}
	p.timer.Stop()
	return p
}

func (p *plain) after(d time.Duration) { p.timer.Reset(d) }

func (p *plain) wait() bool {
	select {
	case <-p.timer.C:
		return true
	case <-p.over:
		return false
	}
}

func (p *plain) close() {
	p.timer.Stop()
	close(p.over)
}
