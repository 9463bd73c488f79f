package wal

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/vfs"
)

// Open opens, or makes, the log of a directory and repairs its end. restore is
// called once with the newest snapshot of the state machine (nil: none) and the
// index it is after, and then apply with each committed entry behind it, in order,
// so that state and index of topics are built in one pass; apply tells which of the
// entry's runs are messages, as Applied does. An entry's data must not be kept
// beyond apply without being copied.
//
// The segments that are not sealed are read whole. Of the sealed ones the index file is, and
// its checksum; their frames are checked when they are read. With [Options.Machine] an index file that is
// damaged, and a sealed segment's block, are made again: Mended lists them.
func Open(fs vfs.FS, dir string, o Options, restore func(snapshot []byte, index uint64) error,
	apply func(e *raftpb.Entry) ([]Placed, error),
) (*Log, error) {
	if err := fs.MkdirAll(dir); err != nil {
		return nil, err
	}
	lock, err := fs.Lock(dir)
	if err != nil {
		return nil, err
	}
	o = o.normal()
	l := &Log{
		fs: fs, dir: dir, o: o, lock: lock, files: newDescriptors(fs, o.OpenFiles), topics: map[uint32]*topic{},
		slotFirst: 1, state: emptyState(), conf: &raftpb.ConfState{},
	}
	if err := l.open(restore, apply); err != nil {
		_ = l.Close() // the first failure is the one to tell
		return nil, err
	}
	return l, nil
}

func emptyState() *raftpb.HardState {
	return &raftpb.HardState{Term: new(uint64), Vote: new(uint64), Commit: new(uint64)}
}

func (l *Log) open(restore func([]byte, uint64) error, apply func(*raftpb.Entry) ([]Placed, error)) error {
	files, err := l.list()
	if err != nil {
		return err
	}
	newest, err := l.openSealed(&files)
	if err != nil {
		return err
	}
	if err := l.openOpen(files, newest); err != nil {
		return err
	}
	snapshot, index := []byte(nil), uint64(0)
	if newest != nil {
		snapshot, index = newest.snapshot, newest.snapIndex
		if l.last() < index {
			return &Damage{
				File: l.active.name, At: l.active.end,
				Why: fmt.Sprintf("the log ends with entry %d, and the state "+
					"of %s is after entry %d", l.last(), fileName(l.dir, newest.number, newest.generation, "index"),
					index),
			}
		}
		l.conf = raftpb.EnsureConfState(newest.conf)
	}
	l.applied = index
	if l.state.GetCommit() < index { // a commit index alone is not synced; a snapshot contains it too
		l.state.Commit = &index
	}
	if l.state.GetCommit() > l.last() {
		return &Damage{
			File: l.active.name, At: l.active.end,
			Why: fmt.Sprintf("the log ends with entry %d, and entry %d "+
				"was committed", l.last(), l.state.GetCommit()),
		}
	}
	if err := restore(snapshot, index); err != nil {
		return fmt.Errorf("the state of the machine after entry %d: %w", index, err)
	}
	return l.replay(apply)
}

// replay applies the committed entries behind the snapshot.
func (l *Log) replay(apply func(*raftpb.Entry) ([]Placed, error)) error {
	for l.applied < l.state.GetCommit() {
		entries, err := l.entries(l.applied+1, l.state.GetCommit()+1, entriesBytes)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if l.conf, err = changeMembers(l.conf, e); err != nil {
				return err
			}
			placed, err := apply(e)
			if err != nil {
				return fmt.Errorf("entry %d: %w", e.GetIndex(), err)
			}
			if err := l.place(e.GetIndex(), e.GetData(), placed); err != nil {
				return err
			}
		}
	}
	return nil
}

// files are a directory's, leftovers of what was interrupted taken away.
type files struct {
	base     uint64 // number of the file whose snapshot stands for all before; 0: none
	baseName string
	numbers  []uint64 // of segments, rising
	of       map[uint64]pair
}

// pair is a segment's generation, and whether it has an index file.
type pair struct {
	generation uint32
	sealed     bool
}

// named is a file that belongs to the log.
type named struct {
	number     uint64
	generation uint32
	kind       string
}

// list reads the directory, and takes away what an interruption left.
func (l *Log) list() (files, error) {
	f, leftovers, err := l.look()
	if err != nil {
		return files{}, err
	}
	return f, l.remove(leftovers)
}

// look reads the directory and changes nothing.
func (l *Log) look() (f files, leftovers []string, err error) {
	names, err := l.fs.List(l.dir)
	if err != nil {
		return files{}, nil, err
	}
	there := map[named]bool{}
	for _, name := range names {
		if strings.HasSuffix(name, ".tmp") {
			leftovers = append(leftovers, filepath.Join(l.dir, name))
		} else if n, ok := parseName(name); ok {
			there[n] = true
		}
	}
	f.of = map[uint64]pair{}
	for n := range there {
		// A cleaned segment counts from when its index file is there.
		sealed := there[named{n.number, n.generation, "index"}]
		if b, ok := f.of[n.number]; n.kind == "log" && (sealed || n.generation == 0) &&
			(!ok || n.generation >= b.generation) {
			f.of[n.number] = pair{n.generation, sealed}
		}
	}
	var base named
	for n := range there {
		if _, ok := f.of[n.number]; !ok && n.kind != "log" && n.number > base.number {
			base = n
			f.base, f.baseName = n.number, fileName(l.dir, n.number, n.generation, n.kind)
		}
	}
	for n := range there {
		kept, ok := f.of[n.number]
		switch {
		case n.kind == "log" && ok && n.number < f.base && base.kind == "index":
			return files{}, nil,
				&Damage{File: fileName(l.dir, base.number, base.generation, "log"), Why: "it is missing, and " +
					"earlier ones are there"}
		case n == base || ok && n.generation == kept.generation && n.number > f.base:
		default:
			leftovers = append(leftovers, fileName(l.dir, n.number, n.generation, n.kind))
		}
	}
	for number := range f.of {
		if number > f.base {
			f.numbers = append(f.numbers, number)
		}
	}
	slices.Sort(f.numbers)
	slices.Sort(leftovers)
	return f, leftovers, nil
}

// openSealed opens the base and the sealed segments, and leaves those in f that are not sealed.
// newest is the contents of the newest index file, or nil.
func (l *Log) openSealed(f *files) (newest *contents, err error) {
	if f.base > 0 {
		file, err := l.fs.OpenRead(f.baseName)
		if err != nil {
			return nil, err
		}
		c, err := readIndex(file, f.baseName)
		if closing := file.Close(); err == nil {
			err = closing
		}
		if err != nil {
			return nil, err
		}
		l.base = base{index: c.snapIndex, term: c.snapTerm, number: f.base, through: c.through(), name: f.baseName}
		l.slotFirst = c.last + 1
		l.terms = c.terms
		l.state = c.state
		newest = c
	}
	var open, joined []uint64
	for i, number := range f.numbers {
		if number <= l.newestNumber() {
			joined = append(joined, number)
			continue
		}
		if !f.of[number].sealed {
			open = append(open, number)
			if i+1 < len(f.numbers) && f.of[f.numbers[i+1]].sealed {
				return nil, &Damage{
					File: fileName(l.dir, number, f.of[number].generation, "index"),
					Why: "it is missing, and " +
						"later ones are there",
				}
			}
			continue
		}
		if before := l.newestNumber(); before+1 != number {
			return nil, &Damage{
				File: fileName(l.dir, before+1, 0, "log"),
				Why:  "it is missing, and later ones are there",
			}
		}
		if newest, err = l.openOne(*f, i, newest); err != nil {
			return nil, err
		}
	}
	f.numbers = open
	// They are in a segment before, and their removal was interrupted.
	return newest, l.removeJoined(joined, f.of)
}

// removeJoined takes segments away that are in another one too.
func (l *Log) removeJoined(numbers []uint64, of map[uint64]pair) error {
	var indexes, logs []string
	for _, number := range numbers {
		logs = append(logs, fileName(l.dir, number, of[number].generation, "log"))
		if of[number].sealed {
			indexes = append(indexes, fileName(l.dir, number, of[number].generation, "index"))
		}
	}
	return l.removeBoth(indexes, logs)
}

// newestNumber is that of the newest segment opened so far, or of the base.
func (l *Log) newestNumber() uint64 {
	if n := len(l.sealed); n > 0 {
		return l.sealed[n-1].through()
	}
	return l.base.through
}

// openOne opens a sealed segment. before is the contents of the index file before it, or nil.
func (l *Log) openOne(f files, i int, before *contents) (*contents, error) {
	number, generation := f.numbers[i], f.of[f.numbers[i]].generation
	s, err := l.openSegment(number, generation)
	if err != nil {
		return nil, err
	}
	l.sealed = append(l.sealed, s) // whatever happens now, Close finds it
	name := fileName(l.dir, number, generation, "index")
	s.index = l.files.handle(name)
	b := make([]byte, blockBytes)
	if err := read(s.file, s.name, b, 0); err != nil {
		return nil, err
	}
	blockErr := s.readBlock(b)
	c, err := readIndex(s.index, name)
	if blockErr == nil && l.mends(err) {
		for i+1 < len(f.numbers) && f.numbers[i+1] <= s.through() {
			i++ // it is in this one too, and its removal was interrupted
		}
		c, err = l.remake(s, name, before, f, i, err)
	}
	if err == nil && l.mends(blockErr) && c.number == number && c.generation == generation {
		blockErr = l.reblock(s, c, blockErr)
	}
	if err := errors.Join(err, blockErr); err != nil {
		return nil, err
	}
	switch {
	case c.number != number || c.generation != generation || c.salt != s.salt || c.joined != s.joined:
		return nil, &Damage{File: name, Why: "it is another segment's"}
	case c.end > s.size:
		return nil, &Damage{File: s.name, At: s.size, Why: fmt.Sprintf("the file ends there, and had %d bytes", c.end)}
	case c.first != l.slotFirst:
		return nil, &Damage{
			File: name,
			Why: fmt.Sprintf("it begins with entry %d, and the one before ends with %d", c.first,
				l.slotFirst-1),
		}
	}
	if err := l.renew(s, c); err != nil {
		return nil, err
	}
	s.adopt(s.index, name, c)
	l.span(s, c)
	l.slotFirst = c.last + 1
	l.state = c.state
	for _, t := range c.terms {
		if n := len(l.terms); n == 0 || l.terms[n-1].term != t.term {
			l.terms = append(l.terms, t)
		}
	}
	// No reader has announced itself yet.
	return c, errors.Join(s.file.close(), s.index.close())
}

// span puts a sealed segment's runs behind those of earlier ones. With mu, or while opening.
func (l *Log) span(s *segment, c *contents) {
	for _, d := range c.topics {
		t := l.topics[d.topic]
		if t == nil {
			t = &topic{}
			l.topics[d.topic] = t
		}
		t.spans = append(t.spans, span{s, d})
	}
}

// removeBoth takes segments' files away, in an order in which no power cut leaves an
// index file without its segment: that is taken for one that was dropped.
func (l *Log) removeBoth(indexes, logs []string) error {
	for _, names := range [][]string{indexes, logs} {
		if len(names) == 0 {
			continue
		}
		if err := l.remove(names); err != nil {
			return err
		}
	}
	return nil
}

// syncDir makes the names in the directory safe. The lock keeps it open, where it can.
func (l *Log) syncDir() error {
	if d, ok := l.lock.(vfs.Syncer); ok {
		return d.Sync()
	}
	return l.fs.SyncDir(l.dir)
}

// remove takes files away.
func (l *Log) remove(names []string) error {
	for _, name := range names {
		if err := l.fs.Remove(name); err != nil {
			return err
		}
	}
	// Also where there is nothing to remove: a name that was made and not synced may be among those found.
	return l.syncDir()
}

// renew writes an index file of a former form anew, in the newest.
func (l *Log) renew(s *segment, c *contents) error {
	if c.form == indexForm {
		return nil
	}
	f, _, err := l.writeIndex(c, "index")
	if err != nil {
		return err
	}
	was := s.index
	s.index = f
	return was.close()
}
