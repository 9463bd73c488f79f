package sim

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/anishathalye/porcupine"
	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes"
	"wirelab/hermes/core"
	"wirelab/hermes/record"
	"wirelab/hermes/replica"
)

// judge holds the nodes to what was promised. It sees everything.
type judge struct {
	world     *World
	topics    []uint32
	log       []applied         // by index - 1: as the first node applied it
	truth     map[uint32][]name // by topic and offset; made in the end
	states    map[uint64]uint64
	leaders   map[uint64]uint64 // by term
	nodes     map[uint64]*upto
	published []*publish
	acks      []ack
	reads     []porcupine.Operation
	intents   map[string]*intent     // by their commands
	cursors   map[uint64]cursor      // of groups, by the log
	landed    map[string][]place     // the entries that have an intent's command
	starts    map[name]time.Duration // when runs were published first
	report    Report
}

// upto is how far a node has applied in this life.
type upto struct {
	index uint64
}

// applied is an entry with what became of it.
type applied struct {
	term, sum uint64
	time      int64
	messages  []uint64 // sums of its runs' messages
	outcomes  []core.Outcome
	runs      []landed
}

// landed is a run that became messages.
type landed struct {
	topic         uint32
	offset        uint64
	count         int
	client, first uint64
}

// ack is a promise given to a producer.
type ack struct {
	one   *publish
	index uint64
	at    time.Duration
}

func newJudge(w *World) judge {
	return judge{
		world: w, truth: map[uint32][]name{}, states: map[uint64]uint64{}, leaders: map[uint64]uint64{},
		nodes: map[uint64]*upto{}, intents: map[string]*intent{}, cursors: map[uint64]cursor{},
		landed: map[string][]place{}, starts: map[name]time.Duration{},
	}
}

func sum(parts ...[]byte) uint64 {
	h := fnv.New64a()
	for _, p := range parts {
		_, _ = h.Write(p)
	}
	return h.Sum64()
}

// shape is of all of an entry but the messages in it, which cleaning takes away.
func (j *judge) shape(e *raftpb.Entry) (shape uint64, messages []uint64) {
	all := binary.BigEndian.AppendUint64([]byte{byte(e.GetType())}, e.GetTerm())
	if e.GetType() != raftpb.EntryNormal || len(e.GetData()) == 0 {
		return sum(all, e.GetData()), nil
	}
	at, items, err := record.Parse(e.GetData())
	if err != nil {
		j.world.fail("entry %d: %v", e.GetIndex(), err)
		return 0, nil
	}
	all = binary.BigEndian.AppendUint64(all, uint64(at))
	for item, err := range items {
		if err != nil {
			j.world.fail("entry %d: %v", e.GetIndex(), err)
			return 0, nil
		}
		r := item.Run
		for _, n := range []uint64{
			uint64(r.Topic), r.Producer, r.Sequence, uint64(r.Count), uint64(r.Size),
			sum(item.Command),
		} {
			all = binary.BigEndian.AppendUint64(all, n)
		}
		one := uint64(0)
		if !r.Cleaned && item.Command == nil {
			one = sum(r.Messages)
		}
		messages = append(messages, one)
	}
	return sum(all), messages
}

// same reports whether an entry is the one that was applied first, or what cleaning left of it.
func (j *judge) same(e *raftpb.Entry) bool {
	known := j.log[e.GetIndex()-1]
	shape, messages := j.shape(e)
	if shape != known.sum || len(messages) != len(known.messages) {
		return false
	}
	for i, m := range messages {
		if m != 0 && m != known.messages[i] {
			return false
		}
	}
	return true
}

// leads: a term has one leader.
func (j *judge) leads(n *node, work replica.Work) {
	if work.Leader == 0 {
		return
	}
	if before, ok := j.leaders[work.Term]; ok && before != work.Leader {
		j.world.fail("term %d has the leaders %d and, says node %d, %d", work.Term, before, n.id, work.Leader)
	}
	j.leaders[work.Term] = work.Leader
}

// applied: every node applies the same entries, in order, once, with the same outcomes.
func (j *judge) applied(n *node, a replica.Applied) {
	at := j.nodes[n.id]
	index := a.Entry.GetIndex()
	if index != at.index+1 {
		j.world.fail("node %d applied entry %d after %d", n.id, index, at.index)
		return
	}
	at.index = index
	outcomes := a.Outcomes
	if j.world.options.Sabotage == Unordered && n.id == 2 && len(outcomes) > 0 {
		outcomes = append([]core.Outcome(nil), outcomes...)
		outcomes[0].Offset++
	}
	if index <= uint64(len(j.log)) {
		known := j.log[index-1]
		if !j.same(a.Entry) {
			j.world.fail("entry %d is of term %d on node %d and was of term %d, or is another", index,
				a.Entry.GetTerm(), n.id,
				known.term)
		}
		if said, was := describe(outcomes), describe(known.outcomes); said != was {
			j.world.fail("entry %d came to %s on node %d and to %s before", index, said, n.id, was)
		}
		return
	}
	one := applied{term: a.Entry.GetTerm(), outcomes: outcomes}
	one.sum, one.messages = j.shape(a.Entry)
	one.runs, one.time = j.landings(a), j.timeOf(a.Entry)
	if n := len(j.log); n > 0 {
		one.time = max(one.time, j.log[n-1].time)
	}
	j.stamped(a.Entry, one.time, one.runs)
	j.log = append(j.log, one)
}

// timeOf is an entry's time; 0: it has none.
func (j *judge) timeOf(e *raftpb.Entry) int64 {
	if e.GetType() != raftpb.EntryNormal || len(e.GetData()) == 0 {
		return 0
	}
	at, _, err := record.Parse(e.GetData())
	if err != nil {
		j.world.fail("entry %d: %v", e.GetIndex(), err)
	}
	return at
}

func describe(outcomes []core.Outcome) string {
	text := ""
	for _, o := range outcomes {
		text += fmt.Sprintf("[%d %d %v %d %d %v]", o.Topic, o.Offset, o.Duplicate, o.Group, o.Producer, o.Err)
	}
	return text
}

// landings reads which messages an entry made.
func (j *judge) landings(a replica.Applied) (runs []landed) {
	if a.Entry.GetType() != raftpb.EntryNormal || len(a.Entry.GetData()) == 0 {
		return nil
	}
	_, items, err := record.Parse(a.Entry.GetData())
	if err != nil {
		j.world.fail("entry %d: %v", a.Entry.GetIndex(), err)
		return nil
	}
	i := 0
	for item, err := range items {
		if err != nil || i >= len(a.Outcomes) {
			j.world.fail("entry %d: item %d: %v", a.Entry.GetIndex(), i, err)
			return runs
		}
		outcome := a.Outcomes[i]
		i++
		if item.Command != nil {
			j.moved(place{a.Entry.GetIndex(), i}, item.Command, outcome)
		}
		if item.Command != nil || outcome.Err != nil || outcome.Duplicate {
			continue
		}
		client, first, ok := identify(item.Run)
		if !ok {
			j.world.fail("entry %d holds messages that were not published", a.Entry.GetIndex())
		}
		runs = append(runs, landed{item.Run.Topic, outcome.Offset, int(item.Run.Count), client, first})
	}
	return runs
}

// identify tells whose run it is; ok is false if it is not whole.
func identify(run record.Run) (client, first uint64, ok bool) {
	next := uint64(0)
	for bytes := range record.Messages(run.Messages) {
		var m hermes.Message
		if record.ReadMessage(bytes, &m) != nil || len(m.Payload) < 16 {
			return 0, 0, false
		}
		who, number := binary.BigEndian.Uint64(m.Payload), binary.BigEndian.Uint64(m.Payload[8:])
		if next == 0 {
			client, first, next = who, number, number
		}
		if who != client || number != next {
			return 0, 0, false
		}
		next++
	}
	return client, first, next == first+uint64(run.Count)
}

// state: nodes at the same entry are in the same state.
func (j *judge) state(n *node, m *core.Machine) {
	const every = 8 // a snapshot of each would take most of the time
	if m.Applied()%every != 0 || m.Applied() == 0 {
		return
	}
	j.compare(n, m)
}

func (j *judge) compare(n *node, m *core.Machine) {
	is := sum(m.Snapshot())
	if was, ok := j.states[m.Applied()]; ok && was != is {
		j.world.fail("node %d is in another state after entry %d than a node was before", n.id, m.Applied())
	}
	j.states[m.Applied()] = is
}

func (j *judge) recovered(n *node, m *core.Machine) {
	j.nodes[n.id] = &upto{index: m.Applied()}
	if m.Applied() > uint64(len(j.log)) {
		j.world.fail("node %d starts after entry %d, which no node has applied", n.id, m.Applied())
	}
	if m.Applied() > 0 {
		j.compare(n, m)
	}
}

func (j *judge) installed(n *node, m *core.Machine) {
	j.report.Snapshots++
	j.recovered(n, m)
}

func (j *judge) stopped(n *node) { delete(j.nodes, n.id) }

// verdict: an entry that is reported to be on a quorum of disks, or on the leader's, is.
func (j *judge) verdict(n *node, v replica.Verdict) {
	switch {
	case v.Err != nil || v.Outcomes == nil && !v.Provisional:
	case v.Provisional:
		if !n.disk.durable(v.Index, v.Term) {
			j.world.fail("node %d said that entry %d of term %d is on its disk, and it is not", n.id, v.Index, v.Term)
		}
	default:
		// A change of members counts from its own commit on: what was committed before it,
		// and is applied with it, is on a quorum of those before.
		if !j.quorum(n.voters, v) && !j.quorum(n.replica.Conf().GetVoters(), v) {
			j.world.fail("node %d acknowledged entry %d of term %d, which is not on the disks of a quorum of %v", n.id,
				v.Index,
				v.Term, n.voters)
		}
	}
}

func (j *judge) quorum(voters []uint64, v replica.Verdict) bool {
	have := 0
	for _, id := range voters {
		if j.world.nodes[id-1].disk.durable(v.Index, v.Term) {
			have++
		}
	}
	return have > len(voters)/2
}

// acknowledged notes a promise.
func (j *judge) acknowledged(one *publish, v replica.Verdict) {
	j.report.Acknowledged++
	if v.Outcomes[0].Duplicate {
		j.report.Duplicates++
	}
	j.acks = append(j.acks, ack{one, v.Index, j.world.now})
}

func (j *judge) read(topic uint32, next uint64, begun time.Duration) {
	j.report.Reads++
	j.reads = append(j.reads, porcupine.Operation{
		Input: operation{topic: topic, read: true}, Output: next,
		Call: int64(begun), Return: int64(j.world.now),
	})
}

// fingerprint is of the whole log, to tell whether two runs were the same.
func (j *judge) fingerprint() uint64 {
	var all []byte
	for _, e := range j.log {
		all = binary.BigEndian.AppendUint64(all, e.sum)
	}
	return sum(all)
}
