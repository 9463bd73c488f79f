package wal

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/vfs"
)

// Verification is the input of [Verify] besides the directory. Restore and Apply are those of [Open]. All are
// called on the caller's goroutine.
type Verification struct {
	Restore func(snapshot []byte, index uint64) error
	Apply   func(e *raftpb.Entry) ([]Placed, error)
	// Same tells how the state that Apply has come to differs from a snapshot; nil: it does not.
	Same func(snapshot []byte) error
	// Live is as of [Log.Clean], and asked once all is replayed, whatever is not committed too: whether anything
	// should still be had of an oldest segment that is not there. nil: it is not asked.
	Live Live
	// Progress gets how many bytes were read of how many; nil: not reported.
	Progress func(done, total int64)
}

// Kind says what of the log is damaged.
type Kind string

// The kinds.
const (
	MissingFile   Kind = "missing file"
	BrokenFrame   Kind = "broken frame"   // or a segment's block: bytes that are not what was written
	BrokenIndex   Kind = "broken index"   // an index file, or the snapshot's, that cannot be read
	WrongOrder    Kind = "wrong order"    // entries or hard states that do not follow each other
	WrongIndex    Kind = "wrong index"    // an index file that lists other entries or runs than the segment has
	WrongSnapshot Kind = "wrong snapshot" // a state that replaying the entries does not come to
	BadEntry      Kind = "bad entry"      // an entry that cannot be applied
	Unreadable    Kind = "unreadable"     // the disk says so
)

// Finding is one damage.
type Finding struct {
	Kind Kind
	Damage
}

// Verified is what Verify saw.
type Verified struct {
	Segments, Sealed, Cleaned int // Cleaned of Sealed
	Bytes, Total              int64
	Frames                    uint64
	First, Last               uint64 // indices of entries
	Applied                   uint64 // entries to here were replayed
	Term, Commit              uint64 // of the last hard state
	Runs, Messages            uint64 // that the index files and Apply listed
	Hollow, Gone              uint64 // cleaned runs, and the messages they counted
	Snapshots                 int    // that were compared with the replayed state
	Leftovers                 int    // files of an interruption, which the next start removes
	Tail                      int64  // bytes behind the last frame that were never synced: the next start cuts them off
	Conf                      *raftpb.ConfState
	Findings                  []Finding
	Skipped                   []string // files that could not be checked, for damage before them
}

// Verify reads the log of a directory whole and changes nothing in it; it holds the directory's lock in the
// meantime ([vfs.ErrLocked]: another process does). What Open takes as harmless is so here; beyond Open it
// checks the frames of sealed segments, and replays all entries there are: each snapshot on the way must be the
// state they come to, and each index file must list the runs that they brought. It continues behind damage
// where what follows can be judged. The error is of reading the directory, or ctx's; what was seen until then
// comes with it. It takes memory for one segment and its index file.
func Verify(ctx context.Context, fs vfs.FS, dir string, o Verification) (Verified, error) {
	lock, err := fs.Lock(dir)
	if err != nil {
		return Verified{}, err
	}
	v := &verifier{
		Verification: o,
		l: &Log{
			fs: readOnly{fs}, dir: dir, lock: lock, o: Options{}.normal(),
			files:     newDescriptors(readOnly{fs}, openFilesMin),
			topics:    map[uint32]*topic{},
			slotFirst: 1, state: emptyState(), conf: &raftpb.ConfState{},
		},
	}
	err = v.run(ctx)
	if closing := v.l.Close(); err == nil {
		err = closing
	}
	v.seen.Last, v.seen.First = v.l.last(), v.l.base.index+1
	v.seen.Term, v.seen.Commit, v.seen.Conf = v.l.state.GetTerm(), v.l.state.GetCommit(), v.l.conf
	v.seen.Applied = v.l.applied
	return v.seen, err
}

// readOnly is a file system in which nothing can be changed.
type readOnly struct{ vfs.FS }

func (r readOnly) Open(name string) (vfs.File, error) { return r.OpenRead(name) }

func (readOnly) Create(name string, _ int64) (vfs.File, error) {
	return nil, fmt.Errorf("%s was to be made while the log is only read", name)
}

func (readOnly) Remove(name string) error {
	return fmt.Errorf("%s was to be removed while the log is only read", name)
}

func (readOnly) Rename(from, _ string) error {
	return fmt.Errorf("%s was to be renamed while the log is only read", from)
}

// verifier is a Verify under way. Its log is never written: it carries the results so far.
type verifier struct {
	Verification
	l    *Log
	seen Verified
	// lost: the entries from here on are not those that follow the state; nothing is replayed.
	lost bool
	// adrift: what the next segment follows is not known, for the index file that tells is damaged.
	adrift  bool
	through uint64 // the number of the last sealed segment that was seen, or of the base
	pending []pendingSnapshot
	dropped *contents // of the base, where it is an index file
	buf     []byte
}

// pendingSnapshot is to be compared once its index is applied.
type pendingSnapshot struct {
	name  string
	index uint64
	data  []byte
	// at is where in the file it begins
	at int64
}

// found notes a damage; err is a Damage, or what the disk said of a file.
func (v *verifier) found(kind Kind, file string, err error) {
	var d *Damage
	if !errors.As(err, &d) {
		if kind != BadEntry && kind != WrongSnapshot {
			kind = Unreadable
		}
		d = &Damage{File: file, Why: err.Error()}
	}
	v.seen.Findings = append(v.seen.Findings, Finding{kind, *d})
	v.lost = true
}

func (v *verifier) run(ctx context.Context) error {
	f, leftovers, err := v.l.look()
	var missing *Damage
	if errors.As(err, &missing) {
		v.found(MissingFile, "", err)
		return nil
	} else if err != nil {
		return err
	}
	v.seen.Leftovers = len(leftovers)
	if err := v.measure(f); err != nil {
		return err
	}
	newest := v.base(f)
	var open []uint64
	for i, number := range f.numbers {
		if number <= v.through {
			v.seen.Leftovers++ // it is in a segment before
			continue
		}
		if !f.of[number].sealed {
			if i+1 < len(f.numbers) && f.of[f.numbers[i+1]].sealed {
				v.found(MissingFile, "", &Damage{
					File: fileName(v.l.dir, number, f.of[number].generation, "index"),
					Why:  "it is missing, and later ones are there",
				})
				v.adrift, v.through = true, number
				continue
			}
			open = append(open, number)
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if v.through+1 != number {
			v.found(MissingFile, "",
				&Damage{File: fileName(v.l.dir, v.through+1, 0, "log"), Why: "it is missing, and later " +
					"ones are there"})
			v.adrift = true
		}
		c, err := v.sealed(ctx, number, f.of[number].generation, newest)
		if err != nil {
			return err
		}
		v.through = number
		if newest = c; c == nil {
			v.adrift = true
		} else {
			v.through = c.through()
		}
	}
	f.numbers = open
	return v.open(ctx, f, newest)
}

// measure adds up whatever is to be read.
func (v *verifier) measure(f files) error {
	names := []string{}
	if f.base > 0 {
		names = append(names, f.baseName)
	}
	for _, number := range f.numbers {
		names = append(names, fileName(v.l.dir, number, f.of[number].generation, "log"))
		if f.of[number].sealed {
			names = append(names, fileName(v.l.dir, number, f.of[number].generation, "index"))
		}
	}
	for _, name := range names {
		file, err := v.l.fs.OpenRead(name)
		if err != nil {
			return err
		}
		size, err := file.Size()
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
		v.seen.Total += size
	}
	v.seen.Segments = len(f.numbers)
	return nil
}

func (v *verifier) done(bytes int64) {
	v.seen.Bytes += bytes
	if v.Progress != nil {
		v.Progress(v.seen.Bytes, v.seen.Total)
	}
}

// index reads an index file; nil: it is damaged, and that was noted.
func (v *verifier) index(name string) *contents {
	file, err := v.l.fs.OpenRead(name)
	if err != nil {
		v.found(BrokenIndex, name, err)
		return nil
	}
	c, err := readIndex(file, name)
	if size, sizing := file.Size(); sizing == nil {
		v.done(size)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		v.found(BrokenIndex, name, err)
		return nil
	}
	return c
}

// base takes in the snapshot that stands for all before the log.
func (v *verifier) base(f files) *contents {
	if f.base == 0 {
		v.restore(nil, 0, "")
		return nil
	}
	c := v.index(f.baseName)
	v.through = f.base
	if c == nil {
		v.adrift = true
		return nil
	}
	v.dropped = c
	v.through = c.through()
	v.l.base = base{index: c.snapIndex, term: c.snapTerm, number: f.base, through: v.through, name: f.baseName}
	v.l.slotFirst, v.l.terms, v.l.state, v.l.conf = c.last+1, c.terms, c.state, raftpb.EnsureConfState(c.conf)
	v.restore(c.snapshot, c.snapIndex, f.baseName)
	return c
}

func (v *verifier) restore(snapshot []byte, index uint64, name string) {
	if err := v.Restore(snapshot, index); err != nil {
		v.found(WrongSnapshot, name, &Damage{File: name, Why: "its snapshot is no state: " + err.Error()})
	}
	v.l.applied = index
}

// whole reads a segment's file into the buffer; nil: it cannot be, and that was noted.
func (v *verifier) whole(number uint64, generation uint32) *segment {
	s, err := v.l.openSegment(number, generation)
	if err != nil {
		v.found(Unreadable, fileName(v.l.dir, number, generation, "log"), err)
		return nil
	}
	if int64(cap(v.buf)) < s.size {
		v.buf = make([]byte, s.size)
	}
	v.buf = v.buf[:s.size]
	err = read(s.file, s.name, v.buf, 0)
	v.done(s.size)
	if err != nil {
		v.found(Unreadable, s.name, err)
		_ = s.release() // a file that was only read
		return nil
	}
	return s
}

// open checks the segments that are not sealed, those of f.numbers, and replays them.
func (v *verifier) open(ctx context.Context, f files, newest *contents) error {
	if v.adrift {
		for _, number := range f.numbers {
			v.seen.Skipped = append(v.seen.Skipped, fileName(v.l.dir, number, 0, "log"))
		}
		return nil
	}
	before, end := v.through, int64(0)
	if newest != nil {
		end = newest.original
	}
	for i, number := range f.numbers {
		if err := ctx.Err(); err != nil {
			return err
		}
		if want := v.through + uint64(i) + 1; number != want {
			v.found(MissingFile, "",
				&Damage{File: fileName(v.l.dir, want, 0, "log"), Why: "it is missing, and later ones " +
					"are there"})
			return nil
		}
		s := v.whole(number, 0)
		if s == nil {
			return nil
		}
		v.l.full = append(v.l.full, s) // Close finds it
		made, err := v.l.load(s, v.buf, before, end)
		if err == nil && made && !s.began && v.l.follows(s, f) {
			err = &Damage{File: s.name, At: blockBytes, Why: "no whole frame is there, and later segments have some"}
		}
		if err == nil && made && !v.l.follows(s, f) {
			if err = harmless(v.buf, s.end, s.salt); err == nil {
				v.seen.Tail += int64(len(v.buf)) - s.end - int64(zeros(v.buf[s.end:]))
			}
		}
		if err != nil {
			var d *Damage
			if errors.As(err, &d) && d.File == "" {
				d.File = s.name
			}
			kind := BrokenFrame
			if d != nil && d.File == s.name && d.At > s.end {
				kind = WrongOrder // what was read is whole, and wrong
			}
			v.found(kind, s.name, err)
			for _, rest := range f.numbers[i+1:] {
				v.seen.Skipped = append(v.seen.Skipped, fileName(v.l.dir, rest, 0, "log"))
			}
			return nil
		}
		_, _ = scan(v.buf, s.salt, func(int64, frame) error { v.seen.Frames++; return nil }) // nothing in it fails
		if s.began {
			before, end = number, s.end
		}
	}
	if v.l.dangling != nil {
		v.found(WrongOrder, "", v.l.dangling) // and nothing is replayed
	}
	return v.finish(ctx, newest)
}

// zeros is how many bytes at the end are 0.
func zeros(b []byte) int {
	n := len(b)
	for n > 0 && b[n-1] == 0 {
		n--
	}
	return len(b) - n
}
