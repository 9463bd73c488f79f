package core_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// old is messages as a restore brings them back.
func old(topic uint32, restore, offset uint64, at time.Duration, count uint32) record.Item {
	item := run(topic, restore, offset, count)
	item.Run.Old, item.Run.Time = true, int64(at)
	return item
}

// again is the state through a snapshot, which must be the same.
func (j journal) again() journal {
	j.t.Helper()
	snapshot := j.m.Snapshot()
	m, err := core.Restore(snapshot)
	if err != nil {
		j.t.Fatal(err)
	}
	if !bytes.Equal(m.Snapshot(), snapshot) {
		j.t.Error("another snapshot")
	}
	return journal{j.t, m}
}

// A topic is brought back with its offsets, its creation and its groups, is closed to all else in the meantime,
// and every step may be said twice.
func TestRestoreTopic(t *testing.T) {
	t.Parallel()
	j, other := begin(t)
	j.entry(int64(time.Hour))
	was := broker.Topic{Name: "back", First: 70, Created: 5, RetentionAge: 9, RetentionBytes: 1 << 30}
	id := j.done(does(core.BeginRestore(was, 42))).Topic
	for range 2 {
		if again := j.done(does(core.BeginRestore(was, 42))).Topic; again != id {
			t.Errorf("begun again it is %d, and was %d", again, id)
		}
		o := j.done(old(id, 42, 70, time.Minute, 3))
		if o.Offset != 70 {
			t.Errorf("%+v", o)
		}
		j = j.again()
	}
	if restore, restoring := j.m.Restore(id); restore != 42 || !restoring {
		t.Errorf("restore %d, %v", restore, restoring)
	}
	j.refused(run(id, 0, 0, 1), status.Conflict, "being restored")
	j.refused(does(core.CreateGroup(id, broker.Group{Name: "g"}, 0, core.Owner{})), status.Conflict, "being restored")
	j.refused(does(core.BeginRestore(was, 43)), status.Conflict, "is there")
	j.refused(does(core.BeginRestore(broker.Topic{Name: "t"}, 42)), status.Conflict, "is there")
	j.refused(does(core.BeginRestore(broker.Topic{Name: "u"}, 0)), status.InvalidArgument, "not 0")
	j.refused(does(core.BeginRestore(broker.Topic{Name: "u", First: math.MaxInt64 + 1}, 1)), status.InvalidArgument,
		"above")
	j.refused(old(id, 43, 73, time.Minute, 1), status.Conflict, "another restore")
	j.refused(old(other, 42, 0, time.Minute, 1), status.Conflict, "not being restored")
	j.refused(old(id, 42, 72, time.Minute, 2), status.Conflict, "another file")
	j.refused(old(id, 42, 73, 2*time.Hour, 1), status.InvalidArgument, "clock")
	j.refused(old(id, 42, math.MaxUint64, time.Minute, 1), status.InvalidArgument, "above")
	j.refused(does(core.EndRestore(id, 71, 42)), status.InvalidArgument, "cannot end")
	j.refused(does(core.EndRestore(id, 80, 41)), status.Conflict, "another restore")
	g := broker.Group{Topic: "back", Name: "g", AckTimeout: 7, MaxAttempts: 2, Floor: 71, Acked: []broker.Range{
		{First: 72, Last: 72},
	}, Dead: 3}
	j.refused(does(core.RestoreGroup(id, broker.Group{Name: "g", AckTimeout: 1, MaxAttempts: 1, Floor: 74}, 73, 42)),
		status.InvalidArgument, "not in topic")
	for range 2 {
		made := j.done(does(core.RestoreGroup(id, g, 73, 42))).Group
		if got, _ := j.m.GroupByID(made); fmt.Sprint(got.Floor, got.Acked, got.Dead, got.AckTimeout,
			got.MaxAttempts) != "71 [{72 72}] 3 7 2" {
			t.Errorf("%+v", got)
		}
	}
	for range 2 {
		j.done(does(core.EndRestore(id, 73, 42)))
		j = j.again()
	}
	if restore, restoring := j.m.Restore(id); restore != 42 || restoring {
		t.Errorf("restore %d, %v", restore, restoring)
	}
	j.refused(old(id, 42, 73, time.Minute, 1), status.Conflict, "since")
	j.refused(does(core.RestoreGroup(id, g, 73, 42)), status.Conflict, "restored already")
	if o := j.done(run(id, 0, 0, 1)); o.Offset != 73 {
		t.Errorf("a message published then has offset %d", o.Offset)
	}
	got, _ := j.m.TopicByID(id)
	if got.First != 70 || got.Next != 74 || got.Bytes != 40 || got.Created != 5 || got.RetentionAge != 9 ||
		got.RetentionBytes != 1<<30 {
		t.Errorf("%+v", got)
	}
}

// Messages that retention took while the backup was made are as if it had taken them here.
func TestRestoreGap(t *testing.T) {
	t.Parallel()
	j, _ := begin(t)
	id := j.done(does(core.BeginRestore(broker.Topic{Name: "back", First: 10}, 1))).Topic
	j.done(old(id, 1, 10, 1, 5))
	j.done(old(id, 1, 40, 1, 2))
	if got, _ := j.m.TopicByID(id); got.First != 40 || got.Next != 42 || got.Bytes != 20 {
		t.Errorf("%+v", got)
	}
	j = j.again()
	j.done(does(core.RestoreGroup(id, broker.Group{
		Name: "g", AckTimeout: 1, MaxAttempts: 1, Floor: 12,
		Acked: []broker.Range{{First: 13, Last: 40}},
	}, 42, 1)))
	if _, got, _ := j.m.Group("back", "g"); got.Floor != 41 || len(got.Acked) != 0 {
		t.Errorf("%+v", got)
	}
	late := broker.Group{Name: "late", AckTimeout: 1, MaxAttempts: 1, Floor: 45, Acked: []broker.Range{
		{First: 47, Last: 48},
	}}
	j.refused(does(core.RestoreGroup(id, late, 41, 1)), status.InvalidArgument, "cannot end")
	j.refused(does(core.RestoreGroup(id, late, 44, 1)), status.InvalidArgument, "not in topic")
	j.refused(does(core.RestoreGroup(id, late, 48, 1)), status.InvalidArgument, "end before")
	j.done(does(core.RestoreGroup(id, late, 50, 1)))
	j.done(does(core.EndRestore(id, 50, 1)))
	if got, _ := j.m.TopicByID(id); got.First != 50 || got.Next != 50 || got.Bytes != 0 {
		t.Errorf("%+v", got)
	}
	if _, got, _ := j.m.Group("back", "g"); got.Floor != 50 {
		t.Errorf("%+v", got)
	}
	j.again()
}

// The topic of dead letters is there always, and takes those that come while it is restored.
func TestRestoreDeadLetters(t *testing.T) {
	t.Parallel()
	j, _ := begin(t)
	id := j.done(does(core.BeginRestore(broker.Topic{Name: hermes.DeadLetters, First: 3, RetentionAge: 8}, 1))).Topic
	j.done(old(id, 1, 3, 1, 2))
	if o := j.done(run(id, 0, 0, 1)); o.Offset != 5 {
		t.Errorf("%+v", o)
	}
	j.refused(old(id, 1, 5, 1, 1), status.Conflict, "since")
	j.refused(does(core.EndRestore(id, 6, 1)), status.Conflict, "not being restored")
	j.refused(does(core.BeginRestore(broker.Topic{Name: hermes.DeadLetters}, 2)), status.Conflict, "is there")
	if got, _ := j.m.TopicByID(id); got.First != 3 || got.RetentionAge != 8 {
		t.Errorf("%+v", got)
	}
}
