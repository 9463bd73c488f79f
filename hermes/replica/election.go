package replica

import (
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
)

// election is when this node thinks that it should lead. The timer is ours and not the library's, which draws
// its timeouts from crypto/rand: no seed would repeat a run of the simulation. The library keeps the lease:
// while a node hears of its leader, it grants no vote.
type election struct {
	ticks   uint64 // since New
	elapsed int    // ticks since the leader was heard of, a vote was given or the last campaign
	timeout int
	// What broken connections may make this node do: see allows.
	again    uint64 // when they would have been as many as are allowed, one an election timeout
	gaveUp   uint64 // the term of the leader that was given up last
	gaveUpAt uint64
	// held is a pre-vote that the lease refused. If the connection to the leader breaks
	// here as well, it is answered after all: the news of a dead leader reaches the
	// nodes in no order.
	held   *raftpb.Message
	heldAt uint64
	// yields: this node leads only where no other node does for long: see Yield.
	yields bool
}

// yieldTimes is how many election timeouts a node that yields leaves to the others.
const yieldTimes = 5

// brokenBurst is how many leaders may be given up in a row for a broken connection, before it is one in
// an election timeout.
const brokenBurst = 3

// heldTicks is how long a refused pre-vote may be taken up again.
const heldTicks = 1

func (r *Replica) resetTimeout() {
	r.elapsed = 0
	r.timeout = r.options.ElectionTicks + r.random.IntN(r.options.ElectionTicks)
}

// Tick is to be called at even intervals.
func (r *Replica) Tick() {
	r.ticks++
	r.ageReads()
	if r.node.BasicStatus().RaftState == raft.StateLeader {
		r.node.Tick()
		r.watchSnapshots()
		return
	}
	r.node.TickQuiesced() // lets the lease run out and does nothing else
	r.elapsed++
	timeout := r.timeout
	if r.yields {
		timeout *= yieldTimes
	}
	if r.elapsed >= timeout || r.alone() {
		r.run()
	}
}

// Yield says whether this node is not to lead while another can. It takes no leadership that is handed to it then;
// whether it hands its own over is the owner's to say.
func (r *Replica) Yield(yields bool) { r.yields = yields }

// alone: there is no node to wait for.
func (r *Replica) alone() bool {
	return len(r.conf.GetVoters()) == 1 && r.conf.GetVoters()[0] == r.options.ID && len(r.conf.GetVotersOutgoing()) == 0
}

// run stands for election, if this node may.
func (r *Replica) run() {
	r.resetTimeout()
	if r.doubtful || r.broken != nil {
		return
	}
	if !slices.Contains(r.conf.GetVoters(), r.options.ID) &&
		!slices.Contains(r.conf.GetVotersOutgoing(), r.options.ID) {
		return
	}
	if err := r.node.Campaign(); err != nil {
		r.options.Logger.Debugf("campaign: %v", err)
	}
}

// Step takes another node's message. An error says that the message is not one that
// a node sends, or that it must not be acted on; nothing was changed then. A [Diverged] names a
// node whose log is no copy of this one; where this node must stop for it, Ready tells it too.
func (r *Replica) Step(m *raftpb.Message) error {
	if r.broken != nil {
		return r.broken
	}
	if m.GetFrom() == 0 || m.GetFrom() == r.options.ID || raft.IsLocalMsgTarget(m.GetFrom()) ||
		m.GetTerm() == 0 && m.GetType() != raftpb.MsgProp && m.GetType() != raftpb.MsgReadIndex {
		return raft.ErrStepLocalMsg // without a term the library would take it for this node's own
	}
	if r.abstains(m) {
		return errDoubtful
	}
	if r.yields && m.GetType() == raftpb.MsgTimeoutNow {
		return nil // who hands over notices that it is not taken
	}
	if err := r.check(m); err != nil {
		return err
	}
	r.noteStanding(m)
	switch m.GetType() {
	case raftpb.MsgProp: // nothing is forwarded: see Propose
		return raft.ErrProposalDropped
	case raftpb.MsgApp, raftpb.MsgHeartbeat, raftpb.MsgSnap:
		if m.GetTerm() >= r.term {
			r.elapsed, r.held = 0, nil
		}
	case raftpb.MsgReadIndex:
		if r.unsure() {
			return nil // the asker repeats it
		}
	case raftpb.MsgPreVote:
		if r.leader != 0 {
			r.held, r.heldAt = m, r.ticks
		}
	}
	return r.node.Step(m)
}

// Transfer hands leadership over, at most within an election timeout; until then
// nothing new goes into the log. to 0: to the voter that has most of the log.
func (r *Replica) Transfer(to uint64) {
	if to == 0 {
		var most uint64
		r.node.WithProgress(func(id uint64, kind raft.ProgressType, p tracker.Progress) {
			if id != r.options.ID && kind == raft.ProgressTypePeer && p.RecentActive && p.Match >= most {
				to, most = id, p.Match
			}
		})
	}
	if to != 0 {
		r.node.TransferLeader(to)
	}
}

// Broken tells that the connection to a peer was refused or reset: if it is the leader, this
// node may campaign at once (pre-vote, staggered by id, rate-limited).
//
// A leader that lives is not deposed by it: this node gives its own lease up, but the others keep theirs while
// they hear of the leader, and refuse the pre-vote. Only if a quorum has lost the leader is there a new one.
// Messages about the old one before that ends the campaign.
func (r *Replica) Broken(peer uint64) {
	status := r.node.BasicStatus()
	if status.RaftState == raft.StateLeader {
		// What was on its way is lost: ask where the peer is instead of waiting for it.
		r.node.ReportUnreachable(peer)
		return
	}
	if peer != status.Lead || peer == 0 || !r.allows(status.GetTerm()) {
		return
	}
	if err := r.node.ForgetLeader(); err != nil {
		r.options.Logger.Debugf("forget leader: %v", err)
		return
	}
	if held := r.held; held != nil && r.ticks-r.heldAt <= heldTicks {
		r.held = nil
		r.step(held)
	}
	if r.yields {
		r.resetTimeout()
		return
	}
	r.elapsed, r.timeout = 0, r.rank(peer)
	if r.timeout == 0 {
		r.run()
	}
}

// allows reports whether this node may give up the leader of a term for a broken connection now, and notes that
// it does. One leader is given up once in an election timeout, since it may be the link that fails and not he;
// a new leader at once, since leaders that die one after the other are news each, but of those not more than a
// few in a row: where all links fail again and again, elections would follow one another so fast that no node
// leads for long.
func (r *Replica) allows(term uint64) bool {
	timeout := uint64(r.options.ElectionTicks)
	if term == r.gaveUp && r.ticks < r.gaveUpAt+timeout || r.again > r.ticks+(brokenBurst-1)*timeout {
		return false
	}
	r.again = max(r.again, r.ticks) + timeout
	r.gaveUp, r.gaveUpAt = term, r.ticks
	return true
}

// rank is this node's place among the voters without one: who is first campaigns at
// once, the next a tick later, so that they do not split the votes.
func (r *Replica) rank(without uint64) int {
	rank := 0
	for _, id := range r.conf.GetVoters() {
		if id < r.options.ID && id != without {
			rank++
		}
	}
	return rank
}

// watchSnapshots looks, once in an election timeout, for peers that have been waiting for the same snapshot all
// the time: the message may be lost, and no other would send another.
func (r *Replica) watchSnapshots() {
	if r.ticks%uint64(r.options.ElectionTicks) != 0 {
		return
	}
	var late []uint64
	waiting := map[uint64]uint64{}
	r.node.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		if p.State != tracker.StateSnapshot {
			return
		}
		if r.snapshots[id] == p.PendingSnapshot {
			late = append(late, id)
			return
		}
		waiting[id] = p.PendingSnapshot
	})
	r.snapshots = waiting
	for _, id := range late {
		r.node.ReportSnapshot(id, raft.SnapshotFailure)
	}
}
