package replica

import (
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/core"
)

// HasWork reports whether Ready has anything to say.
func (r *Replica) HasWork() bool {
	if r.broken != nil {
		return r.untold
	}
	return len(r.verdicts) > 0 || r.node.HasReady() || r.flushable() || r.askable()
}

// Ready says whatever is to be done now. It puts what waits into the log and applies committed entries.
func (r *Replica) Ready() Work {
	if r.broken != nil {
		return r.brokenWork()
	}
	r.flush()
	r.ask()
	rd := r.node.Ready()
	var w Work
	r.follow(&w, rd)
	var committed []*raftpb.Message
	for _, m := range rd.Messages {
		switch m.GetType() {
		case raftpb.MsgStorageAppend:
			r.store(&w, rd, m)
		case raftpb.MsgStorageApply:
			committed = append(committed, m)
		case raftpb.MsgSnap:
			w.Send = append(w.Send, admit(m))
		default:
			w.Send = append(w.Send, m)
		}
	}
	for _, m := range committed {
		r.applyStored(&w, m)
	}
	r.applyTail(&w)
	r.confirm(rd.ReadStates)
	r.release()
	if r.role != raft.StateLeader || r.term != r.reign {
		r.lose()
	}
	if r.broken != nil {
		return Work{Err: r.broken, Leader: r.leader, Term: r.term}
	}
	w.Verdicts, r.verdicts = r.verdicts, nil
	w.Leader, w.Term = r.leader, r.term
	return w
}

// follow notes who leads and which term it is.
func (r *Replica) follow(w *Work, rd raft.Ready) {
	if soft := rd.SoftState; soft != nil {
		w.Changed = r.leader != soft.Lead
		// To lose sight of the leader is no news to wait for: see Broken.
		if r.role != soft.RaftState || r.leader != soft.Lead && soft.Lead != 0 {
			r.resetTimeout()
		}
		r.role, r.leader = soft.RaftState, soft.Lead
	}
	hard := rd.HardState
	if raft.IsEmptyHardState(hard) {
		return
	}
	if r.term != hard.GetTerm() || r.vote != hard.GetVote() {
		w.Changed = w.Changed || r.term != hard.GetTerm()
		r.resetTimeout()
	}
	r.term, r.vote, r.commit = hard.GetTerm(), hard.GetVote(), hard.GetCommit()
}

// store takes whatever is to be written.
func (r *Replica) store(w *Work, rd raft.Ready, m *raftpb.Message) {
	w.Append, w.Responses = m.GetEntries(), m.GetResponses()
	if !raft.IsEmptyHardState(rd.HardState) {
		w.State = rd.HardState
	}
	// A commit index alone need not be synced: it only spares the next start a
	// question. The answers that wait for it wait for the earlier writes.
	w.MustSync = rd.MustSync || m.GetSnapshot() != nil
	if m.GetSnapshot() != nil {
		r.install(w, m.GetSnapshot())
	}
	if len(w.Append) == 0 {
		return
	}
	r.noteTerms(w.Append)
	if len(r.fresh) > 0 {
		r.place(w.Append)
	}
	for len(r.tail) > 0 && r.tail[len(r.tail)-1].GetIndex() >= w.Append[0].GetIndex() {
		r.tail = r.tail[:len(r.tail)-1] // another leader's entries replace them
	}
	r.tail = append(r.tail, w.Append...)
}

// install takes another node's state in place of the entries that led to it, which
// that node has no more.
func (r *Replica) install(w *Work, s *raftpb.Snapshot) {
	machine, err := core.Restore(s.GetData())
	if err != nil {
		r.broken = fmt.Errorf("replica: the snapshot after entry %d cannot be read: %w", s.GetMetadata().GetIndex(),
			err)
		return
	}
	if machine.Applied() != s.GetMetadata().GetIndex() {
		r.broken = fmt.Errorf("replica: a snapshot said to be after entry %d is after %d", s.GetMetadata().GetIndex(),
			machine.Applied())
		return
	}
	r.machine, r.conf, r.lastTerm = machine, s.GetMetadata().GetConfState(), s.GetMetadata().GetTerm()
	r.tail = nil
	r.last, r.runs = s.GetMetadata().GetIndex(), []termRun{{s.GetMetadata().GetTerm(), s.GetMetadata().GetIndex()}}
	w.Snapshot, w.Changed = s, true
	r.regain()
}

// applyStored applies what Raft hands out: entries that are committed and on this
// node's disk. Most were applied before, from the tail.
func (r *Replica) applyStored(w *Work, m *raftpb.Message) {
	for _, e := range m.GetEntries() {
		if e.GetIndex() > r.machine.Applied() {
			r.apply(w, e)
		}
	}
	for _, response := range m.GetResponses() {
		r.step(response)
	}
}

// applyTail applies committed entries and perhaps not on this node's disk yet, so that a slow disk here delays
// no other while a quorum is quick. It stops at a change of members, which Raft wants to hand out itself.
func (r *Replica) applyTail(w *Work) {
	for len(r.tail) > 0 && r.broken == nil {
		e := r.tail[0]
		if e.GetIndex() > r.machine.Applied() {
			// What the log held at the start is not in the tail, and Raft hands it out piece by piece.
			next := e.GetIndex() == r.machine.Applied()+1
			if !next || e.GetIndex() > r.commit || e.GetType() != raftpb.EntryNormal {
				return
			}
			r.apply(w, e)
		}
		r.tail[0] = nil
		r.tail = r.tail[1:]
	}
	if len(r.tail) == 0 {
		r.tail = nil
	}
}

func (r *Replica) apply(w *Work, e *raftpb.Entry) {
	if r.broken != nil {
		return
	}
	outcomes, err := Apply(r.machine, e)
	if err != nil {
		r.broken = fmt.Errorf("replica: entry %d cannot be applied: %w", e.GetIndex(), err)
		return
	}
	if e.GetType() != raftpb.EntryNormal {
		if err := r.switchMembers(e); err != nil {
			r.broken = err
			return
		}
		w.Changed = true
	}
	r.lastTerm = e.GetTerm()
	r.regain()
	w.Applied = append(w.Applied, Applied{e, outcomes})
	r.settle(e, outcomes)
}

// Apply applies an entry of any kind to a machine: one that is no data as one without items. For a log that is
// read at the start, before there is a replica.
func Apply(machine *core.Machine, e *raftpb.Entry) ([]core.Outcome, error) {
	data := e.GetData()
	if e.GetType() != raftpb.EntryNormal {
		data = nil
	}
	return machine.Apply(e.GetIndex(), data, nil)
}

// Stored learns that a Work's Append, State and Snapshot are on disk; it returns the messages that waited for
// it. Works are given back in the order of Ready.
func (r *Replica) Stored(w Work) (send []*raftpb.Message) {
	r.opening.blank = false
	r.stand(w)
	if r.broken != nil {
		return nil
	}
	for _, m := range w.Responses {
		if m.GetTo() != r.options.ID {
			r.prove(m)
			send = append(send, m)
			continue
		}
		if m.GetType() == raftpb.MsgAppResp && !m.GetReject() {
			r.persisted(m.GetTerm(), m.GetIndex())
		}
		r.step(m)
	}
	return send
}

// step gives Raft a message of this node's own; such are never refused for good reason.
func (r *Replica) step(m *raftpb.Message) {
	if err := r.node.Step(m); err != nil {
		r.options.Logger.Debugf("own %s: %v", m.GetType(), err)
	}
}
