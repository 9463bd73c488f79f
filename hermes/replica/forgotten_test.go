package replica_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/replica"
)

// copied is a copy of what a log in memory holds now.
func copied(t *testing.T, from *raft.MemoryStorage) *raft.MemoryStorage {
	t.Helper()
	to := raft.NewMemoryStorage()
	state, _, err := from.InitialState()
	must(t, err)
	last, err := from.LastIndex()
	must(t, err)
	entries, err := from.Entries(1, last+1, 1<<30)
	must(t, err)
	must(t, to.Append(entries))
	must(t, to.SetHardState(state))
	return to
}

// forgetful is a cluster of which node 3 was put back to a copy from before what only 1 and 3 have. Node 1 is away.
func forgetful(t *testing.T, o replica.Options) *cluster {
	t.Helper()
	c := start(t, 3)
	leader := c.elect(1)
	publish := func(n *node, text string) {
		ticket := n.Propose(items(text), 1, 1, false)
		c.settle()
		if v := n.one(t, ticket); v.Err != nil {
			t.Fatal(v.Err)
		}
	}
	publish(leader, "all have it")
	c.tick(2)
	before := copied(t, c.nodes[3].storage)
	c.cut[2] = true
	for i := range 5 {
		publish(leader, fmt.Sprint("held by 1 and 3: ", i))
	}
	c.cut[1], c.cut[2] = true, false
	c.mail = nil
	c.nodes[3].storage = before
	o.Seed = 7
	c.restartWith(3, o)
	return c
}

// elects lets nodes 2 and 3 try to lead, and tells whether one does.
func (c *cluster) elects() bool {
	for range 60 {
		c.nodes[2].Tick()
		c.nodes[3].Tick()
		c.settle()
		if l := c.nodes[2].leader; l != 0 && l != 1 && c.nodes[3].leader == l {
			return true
		}
	}
	return false
}

// TestDoubtful: a node that knows that its log is a copy elects no node. It catches up with a leader that was
// elected without it, and votes then.
func TestDoubtful(t *testing.T) {
	c := forgetful(t, replica.Options{Doubtful: true})
	if c.elects() {
		t.Fatalf("nodes 2 and 3 elected node %d, and neither has what was acknowledged", c.nodes[2].leader)
	}
	c.cut[1] = false
	c.restart(1, 8)
	for range 100 {
		c.tick(1)
		if !c.nodes[3].Doubtful() {
			break
		}
	}
	if c.nodes[3].Doubtful() || c.nodes[3].Machine().Applied() < 7 {
		t.Fatalf("node 3 is doubtful: %v, after entry %d", c.nodes[3].Doubtful(), c.nodes[3].Machine().Applied())
	}
	c.cut[1] = true
	if !c.elects() {
		t.Error("a node that has caught up does not vote")
	}
}

// TestDoubtfulAlone: of two voters the other has all that was committed, and a single one has no other node to
// ask.
func TestDoubtfulAlone(t *testing.T) {
	for n := 1; n <= 2; n++ {
		c := start(t, n)
		c.elect(1).Propose(items("a"), 1, 1, false)
		c.settle()
		c.tick(2)
		last := c.restartWith(uint64(n), replica.Options{Seed: 9, Doubtful: true})
		c.elect(1)
		if n == 1 && last.Doubtful() {
			t.Error("a single voter asks no other node")
		}
	}
}

// TestCommittedIsNotReplaced: where no node noticed that a node was put back, two histories are committed. The
// node that has the first keeps it and stops, the leader does not count it, and both tell.
func TestCommittedIsNotReplaced(t *testing.T) {
	for more := 1; more <= 12; more += 11 { // fewer entries than the first history has, and more
		c := forgetful(t, replica.Options{})
		if !c.elects() {
			t.Fatal("no node leads")
		}
		leader := c.nodes[c.nodes[2].leader]
		for i := range more {
			leader.Propose(items(fmt.Sprint("another: ", i)), 1, 1, false)
			c.settle()
		}
		first := c.nodes[1]
		last, err := first.storage.LastIndex()
		must(t, err)
		term, err := first.storage.Term(last)
		must(t, err)
		c.cut[1], c.ends = false, true
		for range 60 {
			c.tick(1)
			if first.err != nil {
				break
			}
		}
		c.settle()
		var why *replica.Diverged
		if !errors.As(first.err, &why) || why.Node != leader.id || !strings.Contains(why.Why, "committed") {
			t.Errorf("with %d: node 1 continues: %v", more, first.err)
		}
		if is, err := first.storage.Term(last); err != nil || is != term {
			t.Errorf("with %d: entry %d of node 1 was of term %d and is of term %d, %v", more, last, term, is, err)
		}
		told := false
		for _, d := range c.refused {
			told = told || d.Node == 1
		}
		if !told {
			t.Errorf("with %d: the leader was not told: %v", more, c.refused)
		}
		if match := leader.Status().Progress[1].Match; match > 2 {
			t.Errorf("with %d: the leader counts entry %d as one that node 1 has", more, match)
		}
	}
}

// TestMatchBeyondTheLog: a leader counts no acknowledgement of what it does not have.
func TestMatchBeyondTheLog(t *testing.T) {
	c := start(t, 3)
	leader := c.elect(1)
	was, status := leader.Status().Progress[2].Match, leader.Status()
	answer := func(index, term uint64) error {
		return leader.Step(&raftpb.Message{
			Type: raftpb.MsgAppResp.Enum(), From: new(uint64(2)), To: new(uint64(1)), Term: new(status.GetTerm()),
			Index:   &index,
			LogTerm: &term,
		})
	}
	var why *replica.Diverged
	if err := answer(was+1, 0); !errors.As(err, &why) || why.Node != 2 {
		t.Errorf("beyond its log: %v", err)
	}
	if err := answer(was, status.GetTerm()+1); !errors.As(err, &why) {
		t.Errorf("of another term: %v", err)
	}
	if err := answer(was, 0); err != nil { // of a former version
		t.Errorf("without a term: %v", err)
	}
	if is := leader.Status().Progress[2].Match; is != was {
		t.Errorf("it counts entry %d", is)
	}
}

// TestReplacedTail: a leader replaces what was never committed, and what it sends comes twice before the node
// has handed out anything of it. Nothing of that indicates another history, to the node or to who had it
// acknowledged before.
func TestReplacedTail(t *testing.T) {
	c := start(t, 3)
	leader, follower := c.elect(1), c.nodes[3]
	status := leader.Status()
	last := status.GetCommit()
	send := func(from, term uint64, terms ...uint64) {
		t.Helper()
		m := &raftpb.Message{
			Type: raftpb.MsgApp.Enum(), From: &from, To: new(uint64(3)), Term: &term,
			Index: new(last), LogTerm: new(status.GetTerm()), Commit: new(last),
		}
		for i, of := range terms {
			m.Entries = append(m.Entries, &raftpb.Entry{Term: new(of), Index: new(last + uint64(i) + 1)})
		}
		if of := terms[len(terms)-1]; of > status.GetTerm() {
			m.Commit = new(last + uint64(len(terms)))
		}
		if err := follower.Step(m); err != nil {
			t.Fatalf("%v: %v", terms, err)
		}
	}
	first := status.GetTerm()
	follower.hold = true
	send(1, first, first, first)
	c.work(follower)
	for range 2 {
		send(2, first+1, first+1, first+1)
	}
	c.work(follower)
	// The answer to the first leader waited for the disk, and comes after the entries were replaced.
	follower.hold = false
	c.mail = nil
	for len(follower.late) > 0 {
		c.store(follower)
	}
	answers := 0
	for _, m := range c.mail {
		if m.GetTo() != 1 || m.GetType() != raftpb.MsgAppResp {
			continue
		}
		answers++
		if term := m.GetLogTerm(); m.GetTerm() == first && term != 0 && term != first {
			t.Errorf("it names an entry of term %d in an answer of term %d", term, first)
		}
	}
	if answers == 0 || follower.err != nil {
		t.Errorf("%d answers to the first leader, %v", answers, follower.err)
	}
}

// TestLostEnd: a node that lacks what its leader knows it to have says so, and does not panic.
func TestLostEnd(t *testing.T) {
	c := start(t, 3)
	leader := c.elect(1)
	before := copied(t, c.nodes[3].storage)
	leader.Propose(items("a"), 1, 1, false)
	c.settle()
	c.tick(2)
	c.nodes[3].storage = before
	c.restartWith(3, replica.Options{Seed: 5})
	c.ends = true
	c.tick(2)
	var why *replica.Diverged
	if err := c.nodes[3].err; !errors.As(err, &why) || !strings.Contains(why.Why, "lost its end") {
		t.Errorf("it went on: %v", err)
	}
}

// TestSeen: what was seen of a node tells an older copy from what it had, and from what another leader made of it.
func TestSeen(t *testing.T) {
	seen := replica.Seen{Term: 5, Match: 20, Committed: 10}
	for _, c := range []struct {
		what  string
		now   replica.Standing
		lacks bool
	}{
		{"as it was", replica.Standing{Term: 5, Last: 20, LastTerm: 5}, false},
		{"further", replica.Standing{Term: 6, Last: 30, LastTerm: 6}, false},
		{"an older term", replica.Standing{Term: 4, Last: 20, LastTerm: 4}, true},
		{"a shorter log", replica.Standing{Term: 5, Last: 19, LastTerm: 5}, true},
		{"shortened by a later leader", replica.Standing{Term: 6, Last: 15, LastTerm: 4}, false},
		{
			"shortened, and the power was cut before the term was on disk",
			replica.Standing{Term: 5, Last: 15, LastTerm: 6},
			false,
		},
		{"less than was committed", replica.Standing{Term: 9, Last: 9, LastTerm: 9}, true},
	} {
		if err := seen.Lacks(c.now); (err != nil) != c.lacks {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	c := start(t, 3)
	leader := c.elect(1)
	leader.Propose(items("a"), 1, 1, false)
	c.settle()
	c.tick(2)
	for id := uint64(2); id <= 3; id++ {
		s, stands := leader.Seen()[id], c.nodes[id].Standing()
		if s.Match != stands.Last || s.Term != stands.Term || s.Committed == 0 || s.Lacks(stands) != nil {
			t.Errorf("of node %d, which stands at %+v, was seen %+v", id, stands, s)
		}
	}
}
