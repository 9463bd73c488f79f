package wal_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"syscall"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/vfs"
	"wirelab/hermes/wal"
)

// The power is cut at every call that changes something, with nothing, part or all of
// it done and what was not synced lost, kept, or only its later half kept.
func TestEveryBoundary(t *testing.T) {
	t.Parallel()
	const steps = 70
	late := vfs.Cut{Keep: func(_ string, at int64, n int) int { return n * int(at/512%2) }, Names: func(n int) int {
		return n
	}}
	seeds, dones, cuts := []uint64{3}, []int{1, 63, 300}, []vfs.Cut{{}, vfs.Everything, late}
	if testing.Short() {
		dones = dones[1:2]
	}
	for _, seed := range seeds {
		for _, done := range dones {
			for i, cut := range cuts {
				t.Run(fmt.Sprintf("seed=%d/done=%d/cut=%d", seed, done, i), func(t *testing.T) {
					t.Parallel()
					for n := 1; ; n++ {
						w := newWorld(t, seed)
						w.failFrom(n, done)
						err := error(nil)
						for i := 0; i < steps && err == nil; i++ {
							err = w.do()
						}
						if err == nil {
							if n < 50 {
								t.Fatalf("only %d calls were made", n)
							}
							return
						}
						w.crash(cut)
						must(t, w.append())
						must(t, w.sync())
						w.crash(vfs.Cut{})
						must(t, w.log.Close())
					}
				})
			}
		}
	}
}

// One sync serves all that waited, and is one call; none is made for nothing.
func TestOneSyncForAll(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMemory()
	l, _ := open(t, fs, "/log", wal.Options{})
	next := map[uint32]uint64{}
	before := fs.Counts()
	payload := 0
	for i := range uint64(1000) {
		e := entry(i+1, 1, 1, next, 1, 90, 1)
		payload += len(e.GetData())
		must(t, l.Append(state(1, i), []*raftpb.Entry{e}))
	}
	must(t, l.Sync())
	must(t, l.Sync())
	after := fs.Counts()
	if n := after.Syncs - before.Syncs; n != 1 || after.SyncDirs != before.SyncDirs {
		t.Errorf("a thousand appends were synced by %d syncs and %d of the directory", n,
			after.SyncDirs-before.SyncDirs)
	}
	// A frame and a hard state for each entry: 16 + 17 + 7 and 16 + 24 bytes.
	if written := int(after.Written - before.Written); written > payload+1000*80+100 {
		t.Errorf("%d bytes were written for %d of entries", written, payload)
	}
}

// A segment is not sealed while the tail that replaced its own is not on disk: a cut
// would leave neither of the two.
func TestSealWaitsForReplacement(t *testing.T) {
	t.Parallel()
	fs, o := vfs.NewMemory(), wal.Options{SegmentBytes: 4 << 10}
	l, m := open(t, fs, "/log", o)
	next := map[uint32]uint64{}
	commit(t, l, m, entry(1, 1, 1, next, 1, 100, 1))
	at := clone(next)
	for i := uint64(2); l.Usage().Segments < 2; i++ {
		must(t, l.Append(nil, []*raftpb.Entry{entry(i, 1, 1, next, 1, 100, 1)}))
	}
	must(t, l.Sync())
	last := l.Usage().Last
	if _, ok := l.Sealing(); ok {
		t.Error("a segment with entries that are not applied is to be sealed")
	}
	must(t, l.Append(state(2, 1), []*raftpb.Entry{entry(2, 2, 1, at, 1, 100, 1)}))
	if index, ok := l.Sealing(); ok {
		t.Errorf("a segment is to be sealed with entry %d while what follows is not on disk", index)
	}
	must(t, l.Seal(1, m.snapshot(), &raftpb.ConfState{}))
	fs.Cut(vfs.Cut{})
	l, _ = open(t, fs, "/log", o)
	if got := l.Usage().Last; got != last {
		t.Errorf("entries to %d are there, to %d were synced", got, last)
	}
	must(t, l.Append(state(2, 1), []*raftpb.Entry{entry(2, 2, 1, at, 1, 100, 1)}))
	must(t, l.Sync())
	if index, ok := l.Sealing(); !ok || index != 1 {
		t.Errorf("the first segment is to be sealed with entry %d, %v", index, ok)
	}
	must(t, l.Seal(1, m.snapshot(), &raftpb.ConfState{}))
	fs.Cut(vfs.Cut{})
	l, _ = open(t, fs, "/log", o)
	if term, err := l.Term(2); err != nil || term != 2 || l.Usage().Last != 2 {
		t.Errorf("entry 2 has term %d, %v; the log ends with %d", term, err, l.Usage().Last)
	}
}

// What was cut off does not come back behind an entry that fills the gap exactly.
func TestCutOffStaysOff(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMemory()
	l, m := open(t, fs, "/log", wal.Options{SegmentBytes: 16 << 10})
	next := map[uint32]uint64{}
	commit(t, l, m, entry(1, 1, 1, next, 1, 100, 1))
	must(t, l.Sync())
	at := clone(next)
	must(t, l.Append(nil, []*raftpb.Entry{entry(2, 1, 1, next, 1, 2000, 1)}))
	must(t, l.Append(nil, []*raftpb.Entry{entry(3, 1, 1, next, 1, 100, 1)}))
	lost := false
	fs.Cut(vfs.Cut{Keep: func(_ string, at int64, n int) int {
		if at == 1024 {
			lost = true
			return 0
		}
		return n
	}})
	l, _ = open(t, fs, "/log", wal.Options{SegmentBytes: 16 << 10})
	if got := l.Usage().Last; got != 1 || !lost {
		t.Fatalf("the log ends with entry %d, and the one after 1 was torn: %v", got, lost)
	}
	must(t, l.Append(nil, []*raftpb.Entry{entry(2, 2, 1, at, 1, 2000, 1)}))
	must(t, l.Sync())
	fs.Cut(vfs.Cut{})
	l, _ = open(t, fs, "/log", wal.Options{SegmentBytes: 16 << 10})
	if got := l.Usage().Last; got != 2 {
		t.Errorf("the log ends with entry %d: one that was cut off came back", got)
	}
}

// A full disk ends the log with an error, and what was synced is there afterwards.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMemory()
	o := wal.Options{SegmentBytes: 8 << 10}
	l, m := open(t, fs, "/log", o)
	fs.SetCapacity(30 << 10)
	next := map[uint32]uint64{}
	var err error
	for err == nil {
		e := entry(m.index+1, 1, 1, next, 2, 100, 1)
		if err = l.Append(state(1, m.index), []*raftpb.Entry{e}); err == nil {
			must(t, l.Sync())
			placed, failed := m.apply(e)
			must(t, failed)
			must(t, l.Applied(m.index, placed))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the log ended with %v", err)
	}
	if again := l.Append(nil, []*raftpb.Entry{entry(m.index+1, 1, 1, next, 1, 1, 1)}); !errors.Is(again,
		syscall.ENOSPC) {
		t.Errorf("after a failed write the log took an entry: %v", again)
	}
	fs.Cut(vfs.Cut{})
	l, again := open(t, fs, "/log", o)
	if last, err := l.LastIndex(); err != nil || last != m.index {
		t.Errorf("entries to %d are there, %d were synced", last, m.index)
	}
	check(t, l, 1, 0, again.next[1], 1000)
}

// With a wait for room, a full disk ends nothing: what could not be appended is appended when there is room,
// sealing and preparing go on later, and a power cut finds all of it.
func TestRoomAgain(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]func(*vfs.Memory) vfs.FS{
		"told":     func(m *vfs.Memory) vfs.FS { return m },
		"not told": func(m *vfs.Memory) vfs.FS { return plenty{m} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fs := vfs.NewMemory()
			asked := 0
			o := wal.Options{SegmentBytes: 8 << 10, Room: func(why error) bool {
				if !errors.Is(why, wal.ErrNoRoom) {
					t.Errorf("there is no room for another reason: %v", why)
				}
				if asked++; asked%3 == 0 {
					fs.SetCapacity(1 << 62)
				}
				return true
			}}
			l, m := open(t, files(fs), "/log", o)
			next := map[uint32]uint64{}
			for range 300 {
				if m.index%100 == 50 {
					free, err := fs.Free("/log")
					must(t, err)
					fs.SetCapacity(1<<62 - free + 500)
				}
				e := entry(m.index+1, 1, 1, next, 2, 100, 1)
				must(t, l.Append(state(1, m.index), []*raftpb.Entry{e}))
				must(t, l.Sync())
				placed, err := m.apply(e)
				must(t, err)
				must(t, l.Applied(m.index, placed))
				for _, do := range []func() error{
					l.Prepare,
					func() error { return l.Seal(m.index, m.snapshot(), &raftpb.ConfState{Voters: []uint64{1}}) },
				} {
					if err := do(); err != nil && !errors.Is(err, wal.ErrNoRoom) {
						t.Fatal(err)
					}
				}
			}
			if asked < 3 {
				t.Fatalf("the disk was full %d times: the test is none", asked)
			}
			fs.Cut(vfs.Cut{})
			l, again := open(t, fs, "/log", o)
			if last, err := l.LastIndex(); err != nil || last != 300 {
				t.Errorf("entries to %d are there, 300 were synced, %v", last, err)
			}
			check(t, l, 1, 0, again.next[1], 1000)
		})
	}
}

// A segment is rewritten where there may not be room for it. However much is free, that is no
// broken log: all stays as it was, no file is left behind, and it is done when there is room.
func TestNoRoomToClean(t *testing.T) {
	t.Parallel()
	for free := uint64(0); ; free += 100 {
		fs, o := vfs.NewMemory(), wal.Options{SegmentBytes: 8 << 10}
		l, m := open(t, fs, "/log", o)
		next := map[uint32]uint64{}
		for l.Usage().Segments < 3 {
			commit(t, l, m, entry(m.index+1, 1, int64(m.index), next, 2, 100, 1, 2))
		}
		must(t, l.Seal(m.index, m.snapshot(), &raftpb.ConfState{Voters: []uint64{1}}))
		before, err := fs.List("/log")
		must(t, err)
		left, err := fs.Free("/log")
		must(t, err)
		fs.SetCapacity(1<<62 - left + free)
		clean := func() (bool, error) { return l.Clean(func(id uint32) (uint64, bool) { return 20, id == 2 }) }
		done, refused := clean()
		fs.SetCapacity(1 << 62)
		if refused != nil {
			if !errors.Is(refused, wal.ErrNoRoom) {
				t.Fatalf("with %d bytes free: %v", free, refused)
			}
			if after, err := fs.List("/log"); err != nil || !slices.Equal(before, after) {
				t.Fatalf("with %d bytes free it left %q, there were %q, %v", free, after, before, err)
			}
			if done, err = clean(); !done || err != nil {
				t.Fatalf("with room again after %d bytes: %v, %v", free, done, err)
			}
		} else if !done {
			t.Fatal("nothing was cleaned")
		}
		check(t, l, 2, 20, next[2], 1000)
		must(t, l.Close())
		if refused == nil {
			return // there was room enough, and all that is less was tried
		}
	}
}

// plenty is a disk that reports more room than it has.
type plenty struct{ *vfs.Memory }

func (plenty) Free(string) (uint64, error) { return 1 << 62, nil }

// Two processes do not share a directory.
func TestLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, _ := open(t, vfs.OS{}, dir, wal.Options{SegmentBytes: 4 << 10})
	defer l.Close()
	if _, err := wal.Open(vfs.OS{}, dir, wal.Options{}, nil, nil); err == nil {
		t.Error("the directory of an open log was opened")
	}
}

// A goroutine that reads, scrubs, seals, cleans and prepares does so concurrently with appends.
func TestBeside(t *testing.T) {
	t.Parallel()
	entries := uint64(2000)
	if testing.Short() {
		entries = 500
	}
	l, m := open(t, vfs.NewMemory(), "/log", wal.Options{SegmentBytes: 16 << 10, CacheBytes: 2 << 10})
	var mu sync.Mutex // guards the machine and first
	first := uint64(0)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	concurrently := func(do func() error) {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if err := do(); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	concurrently(func() error {
		mu.Lock()
		index, snapshot := m.index, m.snapshot()
		first = m.next[1] / 2
		mu.Unlock()
		if err := l.Prepare(); err != nil {
			return err
		}
		// A state of before the segment's end is refused: the next one will do.
		if last, ok := l.Sealing(); ok && index >= last {
			if err := l.Seal(index, snapshot, &raftpb.ConfState{Voters: []uint64{1}}); err != nil {
				return err
			}
		}
		_, err := l.Clean(func(uint32) (uint64, bool) {
			mu.Lock()
			defer mu.Unlock()
			return first, true
		})
		return err
	})
	after := uint64(0)
	concurrently(func() error {
		did, ok, err := l.Scrub(t.Context(), after, wal.Care{})
		if after = did.Number; !ok {
			after = 0
		}
		if len(did.Found) > 0 {
			return fmt.Errorf("damage is found where there is none: %v", did.Found)
		}
		return err
	})
	for id := range uint32(3) {
		concurrently(func() error {
			mu.Lock()
			from := first + (m.next[1]-first)/2
			mu.Unlock()
			batches, err := l.Read(id+1, from, math.MaxUint64, 5000)
			mu.Lock()
			trimmed := first
			mu.Unlock()
			for _, b := range batches {
				if b.Offset > from && from < trimmed {
					from = b.Offset // cleaned since it was asked for
				}
				verify(t, id+1, from, b)
				from += uint64(b.Count)
			}
			if err == nil {
				_, _, err = l.ByTime(id+1, int64(from))
			}
			return err
		})
	}
	next := map[uint32]uint64{}
	for i := range entries {
		e := entry(i+1, 1, int64(i), next, 2, 50, 1, 2, 3)
		must(t, l.Append(state(1, i), []*raftpb.Entry{e}))
		must(t, l.Sync())
		mu.Lock()
		placed, err := m.apply(e)
		if err == nil {
			err = l.Applied(i+1, placed)
		}
		mu.Unlock()
		must(t, err)
	}
	close(stop)
	wg.Wait()
	must(t, l.Seal(m.index, m.snapshot(), &raftpb.ConfState{Voters: []uint64{1}}))
	for done := true; done; {
		var err error
		done, err = l.Clean(func(uint32) (uint64, bool) { return m.next[1], true })
		must(t, err)
	}
	if u := l.Usage(); u.First == 1 || u.Last != entries {
		t.Errorf("the log holds %+v: nothing was dropped", u)
	}
	must(t, l.Close())
}

// Ten thousand topics are found again, from sealed segments and open ones.
func TestManyTopics(t *testing.T) {
	t.Parallel()
	topics := uint32(10_000)
	if testing.Short() {
		topics = 1000
	}
	fs := vfs.NewMemory()
	o := wal.Options{SegmentBytes: 64 << 10}
	l, m := open(t, fs, "/log", o)
	next := map[uint32]uint64{}
	for round := range uint32(3) {
		for id := uint32(1); id <= topics; id += 100 {
			var some []uint32
			for i := range uint32(100) {
				some = append(some, 1+(id+i*7+round*13)%topics)
			}
			commit(t, l, m, entry(m.index+1, 1, int64(m.index), next, 1, 10, some...))
			if _, ok := l.Sealing(); ok {
				must(t, l.Seal(m.index, m.snapshot(), &raftpb.ConfState{}))
			}
		}
	}
	must(t, l.Close())
	l, _ = open(t, fs, "/log", o)
	for id, n := range next {
		check(t, l, id, 0, n, 1<<20)
	}
	if u := l.Usage(); u.Segments < 2 {
		t.Errorf("only %d segments were used", u.Segments)
	}
}
