package wal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/record"
	"wirelab/hermes/vfs"
)

// Machine is a state machine beside the one that Open fills: what an index file tells is replayed
// with it where the file is damaged.
type Machine interface {
	Restore(snapshot []byte, index uint64) error
	Apply(e *raftpb.Entry) ([]Placed, error) // as of Open
	Snapshot() []byte
}

// Care is how damage is looked for and repaired.
type Care struct {
	// Fetch gets an entry that is broken here from elsewhere; nil: there is nobody to ask. What it
	// gives is compared with what is known of the entry, and fit says why it is of no use; nil: it is.
	Fetch func(ctx context.Context, index, term uint64, fit func(*raftpb.Entry) error) (*raftpb.Entry, error)
	// Pace is told how many bytes are about to be read, and may wait; nil: nobody does.
	Pace func(ctx context.Context, bytes int64) error
}

// Scrubbed is what became of one segment.
type Scrubbed struct {
	Number   uint64 // of the segment, or of the snapshot before the first
	Bytes    int64  // read
	Found    []Damage
	Repaired int // of Found
}

// harm is what is wrong with a segment.
type harm struct {
	index   bool // the index file
	block   bool
	entries []harmed
	gaps    []gap
	found   []Damage
	bytes   int64
	runs    []run // of the index file, where it is whole
}

// harmed is an entry whose frame is not whole.
type harmed struct {
	index, term uint64
	place       place
}

// gap is frames that count no more between those that do: replaced entries and hard states.
type gap struct {
	from, to int64
	before   uint64 // the index of the entry behind it
	term     uint64
}

// scrubBytes are read at once.
const scrubBytes = 1 << 20

// Scrub checks the oldest segment whose number is above after, with its index file, and repairs what it
// finds: broken frames from elsewhere, the index file from the frames. ok is false when there is no
// such segment. The error is ctx's, Pace's, of the disk, or a [Damage] that could not be repaired. Of
// the segments that are not sealed what is applied and on disk is checked. It may run beside all else.
func (l *Log) Scrub(ctx context.Context, after uint64, care Care) (did Scrubbed, ok bool, err error) {
	l.mu.RLock()
	b := l.base
	var s *segment
	for _, one := range l.segments() {
		if one.number > after {
			s = one
			s.acquire()
			break
		}
	}
	l.mu.RUnlock()
	if b.number > after {
		if s != nil {
			_ = s.release() // a file that was only read
		}
		did, err = l.scrubBase(ctx, b, care)
		return did, true, err
	}
	if s == nil {
		return Scrubbed{}, false, nil
	}
	defer s.release() //nolint:errcheck // a file that was only read
	did, err = l.scrub(ctx, s, care)
	return did, true, err
}

// Mend checks and repairs the segment that a damage is in, as Scrub does, for who met the damage
// while reading. With no error it may be read again.
func (l *Log) Mend(ctx context.Context, d *Damage, care Care) (did Scrubbed, err error) {
	l.mu.RLock()
	var s *segment
	for _, one := range l.segments() {
		if one.name == d.File || one.index != nil && one.indexName == d.File {
			s = one
			s.acquire()
		}
	}
	b := l.base
	l.mu.RUnlock()
	switch {
	case s != nil:
		defer s.release() //nolint:errcheck // a file that was only read
		return l.scrub(ctx, s, care)
	case b.number > 0 && b.name == d.File:
		return l.scrubBase(ctx, b, care)
	}
	return Scrubbed{}, nil // it was cleaned, or dropped, since
}

// scrubBase checks the snapshot before the first segment. There is nothing that it could be made of again.
func (l *Log) scrubBase(ctx context.Context, b base, care Care) (did Scrubbed, err error) {
	did.Number = b.number
	f, err := l.fs.OpenRead(b.name)
	if err == nil {
		var c *contents
		c, did.Bytes, err = pacedIndex(ctx, f, b.name, care)
		_ = f.Close() // a file that was only read
		if err == nil && (c.snapIndex != b.index || c.snapTerm != b.term) {
			err = &Damage{File: b.name, Why: "it is another snapshot"}
		}
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.base.number != b.number {
		return did, nil // a later one has taken its place
	}
	var d *Damage
	if errors.As(err, &d) {
		did.Found = append(did.Found, *d)
	}
	return did, err
}

// scrub checks a segment and repairs it.
func (l *Log) scrub(ctx context.Context, s *segment, care Care) (did Scrubbed, err error) {
	did.Number = s.number
	// What an index file leads to cannot be checked before it is repaired.
	for again := true; again; {
		h, err := l.examine(ctx, s, care)
		did.Bytes += h.bytes
		if err != nil || len(h.found) == 0 {
			return did, err
		}
		did.Found = append(did.Found, h.found...)
		if err := l.mend(ctx, s, h, care); err != nil {
			return did, err
		}
		did.Repaired += len(h.found)
		again = h.index && did.Repaired == len(h.found)
	}
	return did, nil
}

// examine reads a segment and its index file, and changes nothing.
func (l *Log) examine(ctx context.Context, s *segment, care Care) (h harm, err error) {
	l.mu.RLock()
	sealed, first, end := s.index != nil, s.first, int64(0)
	var places []place
	if !sealed {
		first, places = l.settled(s)
	}
	l.mu.RUnlock()
	if sealed {
		c, n, err := pacedIndex(ctx, s.index, s.indexName, care)
		h.bytes += n
		var d *Damage
		switch {
		case errors.As(err, &d):
			h.index, h.found = true, append(h.found, *d)
			return h, nil
		case err != nil:
			return h, err
		case c.salt != s.salt || c.number != s.number || c.generation != s.generation ||
			c.first != s.first || c.last != s.last:
			h.index, h.found = true, append(h.found, Damage{File: s.indexName, Why: "it is another segment's"})
			return h, nil
		}
		places, end, h.runs = c.places, c.end, c.runs
	}
	b := make([]byte, blockBytes)
	if err := read(s.file, s.name, b, 0); err != nil {
		return h, err
	}
	if !bytes.Equal(b, s.block()) {
		h.block, h.found = true, append(h.found, Damage{File: s.name, Why: "the block at the beginning is broken"})
	}
	if err := l.examineFrames(ctx, s, first, places, care, &h); err != nil || !sealed {
		return h, err
	}
	return h, l.examineGaps(ctx, s, first, places, end, care, &h)
}

// settled are the places of the entries of a segment that is not sealed that are applied and on disk. With mu.
func (l *Log) settled(s *segment) (first uint64, places []place) {
	for i, slot := range l.slots {
		index := l.slotFirst + uint64(i)
		if slot.segment != s || index > min(l.stable, l.applied) {
			continue
		}
		if places == nil {
			first = index
		}
		places = append(places, place{slot.at, slot.size})
	}
	return first, places
}

// examineFrames looks for entries whose frames are broken.
func (l *Log) examineFrames(ctx context.Context, s *segment, first uint64, places []place, care Care, h *harm) error {
	l.mu.RLock()
	terms := make([]uint64, len(places))
	for i := range places {
		terms[i] = l.term(first + uint64(i))
	}
	l.mu.RUnlock()
	for at := 0; at < len(places); {
		if err := care.pace(ctx, min(scrubBytes, int64(frameBytes(int(places[at].size))))); err != nil {
			return err
		}
		entries, err := s.entries(first+uint64(at), places[at:], scrubBytes)
		var d *Damage
		if errors.As(err, &d) {
			n := slices.IndexFunc(places[at:], func(p place) bool { return int64(p.at) == d.At })
			if n < 0 {
				return err // the file is cut off
			}
			at += n
			h.found = append(h.found, *d)
			h.entries = append(h.entries, harmed{first + uint64(at), terms[at], places[at]})
			at++
			continue
		}
		if err != nil {
			return err
		}
		for i, e := range entries {
			h.bytes += int64(frameBytes(int(places[at+i].size)))
			if e.GetTerm() != terms[at+i] {
				why := fmt.Sprintf("entry %d is of another term there", e.GetIndex())
				h.found = append(h.found, Damage{File: s.name, At: int64(places[at+i].at), Why: why})
				h.index = true
			}
		}
		at += len(entries)
	}
	return nil
}

// examineGaps looks at what is between the entries that count.
func (l *Log) examineGaps(
	ctx context.Context, s *segment, first uint64, places []place, end int64, care Care, h *harm,
) error {
	from := int64(blockBytes)
	for i := range len(places) + 1 {
		to, next := end, int64(0)
		if i < len(places) {
			to = int64(places[i].at)
			next = to + int64(frameBytes(int(places[i].size)))
		}
		if to > from {
			if err := care.pace(ctx, to-from); err != nil {
				return err
			}
			b := make([]byte, to-from)
			if err := read(s.file, s.name, b, from); err != nil {
				return err
			}
			h.bytes += to - from
			if n := chain(b, s.salt); n < to-from {
				l.mu.RLock()
				h.gaps = append(h.gaps, gap{from, to, first + uint64(i), l.term(max(first, first+uint64(i)-1))})
				l.mu.RUnlock()
				h.found = append(h.found, Damage{File: s.name, At: from + n, Why: "no whole frame is there"})
			}
		}
		from = next
	}
	return nil
}

// chain is where the last of the whole frames ends that bytes begin with.
func chain(b []byte, salt uint32) (end int64) {
	for end < int64(len(b)) {
		f, ok := readFrame(b[end:], salt)
		if !ok {
			break
		}
		end += int64(frameBytes(len(f.body)))
	}
	return end
}

func (c Care) pace(ctx context.Context, bytes int64) error {
	if err := ctx.Err(); err != nil || c.Pace == nil {
		return err
	}
	return c.Pace(ctx, bytes)
}

// pacedIndex reads an index file in pieces.
func pacedIndex(ctx context.Context, f vfs.File, name string, care Care) (*contents, int64, error) {
	size, err := f.Size()
	if err != nil {
		return nil, 0, err
	}
	b := make([]byte, size)
	for at := int64(0); at < size; at += scrubBytes {
		n := min(scrubBytes, size-at)
		if err := care.pace(ctx, n); err != nil {
			return nil, at, err
		}
		if err := read(f, name, b[at:at+n], at); err != nil {
			return nil, at, err
		}
	}
	c, err := decode(name, b)
	return c, size, err
}

// mend repairs a segment in place. A power cut meanwhile leaves what was broken broken, and nothing
// else: only what was wrong is written.
func (l *Log) mend(ctx context.Context, s *segment, h harm, care Care) error {
	frames := make([][]byte, 0, len(h.entries))
	for _, e := range h.entries {
		frame, err := e.fetch(ctx, s, h, care)
		if err != nil {
			d := h.found[slices.IndexFunc(h.found, func(d Damage) bool { return d.At == int64(e.place.at) })]
			d.Why += fmt.Sprintf(", and no other node has it to repair it with: %v", err)
			return &d
		}
		frames = append(frames, frame)
	}
	l.maintain.Lock()
	defer l.maintain.Unlock()
	l.mu.RLock()
	current := slices.Contains(l.segments(), s)
	l.mu.RUnlock()
	if !current {
		return nil
	}
	if h.index {
		return l.rebuild(s)
	}
	f, err := l.fs.Open(s.name)
	if err != nil {
		return err
	}
	if h.block {
		_, err = f.WriteAt(s.block(), 0)
	}
	for i, e := range h.entries {
		if err == nil {
			_, err = f.WriteAt(frames[i], int64(e.place.at))
		}
	}
	for _, g := range h.gaps {
		if err == nil {
			_, err = f.WriteAt(l.filling(s, g), g.from)
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return l.broken(err)
	}
	return nil
}

// filling is frames that count no more in place of others that did not. The first of a segment is
// its start; the rest is one entry that is replaced by the next.
func (l *Log) filling(s *segment, g gap) []byte {
	var b []byte
	if g.from == blockBytes {
		st := start{before: s.number - 1, installed: true, state: emptyState()}
		var from int
		b, from = beginFrame(b)
		b = endFrame(st.append(b), from, kindStart, 0, s.salt)
	}
	if rest := g.to - g.from - int64(len(b)); rest > 0 {
		e := &raftpb.Entry{Index: &g.before, Term: &g.term, Data: make([]byte, rest-headerBytes-entryBytes)}
		b = appendEntry(b, e, 0, s.salt)
	}
	return b
}

// fetch gets an entry from elsewhere, as a frame that takes the broken one's place.
func (h harmed) fetch(ctx context.Context, s *segment, all harm, care Care) ([]byte, error) {
	if care.Fetch == nil {
		return nil, errors.New("there is none")
	}
	var frame []byte
	_, err := care.Fetch(ctx, h.index, h.term, func(e *raftpb.Entry) error {
		if e.GetIndex() != h.index || e.GetTerm() != h.term {
			return fmt.Errorf("entry %d of term %d was asked for, and %d of term %d came", h.index, h.term, e.GetIndex(), e.GetTerm())
		}
		if entryBytes+len(e.GetData()) != int(h.place.size) && e.GetType() == raftpb.EntryNormal {
			var err error
			if e, err = asClean(e, all.runs, h.place); err != nil {
				return err
			}
		}
		if entryBytes+len(e.GetData()) != int(h.place.size) {
			return fmt.Errorf("entry %d has %d bytes there, and %d here: it was cleaned there", h.index, entryBytes+len(e.GetData()), h.place.size)
		}
		frame = appendEntry(nil, e, 0, s.salt)
		return nil
	})
	return frame, err
}

// asClean takes those runs out of an entry that are gone from the one at a place, by the runs of its index file.
func asClean(e *raftpb.Entry, runs []run, p place) (*raftpb.Entry, error) {
	kept := map[run]bool{}
	for _, r := range runs {
		if r.at >= p.at && r.at < p.at+headerBytes+p.size {
			kept[run{bytes: r.bytes, count: r.count, sum: r.sum}] = true
		}
	}
	time, items, err := record.Parse(e.GetData())
	if err != nil {
		return nil, err
	}
	data := record.AppendEntry(nil, time)
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		if item.Command != nil {
			data = record.AppendCommand(data, item.Command)
			continue
		}
		item.Run.Cleaned = item.Run.Cleaned || !kept[alike(item.Run)]
		data = record.AppendRun(data, item.Run)
	}
	return &raftpb.Entry{Index: e.Index, Term: e.Term, Type: e.Type, Data: data}, nil
}
