package sim

import (
	"errors"
	"maps"
	"slices"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/replica"
)

// custody is what tells whether a node's disk is what it was: what it knows itself, and what the others remember.
type custody struct {
	copied  func()                  // puts the disk back to an older copy; nil: none was made
	tainted bool                    // it was put back, and has not caught up since
	refused bool                    // for good: it is never started again
	memory  map[uint64]replica.Seen // of the others; on this node's disk, a little late
	met     map[uint64]int          // the lives of others that were let in, in this life
	doubts  bool                    // the process knows that its disk is a copy
}

// keepMemory writes what was seen of the others.
func (n *node) keepMemory() {
	if n.replica != nil {
		n.memory = maps.Clone(n.replica.Seen())
	}
}

// image makes a copy of a node's disk, as a backup program does.
func (n *node) image() {
	if n.replica == nil || n.spoilt || n.tainted {
		return
	}
	n.world.trace("node %d is copied", n.id)
	disk, memory := n.disk.copy(), maps.Clone(n.memory)
	n.copied = func() {
		disk()
		n.memory = maps.Clone(memory)
	}
}

// putBack stops a node and puts its disk back to the copy.
func (n *node) putBack() {
	n.stop(true)
	n.world.trace("the disk of node %d is put back to an older copy", n.id)
	n.copied()
	n.copied, n.tainted = nil, true
	n.doubts = n.world.options.Sabotage != Trusting
	n.world.judge.report.PutBack++
}

// restore makes a copy, or puts one back. A minority may forget: of a majority that does, no node could tell.
func (w *World) restore() {
	if w.options.Nodes < 3 {
		return
	}
	voters := w.nodes[:w.options.Nodes]
	if slices.ContainsFunc(voters, func(n *node) bool { return n.tainted || n.refused }) {
		return
	}
	for _, n := range voters {
		if n.copied != nil && w.chance(0.7) {
			n.putBack()
			w.restart(n, w.between(0, tick*30))
			return
		}
	}
	voters[w.random.IntN(len(voters))].image()
}

// hello is what a process says about itself when it sends a message.
type hello struct {
	from   *node
	life   int
	stands replica.Standing
	since  time.Duration // of its clock
}

// receive takes a message. Nothing is heard of a life before it was looked at, and nothing of an earlier one
// after a later one.
func (n *node) receive(h hello, m *raftpb.Message) {
	from, life, stood := h.from, h.life, h.stands
	n.happen(func() {
		if life < n.met[from.id] {
			return
		}
		if life > n.met[from.id] {
			if err := n.replica.Seen()[from.id].Lacks(stood); err != nil && n.world.options.Sabotage != Trusting {
				n.refuse(from, life, err)
				return
			}
			n.met[from.id] = life
		}
		n.compare(from.id, h.since)
		var other *replica.Diverged
		if err := n.replica.Step(m); errors.As(err, &other) && !from.tainted && !n.tainted && !from.refused {
			n.world.fail("node %d: %v", n.id, err)
		} // else it is a message from before a change of members
	})
}

// refuse turns a node away that has forgotten what this one saw it have, and tells it, if it hears.
func (n *node) refuse(from *node, life int, why error) {
	w := n.world
	w.trace("node %d refuses node %d: %v", n.id, from.id, why)
	if !from.tainted && from.life == life {
		w.fail("node %d refuses node %d, which has all that it had: %v", n.id, from.id, why)
	}
	if w.network.cut[n.id][from.id] {
		return
	}
	w.after(tick/50, func() {
		if from.life == life && from.replica != nil {
			from.end()
		}
	})
}

// end stops a node for good.
func (n *node) end() {
	n.world.trace("node %d ends: it was refused", n.id)
	n.refused = true
	n.world.judge.report.Refused++
	n.stop(true)
}

// regain tells, after each step, whether a node that was put back has caught up.
func (n *node) regain() {
	if n.tainted && n.replica != nil && n.doubts && !n.replica.Doubtful() {
		n.world.trace("node %d has caught up", n.id)
		n.tainted, n.doubts = false, false
		n.world.judge.report.Regained++
	}
}
