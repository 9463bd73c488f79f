package node

import (
	"sync"
	"time"

	"wirelab/hermes/clocks"
	"wirelab/wire/status"
)

// skew is the clocks.Clocks of this node, for any goroutine.
type skew struct {
	n  *Node
	mu sync.Mutex // guards c
	c  *clocks.Clocks
}

// compared takes a reading; see peer.Clock.
func (s *skew) compared(id uint64, ahead, within int64) {
	s.mu.Lock()
	first := s.c.Tell(id, ahead, within, s.n.clock.now())
	s.mu.Unlock()
	if first { // it may be about to lead
		s.n.loop.call(func(l *loop) {
			if l != nil {
				l.compareClocks()
			}
		})
	}
}

func (s *skew) get() clocks.Agreement {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.c.State()
}

// follow sets this node's clock as the wall clock was set in the meantime, if that mends it.
func (s *skew) follow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.n.clock.set()
	if !s.c.Mends(set) {
		return false
	}
	s.n.clock.shift.Add(set)
	return true
}

// compareClocks is the loop's part.
func (l *loop) compareClocks() {
	n, logTime := l.n, l.replica.Machine().Time()
	n.skew.mu.Lock()
	was, is := n.skew.c.Judge(l.replica.Conf().GetVoters(), n.clock.now(), logTime-n.clock.own())
	n.clock.right.Store(is.Right())
	n.skew.mu.Unlock()
	l.replica.Yield(is.Skewed)
	switch {
	case is.Skewed && !was.Skewed:
		n.logger.Error("the clock of this machine is off: this node does not lead while another can, "+
			"and stores with the time of the others", "the clock is", is.String())
	case was.Skewed && !is.Skewed:
		n.logger.Warn("the clock of this machine agrees with the others again")
	}
}

// clockOff is why a node whose clock is off is not ready.
func (n *Node) clockOff() error {
	a := n.skew.get()
	if !a.Skewed {
		return nil
	}
	return status.Errorf(status.Unavailable,
		"the clock of this machine is %s: set it; the node continues by itself then",
		a)
}

// longSilence is how long a log may have been silent before a start without a warning: one of a cluster that
// unused for longer is needless, and does no harm.
const longSilence = int64(time.Hour)

// checkStart warns if the clock does not continue the log's time. Other nodes, if there are any, can judge better.
func (n *Node) checkStart(logTime int64) {
	if logTime == 0 {
		return
	}
	switch gap := n.clock.own() - logTime; {
	case gap > longSilence:
		n.logger.Warn("the log ends long before this machine's time: if it was in use since, the clock is wrong, "+
			"and messages go by their age too early", "gap", time.Duration(gap).Round(time.Second))
	case gap < -int64(n.options.ClockSkew):
		n.logger.Warn("the log's time is ahead of this machine's: "+
			"stored messages get the log's time until the clock has reached it", "gap",
			time.Duration(-gap).Round(time.Second))
	}
}
