package node

import (
	"sync"

	"go.etcd.io/raft/v3/tracker"
)

// rooms is what other nodes said last of their disks.
type rooms struct {
	mu  sync.Mutex
	has map[uint64]bool // guarded by mu; by node, no more than there are members; none: it did not say
}

// heard takes what a member says.
func (n *Node) heard(id uint64, full bool) {
	if n.membership.knows(id) { // others are none of the few that are remembered
		n.rooms.heard(id, full)
	}
}

func (r *rooms) heard(id uint64, full bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.has == nil {
		r.has = map[uint64]bool{}
	}
	r.has[id] = !full
}

func (r *rooms) enough(id uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.has[id]
}

// In ticks: how long a leader without room takes publishes on while it hands over, and after how long it tries
// again, or at all where it leads only since. Raft gives a try up within 20. A node with room may not seem to
// be there for as long as yieldBlink: Raft forgets once in an election timeout whom it heard of.
const (
	yieldTicks = 60
	yieldAgain = 40
	yieldBlink = 10
)

// yielding is how far a leader without room has come with handing over.
type yielding struct {
	led   uint64 // the tick since which this node leads; 0: it does not
	since uint64 // the tick since which it has no room; 0: it has
	seen  uint64 // the tick at which a node that has some was seen last
	tried uint64 // the tick of the last try; 0: there was none
}

// yield hands leadership to a node that has room, when this one's disk is nearly full. Publishes are refused
// only where there is none, or where it does not take over: until then they wait for the new leader, or are
// stored as before, since what must be free is more than is stored in the meantime. Who is handed leadership
// has room and was told that this node has none, so that it does not go in circles where all are full.
func (l *loop) yield() {
	y := &l.yielding
	switch {
	case l.replica.Leader() != l.n.options.Self.ID:
		*y = yielding{}
		l.n.declines.Store(false) // it is not asked
		return
	case y.led == 0:
		y.led = l.ticks
	}
	if !l.n.full.Load() {
		*y = yielding{led: y.led}
		l.n.declines.Store(false)
		return
	}
	if y.since == 0 {
		y.since, y.seen = l.ticks, l.ticks
	}
	to := l.roomiest()
	if to != 0 {
		y.seen = l.ticks
	}
	alone := len(l.replica.Conf().GetVoters()) == 1
	l.n.declines.Store(alone || l.ticks-y.since > yieldTicks || l.ticks-y.seen > yieldBlink)
	if to == 0 || l.ticks-y.led < yieldAgain || y.tried != 0 && l.ticks-y.tried < yieldAgain {
		return
	}
	y.tried = l.ticks
	l.n.logger.Warn("the disk is nearly full: leadership is handed to a node that has room", "to", to)
	l.replica.Transfer(to)
}

// roomiest is the voter with room that has most of the log; 0: there is none that has nearly all.
func (l *loop) roomiest() uint64 {
	status := l.replica.Status()
	var to, most uint64
	for _, id := range l.replica.Conf().GetVoters() {
		p, ok := status.Progress[id]
		if !ok || id == l.n.options.Self.ID || !l.n.rooms.enough(id) || !l.n.net.Reached(id) {
			continue
		}
		if p.RecentActive && p.State == tracker.StateReplicate && p.Match+promoteWithin >= l.replica.Committed() &&
			p.Match >= most {
			to, most = id, p.Match
		}
	}
	return to
}
