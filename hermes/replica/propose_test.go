package replica_test

import (
	"slices"
	"strings"
	"testing"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/core"
	"wirelab/hermes/record"
	"wirelab/hermes/replica"
	"wirelab/wire/status"
)

func TestProposalsGoTogether(t *testing.T) {
	c := start(t, 3)
	n := c.elect(1)
	last := n.applied[len(n.applied)-1]
	n.hold = true // nothing is stored: entries stay under way
	c.nodes[2].hold, c.nodes[3].hold = true, true
	first := n.Propose(items("a"), 1, 10, false)
	c.settle()
	second := n.Propose(items("b"), 1, 5, false) // the clock went back
	c.settle()
	var rest []uint64
	for range 5 { // two entries are under way: these wait, and go together
		rest = append(rest, n.Propose(items("c"), 1, 20, false))
	}
	c.settle()
	if n.Waiting() != 5*len(items("c")) {
		t.Errorf("%d bytes wait", n.Waiting())
	}
	n.hold, c.nodes[2].hold, c.nodes[3].hold = false, false, false
	for _, id := range c.order {
		c.store(c.nodes[id])
	}
	c.settle()
	a, b := n.one(t, first), n.one(t, second)
	if a.Index != last+1 || b.Index != last+2 || a.Time != 10 || b.Time != 10 || b.Outcomes[0].Offset != 1 {
		t.Errorf("the first two came to %+v and %+v", a, b)
	}
	for i, ticket := range rest {
		v := n.one(t, ticket)
		if v.Index != last+3 || v.Time != 20 || len(v.Outcomes) != 1 || v.Outcomes[0].Offset != uint64(i+2) {
			t.Errorf("number %d of those that waited came to %+v", i, v)
		}
	}
	if n.Waiting() != 0 {
		t.Errorf("%d bytes still wait", n.Waiting())
	}
}

// While an entry of many proposals is under way, the next one waits until it is twice as many,
// or many bytes; then it goes, and the third waits for the first to be through.
func TestAnEntryIsWorthIt(t *testing.T) {
	large := strings.Repeat("x", 64<<10)
	for _, test := range []struct {
		name string
		next []string // what comes while 10 proposals are under way
		goes bool
	}{
		{"fewer than twice as many", slices.Repeat([]string{"b"}, 19), false},
		{"twice as many", slices.Repeat([]string{"b"}, 20), true},
		{"one that is large", []string{large}, true},
	} {
		c := start(t, 3)
		n := c.elect(1)
		for _, id := range c.order {
			c.nodes[id].hold = true // nothing is stored: entries stay under way
		}
		for range 10 {
			n.Propose(items("a"), 1, 10, false)
		}
		c.settle()
		var next []uint64
		for _, text := range test.next {
			next = append(next, n.Propose(items(text), 1, 10, false))
		}
		c.settle()
		if gone := n.Waiting() == 0; gone != test.goes {
			t.Errorf("%s: %d bytes wait", test.name, n.Waiting())
		}
		late := n.Propose(items(large), 1, 10, false)
		c.settle()
		if test.goes && n.Waiting() == 0 {
			t.Errorf("%s: a third entry went", test.name)
		}
		for _, id := range c.order {
			c.nodes[id].hold = false
			c.store(c.nodes[id])
		}
		c.settle()
		first := n.one(t, next[0])
		for _, ticket := range append(next, late) {
			v := n.one(t, ticket)
			if v.Err != nil || ticket != late && v.Index != first.Index {
				t.Errorf("%s: %+v, and the first of them %+v", test.name, v, first)
			}
		}
		if n.Waiting() != 0 {
			t.Errorf("%s: %d bytes still wait", test.name, n.Waiting())
		}
	}
}

// What a failing item of one proposal comes to is not told to another.
func TestOutcomesAreOnesOwn(t *testing.T) {
	c := start(t, 1)
	n := c.elect(1)
	unknown := record.AppendRun(nil, record.Run{Topic: 99, Count: 1, Messages: record.AppendMessage(nil, &message)})
	good := n.Propose(append(items("a"), items("b")...), 2, 1, false)
	bad := n.Propose(unknown, 1, 1, false)
	after := n.Propose(items("c"), 1, 1, false)
	c.settle()
	if v := n.one(t, good); v.Err != nil || len(v.Outcomes) != 2 || v.Outcomes[1].Offset != 1 {
		t.Errorf("two runs came to %+v", v)
	}
	if v := n.one(t, bad); v.Err != nil || status.CodeOf(v.Outcomes[0].Err) != status.NotFound {
		t.Errorf("a run of no topic came to %+v", v)
	}
	if v := n.one(t, after); v.Outcomes[0].Offset != 2 {
		t.Errorf("the run behind it came to %+v", v)
	}
}

// Proposals larger than an entry take one each.
func TestEntryLimit(t *testing.T) {
	c := &cluster{t: t, nodes: map[uint64]*node{}, cut: map[uint64]bool{}}
	n := c.add(1, replica.Options{Members: members(1), EntryLimit: 100, InFlight: 1})
	c.elect(1)
	var tickets []uint64
	for _, size := range []int{300, 10, 10, 300, 60} {
		tickets = append(tickets, n.Propose(items(strings.Repeat("x", size)), 1, 1, false))
	}
	c.settle()
	var indices []uint64
	for _, ticket := range tickets {
		indices = append(indices, n.one(t, ticket).Index-n.one(t, tickets[0]).Index)
	}
	if !slices.Equal(indices, []uint64{0, 1, 1, 2, 3}) {
		t.Errorf("proposals went into entries %v", indices)
	}
}

func TestFollowerStoresNothing(t *testing.T) {
	c := start(t, 3)
	c.elect(1)
	n := c.nodes[2]
	ticket := n.Propose(items("a"), 1, 1, true)
	change := n.ProposeChange(&raftpb.ConfChange{Type: raftpb.ConfChangeAddLearnerNode.Enum(), NodeId: new(uint64(4))})
	c.settle()
	for _, ticket := range []uint64{ticket, change} {
		if v := n.one(t, ticket); v.Err == nil || status.CodeOf(v.Err) != status.Unavailable {
			t.Errorf("a follower answered %+v", v)
		}
	}
	if err := n.Step(&raftpb.Message{
		Type: raftpb.MsgProp.Enum(), From: new(uint64(3)), To: new(uint64(2)),
		Entries: []*raftpb.Entry{{Data: []byte("x")}},
	}); err == nil {
		t.Error("another node's proposal was taken: nothing is forwarded")
	}
}

// An eventual publish is answered when the leader's disk has it, and again when a
// quorum has; never before the disk has it. (hb-D06)
func TestProvisionalVerdict(t *testing.T) {
	c := start(t, 3)
	n := c.elect(1)
	c.cut[2], c.cut[3] = true, true
	n.hold = true
	eventual, consistent := n.Propose(items("a"), 1, 1, true), n.Propose(items("b"), 1, 1, false)
	c.settle()
	if len(n.of(eventual)) != 0 {
		t.Fatal("it was answered before anything was stored")
	}
	n.hold = false
	c.store(n)
	c.settle()
	if v := n.one(t, eventual); !v.Provisional || v.Err != nil || v.Index == 0 || v.Outcomes != nil {
		t.Errorf("stored on the leader, it came to %+v", v)
	}
	if len(n.of(consistent)) != 0 {
		t.Error("the consistent one was answered without a quorum")
	}
	c.cut = map[uint64]bool{}
	c.tick(3)
	if all := n.of(eventual); len(all) != 2 || all[1].Provisional || all[1].Outcomes == nil {
		t.Errorf("on a quorum, it came to %+v", all)
	}
	n.one(t, consistent)
}

// A quorum that is quicker than the leader's own disk makes the final verdict, and
// no provisional one follows it.
func TestQuorumBeforeTheLeadersDisk(t *testing.T) {
	c := start(t, 3)
	n := c.elect(1)
	n.hold = true
	ticket := n.Propose(items("a"), 1, 1, true)
	c.settle()
	if v := n.one(t, ticket); v.Provisional || v.Err != nil {
		t.Fatalf("with two of three disks it came to %+v", v)
	}
	n.hold = false
	c.store(n)
	c.settle()
	n.one(t, ticket)
	if n.Droppable() > n.Machine().Applied() || !slices.IsSorted(n.applied) {
		t.Errorf("applied %v, droppable %d", n.applied, n.Droppable())
	}
	for i := 1; i < len(n.applied); i++ {
		if n.applied[i] != n.applied[i-1]+1 {
			t.Errorf("applied %v: each once, in order", n.applied)
		}
	}
}

// A leader that is deposed tells all its callers, at once, that is unknown.
func TestDeposedLeaderAnswersAll(t *testing.T) {
	c := start(t, 3)
	n := c.elect(1)
	c.cut[1] = true
	flying := n.Propose(items("lost"), 1, 1, true)
	c.settle()
	flying2 := n.Propose(items("lost"), 1, 1, false)
	c.settle()
	waiting := n.Propose(items("never"), 1, 1, false)
	c.settle()
	if v := n.one(t, flying); !v.Provisional {
		t.Fatalf("cut off, it came to %+v", v)
	}
	for range 30 { // the others' lease has to run out
		c.nodes[2].Tick()
		c.nodes[3].Tick()
		c.settle()
	}
	if c.nodes[2].leader == 1 || c.nodes[2].leader == 0 {
		t.Fatal("no node took over")
	}
	c.cut = map[uint64]bool{}
	c.tick(3)
	for _, ticket := range []uint64{flying, flying2, waiting} {
		all := n.of(ticket)
		if v := all[len(all)-1]; v.Err == nil || status.CodeOf(v.Err) != status.Unavailable || v.Provisional {
			t.Errorf("ticket %d of a deposed leader: %+v", ticket, all)
		}
	}
	if topic, _ := n.Machine().TopicByID(1); topic.Next != 0 {
		t.Errorf("what was never on a quorum has %d offsets", topic.Next)
	}
}

// While leadership is handed over proposals wait, and are notified if it goes.
func TestTransfer(t *testing.T) {
	c := start(t, 3)
	n := c.elect(1)
	n.Transfer(0)
	ticket := n.Propose(items("a"), 1, 1, false)
	for range 10_000 { // it must not spin in the meantime
		if !n.HasWork() {
			break
		}
		w := n.Ready()
		c.send(1, w.Send)
		if w.Stores() {
			c.send(1, n.Stored(w))
		}
	}
	if n.HasWork() {
		t.Fatal("it asks for work that there is not")
	}
	c.settle()
	if n.leader == 1 || n.leader == 0 {
		t.Errorf("leader is %d", n.leader)
	}
	if v := n.one(t, ticket); status.CodeOf(v.Err) != status.Unavailable {
		t.Errorf("a proposal at a leader that goes came to %+v", v)
	}
}

// Entries that were applied before a restart are not applied again, and none is left out. (hb-D12)
func TestRestartAppliesNothingTwice(t *testing.T) {
	c := start(t, 1)
	n := c.elect(1)
	for range 5 {
		n.Propose(items("a"), 1, 1, false)
		c.settle()
	}
	before := n.Machine().Snapshot()
	n = c.restart(1, 77)
	c.settle()
	n.Tick()
	c.settle()
	if topic, _ := n.Machine().TopicByID(1); topic.Next != 5 {
		t.Errorf("after the restart there are %d messages", topic.Next)
	}
	restored, err := core.Restore(before)
	must(t, err)
	if len(n.applied) == 0 || n.applied[0] > restored.Applied()+1 {
		t.Errorf("the restart applied %v after %d", n.applied, restored.Applied())
	}
}

// A log that lost entries which count is refused, with the fault. (hb-D11)
func TestRefusesALogThatLostItsEnd(t *testing.T) {
	storage := raft.NewMemoryStorage()
	must(t, storage.Append([]*raftpb.Entry{{Index: new(uint64(1)), Term: new(uint64(1))}}))
	must(t, storage.SetHardState(&raftpb.HardState{Term: new(uint64(1)), Vote: new(uint64(1)), Commit: new(uint64(5))}))
	if _, err := replica.New(replica.Options{ID: 1}, storage, core.New(), 0); err == nil ||
		!strings.Contains(err.Error(),
			"lost its end") {
		t.Errorf("it was opened: %v", err)
	}
	if _, err := replica.New(replica.Options{ID: 1}, storage, core.New(), 3); err == nil {
		t.Error("a machine that is after another entry was taken")
	}
	for _, o := range []replica.Options{
		{},
		{ID: raft.LocalApplyThread},
		{ID: 1, ElectionTicks: 2},
		{ID: 1, InFlight: -1},
	} {
		if _, err := replica.New(o, raft.NewMemoryStorage(), core.New(), 0); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

// A cluster whose very first write was torn on every node begins again.
func TestTornBeginning(t *testing.T) {
	storage := raft.NewMemoryStorage()
	must(t, storage.Append([]*raftpb.Entry{{
		Index: new(uint64(1)), Term: new(uint64(1)),
		Type: raftpb.EntryConfChange.Enum(),
	}}))
	r, err := replica.New(replica.Options{ID: 1, Members: members(1)}, storage, core.New(), 0)
	must(t, err)
	c := &cluster{
		t: t, nodes: map[uint64]*node{1: {Replica: r, id: 1, storage: storage}}, order: []uint64{1},
		cut: map[uint64]bool{},
	}
	n := c.elect(1)
	ticket := n.Propose(items("a"), 1, 1, false)
	c.settle()
	if v := n.one(t, ticket); v.Err != nil {
		t.Errorf("%+v", v)
	}
}

// Commit indices are not synced by themselves: a machine from a snapshot may be
// ahead of the one on disk.
func TestAppliedAheadOfCommit(t *testing.T) {
	c := start(t, 1)
	n := c.elect(1)
	n.Propose(items("a"), 1, 1, false)
	c.settle()
	applied := n.Machine().Applied()
	machine, err := core.Restore(n.Machine().Snapshot())
	must(t, err)
	must(t, n.storage.SetHardState(&raftpb.HardState{
		Term: new(uint64(2)), Vote: new(uint64(1)),
		Commit: new(uint64(1)),
	}))
	r, err := replica.New(replica.Options{ID: 1, Conf: n.Conf()}, n.storage, machine, applied)
	must(t, err)
	if r.Status().GetCommit() != applied {
		t.Errorf("commit is %d, applied %d", r.Status().GetCommit(), applied)
	}
}

// piecemeal gives one entry at a time, as a log may whose entries are in several files.
type piecemeal struct{ raft.Storage }

func (p piecemeal) Entries(lo, _, limit uint64) ([]*raftpb.Entry, error) {
	return p.Storage.Entries(lo, lo+1, limit)
}

// Entries that were on disk but not known to be committed at the start are handed out piece
// by piece; what came after them is not applied before them.
func TestApplyInOrderAfterARestart(t *testing.T) {
	c := start(t, 3)
	c.elect(1)
	for range 6 {
		c.nodes[1].Propose(items("a"), 1, 1, false)
		c.settle()
	}
	old := c.nodes[3]
	state, _, err := old.storage.InitialState()
	must(t, err)
	must(t, old.storage.SetHardState(&raftpb.HardState{Term: state.Term, Vote: state.Vote, Commit: new(uint64(4))}))
	machine := core.New()
	entries, err := old.storage.Entries(1, 5, 1<<30)
	must(t, err)
	for _, e := range entries {
		_, err := replica.Apply(machine, e)
		must(t, err)
	}
	r, err := replica.New(replica.Options{ID: 3, Seed: 9, Conf: c.nodes[1].Conf()}, piecemeal{old.storage}, machine, 4)
	must(t, err)
	c.nodes[3] = &node{Replica: r, id: 3, storage: old.storage}
	last, err := old.storage.LastIndex()
	must(t, err)
	must(t, r.Step(&raftpb.Message{
		Type: raftpb.MsgApp.Enum(), From: new(uint64(1)), To: new(uint64(3)), Term: state.Term,
		Index: &last, LogTerm: state.Term, Commit: new(last + 1),
		Entries: []*raftpb.Entry{{Index: new(last + 1), Term: state.Term}},
	}))
	c.work(c.nodes[3])
	must(t, c.nodes[3].err)
	if got := c.nodes[3].Machine().Applied(); got != last+1 {
		t.Errorf("applied %d of %d", got, last+1)
	}
	for i, index := range c.nodes[3].applied {
		if index != uint64(5+i) {
			t.Errorf("applied %v", c.nodes[3].applied)
			break
		}
	}
}
