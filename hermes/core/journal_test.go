package core_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// journal applies items one entry after the other.
type journal struct {
	t testing.TB
	m *core.Machine
}

// entry applies one entry at a time.
func (j journal) entry(time int64, items ...record.Item) []core.Outcome {
	j.t.Helper()
	out, err := j.m.Apply(j.m.Applied()+1, write(time, items), nil)
	if err != nil || len(out) != len(items) {
		j.t.Fatalf("%d items gave %d outcomes: %v", len(items), len(out), err)
	}
	return out
}

// one applies an entry of one item, a second after the last.
func (j journal) one(item record.Item) core.Outcome {
	j.t.Helper()
	return j.entry(j.m.Time()+int64(time.Second), item)[0]
}

// done is one that must succeed.
func (j journal) done(item record.Item) core.Outcome {
	j.t.Helper()
	o := j.one(item)
	if o.Err != nil {
		j.t.Fatal(o.Err)
	}
	return o
}

// refused is one that must not.
func (j journal) refused(item record.Item, code status.Code, says string) {
	j.t.Helper()
	before := j.m.Snapshot()
	o := j.entry(j.m.Time(), item)[0]
	if o.Err == nil || status.CodeOf(o.Err) != code || !strings.Contains(o.Err.Error(), says) {
		j.t.Errorf("got %v, want %v that says %q", o.Err, code, says)
	}
	// It changed nothing but the index.
	after := j.m.Snapshot()
	if !bytes.Equal(before[3:len(before)-4], after[3:len(after)-4]) {
		j.t.Errorf("what was refused with %v changed the state", o.Err)
	}
}

func write(time int64, items []record.Item) []byte {
	data := record.AppendEntry(nil, time)
	for _, item := range items {
		if item.Command != nil {
			data = record.AppendCommand(data, item.Command)
		} else {
			data = record.AppendRun(data, item.Run)
		}
	}
	return data
}

// run is messages of ten bytes.
func run(topic uint32, producer, sequence uint64, count uint32) record.Item {
	return record.Item{Run: record.Run{
		Topic: topic, Producer: producer, Sequence: sequence, Count: count,
		Messages: bytes.Repeat([]byte{0x12, 8, 0x0a, 6, 1, 2, 3, 4, 5, 6}, int(count)),
	}}
}

func does(command []byte) record.Item { return record.Item{Command: command} }

func begin(t testing.TB) (j journal, topic uint32) {
	j = journal{t, core.New()}
	return j, j.done(does(core.CreateTopic(broker.Topic{Name: "t"}))).Topic
}
