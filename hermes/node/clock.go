package node

import (
	"sync/atomic"
	"time"
)

// clock tells Unix nanoseconds that go on evenly: the wall clock's when it began, and since then the monotonic
// one's. A wall clock that is set back would keep timers from ending, and one set forward would end all at
// once. Where wall clocks are set, this one follows with the next start of the node, but see skew.
type clock struct {
	wall  func() time.Time
	began int64
	since time.Time
	// shift is what the wall clock was set by since, as far as this one followed, and right what makes
	// it the cluster's: see skew.
	shift, right *atomic.Int64
}

func newClock(wall func() time.Time) clock {
	if wall == nil {
		wall = time.Now
	}
	return clock{
		wall: wall, began: wall().UnixNano(), since: time.Now(), shift: new(atomic.Int64), right: new(atomic.Int64),
	}
}

// now is for what takes time: no set clock moves it.
func (c clock) now() int64 { return c.began + int64(time.Since(c.since)) }

// own is what this machine takes for the time.
func (c clock) own() int64 { return c.now() + c.shift.Load() }

// stamp is the time for stored data: the machine's, or the cluster's where the machine's is off.
func (c clock) stamp() int64 { return c.own() + c.right.Load() }

// set is how far the wall clock is ahead of own by now.
func (c clock) set() int64 { return c.wall().UnixNano() - c.own() }
