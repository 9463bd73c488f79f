package wal_test

import (
	"errors"
	"syscall"
	"testing"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/vfs"
	"wirelab/hermes/wal"
)

// Where no more files can be opened, nothing is broken: what could not be made is made later, a read
// fails and works later, and no file is left behind.
func TestNoFiles(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMemory()
	none := func(c vfs.Call) (int, error) {
		if c.Op == vfs.Create || c.Op == vfs.Open {
			return 0, syscall.EMFILE
		}
		return 0, nil
	}
	asked := 0
	ask := func(why error) bool {
		if !errors.Is(why, wal.ErrNoFiles) || !errors.Is(why, wal.ErrNoRoom) || !errors.Is(why, syscall.EMFILE) {
			t.Errorf("files are missing for another reason: %v", why)
		}
		if asked++; asked%3 == 0 {
			fs.Fail(nil)
		}
		return true
	}
	w := newTraffic(t, fs, "/log",
		wal.Options{SegmentBytes: 4 << 10, CacheBytes: 1, OpenFiles: 4, Room: ask, Files: ask},
		20)
	passing := func(what string, err error) {
		t.Helper()
		if err != nil && !errors.Is(err, wal.ErrNoRoom) {
			t.Fatalf("%s: %v", what, err)
		}
	}
	refused := 0
	for i := range 300 {
		if i%20 == 10 {
			fs.Fail(none)
		}
		e := entry(w.m.index+1, 1+w.m.index/50, int64(w.m.index), w.next, 2, 100, 1)
		must(t, w.log.Append(state(1, w.m.index), []*raftpb.Entry{e}))
		must(t, w.log.Sync())
		placed, err := w.m.apply(e)
		must(t, err)
		must(t, w.log.Applied(w.m.index, placed))
		passing("prepare", w.log.Prepare())
		passing("seal", w.log.Seal(w.m.index, w.m.snapshot(), &raftpb.ConfState{Voters: []uint64{1}}))
		passing("clean", w.clean())
		for _, id := range []uint32{1, 9} {
			from, _ := w.live(id)
			if _, err = w.log.Read(id, from, w.next[id], 1<<20); err != nil {
				refused++
				passing("read", err)
			}
		}
		if _, err := w.log.Entries(1, 2, 1000); err != nil && !errors.Is(err, raft.ErrCompacted) {
			t.Fatal(err)
		}
	}
	fs.Fail(nil)
	if asked < 3 || refused == 0 {
		t.Fatalf("files were missing %d times to write and %d times to read: the test is none", asked, refused)
	}
	must(t, w.clean())
	w.check()
	must(t, w.log.Append(state(1, w.m.index), nil))
	must(t, w.log.Sync())
	fs.Cut(vfs.Cut{})
	w.log, w.m = open(t, fs, "/log", w.o)
	w.check()
	must(t, w.log.Close())
}

// A snapshot is installed once files can be opened.
func TestInstallWithoutFiles(t *testing.T) {
	t.Parallel()
	fs, asked := vfs.NewMemory(), 0
	l, m := open(t, fs, "/log", wal.Options{SegmentBytes: 4 << 10, Room: func(error) bool {
		asked++
		if asked%2 == 0 {
			fs.Fail(nil)
		}
		return true
	}})
	commit(t, l, m, entry(1, 1, 1, map[uint32]uint64{}, 1, 100, 1))
	fs.Fail(func(c vfs.Call) (int, error) {
		if c.Op == vfs.Create {
			return 0, syscall.ENFILE
		}
		return 0, nil
	})
	must(t, l.Install(&raftpb.Snapshot{Data: []byte("10 1:5"), Metadata: &raftpb.SnapshotMetadata{
		Index: new(uint64(10)), Term: new(uint64(2)), ConfState: &raftpb.ConfState{Voters: []uint64{1}},
	}}))
	if last, err := l.LastIndex(); err != nil || last != 10 || asked != 2 {
		t.Errorf("the log ends with %d, %v, and files were asked for %d times", last, err, asked)
	}
	fs.Cut(vfs.Cut{})
	if _, m = open(t, fs, "/log", wal.Options{SegmentBytes: 4 << 10}); m.index != 10 {
		t.Errorf("the state is after entry %d", m.index)
	}
}
