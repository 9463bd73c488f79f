package wal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"

	"go.etcd.io/raft/v3/raftpb"
)

// Machine is a state machine in addition to the one that Open fills: what an index file tells is replayed with
// it where the file is damaged.
type Machine interface {
	Restore(snapshot []byte, index uint64) error
	Apply(e *raftpb.Entry) ([]Placed, error) // as of Open
	Snapshot() []byte
}

// Care is how damage is looked for and repaired.
type Care struct {
	// Fetch gets an entry that is broken here from elsewhere; nil: there is none to ask. What it gives is compared
	// with the record of the entry, and fit says why it is of no use; nil: it is.
	Fetch func(ctx context.Context, index, term uint64, fit func(*raftpb.Entry) error) (*raftpb.Entry, error)
	// Pace gets how many bytes are about to be read, and may wait; nil: not reported.
	Pace func(ctx context.Context, bytes int64) error
}

// Scrubbed is what became of one segment.
type Scrubbed struct {
	Number   uint64 // of the segment, or of the snapshot before the first
	Bytes    int64  // read
	Found    []Damage
	Repaired int // of Found
}

// harm is the fault of a segment.
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

// Scrub checks the oldest segment whose number is above after, with its index file, and repairs what it finds:
// broken frames from elsewhere, the index file from the frames. ok is false when there is no such segment. The
// error is ctx's, Pace's, of the disk, or a [Damage] that could not be repaired. Of the segments that are not
// sealed the applied part on disk is checked. It may run concurrently with everything else.
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
	// What an index file leads to cannot be checked before it is repaired, and a repair is looked at.
	for range 4 {
		h, err := l.examine(ctx, s, care)
		did.Bytes += h.bytes
		if err != nil || len(h.found) == 0 {
			return did, err
		}
		was := did.Found
		did.Found = append(did.Found, h.found...)
		current, err := l.mend(ctx, s, h, care)
		if err != nil {
			return did, err
		}
		if !current {
			did.Found = was // it is not read any more
			return did, nil
		}
		did.Repaired += len(h.found)
	}
	d := did.Found[len(did.Found)-1]
	d.Why += ", and comes again however often it is repaired"
	did.Repaired--
	return did, &d
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
		case err == nil && (c.salt != s.salt || c.number != s.number || c.generation != s.generation ||
			c.first != s.first || c.last != s.last):
			d = &Damage{File: s.indexName, Why: "it is another segment's"}
		case err != nil && !errors.As(err, &d):
			return h, err
		}
		if end = s.end; d == nil {
			places, h.runs = c.places, c.runs
		} else {
			// The frames must be whole before they tell what was in the file.
			h.index, h.found = true, append(h.found, *d)
			var ok bool
			if places, ok, err = s.guess(); err != nil || !ok {
				return h, err
			}
			if h.runs, err = s.wholeRuns(); err != nil {
				return h, err
			}
		}
	}
	b := make([]byte, blockBytes)
	if err := read(s.file, s.name, b, 0); err != nil {
		return h, err
	}
	if !bytes.Equal(b, s.block()) {
		h.block, h.found = true, append(h.found, Damage{File: s.name, Why: "the block at the beginning is broken"})
	}
	if err := l.examineFrames(ctx, s, first, places, care, &h); err != nil {
		return h, err
	}
	if n := len(places); !sealed && n > 0 {
		end, places = int64(places[n-1].at), places[:n-1] // the rest is for the next start to judge
	} else if !sealed {
		return h, nil
	}
	return h, l.examineGaps(ctx, s, first, places, end, care, &h)
}

// guess are the places of all entries of a sealed segment whose index file is damaged: as the file tells, where
// the frames do not tell otherwise. ok is false where that leaves one of them nowhere: then the segment is left
// unchanged, since what counts in it is not known.
func (s *segment) guess() (places []place, ok bool, err error) {
	if s.last < s.first {
		return nil, true, nil
	}
	places = make([]place, 0, s.last+1-s.first)
	for i := s.first; i <= s.last; {
		some, err := s.places(i, s.last+1)
		var d *Damage
		if errors.As(err, &d) {
			return nil, false, nil // the file is cut off
		}
		if err != nil {
			return nil, false, err
		}
		places = append(places, some...)
		i += uint64(len(some))
	}
	b := make([]byte, s.end)
	if err := read(s.file, s.name, b, 0); err != nil {
		return nil, false, err
	}
	is := func(at int64, index uint64) (size int, ok bool) {
		if at < blockBytes || at >= s.end {
			return 0, false
		}
		f, ok := readFrame(b[at:], s.salt)
		if !ok || f.kind != kindEntry {
			return 0, false
		}
		e, ok := readEntry(f.body)
		return len(f.body), ok && e.GetIndex() == index
	}
	before := int64(blockBytes)
	for n, p := range places {
		index := s.first + uint64(n)
		if size, ok := is(int64(p.at), index); ok {
			places[n].size = uint32(size)
		} else {
			for at := before; at < s.end; {
				f, whole := readFrame(b[at:], s.salt)
				if !whole {
					break
				}
				if size, ok := is(at, index); ok {
					places[n] = place{uint32(at), uint32(size)}
				}
				if e, ok := readEntry(f.body); f.kind == kindEntry && ok && e.GetIndex() > index {
					break
				}
				at += int64(frameBytes(len(f.body)))
			}
		}
		at := int64(places[n].at)
		if at < before || at%alignment != 0 {
			return nil, false, nil // nothing that is whole may be written over
		}
		if before = at + int64(frameBytes(int(places[n].size))); before > s.end {
			return nil, false, nil
		}
	}
	return places, true, nil
}

// wholeRuns are the runs of an index file that is damaged whose own records are not. Whatever is no record has
// no checksum of one.
func (s *segment) wholeRuns() (runs []run, err error) {
	size, err := s.index.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, max(0, size-s.runsAt))
	if err := read(s.index, s.indexName, b, s.runsAt); err != nil {
		return nil, err
	}
	for i := uint32(0); len(b) >= runBytes; i, b = i+1, b[runBytes:] {
		if recordSum(s.salt, i, b) == binary.LittleEndian.Uint32(b[plainBytes:]) {
			runs = append(runs, readRun(b))
		}
	}
	return runs, nil
}

// settled are the places of the entries of a segment that is not sealed that are applied and on disk. With mu.
func (l *Log) settled(s *segment) (first uint64, places []place) {
	from := sort.Search(len(l.slots), func(i int) bool { return l.slots[i].segment.number >= s.number })
	for i, slot := range l.slots[from:] {
		if slot.segment != s || l.slotFirst+uint64(from+i) > min(l.stable, l.applied) {
			break
		}
		places = append(places, place{slot.at, slot.size})
	}
	return l.slotFirst + uint64(from), places
}

// examineFrames looks for entries whose frames are broken.
func (l *Log) examineFrames(ctx context.Context, s *segment, first uint64, places []place, care Care, h *harm) error {
	l.mu.RLock()
	terms := l.termsOf(first, first+uint64(len(places)))
	l.mu.RUnlock()
	term := func(index uint64) uint64 { // of rising indices
		for len(terms) > 1 && terms[1].index <= index {
			terms = terms[1:]
		}
		return terms[0].term
	}
	for at := 0; at < len(places); {
		bytes := int64(0) // of the current read
		for _, p := range places[at:] {
			if bytes += int64(frameBytes(int(p.size))); bytes >= scrubBytes {
				break
			}
		}
		if err := care.pace(ctx, bytes); err != nil {
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
			h.entries = append(h.entries, harmed{first + uint64(at), term(first + uint64(at)), places[at]})
			at++
			continue
		}
		if err != nil {
			return err
		}
		for i, e := range entries {
			h.bytes += int64(frameBytes(int(places[at+i].size)))
			if e.GetTerm() != term(e.GetIndex()) {
				why := fmt.Sprintf("entry %d is of another term there", e.GetIndex())
				h.found = append(h.found, Damage{File: s.name, At: int64(places[at+i].at), Why: why})
				h.index = true
			}
		}
		at += len(entries)
	}
	return nil
}

// examineGaps looks at the bytes between the entries that count.
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
func pacedIndex(ctx context.Context, f indexFile, name string, care Care) (*contents, int64, error) {
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
