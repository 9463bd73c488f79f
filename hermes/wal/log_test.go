package wal_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
	"wirelab/hermes/vfs"
	"wirelab/hermes/wal"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// machine is a state machine that is as small as one can be: the next offset of each
// topic and the index, as text.
type machine struct {
	index uint64
	next  map[uint32]uint64
}

func newMachine() *machine { return &machine{next: map[uint32]uint64{}} }

func (m *machine) snapshot() []byte {
	s := fmt.Appendf(nil, "%d", m.index)
	for _, id := range sorted(m.next) {
		s = fmt.Appendf(s, " %d:%d", id, m.next[id])
	}
	return s
}

func sorted(m map[uint32]uint64) (ids []uint32) {
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (m *machine) restore(b []byte) error {
	*m = *newMachine()
	if len(b) == 0 {
		return nil
	}
	words := strings.Fields(string(b))
	if _, err := fmt.Sscan(words[0], &m.index); err != nil {
		return err
	}
	for _, word := range words[1:] {
		var id uint32
		var next uint64
		if _, err := fmt.Sscanf(word, "%d:%d", &id, &next); err != nil {
			return err
		}
		m.next[id] = next
	}
	return nil
}

// apply gives offsets to an entry's runs. A run of sequence 7 counts as a duplicate.
func (m *machine) apply(e *raftpb.Entry) ([]wal.Placed, error) {
	if e.GetIndex() != m.index+1 {
		return nil, fmt.Errorf("entry %d is applied after %d", e.GetIndex(), m.index)
	}
	m.index = e.GetIndex()
	if e.GetType() != raftpb.EntryNormal {
		return nil, nil
	}
	time, items, err := record.Parse(e.GetData())
	if err != nil {
		return nil, err
	}
	var placed []wal.Placed
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		if item.Command != nil || item.Run.Sequence == 7 {
			continue
		}
		r := item.Run
		placed = append(placed,
			wal.Placed{
				Topic: r.Topic, Offset: m.next[r.Topic], Count: r.Count, Time: time, At: r.At,
				Bytes: len(r.Messages),
			})
		m.next[r.Topic] += uint64(r.Count)
	}
	return placed, nil
}

// messages are count messages of a topic from an offset on, whose payloads tell which they are.
func messages(topic uint32, offset uint64, count, size int) (b []byte) {
	for i := range count {
		b = record.AppendMessage(b,
			&hermes.Message{Payload: fmt.Appendf(nil, "%d/%d %*s", topic, offset+uint64(i), size,
				"")})
	}
	return b
}

// entry is one with a run for each topic, messages said by next.
func entry(index, term uint64, time int64, next map[uint32]uint64, count, size int, topics ...uint32) *raftpb.Entry {
	data := record.AppendEntry(nil, time)
	for _, id := range topics {
		data = record.AppendRun(data,
			record.Run{Topic: id, Count: uint32(count), Messages: messages(id, next[id], count,
				size)})
		next[id] += uint64(count)
	}
	return &raftpb.Entry{Index: new(index), Term: new(term), Data: data}
}

func state(term, commit uint64) *raftpb.HardState {
	return &raftpb.HardState{Term: new(term), Vote: new(uint64(1)), Commit: new(commit)}
}

// open opens a log with its own machine.
func open(t testing.TB, fs vfs.FS, dir string, o wal.Options) (*wal.Log, *machine) {
	t.Helper()
	// Whatever Open takes as whole, Verify does, before anything is repaired.
	if names, err := fs.List(dir); err == nil && len(names) > 0 {
		v, err := verified(t.Context(), fs, dir, nil)
		must(t, err)
		if len(v.Findings) > 0 {
			t.Errorf("a log that is to be opened is found damaged: %v", v.Findings)
		}
	}
	m := newMachine()
	l, err := wal.Open(fs, dir, o, func(b []byte, index uint64) error {
		if err := m.restore(b); err != nil {
			return err
		}
		if m.index != index {
			return fmt.Errorf("the snapshot is after %d and said to be after %d", m.index, index)
		}
		return nil
	}, m.apply)
	must(t, err)
	return l, m
}

// commit appends entries, syncs, and applies them.
func commit(t testing.TB, l *wal.Log, m *machine, entries ...*raftpb.Entry) {
	t.Helper()
	last := entries[len(entries)-1]
	must(t, l.Append(state(last.GetTerm(), m.index), entries))
	must(t, l.Sync())
	must(t, l.Append(state(last.GetTerm(), last.GetIndex()), nil))
	for _, e := range entries {
		placed, err := m.apply(e)
		must(t, err)
		must(t, l.Applied(e.GetIndex(), placed))
	}
}

// check reads a topic from an offset on and looks whether it has all messages before next.
func check(t testing.TB, l *wal.Log, id uint32, from, next uint64, limit int) {
	t.Helper()
	for from < next {
		batches, err := l.Read(id, from, next, limit)
		must(t, err)
		if len(batches) == 0 {
			t.Fatalf("topic %d has nothing at offset %d, and should have messages before %d", id, from, next)
		}
		for _, b := range batches {
			verify(t, id, from, b)
			from += uint64(b.Count)
		}
	}
	if from > next {
		t.Fatalf("topic %d gave messages before %d when those before %d were asked for", id, from, next)
	}
}

// verify looks whether a batch is what it says.
func verify(t testing.TB, id uint32, from uint64, b broker.Batch) {
	t.Helper()
	if b.Offset != from {
		t.Fatalf("topic %d gave offset %d in place of %d", id, b.Offset, from)
	}
	n := 0
	for bytes := range record.Messages(b.Messages) {
		var msg hermes.Message
		must(t, record.ReadMessage(bytes, &msg))
		var gotID uint32
		var got uint64
		if _, err := fmt.Sscanf(string(msg.Payload), "%d/%d", &gotID, &got); err != nil || gotID != id || got != from+
			uint64(n) {
			t.Fatalf("topic %d gave %.20q at offset %d", id, msg.Payload, from+uint64(n))
		}
		n++
	}
	if n != b.Count {
		t.Fatalf("a batch of topic %d has %d messages and says %d", id, n, b.Count)
	}
}

// What was synced is there after a power cut: entries, state, members and messages.
func TestReopen(t *testing.T) {
	t.Parallel()
	for _, sys := range []struct {
		name string
		fs   vfs.FS
		dir  string
	}{{"memory", vfs.NewMemory(), "/log"}, {"os", vfs.OS{}, t.TempDir()}} {
		t.Run(sys.name, func(t *testing.T) {
			t.Parallel()
			o := wal.Options{SegmentBytes: 64 << 10, CacheBytes: 4 << 10}
			l, m := open(t, sys.fs, sys.dir, o)
			if _, err := l.Snapshot(); err == nil {
				t.Error("a log that has everything gave a snapshot")
			}
			next := map[uint32]uint64{}
			for i := range uint64(300) {
				commit(t, l, m, entry(i+1, 1+i/100, int64(i), next, 3, 100, 1, uint32(2+i%5)))
			}
			for id, n := range next {
				check(t, l, id, 0, n, 1000)
				check(t, l, id, n/2+1, n, 1)
			}
			must(t, l.Sync())
			must(t, l.Close())
			if mem, ok := sys.fs.(*vfs.Memory); ok {
				mem.Cut(vfs.Cut{})
			}
			l, m = open(t, sys.fs, sys.dir, o)
			defer l.Close()
			if m.index != 300 {
				t.Errorf("entries to %d were applied", m.index)
			}
			for id, n := range next {
				check(t, l, id, 0, n, 1000)
			}
			hs, _, err := l.InitialState()
			must(t, err)
			if hs.GetTerm() != 3 || hs.GetVote() != 1 || hs.GetCommit() != 300 {
				t.Errorf("the hard state is %v", hs)
			}
			for _, at := range []struct{ index, term uint64 }{{0, 0}, {1, 1}, {100, 1}, {101, 2}, {300, 3}} {
				if term, err := l.Term(at.index); err != nil || term != at.term {
					t.Errorf("entry %d has term %d, %v", at.index, term, err)
				}
			}
			for lo := uint64(1); lo <= 300; {
				entries, err := l.Entries(lo, 301, 5000)
				must(t, err)
				for _, e := range entries {
					if e.GetIndex() != lo {
						t.Fatalf("entry %d is %d", lo, e.GetIndex())
					}
					lo++
				}
			}
		})
	}
}
