package core_test

import (
	"bytes"
	"math"
	"testing"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/wire/status"
)

// A topic that is begun at an offset is as one whose earlier messages were trimmed: in
// what it stores, in its groups, and in the snapshot.
func TestBeginTopic(t *testing.T) {
	t.Parallel()
	j, _ := begin(t)
	restored := broker.Topic{Name: "restored", First: 70, RetentionAge: 5, RetentionBytes: 1 << 30}
	id := j.done(does(core.BeginTopic(restored))).Topic
	if again := j.done(does(core.BeginTopic(restored))).Topic; again != id {
		t.Errorf("begun again it is %d, and was %d", again, id)
	}
	if got, _ := j.m.TopicByID(id); got.First != 70 || got.Next != 70 || got.Bytes != 0 || got.RetentionAge != 5 {
		t.Errorf("%+v", got)
	}
	g := j.done(does(core.CreateGroup(id, broker.Group{Name: "g"}, 3, core.Owner{}))).Group
	if got, _ := j.m.GroupByID(g); got.Floor != 70 || got.Lag != 0 {
		t.Errorf("%+v", got)
	}
	for name, snapshot := range map[string][]byte{"empty": j.m.Snapshot(), "with messages": nil} {
		if snapshot == nil {
			if o := j.done(run(id, 0, 0, 4)); o.Offset != 70 {
				t.Errorf("the first message has offset %d", o.Offset)
			}
			// A cursor is restored by what there is: a floor, and ranges with their dead letters.
			j.done(does(core.Ack(g, 0, []broker.Range{{First: 72, Last: 73}}, 2)))
			if got, _ := j.m.GroupByID(g); got.Floor != 70 || len(got.Acked) != 1 || got.Dead != 2 {
				t.Errorf("%+v", got)
			}
			snapshot = j.m.Snapshot()
		}
		m, err := core.Restore(snapshot)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(m.Snapshot(), snapshot) {
			t.Errorf("%s: another snapshot", name)
		}
	}
	j.done(does(core.Trim(id, 72)))
	j.refused(does(core.BeginTopic(restored)), status.Conflict, "70")
	j.refused(does(core.BeginTopic(broker.Topic{Name: "t", First: 1})), status.Conflict, "0 to 0")
	j.refused(does(core.BeginTopic(broker.Topic{Name: "x", First: math.MaxInt64 + 1})), status.InvalidArgument, "above")
	j.refused(does(core.BeginTopic(broker.Topic{Name: "a b", First: 1})), status.InvalidArgument, "topic")
	j.done(does(core.BeginTopic(broker.Topic{Name: "full", First: math.MaxInt64})))
	full, _ := j.m.Topic("full")
	j.refused(run(full.ID, 0, 0, 1), status.ResourceExhausted, "used its offsets up")
}

// The topic of dead letters is there before anything is restored.
func TestBeginDeadLetters(t *testing.T) {
	t.Parallel()
	j, _ := begin(t)
	g := j.done(does(core.CreateGroup(1, broker.Group{Name: "g"}, 0, core.Owner{}))).Group
	j.done(does(core.BeginTopic(broker.Topic{Name: hermes.DeadLetters, First: 9})))
	if got, _ := j.m.GroupByID(g); got.Floor != 9 {
		t.Errorf("%+v", got)
	}
	if o := j.done(run(1, 0, 0, 1)); o.Offset != 9 {
		t.Errorf("%+v", o)
	}
	j.refused(does(core.BeginTopic(broker.Topic{Name: hermes.DeadLetters, First: 20})), status.Conflict, "9 to 10")
}

func (m *model) beginTopic(name string, first uint64) expected {
	if _, t := m.named(name); t != nil && (t.first != first || t.next != first) {
		return fails(status.Conflict)
	}
	e := m.createTopic(name, 0)
	if _, t := m.named(name); e == fine {
		t.first, t.next = first, first
	}
	return e
}
