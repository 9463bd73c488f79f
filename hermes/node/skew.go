package node

import (
	"slices"
	"sync"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab"
)

// clocks compares this node's clock with the others'. One machine's clock must delete nothing and
// must not move the log's time, which never falls: a leader that is an hour ahead would make all that is younger
// than an hour too old, and then stamp the same time for an hour. So a node whose clock is off the
// median of a majority by more than Options.ClockSkew does not lead while another can, and stamps with the
// median if it has to; and messages go by their age only where a majority agrees on the time.
//
// Who is wrong of two cannot be told by clocks alone. Then the log is asked: its time is what the cluster
// agreed on last, so the clock that is the least after it counts, and nothing goes by its age.
//
// All is in nanoseconds, relative to clock.own.
type clocks struct {
	n *Node

	mu    sync.Mutex // guards all below
	told  map[uint64]reading
	state agreement
}

// reading is what another node's clock was told to be.
type reading struct {
	ahead, within int64
	at            int64 // by clock.now
}

// readingFor is how long a reading counts: there is one each second from a node that is there.
const readingFor = int64(10 * time.Second)

// agreement is what the clocks come to.
type agreement struct {
	sure   bool  // a majority agrees on the time
	skewed bool  // this node's clock is off that, or off the one that the log speaks for
	median int64 // how far the cluster's time is ahead of this node's clock
}

func newClocks(n *Node) *clocks { return &clocks{n: n, told: map[uint64]reading{}} }

// compared takes a reading; see peer.Clock.
func (c *clocks) compared(id uint64, ahead, within int64) {
	c.mu.Lock()
	was, known := c.told[id]
	now := c.n.clock.now()
	// One that is less sure does not replace one that is new and surer.
	if known && now-was.at < readingFor/5 && within > 2*was.within {
		c.mu.Unlock()
		return
	}
	c.told[id] = reading{ahead, within, now}
	c.mu.Unlock()
	if !known {
		c.n.loop.call(func(l *loop) {
			if l != nil && l.replica != nil {
				l.compareClocks()
			}
		})
	}
}

func (c *clocks) get() agreement {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// judge compares the clocks of the voters; logTime is that of the last entry applied.
func (c *clocks) judge(conf *raftpb.ConfState, logTime int64) (was, is agreement) {
	c.mu.Lock()
	defer c.mu.Unlock()
	bound := int64(c.n.options.ClockSkew)
	voters := conf.GetVoters()
	ahead := []int64{0}
	for _, id := range voters {
		if r, ok := c.told[id]; ok && id != c.n.options.Self.ID && c.n.clock.now()-r.at < readingFor && r.within <= bound/2 {
			ahead = append(ahead, r.ahead)
		}
	}
	was, is = c.state, agreement{}
	if len(ahead) > len(voters)/2 {
		is.median, is.sure = median(ahead, bound, logTime-c.n.clock.own())
		limit := bound
		if was.skewed {
			limit -= bound / 10 // it does not come and go
		}
		is.skewed = is.median > limit || is.median < -limit
	}
	c.state = is
	right := int64(0)
	if is.skewed {
		right = is.median
	}
	c.n.clock.right.Store(right)
	return was, is
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
	case low >= log-bound:
		return low, false
	}
	return high, false
}

// follow sets this node's clock as the wall clock was set meanwhile, if that mends it.
func (c *clocks) follow() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	set, bound := c.n.clock.set(), int64(c.n.options.ClockSkew)
	if off := c.state.median - set; !c.state.skewed || off > bound/2 || off < -bound/2 {
		return false
	}
	c.n.clock.shift.Add(set)
	for id, r := range c.told {
		r.ahead -= set
		c.told[id] = r
	}
	return true
}

// compareClocks is the loop's part.
func (l *loop) compareClocks() {
	n := l.n
	was, is := n.clocks.judge(l.replica.Conf(), l.replica.Machine().Time())
	l.replica.Yield(is.skewed)
	switch {
	case is.skewed && !was.skewed:
		n.logger.Error("the clock of this machine is off: this node does not lead, and stores with the time of the others", "why", is.String())
	case was.skewed && !is.skewed:
		n.logger.Warn("the clock of this machine agrees with the others again")
	}
}

// String says how far the clock is off.
func (a agreement) String() string {
	off, how := time.Duration(-a.median), "ahead of"
	if off < 0 {
		off, how = -off, "behind"
	}
	text := off.Round(time.Millisecond).String() + " " + how
	if a.sure {
		return text + " the median of a majority"
	}
	return text + " the other that can be reached, which goes on from the time of the log"
}

// err is why a node whose clock is off is not ready.
func (a agreement) err() error {
	if !a.skewed {
		return nil
	}
	return wirelab.Errorf(wirelab.Unavailable, "the clock of this machine is %s: set it; the node goes on by itself then", a)
}

// longSilence is how long a log may have been silent before a start without a warning: no clock jumps that
// far by itself, and a cluster that nobody used for longer is told of it once.
const longSilence = int64(time.Hour)

// checkStart tells of a clock that does not go on from the log's time. Others may tell better, if there are any.
func (n *Node) checkStart(logTime int64) {
	if logTime == 0 {
		return
	}
	switch gap := n.clock.own() - logTime; {
	case gap > longSilence:
		n.logger.Warn("the log ends long before this machine's time: if it was in use since, the clock is wrong, "+
			"and messages go by their age too early", "gap", time.Duration(gap).Round(time.Second))
	case gap < -int64(n.options.ClockSkew):
		n.logger.Warn("the log's time is ahead of this machine's: what is stored gets the log's time until the clock has reached it",
			"gap", time.Duration(-gap).Round(time.Second))
	}
}
