package replica

import (
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// Raft builds on what a voter remembers. A node whose directory was put back from an older copy has forgotten
// votes and acknowledgements that others counted on, and nothing in the directory tells. Three things are done
// about it. The others keep what they saw of each node, and refuse one that has less (Seen). A node that finds
// itself on a copy, or is notified, votes for no node until it has caught up with a leader that was elected
// without it (Options.Doubtful). And where it was not noticed, entries that were committed are never replaced:
// the node that has them stops, and the leader refuses to count its log as its own copy (Diverged).

// Standing is what a node has on its disk: what it can be held to.
type Standing struct {
	Term     uint64 // of its votes and acknowledgements
	Last     uint64 // its last entry
	LastTerm uint64 // of which term that is
}

// Seen is what another node was seen to have on its disk.
type Seen struct {
	Term      uint64 // the greatest in which it voted or acknowledged
	Match     uint64 // what it acknowledged in that term
	Committed uint64 // what it acknowledged and was committed: this it may lack in no term
}

// Lacks tells what a node that stands so has forgotten; nil: nothing that was seen.
func (s Seen) Lacks(now Standing) error {
	term := max(now.Term, now.LastTerm) // an entry may be on disk before the term of it is
	switch {
	case term < s.Term:
		return fmt.Errorf("it was seen to vote or acknowledge in term %d, and knows only term %d", s.Term, term)
	case now.Last < s.Committed:
		return fmt.Errorf("it acknowledged entry %d, which is committed, and its log ends at entry %d", s.Committed,
			now.Last)
	case term == s.Term && now.Last < s.Match:
		return fmt.Errorf("it acknowledged entry %d in term %d, and its log ends at entry %d", s.Match, s.Term,
			now.Last)
	}
	return nil
}

// Diverged says that two nodes have committed different entries in one place, or that one has
// lost entries that it acknowledged. Nothing that this node could do would mend it.
type Diverged struct {
	Node uint64 // whose log is not as it must be, or the leader that this node must not follow
	Why  string
}

func (d *Diverged) Error() string { return fmt.Sprintf("replica: node %d: %s", d.Node, d.Why) }

// forgotten is what this node knows of what others have, and of this log here.
type forgotten struct {
	seen     map[uint64]Seen
	standing Standing // as of the last Stored
	last     uint64   // entry that was handed out to be stored, or is stored
	// runs are the terms of the entries handed out, from an index on; everything before the first of them is as
	// the storage says. Invariant: rising in both.
	runs []termRun
	// doubtful: see Options. It ends once an entry of the leader's term is applied, and goal.
	doubtful   bool
	doubtTerm  uint64
	goal       uint64
	untold     bool // broken is not told yet
	confession *raftpb.Message
}

// termRun is entries of one term, from an index on.
type termRun struct{ term, first uint64 }

// runsKept are far more changes of leader than there are between two syncs of a disk: an entry that is in
// none of the runs kept has long been as the storage says.
const runsKept = 64

// Seen is what the others were seen to have, in this life and before; not to be changed.
func (r *Replica) Seen() map[uint64]Seen { return r.seen }

// Standing is what this node has on its disk, as of the last Stored.
func (r *Replica) Standing() Standing { return r.standing }

// Doubtful tells whether this node still keeps from voting: see Options.
func (r *Replica) Doubtful() bool { return r.doubtful }

// remember begins with what was known.
func (r *Replica) remember(o Options, storage *opening) error {
	r.seen = map[uint64]Seen{}
	for id, s := range o.Seen {
		r.seen[id] = s
	}
	last, err := storage.LastIndex()
	if err != nil {
		return err
	}
	r.last = last
	r.standing = Standing{Term: storage.state.GetTerm(), Last: last}
	if last > 0 {
		if r.standing.LastTerm, err = storage.Term(last); err != nil {
			return err
		}
	}
	r.doubtful = o.Doubtful && len(r.conf.GetVoters()) > 1 && last > 0
	return nil
}

// noteStanding notes what a message proves that its sender has on disk. Only answers that waited for the disk do.
func (r *Replica) noteStanding(m *raftpb.Message) {
	kind := m.GetType()
	if kind != raftpb.MsgAppResp && kind != raftpb.MsgVoteResp || !r.member(m.GetFrom()) {
		return
	}
	s := r.seen[m.GetFrom()]
	if m.GetTerm() < s.Term {
		return
	}
	if m.GetTerm() > s.Term {
		s.Term, s.Match = m.GetTerm(), 0
	}
	if kind == raftpb.MsgAppResp && !m.GetReject() {
		s.Match = max(s.Match, m.GetIndex())
		s.Committed = max(s.Committed, min(s.Match, r.commit))
	}
	r.seen[m.GetFrom()] = s
}

func (r *Replica) member(id uint64) bool {
	return slices.Contains(r.conf.GetVoters(), id) || slices.Contains(r.conf.GetLearners(), id) ||
		slices.Contains(r.conf.GetVotersOutgoing(), id)
}

// noteTerms notes the terms of entries that are handed out to be stored.
func (r *Replica) noteTerms(entries []*raftpb.Entry) {
	first, end := entries[0].GetIndex(), entries[len(entries)-1]
	for len(r.runs) > 0 && r.runs[len(r.runs)-1].first >= first {
		r.runs = r.runs[:len(r.runs)-1]
	}
	r.last = end.GetIndex()
	if n := len(r.runs); n > 0 && r.runs[n-1].term == end.GetTerm() {
		return // terms never fall: all are of that one
	}
	for _, e := range entries {
		if n := len(r.runs); n == 0 || r.runs[n-1].term != e.GetTerm() {
			r.runs = append(r.runs, termRun{e.GetTerm(), e.GetIndex()})
		}
	}
	if n := len(r.runs); n > runsKept {
		r.runs = append(r.runs[:0], r.runs[n-runsKept:]...)
	}
}

// termAt is the term of an entry; ok is false where it is not known, as of one that was dropped.
func (r *Replica) termAt(index uint64) (term uint64, ok bool) {
	if index == 0 || index > r.last {
		return 0, false
	}
	for i := len(r.runs) - 1; i >= 0; i-- {
		if r.runs[i].first <= index {
			return r.runs[i].term, true
		}
	}
	term, err := r.opening.Term(index)
	return term, err == nil
}

// differs tells whether this node has another entry than one of that term at an index.
func (r *Replica) differs(index, term uint64) bool {
	is, known := r.termAt(index)
	return known && is != term
}

// check refuses what would replace committed entries, and what must not be counted.
func (r *Replica) check(m *raftpb.Message) error {
	switch m.GetType() {
	case raftpb.MsgApp, raftpb.MsgHeartbeat, raftpb.MsgSnap:
		// As of the last Ready: what Raft has taken in since, and perhaps learnt to be committed, is in place of
		// entries whose terms this node still knows by the old ones.
		if m.GetTerm() >= r.node.BasicStatus().GetTerm() {
			return r.checkLeader(m, r.commit)
		}
	case raftpb.MsgAppResp:
		if status := r.node.BasicStatus(); status.RaftState == raft.StateLeader && m.GetTerm() == status.GetTerm() {
			return r.checkMatch(m)
		}
	}
	return nil
}

// checkLeader: no leader may have other entries than those that this node knows to be committed. The
// library answers that it has them, without a look, or panics. A node of which that is asked stops.
func (r *Replica) checkLeader(m *raftpb.Message, commit uint64) error {
	conflict := func(index, term uint64) error {
		if index > commit || !r.differs(index, term) {
			return nil
		}
		is, _ := r.termAt(index)
		r.confess(m, commit)
		return r.diverge(m.GetFrom(), fmt.Sprintf(
			"it leads in term %d and has an entry of term %d at index %d, where this node has a committed one of "+
				"term %d",
			m.GetTerm(), term, index, is))
	}
	switch m.GetType() {
	case raftpb.MsgHeartbeat:
		if m.GetCommit() > r.last {
			return r.diverge(m.GetFrom(), fmt.Sprintf(
				"it leads in term %d and knows that this node had entry %d; the log here ends at entry %d: "+
					"it lost its end, or is an older copy",
				m.GetTerm(), m.GetCommit(), r.last))
		}
	case raftpb.MsgSnap:
		s := m.GetSnapshot().GetMetadata()
		return conflict(s.GetIndex(), s.GetTerm())
	default:
		if err := conflict(m.GetIndex(), m.GetLogTerm()); err != nil {
			return err
		}
		for _, e := range m.GetEntries() {
			if e.GetIndex() > commit {
				break
			}
			if err := conflict(e.GetIndex(), e.GetTerm()); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkMatch: whatever is no copy of the leader's log is not counted as one. Since this version the answer
// tells the term of its entry (LogTerm, which only refusals used).
func (r *Replica) checkMatch(m *raftpb.Message) error {
	index, term := m.GetIndex(), m.GetLogTerm()
	switch {
	case m.GetReject():
		return nil
	case index > r.last:
		return &Diverged{m.GetFrom(), fmt.Sprintf(
			"it acknowledges entry %d, and the log of the leader, this node, ends at entry %d", index, r.last)}
	case term != 0 && r.differs(index, term):
		is, _ := r.termAt(index)
		return &Diverged{m.GetFrom(), fmt.Sprintf(
			"it acknowledges an entry of term %d at index %d, where the leader, this node, has one of term %d", term,
			index, is)}
	}
	return nil
}

// confess tells the leader what it has not: it refuses the answer, and tells watchers it.
func (r *Replica) confess(to *raftpb.Message, commit uint64) {
	term, ok := r.termAt(commit)
	if !ok {
		return
	}
	r.confession = &raftpb.Message{
		Type: raftpb.MsgAppResp.Enum(), From: new(r.options.ID), To: new(to.GetFrom()), Term: new(to.GetTerm()),
		Index: new(commit), LogTerm: new(term),
	}
}

// diverge ends this replica's part.
func (r *Replica) diverge(node uint64, why string) error {
	err := &Diverged{node, why}
	r.broken, r.untold = err, true
	return err
}

// brokenWork is the report of a broken replica.
func (r *Replica) brokenWork() Work {
	w := Work{Err: r.broken, Leader: r.leader, Term: r.term}
	if r.untold && r.confession != nil {
		w.Send = []*raftpb.Message{r.confession}
	}
	r.untold = false
	return w
}

// stand notes what a Work brought onto the disk.
func (r *Replica) stand(w Work) {
	if w.Snapshot != nil {
		r.standing.Last, r.standing.LastTerm = w.Snapshot.GetMetadata().GetIndex(), w.Snapshot.GetMetadata().GetTerm()
	}
	if n := len(w.Append); n > 0 {
		r.standing.Last, r.standing.LastTerm = w.Append[n-1].GetIndex(), w.Append[n-1].GetTerm()
	}
	if w.State != nil {
		r.standing.Term = max(r.standing.Term, w.State.GetTerm())
	}
}

// prove adds to an acknowledgement of which term its entry is.
func (r *Replica) prove(m *raftpb.Message) {
	// One of an earlier term refers to entries that a later leader may have replaced in the meantime.
	if m.GetType() != raftpb.MsgAppResp || m.GetReject() || m.GetIndex() == 0 || m.GetTerm() != r.term {
		return
	}
	if term, ok := r.termAt(m.GetIndex()); ok {
		m.LogTerm = new(term)
	}
}

var errDoubtful = errors.New("replica: this node keeps from voting until it has caught up: its directory is a copy")

// abstains reports whether a doubtful node must not act on a message. Of two voters the other has all that was
// ever committed, and no other node could elect it.
func (r *Replica) abstains(m *raftpb.Message) bool {
	if !r.doubtful {
		return false
	}
	switch m.GetType() {
	case raftpb.MsgVote, raftpb.MsgPreVote:
		return len(r.conf.GetVoters()) > 2 || len(r.conf.GetVotersOutgoing()) > 2
	case raftpb.MsgTimeoutNow:
		return true
	case raftpb.MsgApp:
		if m.GetTerm() >= r.term && m.GetTerm() != r.doubtTerm {
			r.doubtTerm, r.goal = m.GetTerm(), m.GetCommit()
		}
	}
	return false
}

// regain ends the doubt once this node has all that was committed before it came back: what the leader knew
// to be committed when it was first heard, and an entry of the leader's own term, before which all is that was
// committed under others.
func (r *Replica) regain() {
	if r.doubtful && r.doubtTerm != 0 && r.lastTerm == r.doubtTerm && r.machine.Applied() >= r.goal {
		r.doubtful = false
	}
}
