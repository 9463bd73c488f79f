package replica

import (
	"encoding/binary"

	"go.etcd.io/raft/v3"

	"wirelab/wire/status"
)

// reads are the questions how far the log was committed. All that wait share one
// question to the leader; it is repeated, since a message may be lost.
type reads struct {
	start   uint64 // tells this start's questions from those of an earlier one
	asked   uint64 // the number of the last question
	askedAt uint64 // its tick
	unasked bool   // a read came since the last question
	open    []read // not answered, oldest first
	known   []read // answered: wait for the machine
}

// read is one ReadIndex. Invariant: an answer to question number >= asked serves it.
type read struct {
	ticket, asked, index, since uint64
}

// askTicks is after how many ticks a question is repeated.
const askTicks = 2

// ReadIndex asks what was committed by now. A Verdict comes when the machine has applied
// all that was: a read of the machine then sees whatever was acknowledged before the
// call. On any node; Unavailable after two election timeouts without an answer.
func (r *Replica) ReadIndex() (ticket uint64) {
	ticket = r.nextTicket()
	r.open = append(r.open, read{ticket: ticket, asked: r.asked + 1, since: r.ticks})
	r.unasked = true
	return ticket
}

// askable reports whether there is a question that can be put now.
func (r *Replica) askable() bool {
	if len(r.open) == 0 || !r.unasked && r.ticks < r.askedAt+askTicks {
		return false
	}
	return r.node.BasicStatus().Lead != 0 && !r.unsure()
}

// unsure reports whether this node leads and does not know yet all that was committed before: no entry of its
// current term is. Raft waits for that itself, but not where the leader is the only voter, whose commit index
// on disk may be behind what it had acknowledged.
func (r *Replica) unsure() bool {
	status := r.node.BasicStatus()
	return status.RaftState == raft.StateLeader && r.lastTerm != status.GetTerm()
}

func (r *Replica) ask() {
	if !r.askable() {
		return
	}
	r.asked++
	r.askedAt, r.unasked = r.ticks, false
	question := binary.BigEndian.AppendUint64(nil, r.start)
	r.node.ReadIndex(binary.BigEndian.AppendUint64(question, r.asked))
}

// confirm takes answers.
func (r *Replica) confirm(states []raft.ReadState) {
	for _, s := range states {
		if len(s.RequestCtx) != 16 || binary.BigEndian.Uint64(s.RequestCtx) != r.start {
			continue
		}
		asked := binary.BigEndian.Uint64(s.RequestCtx[8:])
		for len(r.open) > 0 && r.open[0].asked <= asked {
			one := r.open[0]
			one.index = s.Index
			r.known = append(r.known, one)
			r.open = r.open[1:]
		}
	}
}

// release answers those whose index is applied.
func (r *Replica) release() {
	kept := r.known[:0]
	for _, one := range r.known {
		if one.index > r.machine.Applied() {
			kept = append(kept, one)
			continue
		}
		r.answer(Verdict{Ticket: one.ticket, Index: one.index, Term: r.term, Time: r.machine.Time()})
	}
	r.known = kept
}

// ageReads gives up the reads that is not answered.
func (r *Replica) ageReads() {
	limit := uint64(2 * r.options.ElectionTicks)
	for _, list := range []*[]read{&r.open, &r.known} {
		for len(*list) > 0 && r.ticks-(*list)[0].since > limit {
			r.answer(Verdict{Ticket: (*list)[0].ticket, Err: status.Errorf(status.Unavailable,
				"no leader confirmed the read: ask again, here or at another node")})
			*list = (*list)[1:]
		}
	}
}
