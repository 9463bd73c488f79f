package node

import (
	"context"
	"sync"
	"sync/atomic"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/core"
	"wirelab/hermes/replica"
)

// level raises the cluster to what all its nodes know. A node of a former version would pass over the fields of
// commands that it does not know, and come to another state: so they mean nothing until each node has said that it
// knows them, and the log says from where on they do.
type level struct {
	reached atomic.Uint32 // what the log says, as far as it was applied here

	mu    sync.Mutex // guards all below
	known map[uint64]uint32
	asked uint64 // the term in which it was proposed last: once is enough
}

// know notes what a node knows.
func (v *level) know(id uint64, knows uint32) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.known[id] = knows
}

// all tells whether every node of the cluster knows the level of this one.
func (v *level) all(conf *raftpb.ConfState, self uint64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, ids := range [][]uint64{
		conf.GetVoters(), conf.GetVotersOutgoing(), conf.GetLearners(),
		conf.GetLearnersNext(),
	} {
		for _, id := range ids {
			if id != self && v.known[id] < core.Level {
				return false
			}
		}
	}
	return true
}

// once tells whether it is the first in a term that asks.
func (v *level) once(term uint64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.asked == term {
		return false
	}
	v.asked = term
	return true
}

// raise proposes the level, where this node leads a cluster that may have it and has not.
func (l *loop) raise() {
	l.n.level.reached.Store(l.replica.Machine().Level())
	lead := l.n.lead.Load()
	if lead.leader != l.n.options.Self.ID || l.retiring != nil || l.replica.Machine().Level() >= core.Level ||
		!l.n.level.all(l.replica.Conf(), l.n.options.Self.ID) || !l.n.level.once(lead.term) {
		return
	}
	l.propose1(&proposal{
		items: commands(core.Rise(core.Level)), count: 1, ctx: context.Background(),
		answer: func(v replica.Verdict) {
			if err := failure(v); err != nil {
				l.n.logger.Warn("the cluster could not be raised to what all its nodes know", "level", core.Level,
					"why", err)
				return
			}
			l.n.logger.Info("all nodes know the same, and commands mean all that they may", "level", core.Level)
		},
	}, l.n.clock.now(), l.n.clock.stamp())
}
