package wal_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/vfs"
	"wirelab/hermes/wal"
)

// traffic is a log with one message of topic 9 that is kept for ever, in its first entry, and
// messages of topic 1 behind it, of which the last ones are kept.
type traffic struct {
	t    testing.TB
	fs   vfs.FS
	o    wal.Options
	log  *wal.Log
	m    *machine
	next map[uint32]uint64
	keep uint64 // messages of topic 1
}

func newTraffic(t testing.TB, fs vfs.FS, dir string, o wal.Options, keep uint64) *traffic {
	w := &traffic{t: t, fs: fs, o: o, next: map[uint32]uint64{}, keep: keep}
	w.log, w.m = open(t, fs, dir, o)
	commit(t, w.log, w.m, entry(1, 1, 1, w.next, 1, 100, 9))
	return w
}

// send appends an entry with messages of topic 1, and seals full segments.
func (w *traffic) send(count, size int) {
	w.t.Helper()
	commit(w.t, w.log, w.m, entry(w.m.index+1, 1+w.m.index/50, int64(w.m.index), w.next, count, size, 1))
	if _, ok := w.log.Sealing(); ok {
		must(w.t, w.log.Sync())
		must(w.t, w.log.Seal(w.m.index, w.m.snapshot(), &raftpb.ConfState{Voters: []uint64{1}}))
	}
}

func (w *traffic) live(id uint32) (uint64, bool) {
	if id == 1 {
		return w.next[1] - min(w.keep, w.next[1]), true
	}
	return 0, true
}

// clean cleans until there is nothing to do.
func (w *traffic) clean() error {
	for {
		if done, err := w.log.Clean(w.live); !done || err != nil {
			return err
		}
	}
}

// check reads the kept runs, and replays the entries as a follower does.
func (w *traffic) check() {
	w.t.Helper()
	check(w.t, w.log, 9, 0, 1, 1000)
	first, _ := w.live(1)
	check(w.t, w.log, 1, first, w.next[1], 1000)
	f := newMachine()
	last, err := w.log.LastIndex()
	must(w.t, err)
	for lo := uint64(1); lo <= last; {
		entries, err := w.log.Entries(lo, last+1, 10_000)
		must(w.t, err)
		for _, e := range entries {
			if term, err := w.log.Term(lo); err != nil || e.GetIndex() != lo || e.GetTerm() != 1+(lo-1)/50 ||
				term != e.GetTerm() {
				w.t.Fatalf("entry %d is %d of term %d, told is %d, %v", lo, e.GetIndex(), e.GetTerm(), term, err)
			}
			_, err := f.apply(e)
			must(w.t, err)
			lo++
		}
	}
	if string(f.snapshot()) != string(w.m.snapshot()) {
		w.t.Fatalf("a follower comes to %s, and the machine is %s", f.snapshot(), w.m.snapshot())
	}
}

// One old message does not keep a file, nor an open one, for each segment that there was.
func TestOneOldMessage(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMemory()
	w := newTraffic(t, fs, "/log", wal.Options{SegmentBytes: 64 << 10, OpenFiles: 8}, 200)
	most := 0
	for sent := 0; sent < 24<<20; sent += 10 * 1000 {
		w.send(10, 1000)
		if w.m.index%100 == 0 {
			must(t, w.clean())
		}
		most = max(most, fs.Counts().Open)
	}
	must(t, w.clean())
	w.check()
	for range 2 {
		u := w.log.Usage()
		names, err := fs.List("/log")
		must(t, err)
		if u.Segments > 20 || len(names) > 42 || u.Bytes > 1<<20 {
			t.Errorf("the log takes %d segments, %d files and %d bytes", u.Segments, len(names), u.Bytes)
		}
		told, limit := w.log.Files()
		if open := fs.Counts().Open; open > 8+2 || told != open || limit != 8 {
			t.Errorf("%d files are open, and it reports %d of at most %d", open, told, limit)
		}
		must(t, w.log.Close())
		if open := fs.Counts().Open; open != 0 {
			t.Errorf("%d files stayed open", open)
		}
		w.log, w.m = open(t, fs, "/log", w.o)
		if open := fs.Counts().Open; open > 4 {
			t.Errorf("%d files are open, and no reader has read", open)
		}
		w.check()
	}
	if most > 8+4 {
		t.Errorf("%d files were open at once", most)
	}
	// With the old message gone all of it goes.
	last := w.next[1]
	for done := true; done; {
		var err error
		done, err = w.log.Clean(func(id uint32) (uint64, bool) { return last - 200, id == 1 })
		must(t, err)
	}
	if u := w.log.Usage(); u.Segments > 6 || u.First < w.m.index-100 {
		t.Errorf("nothing is kept, and it takes %+v", u)
	}
	check(t, w.log, 1, last-200, last, 1000)
	must(t, w.log.Close())
	w.log, _ = open(t, fs, "/log", w.o)
	check(t, w.log, 1, last-200, last, 1000)
}

// The power is cut at every call of a cleaning that joins segments; all that is kept is there after it, and the
// cleaning continues.
func TestJoinBoundary(t *testing.T) {
	t.Parallel()
	late := vfs.Cut{Keep: func(_ string, at int64, n int) int { return n * int(at/512%2) }, Names: func(n int) int {
		return n
	}}
	for i, cut := range []vfs.Cut{
		{},
		vfs.Everything, late,
		{Names: func(n int) int { return n / 2 }},
		{Names: func(n int) int { return min(n, 1) }},
	} {
		t.Run(fmt.Sprint("cut=", i), func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n++ {
				fs := vfs.NewMemory()
				w := newTraffic(t, fs, "/log", wal.Options{SegmentBytes: 4 << 10}, 4)
				for w.log.Usage().Segments < 12 {
					w.send(2, 200)
				}
				must(t, w.log.Sync())
				from := fs.Counts().Calls + n
				fs.Fail(func(c vfs.Call) (int, error) {
					if c.Number < from {
						return 0, nil
					}
					return min(100, c.Bytes), syscall.EIO
				})
				err := w.clean()
				fs.Fail(nil)
				if err != nil && !errors.Is(err, syscall.EIO) {
					t.Fatal(err)
				}
				fs.Cut(cut)
				w.log, w.m = open(t, fs, "/log", w.o)
				w.check()
				must(t, w.clean())
				w.check()
				if got := w.log.Usage().Segments; got > 6 {
					t.Fatalf("after call %d failed %d segments are left", n, got)
				}
				fs.Cut(vfs.Cut{})
				w.log, w.m = open(t, fs, "/log", w.o)
				w.check()
				must(t, w.log.Close())
				if err == nil {
					if n < 40 {
						t.Fatalf("only %d calls were made", n)
					}
					return
				}
			}
		})
	}
}

// Reads run during the joining, with fewer files open than there are readers, and what he is in the middle of
// is not taken away.
func TestReadBesideJoin(t *testing.T) {
	t.Parallel()
	w := newTraffic(t, vfs.NewMemory(), "/log", wal.Options{SegmentBytes: 4 << 10, CacheBytes: 1, OpenFiles: 4}, 20)
	var last, end atomic.Uint64
	last.Store(1)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for i := range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if i < 4 {
					check(t, w.log, 9, 0, 1, 1000)
					continue
				}
				lo := 1 + (last.Load()*uint64(i)/7+uint64(i))%last.Load()
				found, err := w.log.Entries(lo, last.Load()+1, 5000)
				if err != nil || found[0].GetIndex() != lo {
					t.Errorf("entry %d: %v", lo, err)
					return
				}
				if _, err = w.log.Read(1, end.Load(), end.Load()+10, 1000); err == nil {
					_, _, err = w.log.ByTime(1, int64(lo))
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 500 {
		w.send(2, 200)
		last.Store(w.m.index)
		end.Store(w.next[1] - 10)
		must(t, w.clean())
	}
	close(stop)
	wg.Wait()
	w.check()
	must(t, w.log.Close())
}

// Segments are joined where there may not be room for it: all stays as it was then, and no file is left.
func TestNoRoomToJoin(t *testing.T) {
	t.Parallel()
	refused := 0
	for free := uint64(0); ; free += 50 {
		fs := vfs.NewMemory()
		w := newTraffic(t, fs, "/log", wal.Options{SegmentBytes: 4 << 10}, 4)
		for w.log.Usage().Segments < 12 {
			w.send(2, 200)
		}
		left, err := fs.Free("/log")
		must(t, err)
		fs.SetCapacity(1<<62 - left + free)
		err = w.clean()
		if err != nil && !errors.Is(err, wal.ErrNoRoom) {
			t.Fatalf("with %d bytes free: %v", free, err)
		}
		before, listing := fs.List("/log")
		must(t, listing)
		if again := w.clean(); err != nil && !errors.Is(again, wal.ErrNoRoom) {
			t.Fatalf("with %d bytes free, again: %v", free, again)
		}
		after, listing := fs.List("/log")
		must(t, listing)
		if !slices.Equal(before, after) {
			t.Fatalf("with %d bytes free it left %q, there were %q", free, after, before)
		}
		w.check()
		fs.SetCapacity(1 << 62)
		must(t, w.clean())
		w.check()
		must(t, w.log.Close())
		if err == nil {
			if refused < 3 {
				t.Fatal("there was always room: the test is none")
			}
			return
		}
		refused++
	}
}
