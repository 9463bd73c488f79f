package core_test

import (
	"bytes"
	"reflect"
	"testing"

	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// raised is a machine of level 1 with a topic of 100 messages and a group.
func raised(t testing.TB) (j journal, topic uint32, group uint64) {
	j, topic = begin(t)
	j.done(does(core.Rise(1)))
	j.done(run(topic, 0, 0, 100))
	group = j.done(does(core.CreateGroup(topic, broker.Group{Name: "g"}, 0, core.Owner{Name: "ann", Most: 2}))).Group
	return j, topic, group
}

func (j journal) group(id uint64) broker.Group {
	j.t.Helper()
	g, ok := j.m.GroupByID(id)
	if !ok {
		j.t.Fatalf("group %d is not there", id)
	}
	return g
}

// Before the level is reached nothing of it is in the state, anyone who writes it: other nodes would pass it
// over.
func TestLevelZero(t *testing.T) {
	t.Parallel()
	j, topic := begin(t)
	plain, _ := begin(t)
	for _, one := range []struct {
		j     journal
		owner core.Owner
		tried []core.Tried
	}{
		{j, core.Owner{Name: "ann", Most: 1}, []core.Tried{{Range: broker.Range{First: 5, Last: 5}, Attempts: 1}}},
		{plain, core.Owner{}, nil},
	} {
		one.j.done(run(topic, 0, 0, 10))
		g := one.j.done(does(core.CreateGroup(topic, broker.Group{Name: "g"}, 0, one.owner))).Group
		one.j.done(does(core.OpenProducer(one.owner)))
		one.j.done(does(core.OpenProducer(one.owner)))
		one.j.done(does(core.Failed(g, 0, one.tried)))
		one.j.done(does(core.Trim(topic, 3)))
	}
	if !bytes.Equal(j.m.Snapshot(), plain.m.Snapshot()) {
		t.Error("what belongs to level 1 is in the state at level 0")
	}
}

// Retention that passes unread messages over counts them, and tells the range until a group is behind it.
func TestTrimmedIsCounted(t *testing.T) {
	t.Parallel()
	j, topic, g := raised(t)
	j.done(does(core.Ack(g, 0, []broker.Range{{First: 0, Last: 9}, {First: 20, Last: 24}, {First: 38, Last: 50}}, 0)))
	j.done(does(core.Trim(topic, 10))) // nothing that is unread
	if _, ok := j.m.Gap(g); ok || j.group(g).Trimmed != 0 {
		t.Errorf("%+v", j.group(g))
	}
	j.done(does(core.Trim(topic, 15)))
	j.done(does(core.Trim(topic, 40)))
	again, err := core.Restore(j.m.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*core.Machine{j.m, again} {
		got, _ := m.GroupByID(g)
		gap, ok := m.Gap(g)
		if got.Trimmed != 10+13 || got.Floor != 51 || !ok || gap != (broker.Range{First: 10, Last: 37}) {
			t.Errorf("%+v, gap %v %v", got, gap, ok)
		}
	}
	j.done(does(core.Ack(g, 0, []broker.Range{{First: 51, Last: 51}}, 0)))
	if gap, ok := j.m.Gap(g); ok || j.group(g).Trimmed != 23 {
		t.Errorf("%v, %+v", gap, j.group(g))
	}
}

func tries(first, last uint64, attempts uint32, due int64) core.Tried {
	return core.Tried{Range: broker.Range{First: first, Last: last}, Attempts: attempts, Due: due}
}

// Tries and times are kept until the message is dealt with, in a snapshot too.
func TestTriesAreKept(t *testing.T) {
	t.Parallel()
	j, topic, g := raised(t)
	j.done(does(core.Failed(g, 1, []core.Tried{
		tries(5, 20, 1, 0), tries(30, 30, 2, 7e9), tries(99, 120, 1, 0),
		tries(40, 40, 0, 0),
	})))
	j.done(does(core.Failed(g, 1, []core.Tried{tries(8, 9, 2, 5e9)})))
	want := []core.Tried{tries(5, 7, 1, 0), tries(8, 9, 2, 5e9), tries(10, 20, 1, 0), tries(30, 30, 2, 7e9)}
	again, err := core.Restore(j.m.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*core.Machine{j.m, again} {
		if got := m.Tries(g); !reflect.DeepEqual(got, want) {
			t.Errorf("%v\nwant %v", got, want)
		}
	}
	j.refused(does(core.Failed(g, 7, nil)), status.Conflict, "was set to another offset")
	j.done(does(core.Ack(g, 0, []broker.Range{{First: 6, Last: 8}, {First: 30, Last: 30}}, 0)))
	j.done(does(core.Trim(topic, 12)))
	if got, want := j.m.Tries(g), []core.Tried{tries(12, 20, 1, 0)}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	j.done(does(core.SeekGroup(g, 50)))
	if got := j.m.Tries(g); got != nil {
		t.Errorf("after a seek: %v", got)
	}
}

// Tries are bounded, for a group and for all; the excess is passed over.
func TestTriesAreBounded(t *testing.T) {
	t.Parallel()
	j := journal{t, core.Small(4, 4, 4, 8, 3, 4)}
	j.done(does(core.Rise(1)))
	topic := j.done(does(core.CreateTopic(broker.Topic{Name: "t"}))).Topic
	j.done(run(topic, 0, 0, 1000))
	var groups []uint64
	for _, name := range []string{"a", "b", "c"} {
		g := j.done(does(core.CreateGroup(topic, broker.Group{Name: name}, 0, core.Owner{}))).Group
		groups = append(groups, g)
		for i := range uint64(20) {
			j.done(does(core.Failed(g, 0, []core.Tried{tries(10*i, 10*i+5, 1, 0)})))
		}
	}
	total := 0
	for _, g := range groups {
		n := len(j.m.Tries(g))
		if total += n; n > 6 {
			t.Errorf("%d ranges of a group", n)
		}
	}
	if total == 0 || total > 10 {
		t.Errorf("%d ranges", total)
	}
	for _, g := range groups {
		j.done(does(core.DeleteGroup(g)))
	}
	g := j.done(does(core.CreateGroup(topic, broker.Group{Name: "d"}, 0, core.Owner{}))).Group
	j.done(does(core.Failed(g, 0, []core.Tried{tries(1, 1, 1, 0)})))
	if len(j.m.Tries(g)) != 1 {
		t.Error("the room of deleted groups is not given back")
	}
}

// One who opens any number of producers takes his own places, not another's.
func TestProducersShare(t *testing.T) {
	t.Parallel()
	j := journal{t, core.Small(4, 4, 6, 8, 3, 4)}
	j.done(does(core.Rise(1)))
	topic := j.done(does(core.CreateTopic(broker.Topic{Name: "t"}))).Topic
	victim := []uint64{
		j.done(does(core.OpenProducer(core.Owner{Name: "victim"}))).Producer,
		j.done(does(core.OpenProducer(core.Owner{Name: "victim"}))).Producer,
	}
	for _, p := range victim {
		j.done(run(topic, p, 1, 1))
	}
	for range 100 {
		p := j.done(does(core.OpenProducer(core.Owner{Name: "greedy"}))).Producer
		j.done(run(topic, p, 1, 1))
	}
	for _, p := range victim {
		if o := j.done(run(topic, p, 1, 1)); !o.Duplicate {
			t.Errorf("producer %d is not known again", p)
		}
	}
	own := j.done(does(core.OpenProducer(core.Owner{Name: "modest", Most: 1}))).Producer
	next := j.done(does(core.OpenProducer(core.Owner{Name: "modest", Most: 1}))).Producer
	j.refused(run(topic, own, 1, 1), status.NotFound, "producer")
	j.done(run(topic, next, 1, 1))
}

// Sequences are shared alike: one producer on many topics takes no other's.
func TestSequencesShare(t *testing.T) {
	t.Parallel()
	j := journal{t, core.Small(9, 4, 6, 5, 3, 4)}
	j.done(does(core.Rise(1)))
	var topics []uint32
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		topics = append(topics, j.done(does(core.CreateTopic(broker.Topic{Name: name}))).Topic)
	}
	victim := j.done(does(core.OpenProducer(core.Owner{Name: "victim"}))).Producer
	j.done(run(topics[0], victim, 1, 1))
	greedy := j.done(does(core.OpenProducer(core.Owner{Name: "greedy"}))).Producer
	for _, topic := range topics[:4] {
		j.done(run(topic, greedy, 1, 1))
	}
	j.refused(run(topics[4], greedy, 1, 1), status.ResourceExhausted, "at most 5 pairs")
	if o := j.done(run(topics[0], victim, 1, 1)); !o.Duplicate {
		t.Error("the victim is not known again")
	}
}

// Groups are bounded for each owner, and what he deletes is his again.
func TestGroupsShare(t *testing.T) {
	t.Parallel()
	j, topic, g := raised(t)
	ann := core.Owner{Name: "ann", Most: 2}
	named := func(name string, of core.Owner) record.Item {
		return does(core.CreateGroup(topic, broker.Group{Name: name}, 0, of))
	}
	j.done(named("h", ann))
	j.refused(named("i", ann), status.ResourceExhausted, "ann has 2 groups; at most 2 are allowed")
	j.done(named("h", ann)) // it is there
	j.done(named("i", core.Owner{Name: "bob", Most: 1}))
	again, err := core.Restore(j.m.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	k := journal{t, again}
	k.refused(named("j", ann), status.ResourceExhausted, "ann has 2 groups")
	j.done(does(core.DeleteGroup(g)))
	j.done(named("j", ann))
}

// A level that this program does not know stops it.
func TestRiseBeyond(t *testing.T) {
	t.Parallel()
	j, _ := begin(t)
	if _, err := j.m.Apply(j.m.Applied()+1, write(1e9, []record.Item{does(core.Rise(core.Level + 1))}),
		nil); err == nil || status.CodeOf(err) != status.Unimplemented {
		t.Error(err)
	}
}

// raisedOfAll is a snapshot with some of all that level 1 brings.
func raisedOfAll(t testing.TB) []byte {
	j, topic, g := raised(t)
	p := j.done(does(core.OpenProducer(core.Owner{Name: "ann"}))).Producer
	j.done(run(topic, p, 1, 3))
	j.done(does(core.Failed(g, 0, []core.Tried{
		tries(5, 20, 1, 0), {Range: broker.Range{First: 30, Last: 31}, Attempts: 3, Lost: 2, Due: 9e9},
	})))
	j.done(does(core.Trim(topic, 4)))
	return j.m.Snapshot()
}

// A snapshot of level 1 that shipped reads for ever, and equals the bytes written today.
func TestRaisedSnapshotForm(t *testing.T) {
	t.Parallel()
	want := shipped(t, "testdata/snapshot-3", raisedOfAll(t))
	m, err := core.Restore(want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(m.Snapshot(), want) || m.Level() != 1 {
		t.Error("it comes back as another")
	}
}
