package wal_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/vfs"
	"wirelab/hermes/wal"
)

var (
	flips    = flag.Int("flips", 600, "how many bits TestFlips flips")
	flipSeed = flag.Uint64("flip-seed", 1, "which ones")
)

// replayer is a machine as wal wants it to repair an index file.
type replayer struct{ *machine }

func (r replayer) Restore(b []byte, _ uint64) error            { return r.restore(b) }
func (r replayer) Apply(e *raftpb.Entry) ([]wal.Placed, error) { return r.apply(e) }
func (r replayer) Snapshot() []byte                            { return r.snapshot() }

// flipped is a log in which bits are flipped, with what it must hold.
type flipped struct {
	t       *testing.T
	fs      *vfs.Memory
	o       wal.Options
	l       *wal.Log
	entries []*raftpb.Entry // as another node has them
	first   map[uint32]uint64
	next    map[uint32]uint64
	what    string
	mended  int
	also    string // a second file, or ""
	alsoAt  int64
}

func (f *flipped) live(id uint32) (uint64, bool) { return f.first[id], true }

func (f *flipped) care() wal.Care { return wal.Care{Fetch: f.fetch} }

// alone is how many entries bring messages of topic 3 only, before there are others.
const alone = 30

// newFlipped has sealed segments, of which one was dropped and one cleaned, a state ahead of its segment, a
// full segment and one in use. Where joined is set some were cleaned so much that they are one now. Nothing of
// it is in memory.
func newFlipped(t *testing.T, joined bool) *flipped {
	segments, first := 8, map[uint32]uint64{1: 20, 2: 20, 3: 56}
	if joined {
		segments, first = 16, map[uint32]uint64{1: 170, 2: 170, 3: 64}
	}
	f := &flipped{
		t: t, fs: vfs.NewMemory(), first: first, next: map[uint32]uint64{},
		o: wal.Options{
			SegmentBytes: 8 << 10, CacheBytes: 1,
			Machine: func() wal.Machine { return replayer{newMachine()} },
		},
	}
	l, m := f.open()
	more := func() {
		topics := []uint32{1, 2, 3}
		if m.index < alone {
			topics = []uint32{3}
		}
		e := entry(m.index+1, 1+m.index/20, int64(m.index), f.next, 2, 100, topics...)
		f.entries = append(f.entries, e)
		commit(t, l, m, e)
	}
	for l.Usage().Segments < segments {
		was := l.Usage().Segments
		more()
		if n := l.Usage().Segments; n != was && n < segments {
			more() // the state is ahead
			must(t, l.Sync())
			must(t, l.Seal(m.index, m.snapshot(), &raftpb.ConfState{}))
		}
	}
	for range 3 {
		more()
	}
	for {
		done, err := l.Clean(f.live)
		must(t, err)
		if !done {
			break
		}
	}
	must(t, l.Close())
	f.l, _ = f.open()
	names := slices.Collect(f.names())
	if is := f.l.Usage().Segments; joined && is > segments-4 {
		t.Fatalf("%d segments were not joined, there are %d: %v", segments, is, names)
	}
	if joined {
		return f
	}
	if !slices.ContainsFunc(names, func(s string) bool { return strings.Contains(s, ".1.index") }) ||
		strings.HasSuffix(names[1], "1.log") {
		t.Fatal("nothing was cleaned, or nothing dropped", names)
	}
	return f
}

func (f *flipped) names() func(func(string) bool) {
	return func(yield func(string) bool) {
		names, err := f.fs.List("/log")
		must(f.t, err)
		for _, name := range names {
			if name != "LOCK" && !yield(name) {
				return
			}
		}
	}
}

func (f *flipped) open() (*wal.Log, *machine) {
	m := newMachine()
	l, err := wal.Open(f.fs, "/log", f.o, func(b []byte, _ uint64) error { return m.restore(b) }, m.apply)
	must(f.t, err)
	return l, m
}

// fetch is another node.
func (f *flipped) fetch(_ context.Context, index, _ uint64, fit func(*raftpb.Entry) error) (*raftpb.Entry, error) {
	if index == 0 || index > uint64(len(f.entries)) {
		return nil, fmt.Errorf("entry %d is not there", index)
	}
	e := f.entries[index-1]
	return e, fit(e)
}

// healed does something that reads, and again once the damage it met is repaired.
func (f *flipped) healed(do func() error) error {
	err := do()
	var d *wal.Damage
	if errors.As(err, &d) {
		var did wal.Scrubbed
		did, err = f.l.Mend(f.t.Context(), d, f.care())
		if f.mended += did.Repaired; err == nil {
			err = do()
		}
	}
	return err
}

// readAll reads all there is, and tells what could not be read.
func (f *flipped) readAll() (failed error) {
	for id, next := range f.next {
		for from := f.first[id]; from < next; {
			err := f.healed(func() error {
				batches, err := f.l.Read(id, from, next, 2000)
				if err != nil {
					return err
				}
				if len(batches) == 0 {
					f.t.Fatalf("%s: topic %d has nothing at offset %d of %d", f.what, id, from, next)
				}
				for _, b := range batches {
					f.what = fmt.Sprintf("%.200s", f.what)
					verify(f.t, id, from, b)
					if want := int64(f.entryOf(id, b.Offset)) - 1; b.Time != want {
						f.t.Fatalf("%s: offset %d of topic %d has time %d, and was stored at %d", f.what, b.Offset, id,
							b.Time, want)
					}
					from += uint64(b.Count)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		if err := f.healed(func() error { return f.readTime(id, next) }); err != nil {
			return err
		}
	}
	first, _ := f.l.FirstIndex()
	last, _ := f.l.LastIndex()
	for i := first; i <= last; {
		err := f.healed(func() error {
			entries, err := f.l.Entries(i, last+1, 4000)
			for _, e := range entries {
				if want := f.entries[e.GetIndex()-1]; e.GetIndex() != i || e.GetTerm() != want.GetTerm() {
					f.t.Fatalf("%s: entry %d of term %d came in place of %d of term %d", f.what, e.GetIndex(),
						e.GetTerm(), i,
						want.GetTerm())
				}
				i++
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readTime looks for an offset by its time.
func (f *flipped) readTime(id uint32, next uint64) error {
	at := f.first[id] + (next-f.first[id])/2
	time := int64(f.entryOf(id, at)) - 1
	got, ok, err := f.l.ByTime(id, time)
	if err == nil && (!ok || got != at-at%2) {
		f.t.Fatalf("%s: topic %d has offset %d at time %d, and gave %d", f.what, id, at-at%2, time, got)
	}
	return err
}

// entryOf is the index of the entry that brought a message.
func (f *flipped) entryOf(id uint32, offset uint64) uint64 {
	if id == 3 {
		return offset/2 + 1
	}
	return alone + offset/2 + 1
}

// flip flips a bit of a file.
func (f *flipped) flip(name string, at int64, bit int) {
	file, err := f.fs.Open("/log/" + name)
	must(f.t, err)
	b := make([]byte, 1)
	_, err = file.ReadAt(b, at)
	must(f.t, err)
	b[0] ^= 1 << bit
	_, err = file.WriteAt(b, at)
	must(f.t, err)
	must(f.t, file.Sync())
	must(f.t, file.Close())
}

// scrub looks at all there is.
func (f *flipped) scrub() (found, repaired int, failed error) {
	for after := uint64(0); ; {
		did, ok, err := f.l.Scrub(f.t.Context(), after, f.care())
		found, repaired = found+len(did.Found), repaired+did.Repaired
		if err != nil || !ok {
			return found, repaired, err
		}
		after = did.Number
	}
}

// No bit that is flipped in a log, while it is open or not, gives a wrong byte, another offset or time, or
// hides a message: each read is right, after a repair where there has to be one, or is refused.
func TestFlips(t *testing.T) {
	t.Parallel()
	for _, joined := range []bool{false, true} {
		t.Run(fmt.Sprintf("joined=%t", joined), func(t *testing.T) {
			t.Parallel()
			flipBits(t, newFlipped(t, joined))
		})
	}
}

func flipBits(t *testing.T, f *flipped) {
	random := rand.New(rand.NewPCG(*flipSeed, 0))
	whole := filesOf(t, f.fs, "/log")
	must(t, f.readAll())
	if found, _, err := f.scrub(); found > 0 || err != nil {
		t.Fatalf("%d damages are found in a log without any: %v", found, err)
	}
	names := slices.Collect(f.names())
	var repaired, refused, harmless, hopeless int
	for n := range *flips {
		name := names[random.IntN(len(names))]
		at, bit, rest := random.Int64N(int64(len(whole[name]))), random.IntN(8), random.IntN(2) == 0
		f.what = fmt.Sprintf("flip %d of seed %d: bit %d of byte %d of %s, at rest: %t", n, *flipSeed, bit, at, name,
			rest)
		if t.Failed() {
			return
		}
		f.also = ""
		if other := strings.TrimSuffix(name, ".index") + ".log"; !rest && n%3 == 0 && other != name &&
			slices.Contains(names,
				other) {
			f.also = other // both at once
			f.alsoAt = 64 + random.Int64N(int64(len(strings.TrimRight(whole[other], "\x00")))-64)
			f.what += fmt.Sprintf(", with byte %d of %s", f.alsoAt, other)
		}
		base := !slices.Contains(names, strings.TrimSuffix(name, filepath.Ext(name))+".log")
		err := f.one(name, at, bit, rest)
		var d *wal.Damage
		switch {
		case err == nil && f.mended > 0:
			repaired++
		case err == nil:
			harmless++
		case !errors.As(err, &d):
			t.Fatalf("%s: %v", f.what, err)
		case f.also != "": // the place of an entry, and its frame
			hopeless++
			t.Log(f.what, err)
		case !rest && !base:
			t.Fatalf("%s: it is not repaired: %v", f.what, err)
		default:
			refused++
		}
		if err == nil && f.mended > 0 && n%10 == 0 {
			must(t, f.l.Close())
			v, err := verified(t.Context(), f.fs, "/log", nil)
			if must(t, err); len(v.Findings) > 0 {
				t.Fatalf("%s: after the repair %v is found", f.what, v.Findings)
			}
			f.l, _ = f.open()
		}
		f.renew(whole, err != nil)
	}
	t.Logf("of %d flips of seed %d %d were repaired, %d did no harm, %d were refused", *flips, *flipSeed, repaired,
		harmless, refused)
	if hopeless > *flips/100 {
		t.Errorf("of two damages in a segment %d times one was not repaired", hopeless)
	}
	if *flips >= 600 && (repaired < *flips/4 || refused == 0) {
		t.Error("the flips did not show what they are to show")
	}
}

// one flips a bit and reads all there is.
func (f *flipped) one(name string, at int64, bit int, rest bool) error {
	f.mended = 0
	if rest {
		must(f.t, f.l.Close())
	}
	f.flip(name, at, bit)
	if f.also != "" {
		f.flip(f.also, f.alsoAt, bit)
	}
	if rest {
		m := newMachine()
		l, err := wal.Open(f.fs, "/log", f.o, func(b []byte, _ uint64) error { return m.restore(b) }, m.apply)
		if err != nil {
			return err
		}
		f.l = l
		f.mended += len(l.Mended())
		if int(m.index) != len(f.entries) {
			f.t.Fatalf("%s: the machine is after entry %d of %d", f.what, m.index, len(f.entries))
		}
	}
	if err := f.readAll(); err != nil {
		return err
	}
	_, repaired, err := f.scrub()
	f.mended += repaired
	return err
}

// renew puts the files back as they were; the log is opened again where it has to be.
func (f *flipped) renew(whole map[string]string, closed bool) {
	if closed {
		_ = f.l.Close() // it may be open or not
	}
	now := filesOf(f.t, f.fs, "/log")
	for name, text := range whole {
		if name == "LOCK" || now[name] == text {
			continue
		}
		_ = f.fs.Remove("/log/" + name) // it may be gone
		file, err := f.fs.Create("/log/"+name, int64(len(text)))
		must(f.t, err)
		_, err = file.WriteAt([]byte(text), 0)
		must(f.t, err)
		must(f.t, file.Sync())
		must(f.t, file.Close())
		if !closed {
			_ = f.l.Close() // it has the file open that is gone
			closed = true
		}
	}
	if closed {
		f.l, _ = f.open()
	}
}
