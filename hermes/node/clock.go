package node

import "time"

// clock tells Unix nanoseconds that go on evenly: the wall clock's when it began, and since
// then the monotonic one's. A wall clock that is set back would keep what is timed from
// ending, and one set forward would end all at once. Where wall clocks are set, this one
// follows with the next start of the node.
type clock struct {
	began int64
	since time.Time
}

func newClock() clock {
	now := time.Now()
	return clock{began: now.UnixNano(), since: now}
}

func (c clock) now() int64 { return c.began + int64(time.Since(c.since)) }
