package replica_test

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes"
	"wirelab/hermes/core"
	"wirelab/hermes/replica"
	"wirelab/wire/status"
)

var message = hermes.Message{Payload: []byte("x")}

func memberChange(kind raftpb.ConfChangeType, id uint64) *raftpb.ConfChange {
	return &raftpb.ConfChange{Type: kind.Enum(), NodeId: &id}
}

// A node joins as a learner, gets the whole log, is promoted, leads, and is removed.
func TestMembers(t *testing.T) {
	c := start(t, 3)
	n := c.elect(1)
	n.Propose(items("before"), 1, 1, false)
	c.settle()
	spare := c.add(4, replica.Options{})
	change := func(kind raftpb.ConfChangeType, id uint64) replica.Verdict {
		t.Helper()
		ticket := n.ProposeChange(memberChange(kind, id))
		c.settle()
		c.tick(2)
		return n.one(t, ticket)
	}
	if v := change(raftpb.ConfChangeAddLearnerNode, 4); v.Err != nil {
		t.Fatal(v.Err)
	}
	if topic, _ := spare.Machine().TopicByID(1); topic.Next != 1 || !slices.Equal(spare.Conf().GetLearners(),
		[]uint64{4}) || !slices.Equal(spare.Conf().GetVoters(), []uint64{1, 2, 3}) {
		t.Errorf("who joined has %d messages and the members %v", topic.Next, spare.Conf())
	}
	for range 50 { // a learner never stands for election
		spare.Tick()
		c.settle()
	}
	if n.leader != 1 {
		t.Fatal("a learner deposed the leader")
	}
	if v := change(raftpb.ConfChangeAddNode, 4); v.Err != nil || !slices.Contains(n.Conf().GetVoters(), 4) {
		t.Fatalf("promoted: %+v, %v", v, n.Conf())
	}
	if v := change(raftpb.ConfChangeRemoveNode, 1); v.Err != nil {
		t.Fatal(v.Err)
	}
	c.tick(30)
	if n.Status().RaftState == raft.StateLeader || spare.leader == 1 || spare.leader == 0 {
		t.Errorf("a leader that was removed leads on: %v, leader of the rest %d", n.Status().RaftState, spare.leader)
	}
}

func TestChangesAreChecked(t *testing.T) {
	c := start(t, 1)
	n := c.elect(1)
	last := n.ProposeChange(memberChange(raftpb.ConfChangeRemoveNode, 1))
	c.settle()
	if v := n.one(t, last); status.CodeOf(v.Err) != status.InvalidArgument {
		t.Errorf("removing the last voter came to %+v; the library panics over it", v)
	}
	n.hold = true
	first := n.ProposeChange(memberChange(raftpb.ConfChangeAddLearnerNode, 2))
	second := n.ProposeChange(memberChange(raftpb.ConfChangeAddLearnerNode, 3))
	data := n.Propose(items("a"), 1, 1, false)
	c.settle()
	n.hold = false
	c.store(n)
	c.settle()
	if v := n.one(t, second); status.CodeOf(v.Err) != status.Conflict {
		t.Errorf("a second change in between came to %+v", v)
	}
	if v := n.one(t, first); v.Err != nil || !slices.Equal(n.Conf().GetLearners(), []uint64{2}) {
		t.Errorf("the first came to %+v, members %v", v, n.Conf())
	}
	if v := n.one(t, data); v.Err != nil || len(v.Outcomes) != 1 {
		t.Errorf("data with it came to %+v", v)
	}
}

// Who lags behind the beginning of the log gets the state from there, also if the
// first copy is lost, and the entries behind it. (hb-D10)
func TestSnapshot(t *testing.T) {
	c := start(t, 3)
	n := c.elect(1)
	c.cut[3] = true
	for range 10 {
		n.Propose(items("a"), 1, 1, false)
		c.settle()
	}
	half := n.Machine().Applied()
	_, err := n.storage.CreateSnapshot(half, n.Conf(), n.Machine().Snapshot())
	must(t, err)
	must(t, n.storage.Compact(min(half-2, n.Droppable())))
	for range 5 {
		n.Propose(items("b"), 1, 1, false)
		c.settle()
	}
	lost := 0
	c.lose = func(m *raftpb.Message) bool {
		if m.GetType() == raftpb.MsgSnap && lost < 1 {
			lost++
			return true
		}
		return false
	}
	delete(c.cut, 3)
	c.tick(40)
	late := c.nodes[3]
	if lost != 1 || late.Machine().Applied() != n.Machine().Applied() {
		t.Fatalf("after %d lost snapshots node 3 is at %d of %d", lost, late.Machine().Applied(), n.Machine().Applied())
	}
	if string(late.Machine().Snapshot()) != string(n.Machine().Snapshot()) {
		t.Error("its state is another")
	}
	if first, _ := late.storage.FirstIndex(); first != half+1 || !slices.Contains(late.applied, half+1) ||
		slices.Contains(late.applied, half) {
		t.Errorf("its log begins at %d, it applied %v", first, late.applied)
	}
}

// A snapshot or an entry that cannot be applied stops the node. (hb-D11: it was
// skipped, and the publisher told that all was well.)
func TestWhatCannotBeAppliedStopsTheNode(t *testing.T) {
	c := start(t, 3)
	c.elect(1)
	_ = c.nodes[2].Step(&raftpb.Message{
		Type: raftpb.MsgSnap.Enum(), From: new(uint64(1)), To: new(uint64(2)), Term: new(uint64(9)),
		Snapshot: &raftpb.Snapshot{Data: []byte("nonsense"), Metadata: &raftpb.SnapshotMetadata{
			Index: new(uint64(100)), Term: new(uint64(9)), ConfState: &raftpb.ConfState{Voters: []uint64{1, 2, 3}},
		}},
	})
	c.work(c.nodes[2])
	if c.nodes[2].err == nil {
		t.Error("a snapshot of nonsense was installed")
	}
	if w := c.nodes[2].Ready(); w.Err == nil || len(w.Send) > 0 || c.nodes[2].HasWork() {
		t.Error("a broken node continues")
	}
	_ = c.nodes[3].Step(&raftpb.Message{
		Type: raftpb.MsgApp.Enum(), From: new(uint64(1)), To: new(uint64(3)), Term: new(uint64(9)),
		Index: new(c.nodes[3].Committed()), LogTerm: new(c.nodes[3].Status().GetTerm()),
		Commit: new(c.nodes[3].Committed() + 1),
		Entries: []*raftpb.Entry{{
			Index: new(c.nodes[3].Committed() + 1), Term: new(uint64(9)),
			Data: []byte("nonsense"),
		}},
	})
	c.work(c.nodes[3])
	if c.nodes[3].err == nil {
		t.Error("an entry of nonsense was applied")
	}
}

func TestReadIndex(t *testing.T) {
	c := start(t, 3)
	n := c.elect(1)
	written := n.Propose(items("a"), 1, 1, false)
	c.settle()
	index := n.one(t, written).Index
	for _, id := range c.order {
		ticket := c.nodes[id].ReadIndex()
		c.settle()
		c.tick(3)
		if v := c.nodes[id].one(t, ticket); v.Err != nil || v.Index < index ||
			c.nodes[id].Machine().Applied() < v.Index {
			t.Errorf("node %d read %+v; what was written is at %d", id, v, index)
		}
	}
	// A question that is lost is put again.
	lost := 0
	c.lose = func(m *raftpb.Message) bool {
		if m.GetType() == raftpb.MsgReadIndex && lost == 0 {
			lost++
			return true
		}
		return false
	}
	ticket := c.nodes[3].ReadIndex()
	c.settle()
	if len(c.nodes[3].of(ticket)) != 0 {
		t.Fatal("it was answered without having been asked")
	}
	c.tick(4)
	if v := c.nodes[3].one(t, ticket); v.Err != nil || lost != 1 {
		t.Errorf("%+v", v)
	}
}

// A leader that is not answered confirms no read, whatever its lease, and says so in the end.
func TestReadIndexWithoutAQuorum(t *testing.T) {
	c := start(t, 3)
	n := c.elect(1)
	c.cut[2], c.cut[3] = true, true
	ticket := n.ReadIndex()
	c.settle()
	n.Tick()
	c.settle()
	if len(n.of(ticket)) != 0 {
		t.Fatal("it was answered by the lease")
	}
	c.tick(30)
	if v := n.one(t, ticket); status.CodeOf(v.Err) != status.Unavailable {
		t.Errorf("%+v", v)
	}
}

// A node alone, restarted, may have a commit index on disk that is behind what it
// acknowledged: it reads only once an entry of its new term is in.
func TestReadIndexAfterARestartAlone(t *testing.T) {
	c := start(t, 1)
	n := c.elect(1)
	written := n.Propose(items("a"), 1, 1, false)
	c.settle()
	index := n.one(t, written).Index
	state, _, err := n.storage.InitialState()
	must(t, err)
	must(t, n.storage.SetHardState(&raftpb.HardState{Term: state.Term, Vote: state.Vote, Commit: new(index - 1)}))
	n = c.restart(1, 5)
	n.hold = true
	ticket := n.ReadIndex()
	n.Tick()
	for range 5 {
		c.settle()
		if len(n.of(ticket)) > 0 && n.Machine().Applied() < index {
			t.Fatalf("it read %+v", n.of(ticket))
		}
		c.store(n)
	}
	n.hold = false
	c.settle()
	if v := n.one(t, ticket); v.Err != nil || v.Index < index {
		t.Errorf("it read %+v; what was acknowledged is at %d", v, index)
	}
}

// Nor does it answer a learner's question before: Raft would, with the commit index
// from the disk.
func TestLearnerAsksALeaderThatIsAlone(t *testing.T) {
	c := start(t, 1)
	n := c.elect(1)
	learner := c.add(2, replica.Options{})
	n.ProposeChange(memberChange(raftpb.ConfChangeAddLearnerNode, 2))
	c.settle()
	written := n.Propose(items("a"), 1, 1, false)
	c.settle()
	index := n.one(t, written).Index
	c.tick(1)
	state, _, err := n.storage.InitialState()
	must(t, err)
	must(t, n.storage.SetHardState(&raftpb.HardState{Term: state.Term, Vote: state.Vote, Commit: new(index - 1)}))
	n = c.restart(1, 5)
	n.hold = true
	n.Tick()
	for c.work(n); n.leader != 1; c.work(n) {
		c.store(n)
	}
	if n.Committed() >= index {
		t.Fatal("it knows already what was committed: the test shows nothing")
	}
	must(t, n.Step(&raftpb.Message{
		Type: raftpb.MsgReadIndex.Enum(), From: new(uint64(2)), To: new(uint64(1)),
		Entries: []*raftpb.Entry{{Data: make([]byte, 16)}},
	}))
	c.lose = func(m *raftpb.Message) bool {
		if m.GetType() == raftpb.MsgReadIndexResp && m.GetIndex() < index {
			t.Errorf("it answered %d; what was acknowledged is at %d", m.GetIndex(), index)
		}
		return false
	}
	c.work(n)
	n.hold = false
	c.store(n)
	c.settle()
	ticket := learner.ReadIndex()
	c.tick(4)
	if v := learner.one(t, ticket); v.Err != nil || v.Index < index {
		t.Errorf("the learner read %+v", v)
	}
}

// The answer to a question of an earlier start answers none of this one.
func TestAnswerOfAnEarlierStart(t *testing.T) {
	c := start(t, 3)
	c.elect(1)
	n := c.nodes[3]
	ticket := n.ReadIndex()
	c.cut[3] = true // its own questions go nowhere
	stale := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, 12345), 1)
	must(t, n.Step(&raftpb.Message{
		Type: raftpb.MsgReadIndexResp.Enum(), From: new(uint64(1)), To: new(uint64(3)), Term: new(n.Status().GetTerm()),
		Index: new(uint64(1)), Entries: []*raftpb.Entry{{Data: stale}},
	}))
	c.work(n)
	if len(n.of(ticket)) != 0 {
		t.Errorf("it was answered by %+v", n.of(ticket))
	}
}

// Changed members come out the same when the log is replayed the log without a replica.
func TestChangeReplaysMembers(t *testing.T) {
	c := start(t, 3)
	n := c.elect(1)
	for _, change := range []*raftpb.ConfChange{
		memberChange(raftpb.ConfChangeAddLearnerNode, 4),
		memberChange(raftpb.ConfChangeAddNode, 4), memberChange(raftpb.ConfChangeRemoveNode, 2),
	} {
		n.ProposeChange(change)
		c.settle()
	}
	entries, err := n.storage.Entries(1, n.Machine().Applied()+1, 1<<30)
	must(t, err)
	conf, machine := &raftpb.ConfState{}, core.New()
	for _, e := range entries {
		conf, err = replica.Change(conf, e)
		must(t, err)
		_, err = replica.Apply(machine, e)
		must(t, err)
	}
	if fmt.Sprint(conf) != fmt.Sprint(n.Conf()) || !slices.Equal(conf.GetVoters(), []uint64{1, 3, 4}) {
		t.Errorf("replayed: %v; the replica has %v", conf, n.Conf())
	}
	if _, err := replica.Change(conf,
		&raftpb.Entry{Type: raftpb.EntryConfChange.Enum(), Data: []byte{0xff}}); err == nil {
		t.Error("nonsense changed the members")
	}
}

// Whatever is no message of another node's is refused and changes nothing.
func TestStepRefuses(t *testing.T) {
	c := start(t, 3)
	n := c.elect(1)
	state := func() string {
		s := n.Status()
		return fmt.Sprint(s.GetTerm(), s.GetVote(), s.GetCommit(), s.Lead, s.RaftState, s.Applied)
	}
	before := state()
	for _, kind := range []raftpb.MessageType{
		raftpb.MsgHup, raftpb.MsgBeat, raftpb.MsgCheckQuorum,
		raftpb.MsgUnreachable,
		raftpb.MsgSnapStatus, raftpb.MsgProp, raftpb.MsgStorageAppendResp, raftpb.MsgStorageApplyResp,
	} {
		for _, from := range []uint64{0, 1, 2, raft.LocalAppendThread, raft.LocalApplyThread} {
			if err := n.Step(&raftpb.Message{
				Type: kind.Enum(), From: &from, To: new(uint64(1)),
				Index: new(uint64(1 << 40)),
			}); err == nil {
				t.Errorf("%s from %d was taken", kind, from)
			}
		}
	}
	if after := state(); after != before {
		t.Errorf("it changed %s to %s", before, after)
	}
}

func TestLogger(t *testing.T) {
	var text strings.Builder
	l := replica.Logger(slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelInfo})))
	l.Debugf("hidden %d", 1)
	l.Infof("hidden %d", 2)
	l.Warningf("shown %d", 2)
	l.Error("failed")
	l.Debug("hidden")
	l.Info("hidden")
	l.Warningf("x%d", 3)
	l.Errorf("y%d", 4)
	if got := text.String(); strings.Contains(got, "hidden") || !strings.Contains(got, "shown 2") ||
		strings.Count(got, "\n") != 4 {
		t.Error(got)
	}
	defer func() {
		if recover() == nil {
			t.Error("the library expects no return from Panicf")
		}
	}()
	l.Panicf("the log is broken")
}
