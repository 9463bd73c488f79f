package vfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"wirelab/hermes/vfs"
)

// Both file systems do the same.
func TestContract(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		fs   vfs.FS
		dir  string
	}{
		{"os", vfs.OS{}, t.TempDir()},
		{"memory", vfs.NewMemory(), "/data"},
		{"overlay", over(t, vfs.NewMemory(), "/data/a/b"), "/data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			contract(t, c.fs, filepath.Join(c.dir, "a", "b"))
		})
	}
}

// over is an overlay over a directory that holds files of other names.
func over(t *testing.T, below vfs.FS, dir string) vfs.FS {
	t.Helper()
	must(t, below.MkdirAll(dir))
	return vfs.NewOverlay(below)
}

// TestOverlay: a read gives the file below with what was written over it, and the file below stays as it was.
func TestOverlay(t *testing.T) {
	t.Parallel()
	below := vfs.NewMemory()
	must(t, below.MkdirAll("/d"))
	f, err := below.Create("/d/f", 0)
	must(t, err)
	_, err = f.WriteAt([]byte("abcdefgh"), 0)
	must(t, err)
	sys := vfs.NewOverlay(below)
	g, err := sys.Open("/d/f")
	must(t, err)
	for _, w := range []struct {
		at   int64
		data string
	}{{2, "XY"}, {3, "Z"}, {10, "end"}} {
		_, err := g.WriteAt([]byte(w.data), w.at)
		must(t, err)
	}
	must(t, g.Close())
	reads := func(sys vfs.FS, want string) {
		t.Helper()
		f, err := sys.OpenRead("/d/f")
		must(t, err)
		size, err := f.Size()
		must(t, err)
		b := make([]byte, size)
		if _, err := f.ReadAt(b, 0); err != nil || string(b) != want {
			t.Errorf("it reads %q, %v; want %q", b, err, want)
		}
		must(t, f.Close())
	}
	reads(sys, "abXZefgh\x00\x00end")
	g, err = sys.Open("/d/f")
	must(t, err)
	must(t, g.Truncate(3))
	must(t, g.Truncate(6))
	reads(sys, "abX\x00\x00\x00")
	must(t, sys.Remove("/d/f"))
	if names, err := sys.List("/d"); err != nil || len(names) != 0 {
		t.Errorf("after its removal there is %v, %v", names, err)
	}
	reads(below, "abcdefgh")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func contract(t *testing.T, sys vfs.FS, dir string) {
	must(t, sys.MkdirAll(dir))
	must(t, sys.MkdirAll(dir))
	lock, err := sys.Lock(dir)
	must(t, err)
	if _, err := sys.Lock(dir); err == nil {
		t.Error("a directory was locked twice")
	}
	must(t, lock.Close())
	lock, err = sys.Lock(dir)
	must(t, err)
	defer lock.Close()

	name := filepath.Join(dir, "f")
	if _, err := sys.Open(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file opens with %v", err)
	}
	f, err := sys.Create(name, 3<<20+5)
	must(t, err)
	if _, err := sys.Create(name, 0); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file is created twice with %v", err)
	}
	if n, err := f.Size(); err != nil || n != 3<<20+5 {
		t.Errorf("a new file has %d bytes, %v", n, err)
	}
	if n, err := f.WriteAt([]byte("hello"), 3<<20); n != 5 || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	must(t, f.Sync())
	buf := make([]byte, 10)
	if n, err := f.ReadAt(buf, 3<<20); n != 5 || err != io.EOF || string(buf[:5]) != "hello" {
		t.Errorf("read %d bytes %q, %v", n, buf, err)
	}
	must(t, f.Truncate(4))
	must(t, f.Truncate(8))
	if n, err := f.ReadAt(buf[:8], 0); n != 8 || err != nil || !bytes.Equal(buf[:8], make([]byte, 8)) {
		t.Errorf("read %d bytes %q, %v", n, buf, err)
	}
	must(t, sys.Rename(name, name+"2"))
	must(t, sys.SyncDir(dir))
	names, err := sys.List(dir)
	must(t, err)
	names = slices.DeleteFunc(names, func(s string) bool { return s == "LOCK" })
	if !slices.Equal(names, []string{"f2"}) {
		t.Errorf("the directory holds %q", names)
	}
	r, err := sys.OpenRead(name + "2")
	must(t, err)
	if _, err := r.WriteAt([]byte("x"), 0); err == nil {
		t.Error("a file opened to read was written")
	}
	must(t, sys.Remove(name+"2"))
	if n, err := r.ReadAt(buf[:8], 0); n != 8 || err != nil {
		t.Errorf("an open file that was removed reads %d, %v", n, err)
	}
	must(t, r.Close())
	must(t, f.Close())
	if _, err := f.ReadAt(buf, 0); err == nil {
		t.Error("a closed file was read")
	}
	if n, err := sys.Free(dir); err != nil || n == 0 {
		t.Errorf("%d bytes are free, %v", n, err)
	}
}

// A file whose room is only reserved is as one of zeros.
func TestReserve(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "f")
	f, err := vfs.OS{}.Reserve(name, 1<<20)
	must(t, err)
	defer f.Close()
	if n, err := f.Size(); err != nil || n != 1<<20 {
		t.Errorf("a file with room for 1 MiB has %d bytes, %v", n, err)
	}
	b := []byte("12")
	if n, err := f.ReadAt(b, 1<<19); n != 2 || err != nil || string(b) != "\x00\x00" {
		t.Errorf("read %d bytes %q, %v", n, b, err)
	}
	if _, err := (vfs.OS{}).Reserve(name, 1); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file is reserved twice with %v", err)
	}
}

func contents(t *testing.T, m *vfs.Memory, name string) string {
	t.Helper()
	f, err := m.OpenRead(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "missing"
	}
	must(t, err)
	size, err := f.Size()
	must(t, err)
	b := make([]byte, size)
	_, err = f.ReadAt(b, 0)
	must(t, err)
	return string(b)
}

// A cut loses what was not synced, and nothing else (hb-D05 could not be tested without).
func TestCutLosesWhatWasNotSynced(t *testing.T) {
	t.Parallel()
	m := vfs.NewMemory()
	f, err := m.Create("/a", 4)
	must(t, err)
	g, err := m.Create("/b", 4)
	must(t, err)
	must(t, m.SyncDir("/"))
	for _, one := range []vfs.File{f, g} {
		_, err = one.WriteAt([]byte("1234"), 0)
		must(t, err)
	}
	must(t, f.Sync())
	_, err = f.WriteAt([]byte("56"), 1)
	must(t, err)
	_, err = m.Create("/c", 1)
	must(t, err)
	must(t, m.Rename("/a", "/d"))
	if contents(t, m, "/d") != "1564" {
		t.Error("what was written is not seen before the cut")
	}
	lock, err := m.Lock("/")
	must(t, err)
	m.Cut(vfs.Cut{})
	if a, b, c, d := contents(t, m, "/a"), contents(t, m, "/b"), contents(t, m, "/c"),
		contents(t, m, "/d"); a != "1234" ||
		b != "\x00\x00\x00\x00" || c != "missing" || d != "missing" {
		t.Errorf("left are %q %q %q %q", a, b, c, d)
	}
	if _, err := f.WriteAt([]byte("x"), 0); !errors.Is(err, vfs.ErrCut) {
		t.Errorf("a file of before the cut is written with %v", err)
	}
	second, err := m.Lock("/")
	must(t, err)
	must(t, lock.Close()) // of a dead process: it lets go of nothing
	if _, err := m.Lock("/"); err == nil {
		t.Error("a dead lock let go of a living one")
	}
	must(t, second.Close())
}

// What a killed process wrote is seen by the next one, and lost by a power cut behind it.
func TestKill(t *testing.T) {
	t.Parallel()
	m := vfs.NewMemory()
	f, err := m.Create("/a", 4)
	must(t, err)
	must(t, m.SyncDir("/"))
	_, err = f.WriteAt([]byte("1234"), 0)
	must(t, err)
	_, err = m.Lock("/")
	must(t, err)
	m.Kill()
	if err := f.Sync(); !errors.Is(err, vfs.ErrCut) {
		t.Errorf("a dead process synced: %v", err)
	}
	if _, err := m.Lock("/"); err != nil {
		t.Error(err)
	}
	if got := contents(t, m, "/a"); got != "1234" {
		t.Errorf("%q is seen after a kill", got)
	}
	m.Cut(vfs.Cut{})
	if got := contents(t, m, "/a"); got != "\x00\x00\x00\x00" {
		t.Errorf("%q is left after a kill and a cut", got)
	}
}

// A whole cut loses nothing; one in between leaves any sectors and torn ones.
func TestCutKeeps(t *testing.T) {
	t.Parallel()
	old, fresh := bytes.Repeat([]byte("-"), 2000), bytes.Repeat([]byte("+"), 2000)
	run := func(c vfs.Cut) string {
		m := vfs.NewMemory()
		f, err := m.Create("/a", 0)
		must(t, err)
		_, err = f.WriteAt(old, 0)
		must(t, err)
		must(t, f.Sync())
		must(t, m.SyncDir("/"))
		_, err = f.WriteAt(fresh, 0)
		must(t, err)
		m.Cut(c)
		return contents(t, m, "/a")
	}
	if run(vfs.Everything) != string(fresh) || run(vfs.Cut{}) != string(old) {
		t.Error("a cut that keeps everything lost something, or one that keeps nothing did not")
	}
	forms := map[string]bool{}
	for seed := range uint64(200) {
		got := run(vfs.Draw(rand.New(rand.NewPCG(seed, 0))))
		if again := run(vfs.Draw(rand.New(rand.NewPCG(seed, 0)))); again != got {
			t.Fatalf("seed %d leaves two different things", seed)
		}
		forms[got] = true
	}
	if len(forms) < 20 {
		t.Errorf("200 cuts left only %d different things", len(forms))
	}
}

// A plan fails the call it names, a torn write does part, a failed sync loses.
func TestFail(t *testing.T) {
	t.Parallel()
	m := vfs.NewMemory()
	f, err := m.Create("/a", 4)
	must(t, err)
	must(t, m.SyncDir("/"))
	m.Fail(func(c vfs.Call) (int, error) {
		switch c.Op {
		case vfs.Write:
			return 2, syscall.ENOSPC
		case vfs.Sync:
			return 0, syscall.EIO
		}
		return 0, nil
	})
	if n, err := f.WriteAt([]byte("1234"), 0); n != 2 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("wrote %d, %v", n, err)
	}
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Errorf("synced: %v", err)
	}
	m.Fail(nil)
	must(t, f.Sync())
	if got := contents(t, m, "/a"); got != "12\x00\x00" {
		t.Errorf("%q is seen", got)
	}
	m.Cut(vfs.Cut{})
	if got := contents(t, m, "/a"); got != "\x00\x00\x00\x00" {
		t.Errorf("a write whose sync failed is on disk: %q", got)
	}
	m.SetCapacity(6)
	f, err = m.Open("/a")
	must(t, err)
	if _, err := f.WriteAt([]byte("1234"), 3); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk was written: %v", err)
	}
	if free, err := m.Free("/"); free != 2 || err != nil {
		t.Errorf("%d bytes are free, %v", free, err)
	}
}

// A plan may have no more files opened, and open files are counted.
func TestExhausted(t *testing.T) {
	t.Parallel()
	m := vfs.NewMemory()
	a, err := m.Create("/a", 4)
	must(t, err)
	b, err := m.OpenRead("/a")
	must(t, err)
	m.Fail(func(c vfs.Call) (int, error) {
		if c.Op == vfs.Create || c.Op == vfs.Open {
			return 0, syscall.EMFILE
		}
		return 0, nil
	})
	for name, open := range map[string]func(string) (vfs.File, error){
		"/a": m.Open, "/b": func(name string) (vfs.File, error) { return m.Create(name, 1) },
	} {
		if _, err := open(name); !vfs.Exhausted(err) || vfs.Full(err) {
			t.Errorf("%s was opened: %v", name, err)
		}
	}
	if n := m.Counts().Open; n != 2 {
		t.Errorf("%d files are open", n)
	}
	must(t, a.Close())
	must(t, b.Close())
	if n := m.Counts().Open; n != 0 {
		t.Errorf("%d files are open, and all were closed", n)
	}
	if !vfs.Exhausted(fmt.Errorf("open: %w", syscall.ENFILE)) || vfs.Exhausted(syscall.ENOSPC) {
		t.Error("a full disk is taken for too many files, or the other way round")
	}
}

// A locked directory is synced without a file being opened.
func TestSyncLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := vfs.OS{}.Lock(dir)
	must(t, err)
	d, ok := lock.(vfs.Syncer)
	if !ok {
		t.Fatal("it cannot be")
	}
	must(t, d.Sync())
	must(t, lock.Close())
	if err := d.Sync(); err == nil {
		t.Error("it can be once it is no longer locked")
	}
	lock, err = vfs.OS{}.Lock(dir)
	must(t, err)
	must(t, lock.Close())
}
