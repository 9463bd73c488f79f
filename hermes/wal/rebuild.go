package wal

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes/record"
)

// written is an entry's frame that was not replaced within its segment.
type written struct {
	index, term uint64
	place       place
}

// alike is what of a run is known from its messages alone.
func alike(r record.Run) run {
	return run{bytes: uint32(len(r.Messages)), count: r.Count, sum: crc32.Checksum(r.Messages, castagnoli)}
}

// deriving makes the contents of an index file again, of the segment's frames and the
// contents of the file before.
type deriving struct {
	l       *Log
	c       *contents
	machine Machine
	applied uint64
	ahead   []ahead // of the file before, not found yet
	runs    map[uint32][]run
}

// derive makes the contents of a segment's index file: of the entries from first to last, with the
// state after entry until. later reads entries behind last, and tells where they are. next is
// the start of the segment behind.
func (l *Log) derive(
	s *segment, before *contents, first, last, until uint64, next start,
	later func(uint64) (*raftpb.Entry, slot, error),
) (*contents, error) {
	d := &deriving{l: l, machine: l.o.Machine(), runs: map[uint32][]run{}, c: &contents{
		number: s.number, generation: s.generation, salt: s.salt, joined: s.joined, first: first, last: last,
		snapIndex: until,
		state:     proto.CloneOf(next.state), conf: raftpb.EnsureConfState(&raftpb.ConfState{}),
	}}
	var snapshot []byte
	if before != nil {
		snapshot, d.applied, d.c.snapTerm = before.snapshot, before.snapIndex, before.snapTerm
		d.c.conf = raftpb.EnsureConfState(proto.CloneOf(before.conf))
		d.ahead = slices.Clone(before.ahead)
	}
	if err := d.machine.Restore(snapshot, d.applied); err != nil {
		return nil, fmt.Errorf("the state before it: %w", err)
	}
	b := make([]byte, s.size)
	if err := read(s.file, s.name, b, 0); err != nil {
		return nil, err
	}
	if err := d.frames(s, b); err != nil {
		return nil, err
	}
	for i := last + 1; i <= until; i++ {
		e, at, err := later(i)
		if err != nil {
			return nil, err
		}
		if err := d.behind(e, at); err != nil {
			return nil, err
		}
	}
	if d.applied != until {
		return nil, fmt.Errorf("the state is after entry %d, and is to be after %d", d.applied, until)
	}
	d.c.original = d.c.end
	if next.began() {
		d.c.original = next.end
	}
	d.finish(s)
	return d.c, nil
}

// began tells a start that was read from none.
func (s start) began() bool { return s.end > 0 }

// frames takes the entries of the segment itself in.
func (d *deriving) frames(s *segment, b []byte) error {
	entries, end, err := listEntries(s, b, d.c.last)
	if err != nil {
		return err
	}
	d.c.end = end
	for i, w := range entries {
		if w.index != d.c.first+uint64(i) {
			return &Damage{
				File: s.name, At: int64(w.place.at),
				Why: fmt.Sprintf("entry %d is there, and %d should be", w.index,
					d.c.first+uint64(i)),
			}
		}
		if n := len(d.c.terms); n == 0 || d.c.terms[n-1].term != w.term {
			d.c.terms = append(d.c.terms, termFrom{w.index, w.term})
		}
		d.c.places = append(d.c.places, w.place)
		e, ok := readEntry(b[w.place.at+headerBytes : w.place.at+headerBytes+w.place.size])
		if !ok {
			return fmt.Errorf("entry %d of %s was read and is no longer", w.index, s.name)
		}
		if e.GetIndex() <= d.applied {
			if err := d.told(s, e, w.place); err != nil {
				return err
			}
			continue
		}
		placed, err := d.apply(e)
		if err != nil {
			return err
		}
		for _, p := range placed {
			if p.Bytes > 0 {
				d.runs[p.Topic] = append(d.runs[p.Topic], runOf(p, e.GetData(), w.place.at))
			}
		}
	}
	if d.c.first+uint64(len(d.c.places)) != d.c.last+1 {
		return &Damage{File: s.name, At: end, Why: fmt.Sprintf("no whole frame is there, and entries to %d should be",
			d.c.last)}
	}
	return nil
}

// runOf is a run of an entry whose frame is at a place.
func runOf(p Placed, data []byte, at uint32) run {
	return run{
		offset: p.Offset, time: p.Time, count: p.Count, at: at + headerBytes + entryBytes + uint32(p.At),
		bytes: uint32(p.Bytes),
		sum:   crc32.Checksum(data[p.At:p.At+p.Bytes], castagnoli),
	}
}

// apply applies the next entry.
func (d *deriving) apply(e *raftpb.Entry) (placed []Placed, err error) {
	if e.GetIndex() != d.applied+1 {
		return nil, fmt.Errorf("entry %d is to be applied after %d", e.GetIndex(), d.applied)
	}
	if d.c.conf, err = changeMembers(d.c.conf, e); err != nil {
		return nil, err
	}
	if placed, err = d.machine.Apply(e); err != nil {
		return nil, fmt.Errorf("entry %d: %w", e.GetIndex(), err)
	}
	d.applied, d.c.snapTerm = e.GetIndex(), e.GetTerm()
	return placed, nil
}

// told takes the runs of an entry in that the state before is after already: the index file before lists them.
// A segment that was cleaned since has them elsewhere, but in the same order.
func (d *deriving) told(s *segment, e *raftpb.Entry, p place) error {
	if e.GetType() != raftpb.EntryNormal {
		return nil
	}
	_, items, err := record.Parse(e.GetData())
	if err != nil {
		return err
	}
	for item, err := range items {
		if err != nil {
			return err
		}
		if item.Command != nil || item.Run.Cleaned {
			continue
		}
		at, like := p.at+headerBytes+entryBytes+uint32(item.Run.At), alike(item.Run)
		n := slices.IndexFunc(d.ahead, func(a ahead) bool {
			return a.segment >= s.number && a.segment <= s.through() && a.topic == item.Run.Topic &&
				(s.generation > 0 || a.run.at == at) &&
				run{bytes: a.run.bytes, count: a.run.count, sum: a.run.sum} == like
		})
		if n < 0 {
			continue // a duplicate, or refused
		}
		r := d.ahead[n].run
		r.at = at
		d.runs[item.Run.Topic] = append(d.runs[item.Run.Topic], r)
		d.ahead = slices.Delete(d.ahead, n, n+1)
	}
	return nil
}

// behind takes an entry of a later segment in that the state is after.
func (d *deriving) behind(e *raftpb.Entry, at slot) error {
	if e.GetIndex() <= d.applied {
		return nil // the file before lists it
	}
	placed, err := d.apply(e)
	if err != nil {
		return err
	}
	for _, p := range placed {
		// One that was cleaned since was there when the file was written, and nothing looks for it any more.
		r := run{offset: p.Offset, time: p.Time, count: p.Count}
		if p.Bytes > 0 {
			r = runOf(p, e.GetData(), at.at)
		}
		d.c.ahead = append(d.c.ahead, ahead{at.segment.number, p.Topic, r})
	}
	return nil
}

// finish puts together what was found.
func (d *deriving) finish(s *segment) {
	c := d.c
	for _, a := range d.ahead {
		if a.segment > s.through() {
			c.ahead = append(c.ahead, a)
		}
	}
	slices.SortStableFunc(c.ahead, func(a, b ahead) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.run.offset, b.run.offset))
	})
	ids := make([]uint32, 0, len(d.runs))
	for id := range d.runs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		c.add(id, d.runs[id])
	}
	c.state.Commit = &c.snapIndex
	c.snapshot = d.machine.Snapshot()
}

// listEntries are the entries of a segment up to an index that were not replaced, and where its frames end.
func listEntries(s *segment, b []byte, last uint64) (entries []written, end int64, err error) {
	end, err = scan(b, s.salt, func(at int64, f frame) error {
		if f.kind != kindEntry {
			return nil
		}
		e, ok := readEntry(f.body)
		if !ok {
			return &Damage{File: s.name, At: at, Why: fmt.Sprintf("an entry has %d bytes", len(f.body))}
		}
		n := len(entries)
		for n > 0 && entries[n-1].index >= e.GetIndex() {
			n--
		}
		entries = append(entries[:n], written{e.GetIndex(), e.GetTerm(), place{uint32(at), uint32(len(f.body))}})
		return nil
	})
	return slices.DeleteFunc(entries, func(w written) bool { return w.index > last }), end, err
}

// rebuild writes the index file of a sealed segment again, in place: it has the same parts. With maintain.
func (l *Log) rebuild(s *segment) error {
	if l.o.Machine == nil {
		return &Damage{
			File: s.indexName,
			Why:  "it is not what was written, and there is no machine to replay the log with",
		}
	}
	l.mu.RLock()
	i := slices.Index(l.sealed, s)
	if i < 0 {
		l.mu.RUnlock()
		return nil
	}
	next, until, term, b := l.after(s), s.snapIndex, l.term(s.snapIndex), l.base
	var before *segment
	if i > 0 {
		before = l.sealed[i-1]
	}
	want := map[uint32]directory{}
	for id, t := range l.topics {
		for _, sp := range t.spans {
			if sp.segment == s {
				want[id] = sp.directory
			}
		}
	}
	l.mu.RUnlock()
	c, err := l.rederive(s, before, b, next, until)
	if err != nil {
		return notRebuilt(s.indexName, err)
	}
	if until > b.index {
		c.snapTerm = term
	}
	bytes, err := c.encode()
	if err != nil {
		return err
	}
	same := len(c.topics) == len(want) && c.layout().places == s.entriesAt && c.layout().runs == s.runsAt
	for _, d := range c.topics {
		same = same && want[d.topic] == d
	}
	if !same {
		return notRebuilt(s.indexName, errors.New("the log has other runs than it listed"))
	}
	f, err := l.fs.Open(s.indexName)
	if err != nil {
		return noRoom(err)
	}
	if _, err = f.WriteAt(bytes, 0); err == nil {
		err = f.Truncate(int64(len(bytes)))
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return l.broken(err)
	}
	return nil
}

func notRebuilt(name string, err error) error {
	why := err.Error()
	if d := new(Damage); errors.As(err, &d) {
		why = d.where()
	}
	return &Damage{File: name, Why: "it is not what was written, and cannot be made again from the log: " + why}
}

// rederive derives the index file of a sealed segment of an open log. With maintain.
func (l *Log) rederive(s, before *segment, b base, next *segment, until uint64) (*contents, error) {
	c, err := l.contentsBefore(before, b)
	if err != nil {
		return nil, err
	}
	st, err := readStartOf(next)
	if err != nil {
		return nil, err
	}
	return l.derive(s, c, s.first, s.last, until, st, func(i uint64) (*raftpb.Entry, slot, error) {
		entries, err := l.Entries(i, i+1, 0)
		if err != nil {
			return nil, slot{}, err
		}
		l.mu.RLock()
		if i >= l.slotFirst {
			defer l.mu.RUnlock()
			return entries[0], l.slots[i-l.slotFirst], nil
		}
		s := l.sealed[slices.IndexFunc(l.sealed, func(s *segment) bool { return s.last >= i })]
		l.mu.RUnlock()
		places, err := s.places(i, i+1)
		if err != nil {
			return nil, slot{}, err
		}
		return entries[0], slot{s, places[0].at, places[0].size}, nil
	})
}

// contentsBefore are everything before a sealed segment: of another one, which is repaired first where it has
// to be, or of the base; nil: nothing is.
func (l *Log) contentsBefore(before *segment, b base) (*contents, error) {
	if before != nil {
		c, err := readIndex(before.index, before.indexName)
		var d *Damage
		if errors.As(err, &d) {
			if err = l.rebuild(before); err == nil {
				c, err = readIndex(before.index, before.indexName)
			}
		}
		return c, err
	}
	if b.number == 0 {
		return nil, nil
	}
	f, err := l.fs.OpenRead(b.name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // a file that was only read
	return readIndex(f, b.name)
}

// readStartOf is the first frame of a segment. One that was cleaned does not tell.
func readStartOf(s *segment) (start, error) {
	none := start{state: emptyState()}
	if s.generation > 0 {
		return none, nil
	}
	b := make([]byte, frameBytes(startBytes))
	if err := read(s.file, s.name, b, blockBytes); err != nil {
		return none, err
	}
	f, ok := readFrame(b, s.salt)
	if !ok || f.kind != kindStart {
		return none, &Damage{File: s.name, At: blockBytes, Why: "no whole frame is there"}
	}
	st, ok := readStart(f.body)
	if !ok {
		return none, &Damage{File: s.name, At: blockBytes, Why: "the first frame is too short"}
	}
	return st, nil
}
