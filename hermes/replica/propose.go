package replica

import (
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/core"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// proposals are what this node's callers want in the log.
type proposals struct {
	waiting      []proposal // not in the log yet, oldest first
	waitingBytes int
	changes      []change
	fresh        []flight // put into the log by flush, their places not known yet
	// flights are in the log and not applied, by index. Invariant: all are of term reign.
	flights   []flight
	reign     uint64
	entries   int // how many of flights are data
	under     int // proposals in those
	entryTime int64
}

// proposal is what Propose was given.
type proposal struct {
	items    []byte
	now      int64
	eventual bool
	part
}

// part is one proposal's share of an entry.
type part struct {
	ticket uint64
	count  int
}

// change is a change of members that waits.
type change struct {
	ticket uint64
	to     raftpb.ConfChangeI
}

// flight is an entry of this node's making that is under way.
type flight struct {
	index, term uint64
	parts       []part
	eventual    []uint64 // tickets to be told when this node's disk has it
	member      bool     // a change of members, of parts[0]
}

// Propose takes items (as record.AppendRun and AppendCommand write them; count of
// them) to be put into the next entry, with all others that wait then: there is no
// linger, what waits while other entries are under way goes together: see admits. items are
// not copied until then and must stay as they are until the verdict. now is the
// leader's clock. On a follower the verdict is Unavailable; nothing is forwarded here.
// eventual asks for a provisional verdict too.
func (r *Replica) Propose(items []byte, count int, now int64, eventual bool) (ticket uint64) {
	ticket = r.nextTicket()
	r.waiting = append(r.waiting, proposal{items, now, eventual, part{ticket, count}})
	r.waitingBytes += len(items)
	return ticket
}

// Waiting is how much is proposed and in no entry yet: who proposes should hold
// back before it is many times EntryLimit.
func (r *Replica) Waiting() (bytes int) { return r.waitingBytes }

// flushable reports whether flush would do something.
func (r *Replica) flushable() bool {
	if len(r.waiting) == 0 && len(r.changes) == 0 {
		return false
	}
	if !r.admits() && len(r.changes) == 0 && r.role == raft.StateLeader {
		return false
	}
	// While leadership is being handed over nothing new is taken: it either goes, and
	// then the callers are notified, or stays.
	return r.node.BasicStatus().LeadTransferee == 0
}

// An entry goes while others are under way if it holds enough to be worth being one more, which every node
// receives, stores and answers: twice as many proposals as those others, or these bytes; or if those others
// hold so few that no caller is in a hurry but for the time that takes.
const (
	aheadFew   = 4
	aheadTimes = 2
	aheadBytes = 64 << 10
)

// admits reports whether what waits may go now. At any size, 60 callers who wait for their
// answers drift into three groups of 20, two of them under way; so they stay two groups, and a
// third fewer entries. To let one entry be under way only gives two groups too, and half as
// much again to the time of a caller where a quorum is far away.
func (r *Replica) admits() bool {
	switch {
	case r.entries == 0:
		return true
	case r.entries >= r.options.InFlight:
		return false
	}
	return r.under <= aheadFew || len(r.waiting) >= aheadTimes*r.under || r.waitingBytes >= aheadBytes
}

// flush puts what waits into the log, as far as the limits let it.
func (r *Replica) flush() {
	if !r.flushable() {
		return
	}
	status := r.node.BasicStatus()
	if status.RaftState != raft.StateLeader {
		r.refuse()
		return
	}
	if status.GetTerm() != r.reign {
		r.lose()
		r.reign = status.GetTerm()
	}
	for _, c := range r.changes {
		if err := r.node.ProposeConfChange(c.to); err != nil {
			r.answer(Verdict{Ticket: c.ticket, Err: notLed()})
			continue
		}
		r.fresh = append(r.fresh, flight{term: r.reign, member: true, parts: []part{{ticket: c.ticket}}})
	}
	r.changes = nil
	for len(r.waiting) > 0 && r.admits() {
		data, f := r.fill()
		if err := r.node.Propose(data); err != nil {
			r.refuseParts(f.parts)
			continue
		}
		r.entries++
		r.under += len(f.parts)
		r.fresh = append(r.fresh, f)
	}
}

// fill makes one entry's data of the oldest proposals that wait.
func (r *Replica) fill() ([]byte, flight) {
	n, size := 0, 0
	for n < len(r.waiting) && (n == 0 || size+len(r.waiting[n].items) <= r.options.EntryLimit) {
		size += len(r.waiting[n].items)
		r.entryTime = max(r.entryTime, r.waiting[n].now)
		n++
	}
	r.entryTime = max(r.entryTime, r.machine.Time())
	f := flight{term: r.reign, parts: make([]part, n)}
	const head = 16 // the version and a time
	data := record.AppendEntry(make([]byte, 0, head+size), r.entryTime)
	for i, p := range r.waiting[:n] {
		data = append(data, p.items...)
		f.parts[i] = p.part
		if p.eventual {
			f.eventual = append(f.eventual, p.ticket)
		}
	}
	r.waitingBytes -= size
	clear(r.waiting[:n]) // the callers' bytes are let go
	if r.waiting = r.waiting[n:]; len(r.waiting) == 0 {
		r.waiting = nil
	}
	return data, f
}

// place finds the indices of what flush put into the log: they are its last entries.
func (r *Replica) place(entries []*raftpb.Entry) {
	last := entries[len(entries)-len(r.fresh):]
	for i, f := range r.fresh {
		f.index = last[i].GetIndex()
		if f.member && last[i].GetType() == raftpb.EntryNormal { // the library's way to refuse
			r.answer(Verdict{Ticket: f.parts[0].ticket, Err: status.Errorf(status.Conflict,
				"another change of members is under way: try again when it is done")})
			continue
		}
		r.flights = append(r.flights, f)
	}
	clear(r.fresh)
	r.fresh = r.fresh[:0]
}

// persisted learns what this node, as leader of a term, has on its own disk.
func (r *Replica) persisted(term, index uint64) {
	if len(r.flights) == 0 || term != r.reign {
		return
	}
	for i := range r.flights {
		f := &r.flights[i]
		if f.index > index {
			return
		}
		for _, ticket := range f.eventual {
			r.answer(Verdict{Ticket: ticket, Term: f.term, Index: f.index, Provisional: true})
		}
		f.eventual = nil
	}
}

// settle answers those whose entry was applied.
func (r *Replica) settle(e *raftpb.Entry, outcomes []core.Outcome) {
	if len(r.flights) == 0 || r.flights[0].index != e.GetIndex() {
		return
	}
	f := r.flights[0]
	r.flights = r.flights[1:]
	if !f.member {
		r.entries--
		r.under -= len(f.parts)
	}
	if f.term != e.GetTerm() {
		r.abandon(f) // another leader's entry took its place
		return
	}
	for _, p := range f.parts {
		n := min(p.count, len(outcomes))
		r.answer(Verdict{
			Ticket: p.ticket, Outcomes: outcomes[:n:n], Time: r.machine.Time(),
			Term: f.term, Index: f.index,
		})
		outcomes = outcomes[n:]
	}
}

// lose gives up work under way: this node leads no longer, and whether the next leader keeps it is not known
// here. It could be known later, when entries of those indices are applied, but the callers would wait for that
// as long as there is no leader.
func (r *Replica) lose() {
	for _, f := range r.flights {
		r.abandon(f)
	}
	r.flights, r.entries, r.under = nil, 0, 0
}

func (r *Replica) abandon(f flight) {
	for _, p := range f.parts {
		r.answer(Verdict{Ticket: p.ticket, Term: f.term, Index: f.index, Err: status.Errorf(status.Unavailable,
			"the leader changed before this was on a quorum of nodes: it may or may not be stored, repeat it with "+
				"the same "+
				"producer and sequence")})
	}
}

// refuse answers all that is in no entry: this node does not lead.
func (r *Replica) refuse() {
	for _, p := range r.waiting {
		r.answer(Verdict{Ticket: p.ticket, Err: notLed()})
	}
	for _, c := range r.changes {
		r.answer(Verdict{Ticket: c.ticket, Err: notLed()})
	}
	r.waiting, r.waitingBytes, r.changes = nil, 0, nil
}

func (r *Replica) refuseParts(parts []part) {
	for _, p := range parts {
		r.answer(Verdict{Ticket: p.ticket, Err: notLed()})
	}
}

func notLed() error {
	return status.Errorf(status.Unavailable, "this node does not lead: nothing was stored, ask the leader")
}
