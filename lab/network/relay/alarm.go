package relay

import (
	"container/heap"
	"sync"
	"time"
)

// alarm wakes flows at their times, all by one timer of the kernel's, which
// is exact to some tens of microseconds (docs/adr/0006). Nothing spins: a
// relay shares its processor, and what spinning would save is measured
// instead and told as the relay's floor.
type alarm struct {
	clock clock
	timer timer

	mu    sync.Mutex // guards all below
	calls calls
	set   int64 // when the timer is set to go off; 0: it is not set
	over  bool
}

// timer is set and waited for. Only one goroutine waits.
type timer interface {
	// after makes wait return once d has passed; a second call replaces the first.
	after(d time.Duration)
	// wait reports false once the timer is closed.
	wait() bool
	close()
}

func newAlarm(c clock) *alarm { return &alarm{clock: c, timer: newTimer()} }

// at wakes a flow at a time. It may be woken sooner too.
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

// close ends run. Flows wait no longer by then.
func (a *alarm) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over, a.calls = true, nil
	a.timer.close()
}

// call is a flow to wake. A flow has few at once: see [flow.rearm].
type call struct {
	when int64
	flow *flow
}

// calls is a heap, the earliest first.
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

// bell is rung for one goroutine that waits; rings while nobody does are one.
type bell chan struct{}

func newBell() bell { return make(bell, 1) }

func (b bell) notify() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// plain is a timer of the runtime's, up to a millisecond late.
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
