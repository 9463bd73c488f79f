package wal_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/record"
	"wirelab/hermes/vfs"
	"wirelab/hermes/wal"
)

// step is one thing that was appended: an entry or a hard state.
type step struct {
	entry *raftpb.Entry
	state *raftpb.HardState
}

// world is a log next to a model of it, on a disk that is cut at any call.
type world struct {
	t    *testing.T
	r    *rand.Rand
	fs   *vfs.Memory
	o    wal.Options
	log  *wal.Log
	m    *machine
	next map[uint32]uint64 // what the writer thinks a topic's next offset is
	term uint64
	time int64

	base    uint64          // index before entries[0]
	entries []*raftpb.Entry // as of the last sync
	state   *raftpb.HardState
	steps   []step            // since
	snaps   map[uint64]string // the machine's state after each index applied
	first   map[uint32]uint64 // what of a topic is live
	pinned  uint32            // a topic that is kept whole, so that segments are joined; 0: none
	joined  int               // cleanings that left fewer segments, the oldest among them
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, r: rand.New(rand.NewPCG(seed, 1)), fs: vfs.NewMemory(), next: map[uint32]uint64{}, term: 1, time: 1,
		state: &raftpb.HardState{}, snaps: map[uint64]string{0: "0"}, first: map[uint32]uint64{},
	}
	w.o = wal.Options{SegmentBytes: 4 << 10, CacheBytes: w.r.IntN(5000)}
	w.reopen()
	return w
}

// replayed is what a log holds after the first n steps since the last sync.
func (w *world) replayed(n int) (entries []*raftpb.Entry, state *raftpb.HardState) {
	entries, state = slices.Clone(w.entries), w.state
	for _, s := range w.steps[:n] {
		if s.state != nil {
			state = s.state
			continue
		}
		entries = append(entries[:s.entry.GetIndex()-w.base-1], s.entry)
	}
	return entries, state
}

func (w *world) last() uint64 {
	entries, _ := w.replayed(len(w.steps))
	return w.base + uint64(len(entries))
}

func (w *world) live(topic uint32) (uint64, bool) { return w.first[topic], true }

// do takes one random step. An error is the disk's.
func (w *world) do() error {
	switch w.r.IntN(20) {
	case 0, 1, 2, 3, 4, 5:
		return w.append()
	case 6, 7, 8:
		return w.sync()
	case 9, 10, 11, 12:
		return w.commit()
	case 13:
		return w.log.Prepare()
	case 14, 15:
		if _, ok := w.log.Sealing(); ok {
			return w.log.Seal(w.m.index, w.m.snapshot(), &raftpb.ConfState{Voters: []uint64{w.m.index}})
		}
	case 16, 17:
		before := w.log.Usage()
		done, err := w.log.Clean(w.live)
		if after := w.log.Usage(); done && after.First == before.First && after.Segments < before.Segments {
			w.joined++
		}
		return err
	case 18:
		for _, id := range sorted(w.m.next) {
			next := w.m.next[id]
			if id != w.pinned && next > w.first[id] && w.r.IntN(2) == 0 {
				w.first[id] += w.r.Uint64N(next - w.first[id] + 1)
			}
		}
	case 19:
		if w.r.IntN(20) == 0 {
			return w.install()
		}
	}
	return nil
}

func (w *world) append() error {
	from := w.last() + 1
	if w.r.IntN(6) == 0 {
		from -= w.r.Uint64N(from - w.m.index)
		w.term++
	}
	var entries []*raftpb.Entry
	w.next = w.offsets(from - 1)
	for i := range 1 + w.r.Uint64N(4) {
		w.time += w.r.Int64N(3)
		var topics []uint32
		for range w.r.IntN(4) {
			topics = append(topics, 1+w.r.Uint32N(6))
		}
		next := clone(w.next)
		e := entry(from+i, w.term, w.time, w.next, 1+w.r.IntN(4), w.r.IntN(150), topics...)
		switch w.r.IntN(20) {
		case 0:
			e.Data = nil
		case 1:
			e.Data = record.AppendRun(e.Data, record.Run{
				Topic: 1, Producer: 1, Sequence: 7, Count: 1,
				Messages: messages(9, 9, 1, 10),
			})
			e.Data = record.AppendCommand(e.Data, []byte("command"))
		}
		if e.Data == nil {
			w.next = next
		}
		entries = append(entries, e)
	}
	return w.write(&raftpb.HardState{Term: new(w.term), Vote: new(w.r.Uint64N(4)), Commit: new(w.m.index)}, entries)
}

// offsets are what the topics' next ones are after an entry that was appended.
func (w *world) offsets(index uint64) map[uint32]uint64 {
	entries, _ := w.replayed(len(w.steps))
	m := &machine{index: w.m.index, next: clone(w.m.next)}
	for m.index < index {
		_, err := m.apply(entries[m.index-w.base])
		must(w.t, err)
	}
	return m.next
}

func clone(m map[uint32]uint64) map[uint32]uint64 {
	c := map[uint32]uint64{}
	for k, v := range m {
		c[k] = v
	}
	return c
}

// write appends, and notes it before, since a failed append may leave any part.
func (w *world) write(state *raftpb.HardState, entries []*raftpb.Entry) error {
	for _, e := range entries {
		w.steps = append(w.steps, step{entry: e})
	}
	w.steps = append(w.steps, step{state: state})
	return w.log.Append(state, entries)
}

func (w *world) sync() error {
	if err := w.log.Sync(); err != nil {
		return err
	}
	w.entries, w.state = w.replayed(len(w.steps))
	w.steps = nil
	return nil
}

// commit applies some of the synced entries, as Raft does with storage that it has given work to.
func (w *world) commit() error {
	if len(w.steps) > 0 {
		return nil
	}
	until := w.m.index + w.r.Uint64N(w.base+uint64(len(w.entries))-w.m.index+1)
	replayed := &machine{index: w.m.index, next: clone(w.m.next)}
	for replayed.index < until {
		_, err := replayed.apply(w.entries[replayed.index-w.base])
		must(w.t, err)
		w.snaps[replayed.index] = string(replayed.snapshot())
	}
	if err := w.write(&raftpb.HardState{Term: new(w.term), Vote: new(uint64(1)), Commit: new(until)}, nil); err != nil {
		return err
	}
	for w.m.index < until {
		e := w.entries[w.m.index-w.base]
		placed, err := w.m.apply(e)
		must(w.t, err)
		if err := w.log.Applied(e.GetIndex(), placed); err != nil {
			return err
		}
	}
	return nil
}

// install puts a state in place that is ahead of all there is.
func (w *world) install() error {
	m := &machine{index: w.last() + 1 + w.r.Uint64N(5), next: clone(w.m.next)}
	for _, id := range sorted(m.next) {
		m.next[id] += w.r.Uint64N(10)
	}
	w.term++
	w.snaps[m.index] = string(m.snapshot())
	err := w.log.Install(&raftpb.Snapshot{Data: m.snapshot(), Metadata: &raftpb.SnapshotMetadata{
		Index: &m.index, Term: &w.term, ConfState: &raftpb.ConfState{Voters: []uint64{m.index}},
	}})
	old := w.m
	w.m = m
	if err != nil {
		// Which of the two is there shows when the log is opened.
		w.m = old
		return err
	}
	w.installed(m)
	return nil
}

func (w *world) installed(m *machine) {
	_, w.state = w.replayed(len(w.steps))
	w.base, w.entries, w.steps = m.index, nil, nil
	for id, next := range m.next {
		w.first[id] = next
	}
}

// crash lets the next calls of the file system fail from the n-th on, part of a write done, and then cuts.
func (w *world) failFrom(n, done int) {
	from := w.fs.Counts().Calls + n
	w.fs.Fail(func(c vfs.Call) (int, error) {
		if c.Op == vfs.Read || c.Number < from {
			return 0, nil
		}
		if c.Number == from && c.Op == vfs.Write {
			return min(done, c.Bytes), syscall.EIO
		}
		return 0, syscall.EIO
	})
}

func (w *world) crash(cut vfs.Cut) {
	w.fs.Cut(cut)
	w.fs.Fail(nil)
	w.reopen()
}

// end ends the process by a cut, or by a kill, which a cut may follow once the log was opened again.
func (w *world) end() {
	if w.r.IntN(3) > 0 {
		w.crash(vfs.Draw(w.r))
		return
	}
	w.fs.Kill()
	w.fs.Fail(nil)
	w.reopen()
	if w.r.IntN(2) == 0 {
		w.crash(vfs.Cut{})
	}
}

// reopen opens the log and holds it to the model.
func (w *world) reopen() {
	w.t.Helper()
	w.log, w.m = open(w.t, w.fs, "/log", w.o)
	last, err := w.log.LastIndex()
	must(w.t, err)
	first, err := w.log.FirstIndex()
	must(w.t, err)
	hs, _, err := w.log.InitialState()
	must(w.t, err)
	if last > w.last() && first == last+1 && w.snaps[last] != "" { // the install that was interrupted took place
		m := newMachine()
		must(w.t, m.restore([]byte(w.snaps[last])))
		w.installed(m)
		w.steps = nil
	}
	for n := len(w.steps); ; n-- {
		if n < 0 {
			w.t.Fatalf("the log goes from %d to %d, in state %v, and holds what it never held; synced were %d "+
				"entries after "+
				"%d, state %v, then %d steps", first, last, hs, len(w.entries), w.base, w.state, len(w.steps))
		}
		entries, state := w.replayed(n)
		if w.base+uint64(len(entries)) == last && w.same(hs, state) && w.holds(first, entries) {
			w.entries, w.state, w.steps = entries, hs, nil
			break
		}
	}
	w.term = max(w.term, hs.GetTerm())
	w.check()
}

// same compares states except for a commit index that a snapshot contains.
func (w *world) same(hs, state *raftpb.HardState) bool {
	return hs.GetTerm() == state.GetTerm() && hs.GetVote() == state.GetVote() && hs.GetCommit() >= state.GetCommit()
}

func (w *world) holds(first uint64, entries []*raftpb.Entry) bool {
	for i, e := range entries {
		if at := w.base + uint64(i) + 1; at >= first {
			if term, err := w.log.Term(at); err != nil || term != e.GetTerm() {
				return false
			}
		}
	}
	return true
}

// check reads everything: the entries, by which a follower that begins with the snapshot
// must come to the same state and to all that is live; and each topic.
func (w *world) check() {
	w.t.Helper()
	if want := w.snaps[w.m.index]; string(w.m.snapshot()) != want && w.m.index > 0 {
		w.t.Fatalf("the machine is %s, want %s", w.m.snapshot(), want)
	}
	first, err := w.log.FirstIndex()
	must(w.t, err)
	follower := newMachine()
	if snapshot, err := w.log.Snapshot(); err == nil {
		index := snapshot.GetMetadata().GetIndex()
		if index != first-1 || string(snapshot.Data) != w.snaps[index] ||
			snapshot.GetMetadata().GetConfState().GetVoters()[0] != index {
			w.t.Fatalf("the log begins with %d and its snapshot is after %d: %s", first, index, snapshot.Data)
		}
		if term, err := w.log.Term(index); err != nil || term != snapshot.GetMetadata().GetTerm() {
			w.t.Fatalf("the snapshot has term %d, the log %d, %v", snapshot.GetMetadata().GetTerm(), term, err)
		}
		must(w.t, follower.restore(snapshot.Data))
	} else if first != 1 {
		w.t.Fatalf("the log begins with %d and there is no snapshot: %v", first, err)
	}
	got := map[uint32]uint64{} // where what a follower gets without a gap begins
	entries, _ := w.replayed(len(w.steps))
	for lo := first; lo <= w.base+uint64(len(entries)); {
		found, err := w.log.Entries(lo, w.base+uint64(len(entries))+1, w.r.Uint64N(4000))
		must(w.t, err)
		for _, e := range found {
			if e.GetIndex() != lo {
				w.t.Fatalf("entry %d is %d", lo, e.GetIndex())
			}
			if mine := entries[lo-w.base-1]; lo > w.m.index && !bytes.Equal(e.GetData(), mine.GetData()) {
				w.t.Fatalf("entry %d has other data", lo)
			}
			if lo <= w.m.index {
				placed, err := follower.apply(e)
				must(w.t, err)
				for _, p := range placed {
					if p.Bytes == 0 && p.Offset+uint64(p.Count) > w.first[p.Topic] {
						w.t.Fatalf("the run of topic %d at offset %d is hollow, and it is live from %d", p.Topic,
							p.Offset,
							w.first[p.Topic])
					}
					if _, ok := got[p.Topic]; !ok {
						got[p.Topic] = p.Offset
					}
				}
			}
			lo++
		}
	}
	if string(follower.snapshot()) != string(w.m.snapshot()) {
		w.t.Fatalf("a follower that starts from the log is %s and the machine %s", follower.snapshot(), w.m.snapshot())
	}
	for _, id := range sorted(w.m.next) {
		next := w.m.next[id]
		if w.first[id] >= next {
			continue // trimmed after entries whose commit the cut took from the disk
		}
		if from, ok := got[id]; w.first[id] < next && (!ok || from > w.first[id]) {
			w.t.Fatalf("a follower gets topic %d from %d, %v; it is live from %d to %d", id, from, ok, w.first[id],
				next)
		}
		check(w.t, w.log, id, w.first[id], next, w.r.IntN(2000))
		w.checkTime(id, next)
	}
}

func (w *world) checkTime(id uint32, next uint64) {
	at := w.r.Int64N(w.time + 2)
	offset, ok, err := w.log.ByTime(id, at)
	must(w.t, err)
	before, err := w.log.Read(id, 0, next, 1<<20)
	must(w.t, err)
	for _, b := range before {
		if b.Time >= at {
			if !ok || offset != b.Offset {
				w.t.Fatalf("topic %d at time %d is at offset %d, %v, want %d", id, at, offset, ok, b.Offset)
			}
			return
		}
	}
	if ok {
		w.t.Fatalf("topic %d at time %d is at offset %d, and all there is is older", id, at, offset)
	}
}

// Whatever is done, and whenever the power is cut, the log holds what was synced,
// and what else it holds was appended in that order (hb-D05, hb-D08, hb-D10, hb-D12).
func TestModel(t *testing.T) {
	t.Parallel()
	seeds, joined := uint64(100), 0
	if testing.Short() {
		seeds = 40
	}
	all := []uint64{1382} // an entry before the snapshot, with a term that no entry behind it has
	for seed := range seeds {
		all = append(all, seed)
	}
	for _, seed := range all {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, seed)
			steps := 150
			if seed%2 == 1 {
				w.pinned, steps = 1, 600
			}
			for range steps {
				if w.r.IntN(15) == 0 {
					w.failFrom(1+w.r.IntN(12), w.r.IntN(600))
				}
				if err := w.do(); err != nil {
					if !errors.Is(err, syscall.EIO) {
						t.Fatal(err)
					}
					if again := w.log.Sync(); !errors.Is(again, syscall.EIO) {
						t.Fatalf("after %v the log continues: %v", err, again)
					}
					w.end()
				} else if w.r.IntN(30) == 0 {
					w.end()
				}
			}
			w.fs.Fail(nil)
			w.crash(vfs.Everything)
			joined += w.joined
		}) {
			t.Fatalf("seed %d fails", seed)
		}
	}
	if joined < 10 {
		t.Errorf("segments were joined %d times: too few to show anything", joined)
	}
}
