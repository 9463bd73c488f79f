package wal_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/raft/v3/confchange"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes/vfs"
	"wirelab/hermes/wal"
)

// built is a log's directory: two sealed segments, of which one was cleaned, one that is full and one in use.
func built(t testing.TB) (*vfs.Memory, wal.Options, map[uint32]uint64) {
	t.Helper()
	fs, o := vfs.NewMemory(), wal.Options{SegmentBytes: 8 << 10}
	l, m := open(t, fs, "/log", o)
	next := map[uint32]uint64{}
	for l.Usage().Segments < 4 {
		commit(t, l, m, entry(m.index+1, 1, int64(m.index), next, 2, 100, 1, 2))
		if l.Usage().Segments < 4 {
			must(t, l.Seal(m.index, m.snapshot(), &raftpb.ConfState{Voters: []uint64{1}}))
		}
	}
	if done, err := l.Clean(func(id uint32) (uint64, bool) { return 20, id == 2 }); !done || err != nil {
		t.Fatal("nothing was cleaned", err)
	}
	for range 3 {
		commit(t, l, m, entry(m.index+1, 1, int64(m.index), next, 2, 100, 1, 2))
	}
	must(t, l.Sync())
	must(t, l.Close())
	return fs, o, next
}

func change(t testing.TB, fs *vfs.Memory, name string, at int64, to []byte) {
	t.Helper()
	f, err := fs.Open("/log/" + name)
	must(t, err)
	_, err = f.WriteAt(to, at)
	must(t, err)
	must(t, f.Sync())
	must(t, f.Close())
}

// Damage to what was synced is refused by the next Open, or by the read that meets it,
// with the file and the place.
func TestDamage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		file   string
		at     int64
		remove bool
		opens  bool // it is found by reading
		where  string
	}{
		{
			name: "a frame of the last segment that later ones were written behind", file: "0000000000000004.log",
			at:    200,
			where: "0000000000000004.log",
		},
		{name: "the length of one", file: "0000000000000004.log", at: 128, where: "0000000000000004.log"},
		{name: "the last segment's block", file: "0000000000000004.log", at: 3, where: "0000000000000004.log"},
		{name: "a full segment", file: "0000000000000003.log", at: 4000, where: "0000000000000003.log"},
		{name: "a full segment's last frame", file: "0000000000000003.log", at: -1, where: "0000000000000003.log"},
		{name: "an index file", file: "0000000000000002.index", at: 300, where: "0000000000000002.index"},
		{
			name: "a cleaned one's index file", file: "0000000000000001.1.index", at: 300,
			where: "0000000000000001.1.index",
		},
		{name: "a sealed segment's block", file: "0000000000000002.log", at: 12, where: "0000000000000002.log"},
		{
			name: "a sealed segment's messages", file: "0000000000000002.log", at: 1000, opens: true,
			where: "0000000000000002.log",
		},
		{name: "a lost segment", file: "0000000000000003.log", remove: true, where: "0000000000000003.log"},
		{name: "a lost sealed segment", file: "0000000000000002.log", remove: true, where: "0000000000000002.log"},
		{name: "a lost index file", file: "0000000000000001.1.index", remove: true, where: "0000000000000001"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fs, o, next := built(t)
			at := c.at
			if at < 0 {
				at = lastByte(t, fs, "/log/"+c.file)
			}
			if c.remove {
				must(t, fs.Remove("/log/"+c.file))
			} else {
				change(t, fs, c.file, at, []byte{0xee})
			}
			m := newMachine()
			l, err := wal.Open(fs, "/log", o, func(b []byte, _ uint64) error { return m.restore(b) }, m.apply)
			if c.opens {
				must(t, err)
				_, err = l.Read(1, 0, next[1], math.MaxInt)
				if err == nil {
					_, err = l.Read(2, 0, next[2], math.MaxInt)
				}
				failed := false
				for i := uint64(1); i <= m.index; i++ {
					if _, also := l.Entries(i, i+1, 0); also != nil {
						failed = true
					}
				}
				if !failed {
					t.Error("entries were read over damage")
				}
			}
			var d *wal.Damage
			if !errors.As(err, &d) || !strings.Contains(d.File, c.where) || !strings.Contains(err.Error(), "byte") {
				t.Errorf("damage in %s is reported as %v", c.where, err)
			}
		})
	}
}

func lastByte(t *testing.T, fs *vfs.Memory, name string) int64 {
	f, err := fs.OpenRead(name)
	must(t, err)
	size, err := f.Size()
	must(t, err)
	b := make([]byte, size)
	_, err = f.ReadAt(b, 0)
	must(t, err)
	return int64(len(strings.TrimRight(string(b), "\x00"))) - 1
}

// An end that was never synced is cut off, whatever is in it.
func TestUnsyncedEnd(t *testing.T) {
	t.Parallel()
	fs, o, next := built(t)
	end := lastByte(t, fs, "/log/0000000000000004.log") + 20
	change(t, fs, "0000000000000004.log", end, []byte("anything at all, 12345678 and so on"))
	l, m := open(t, fs, "/log", o)
	check(t, l, 1, 40, next[1], 1000)
	check(t, l, 2, 20, next[2], 1000)
	commit(t, l, m, entry(m.index+1, 1, 1, next, 1, 10, 1))
	must(t, l.Close())
	l, _ = open(t, fs, "/log", o)
	check(t, l, 1, next[1]-5, next[1], 1000)
}

// Members come from the log: raft's own arithmetic over the committed changes.
func TestMembers(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMemory()
	l, m := open(t, fs, "/log", wal.Options{})
	add := func(c raftpb.ConfChangeI) {
		kind, data, err := raftpb.MarshalConfChange(c)
		must(t, err)
		commit(t, l, m, &raftpb.Entry{Index: new(m.index + 1), Term: new(uint64(1)), Type: &kind, Data: data})
	}
	one := func(kind raftpb.ConfChangeType, id uint64) *raftpb.ConfChange {
		return &raftpb.ConfChange{Type: &kind, NodeId: &id}
	}
	add(one(raftpb.ConfChangeAddNode, 1))
	add(one(raftpb.ConfChangeAddNode, 2))
	add(one(raftpb.ConfChangeAddLearnerNode, 3))
	add(one(raftpb.ConfChangeAddNode, 3))
	add(one(raftpb.ConfChangeAddLearnerNode, 4))
	add(one(raftpb.ConfChangeRemoveNode, 2))
	members := func() *raftpb.ConfState {
		must(t, l.Sync())
		must(t, l.Close())
		l, m = open(t, fs, "/log", wal.Options{})
		_, conf, err := l.InitialState()
		must(t, err)
		return conf
	}
	want := &raftpb.ConfState{Voters: []uint64{1, 3}, Learners: []uint64{4}, AutoLeave: new(false)}
	if got := members(); !proto.Equal(got, want) {
		t.Errorf("the members are %v, want %v", got, want)
	}
	joint := &raftpb.ConfChangeV2{
		Transition: raftpb.ConfChangeTransitionJointExplicit.Enum(),
		Changes: []*raftpb.ConfChangeSingle{
			{Type: raftpb.ConfChangeAddNode.Enum(), NodeId: new(uint64(5))}, {
				Type:   raftpb.ConfChangeRemoveNode.Enum(),
				NodeId: new(uint64(1)),
			},
		},
	}
	add(joint)
	got := members()
	if !slices.Equal(got.GetVotersOutgoing(), []uint64{1, 3}) || !slices.Equal(got.GetVoters(), []uint64{3, 5}) {
		t.Errorf("the joint members are %v", got)
	}
	if _, _, err := confchange.Restore(confchange.Changer{Tracker: tracker.MakeProgressTracker(1, 0)},
		got); err != nil {
		t.Error(err)
	}
	add(&raftpb.ConfChangeV2{})
	if got := members(); len(got.GetVotersOutgoing()) > 0 || !slices.Equal(got.GetVoters(), []uint64{3, 5}) {
		t.Errorf("the members after the joint ones are %v", got)
	}
}

// Whatever a file's bytes are changed to, Open refuses or the bytes read are the bytes written.
func FuzzOpen(f *testing.F) {
	fs, o, next := built(f)
	names, err := fs.List("/log")
	must(f, err)
	names = slices.DeleteFunc(names, func(s string) bool { return s == "LOCK" })
	whole := map[string][]byte{}
	for _, name := range names {
		file, err := fs.OpenRead("/log/" + name)
		must(f, err)
		size, err := file.Size()
		must(f, err)
		whole[name] = make([]byte, size)
		if _, err = file.ReadAt(whole[name], 0); err != nil {
			f.Fatal(err)
		}
	}
	for i := range names {
		for _, at := range []uint16{0, 64, 100, 500, 4000} {
			f.Add(uint8(i), at, []byte{0, 1, 2, 0xff}, uint16(0))
			f.Add(uint8(i), at, make([]byte, 300), at/2)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, at uint16, to []byte, cut uint16) {
		damaged := vfs.NewMemory()
		must(t, damaged.MkdirAll("/log"))
		for i, name := range names {
			b := slices.Clone(whole[name])
			if i == int(which)%len(names) {
				if int(at) < len(b) {
					copy(b[at:], to)
				}
				b = b[:len(b)-min(int(cut), len(b))]
			}
			file, err := damaged.Create("/log/"+name, 0)
			must(t, err)
			_, err = file.WriteAt(b, 0)
			must(t, err)
		}
		m := newMachine()
		l, err := wal.Open(damaged, "/log", o, func(b []byte, _ uint64) error { return m.restore(b) }, m.apply)
		if err != nil {
			return
		}
		for id := range next {
			batches, err := l.Read(id, 0, math.MaxUint64, math.MaxInt)
			for _, b := range batches {
				verify(t, id, b.Offset, b)
			}
			var d *wal.Damage
			if err != nil && !errors.As(err, &d) {
				t.Errorf("reading fails with %v", err)
			}
		}
		first, err := l.FirstIndex()
		must(t, err)
		last, err := l.LastIndex()
		must(t, err)
		if first <= last {
			_, _ = l.Entries(first, last+1, math.MaxUint64)
		}
		must(t, l.Close())
	})
}

// A log of each form opens, for as long as Hermes does: the forms of index files, by the directories in testdata.
func TestForms(t *testing.T) {
	t.Parallel()
	if form := os.Getenv("HERMES_WRITE_FORM"); form != "" {
		fs, _, _ := built(t)
		must(t, os.MkdirAll("testdata/form"+form, 0o755))
		for name, text := range filesOf(t, fs, "/log") {
			if name != "LOCK" {
				must(t, os.WriteFile("testdata/form"+form+"/"+name, []byte(text), 0o644))
			}
		}
	}
	for _, form := range []string{"form1", "form2"} {
		fs := vfs.NewMemory()
		must(t, fs.MkdirAll("/log"))
		entries, err := os.ReadDir("testdata/" + form)
		must(t, err)
		for _, e := range entries {
			b, err := os.ReadFile("testdata/" + form + "/" + e.Name())
			must(t, err)
			f, err := fs.Create("/log/"+e.Name(), 0)
			must(t, err)
			_, err = f.WriteAt(b, 0)
			must(t, err)
		}
		for range 2 { // what was written in an old form is in the newest then
			l, m := open(t, fs, "/log", wal.Options{SegmentBytes: 8 << 10})
			if got := fmt.Sprint(m.next[1] > 60, m.next[1] == m.next[2]); got != "true true" {
				t.Errorf("the machine of %s is %s", form, m.snapshot())
			}
			check(t, l, 1, 40, m.next[1], 1000)
			check(t, l, 2, 20, m.next[2], 1000)
			must(t, l.Close())
		}
	}
}

// A bit of an index file that is flipped while the log is open is found by the read that it would lead astray.
func TestDamageWhileOpen(t *testing.T) {
	t.Parallel()
	fs, o, next := built(t)
	o.CacheBytes = 1
	l, _ := open(t, fs, "/log", o)
	whole := filesOf(t, fs, "/log")
	for _, name := range []string{"0000000000000001.1.index", "0000000000000002.index"} {
		refused := 0
		for at := range len(whole[name]) {
			was := whole[name][at]
			for bit := range 8 {
				change(t, fs, name, int64(at), []byte{was ^ 1<<bit})
				for id, first := range map[uint32]uint64{1: 40, 2: 20} {
					if err := reads(t, l, id, first, next[id]); err != nil {
						var d *wal.Damage
						if !errors.As(err, &d) || !strings.Contains(d.File, name) {
							t.Fatalf("bit %d of byte %d of %s: %v", bit, at, name, err)
						}
						refused++
					}
				}
			}
			change(t, fs, name, int64(at), []byte{was})
		}
		if refused == 0 {
			t.Errorf("no bit of %s matters", name)
		}
	}
	must(t, l.Close())
}

// reads is check, but that it may be refused.
func reads(t testing.TB, l *wal.Log, id uint32, from, next uint64) error {
	t.Helper()
	for from < next {
		batches, err := l.Read(id, from, next, 2000)
		if err != nil {
			return err
		}
		if len(batches) == 0 {
			t.Fatalf("topic %d has nothing at offset %d", id, from)
		}
		for _, b := range batches {
			verify(t, id, from, b)
			from += uint64(b.Count)
		}
	}
	return nil
}

// A segment that is damaged is not cleaned, and can be once it is repaired.
func TestCleanOverDamage(t *testing.T) {
	t.Parallel()
	fs, o, next := built(t)
	l, _ := open(t, fs, "/log", o)
	text := filesOf(t, fs, "/log")["0000000000000002.log"]
	change(t, fs, "0000000000000002.log", 1000, []byte{text[1000] ^ 1})
	dead := func(id uint32) (uint64, bool) { return 48, id == 1 } // not all of the segment
	var d *wal.Damage
	for range 2 {
		done, err := l.Clean(dead)
		for done && err == nil { // another one
			done, err = l.Clean(dead)
		}
		if !errors.As(err, &d) || !strings.Contains(d.File, "0000000000000002.log") {
			t.Fatal("a damaged segment was cleaned", err)
		}
		change(t, fs, "0000000000000002.log", 1000, []byte{text[1000] ^ 2})
	}
	change(t, fs, "0000000000000002.log", 1000, []byte{text[1000]})
	for done := true; done; {
		var err error
		done, err = l.Clean(dead)
		must(t, err)
	}
	check(t, l, 1, 48, next[1], 1000)
	must(t, l.Close())
}
