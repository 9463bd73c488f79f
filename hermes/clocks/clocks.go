// Package clocks compares a node's clock with those of the other nodes: it decides whether the clock can be trusted,
// and what the time of the cluster is. It reads no clock, has no goroutine and knows no network: callers pass readings
// and times. Both the node and the simulator drive it.
//
// The clock of a single machine must not delete messages, and must not move the log's time, which never decreases. A
// leader whose clock is an hour ahead would make all messages of the last hour too old, and then give the same time to
// all messages for an hour. So a node whose clock differs from the median of a majority by more than a limit does not
// lead while another node can, and uses the median if it has to lead. Messages are removed by age only while a majority
// agrees on the time.
//
// With only two clocks, it cannot be known which one is wrong. Then the log decides: its time is the last one that the
// cluster agreed on, so the clock that is least ahead of it counts, and no message is removed by age.
package clocks

import (
	"maps"
	"slices"
	"time"
)

// freshFor is how long a reading counts: there is one each second from a node that is there.
const freshFor = int64(10 * time.Second)

// Clocks are the others' clocks, relative to this node's. All times are in nanoseconds. For one goroutine at a time.
type Clocks struct {
	self  uint64
	bound int64
	told  map[uint64]reading
	state Agreement
}

// reading is what another node's clock was told to be.
type reading struct{ ahead, within, at int64 }

// Agreement is what the clocks come to.
type Agreement struct {
	Sure   bool  // a majority agrees on the time
	Skewed bool  // this node's clock is off that, or off the one that the log speaks for, by more than the bound
	Median int64 // how far the cluster's time is ahead of this node's clock; 0 where none is known
}

// New is a node that was told nothing yet. bound is how far a clock may be off.
func New(self uint64, bound time.Duration) *Clocks {
	return &Clocks{self: self, bound: int64(bound), told: map[uint64]reading{}}
}

// Tell takes a reading: a node's clock is ahead of this one's, give or take within. now is of a clock that
// cannot be set. first reports that the node had told none.
func (c *Clocks) Tell(id uint64, ahead, within, now int64) (first bool) {
	was, known := c.told[id]
	if known && now-was.at < freshFor/5 && within > 2*was.within {
		return false // one that is less sure does not replace one that is new and surer
	}
	c.told[id] = reading{ahead, within, now}
	return !known
}

// State is what the last Judge came to.
func (c *Clocks) State() Agreement { return c.state }

// Right is whatever is to be added to this node's clock for stored data.
func (a Agreement) Right() int64 {
	if a.Skewed {
		return a.Median
	}
	return 0
}

// Judge compares the clocks of the voters. now is as Tell's; log is how far the time of the last entry applied is ahead
// of this node's clock.
func (c *Clocks) Judge(voters []uint64, now, log int64) (was, is Agreement) {
	ahead, precise := []int64{0}, 1
	for _, id := range voters {
		r, ok := c.told[id]
		if !ok || id == c.self || now-r.at >= freshFor {
			continue
		}
		if r.within <= c.bound/2 {
			precise++
		} else {
			r.ahead = certain(r) // an hour is an hour, however slow the network is
		}
		ahead = append(ahead, r.ahead)
	}
	if len(ahead) > len(voters)/2 {
		is.Median, is.Sure = median(ahead, c.bound, log)
		is.Sure = is.Sure && precise > len(voters)/2
		limit := c.bound
		if c.state.Skewed {
			limit -= c.bound / 10 // it does not come and go
		}
		is.Skewed = is.Median > limit || is.Median < -limit
	}
	was, c.state = c.state, is
	return was, is
}

// certain is the least that a clock is off.
func certain(r reading) int64 {
	if r.ahead < 0 {
		return min(r.ahead+r.within, 0)
	}
	return max(r.ahead-r.within, 0)
}

// Mends reports whether the clock would be right if it were set forward by so much, and takes it for set then.
func (c *Clocks) Mends(by int64) bool {
	if off := c.state.Median - by; !c.state.Skewed || off > c.bound/2 || off < -c.bound/2 {
		return false
	}
	for id := range maps.Clone(c.told) {
		r := c.told[id]
		r.ahead -= by
		c.told[id] = r
	}
	return true
}

// median is the middle of clocks. sure is false if it lies between two that are further apart than bound: then it is
// the least of them that is not before the log's time, and the greater if both are.
func median(ahead []int64, bound, log int64) (middle int64, sure bool) {
	slices.Sort(ahead)
	low, high := ahead[(len(ahead)-1)/2], ahead[len(ahead)/2]
	switch {
	case high-low <= bound:
		if low <= 0 && 0 <= high {
			return 0, true
		}
		return low + (high-low)/2, true
	case low >= log-2*bound: // the log may have gone by a vague reading
		return low, false
	}
	return high, false
}

// String says how far the clock is off.
func (a Agreement) String() string {
	off, how := time.Duration(-a.Median), "ahead of"
	if off < 0 {
		off, how = -off, "behind"
	}
	text := off.Round(time.Millisecond).String() + " " + how
	if a.Sure {
		return text + " the median of a majority"
	}
	return text + " the other that can be reached, which continues from the time of the log"
}
