package core_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

var update = flag.Bool("update", false, "write testdata/snapshot-1, a form that must not change any more once "+
	"it shipped")

// full is a machine with some of everything.
func full(t testing.TB) *core.Machine {
	j, topic := begin(t)
	p := j.done(does(core.OpenProducer(core.Owner{}))).Producer
	j.done(does(core.OpenProducer(core.Owner{})))
	j.done(does(core.CreateTopic(broker.Topic{Name: "kept", RetentionAge: 5, RetentionBytes: 1 << 40})))
	for i := range uint64(70) {
		j.done(run(topic, p, 1+4*i, 4))
	}
	j.done(run(1, p, 7, 1))
	g := j.done(does(core.CreateGroup(topic, broker.Group{Name: "g", AckTimeout: 5, MaxAttempts: 2}, 20,
		core.Owner{}))).Group
	other := j.done(does(core.CreateGroup(topic, broker.Group{Name: "other"}, 0, core.Owner{}))).Group
	j.done(does(core.SeekGroup(other, 0)))
	j.done(does(core.Ack(g, 0, []broker.Range{{First: 22, Last: 22}, {First: 24, Last: 30}}, 1)))
	j.done(does(core.Trim(topic, 15)))
	j.done(does(core.Trim(1, 1)))
	return j.m
}

// shipped is a snapshot as it shipped, which is to be equal to the bytes written today.
func shipped(t *testing.T, file string, got []byte) []byte {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the form changed: give it another version\n got %x\nwant %x", got, want)
	}
	return want
}

// A snapshot that shipped reads for ever, and equals the bytes written today.
func TestSnapshotForm(t *testing.T) {
	t.Parallel()
	want := shipped(t, "testdata/snapshot-1", full(t).Snapshot())
	m, err := core.Restore(want)
	if err != nil {
		t.Fatal(err)
	}
	if _, g, ok := m.Group("t", "g"); !ok || g.Floor != 20 || len(g.Acked) != 2 || g.Dead != 1 {
		t.Errorf("%+v", g)
	}
	if m.Applied() != full(t).Applied() || m.Time() != full(t).Time() {
		t.Error("index or time is another")
	}
	// The producer continues where it was, and its last runs are known.
	j := journal{t, m}
	if o := j.done(run(2, 2<<12, 277, 4)); !o.Duplicate || o.Offset != 276 {
		t.Errorf("%+v", o)
	}
	j.done(run(2, 2<<12, 281, 1))
}

func sealed(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(body[:len(body):len(body)],
		crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	good := full(t).Snapshot()
	for i := range good {
		if i%7 == 0 || i < 4 {
			if m, err := core.Restore(good[:i]); err == nil || m != nil {
				t.Errorf("cut off at %d it is restored", i)
			}
		}
		bad := bytes.Clone(good)
		bad[i] ^= 0x41
		if _, err := core.Restore(bad); err == nil {
			t.Errorf("damaged at %d it is restored", i)
		}
	}
	body := good[:len(good)-4]
	for _, c := range []struct {
		name, says string
		body       []byte
		code       status.Code
	}{
		{"of a later form", "form 4", append([]byte{4}, body[1:]...), status.Unimplemented},
		{"with more behind", "length", append(bytes.Clone(body), 0), status.Internal},
		{"without dead letters", "dead letters", []byte{1, 0, 0, 0, 0, 0}, status.Internal},
		{"of nothing", "cut off", nil, status.Internal},
	} {
		if _, err := core.Restore(sealed(c.body)); err == nil || status.CodeOf(err) != c.code ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Bytes after a trim are right as far as the marks tell: exact for messages of one
// size, and with any sizes never more than there were, falling with each trim, and
// nothing when nothing is left. There are few marks whatever the topic holds.
func TestBytes(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, even := range []bool{true, false} {
		j, topic := begin(t)
		sizes := []uint64{} // of each message
		for range 3000 {
			count := uint32(1 + random.IntN(50))
			size := 2000
			if !even {
				size = 2 + random.IntN(8000)
			}
			j.entry(0, record.Item{Run: record.Run{Topic: topic, Count: count, Size: size * int(count), Cleaned: true}})
			for range count {
				sizes = append(sizes, uint64(size))
			}
		}
		if n := len(j.m.Snapshot()); n > 600 {
			t.Errorf("the snapshot has %d bytes", n)
		}
		kept := uint64(0)
		for _, s := range sizes {
			kept += s
		}
		start, last, first := kept, kept, uint64(0)
		for first < uint64(len(sizes)) {
			next := min(uint64(len(sizes)), first+1+random.Uint64N(2000))
			for ; first < next; first++ {
				kept -= sizes[first]
			}
			j.done(does(core.Trim(topic, first)))
			got, _ := j.m.TopicByID(topic)
			slack := start / 12
			if even {
				slack = 1 // of what does not divide
			}
			if got.Bytes > last || max(got.Bytes, kept)-min(got.Bytes, kept) > slack {
				t.Fatalf("trimmed to %d there are %d bytes, said %d, before %d", first, kept, got.Bytes, last)
			}
			last = got.Bytes
		}
		if last != 0 {
			t.Errorf("an empty topic has %d bytes", last)
		}
	}
}

// What Surplus lets go leaves RetentionBytes there, and not much more.
func TestSurplus(t *testing.T) {
	t.Parallel()
	j, topic := begin(t)
	if _, err := j.m.Surplus(99); err == nil || status.CodeOf(err) != status.NotFound {
		t.Error(err)
	}
	const retained = 10 << 20
	for i := range 200_000 {
		if i == 50 { // until now all is kept
			if before, err := j.m.Surplus(topic); before != 0 || err != nil {
				t.Fatal(before, err)
			}
			j.done(does(core.ConfigureTopic(broker.Topic{Name: "t", RetentionBytes: retained})))
		}
		j.entry(0, record.Item{Run: record.Run{Topic: topic, Count: 1, Size: 1000, Cleaned: true}})
		before, err := j.m.Surplus(topic)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := j.m.TopicByID(topic)
		if before > got.First {
			j.done(does(core.Trim(topic, before)))
			got, _ = j.m.TopicByID(topic)
		}
		if got.Bytes > retained*5/4 || i > 15_000 && got.Bytes < retained {
			t.Fatalf("message %d: %d bytes are kept of %d", i, got.Bytes, retained)
		}
	}
}

// Whatever Restore takes is a state: it is written as it was read, and continues.
func FuzzRestore(f *testing.F) {
	withoutSum := func(snapshot []byte) []byte { return snapshot[1 : len(snapshot)-4] }
	f.Add(byte(1), withoutSum(full(f).Snapshot()))
	f.Add(byte(1), withoutSum(core.New().Snapshot()))
	f.Add(byte(3), withoutSum(raisedOfAll(f)))
	f.Fuzz(func(t *testing.T, form byte, body []byte) {
		body = append([]byte{form}, body...)
		m, err := core.Restore(sealed(body))
		if err != nil {
			return
		}
		goOn(t, m)
	})
}

// goOn holds a machine to what must be true of every state.
func goOn(t *testing.T, m *core.Machine) {
	t.Helper()
	snapshot := m.Snapshot()
	again, err := core.Restore(snapshot)
	if err != nil || !bytes.Equal(snapshot, again.Snapshot()) {
		t.Fatalf("a snapshot is not restored as it was: %v\n%x\n%x", err, snapshot, again.Snapshot())
	}
	var items []record.Item
	for _, topic := range m.Topics("", "", 100) {
		items = append(items, run(topic.ID, 0, 0, 1), run(topic.ID, 2<<12, 281, 1),
			does(core.Trim(topic.ID, topic.First+(topic.Next-topic.First)/2)))
		for _, g := range m.Groups(topic.Name) {
			id, _, _ := m.Group(topic.Name, g.Name)
			items = append(items, does(core.Ack(id, 0, []broker.Range{{First: g.Floor, Last: g.Floor}}, 1)))
		}
		items = append(items, does(core.DeleteTopic(topic.ID)))
	}
	items = append(items, does(core.OpenProducer(core.Owner{})))
	data := write(1, items)
	one, err := m.Apply(m.Applied()+1, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Apply(again.Applied()+1, data, nil); err != nil || len(one) != len(items) {
		t.Fatal(err)
	}
	if !bytes.Equal(m.Snapshot(), again.Snapshot()) {
		t.Fatal("what was restored continues otherwise")
	}
}

// No entry makes the machine panic or leaves an invalid state; one that is refused whole stops the node, so
// what it left does not matter.
func FuzzApply(f *testing.F) {
	f.Add(write(1, []record.Item{
		run(2, 2<<12, 281, 3), does(core.Trim(2, 30)),
		does(core.CreateTopic(broker.Topic{Name: "x"})),
	}), true)
	f.Add(write(1, []record.Item{
		does(core.CreateGroup(2, broker.Group{Name: "h"}, 9, core.Owner{})),
		does(core.Ack(76<<12, 0, []broker.Range{{First: 20, Last: 23}}, 1)), does(core.SeekGroup(75<<12, 5)),
	}), true)
	f.Add(write(1, []record.Item{
		does(core.DeleteTopic(2)), run(2, 0, 0, 1),
		does(core.ConfigureTopic(broker.Topic{Name: "kept"})), does(core.DeleteGroup(76 << 12)),
		does(core.OpenProducer(core.Owner{})),
	}), false)
	snapshot := full(f).Snapshot()
	f.Fuzz(func(t *testing.T, data []byte, some bool) {
		m := core.New()
		if some {
			var err error
			if m, err = core.Restore(snapshot); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := m.Apply(m.Applied()+1, data, nil); err == nil {
			goOn(t, m)
		}
	})
}
