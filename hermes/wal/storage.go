package wal

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// The methods of raft.Storage. They may be called concurrently with everything else.

// How much is read for one call at most: a follower that lags gets it in pieces.
const (
	entriesBytes = 8 << 20
	entriesCount = 4096
	gapBytes     = 64 << 10 // between two frames that are read in one go
)

// InitialState is the hard state and the members as Open found them: of the newest
// snapshot, changed by the committed entries behind it.
func (l *Log) InitialState() (*raftpb.HardState, *raftpb.ConfState, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return proto.CloneOf(l.state), proto.CloneOf(raftpb.EnsureConfState(l.conf)), nil
}

// FirstIndex is that of the oldest entry that can be had, or of the next.
func (l *Log) FirstIndex() (uint64, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.base.index + 1, nil
}

// LastIndex is that of the newest entry, or of the snapshot before the log.
func (l *Log) LastIndex() (uint64, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.last(), nil
}

// Term is an entry's, or that of the snapshot before the log. It reads no file.
func (l *Log) Term(i uint64) (uint64, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	switch {
	case i < l.base.index:
		return 0, raft.ErrCompacted
	case i > l.last():
		return 0, raft.ErrUnavailable
	}
	return l.term(i), nil
}

// term is an entry's. With mu.
func (l *Log) term(i uint64) uint64 {
	if i == l.base.index {
		return l.base.term
	}
	n := sort.Search(len(l.terms), func(n int) bool { return l.terms[n].index > i })
	if n == 0 {
		return 0
	}
	return l.terms[n-1].term
}

// Entries gives entries from lo on and before hi, as many as fit into limit bytes and
// into a bound of this log's own, one at least. The newest come from memory. Where no file can be
// opened, entries that were applied are answered with raft.ErrCompacted: the library, which
// panics over other errors, then sends them to a follower later. Those that are to be applied are
// waited for with Options.Files.
func (l *Log) Entries(lo, hi, limit uint64) ([]*raftpb.Entry, error) {
	for {
		found, err := l.entries(lo, hi, limit)
		if !errors.Is(err, ErrNoFiles) {
			return found, err
		}
		l.mu.RLock()
		applied := l.applied
		l.mu.RUnlock()
		if lo <= applied {
			return nil, raft.ErrCompacted
		}
		if l.o.Files == nil || !l.o.Files(err) {
			return nil, err
		}
	}
}

// entries is Entries, once.
func (l *Log) entries(lo, hi, limit uint64) ([]*raftpb.Entry, error) {
	l.mu.RLock()
	switch {
	case lo <= l.base.index:
		l.mu.RUnlock()
		return nil, raft.ErrCompacted
	case hi > l.last()+1 || lo >= hi:
		l.mu.RUnlock()
		return nil, raft.ErrUnavailable
	}
	if found := l.cache.entries(lo, hi, limit); len(found) > 0 {
		l.mu.RUnlock()
		return found, nil
	}
	s, places, err := l.places(lo, hi)
	terms := l.termsOf(lo, hi)
	l.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	defer s.release() //nolint:errcheck // a file that was only read
	if places == nil {
		if places, err = s.places(lo, hi); err != nil {
			return nil, err
		}
	}
	entries, err := s.entries(lo, places, int64(min(limit, entriesBytes)))
	if err != nil {
		return nil, err
	}
	// A frame tells whose entry it is, but one that was replaced later has the same index.
	for i, e := range entries {
		for len(terms) > 1 && terms[1].index <= e.GetIndex() {
			terms = terms[1:]
		}
		if e.GetTerm() != terms[0].term {
			return nil, &Damage{
				File: s.name, At: int64(places[i].at),
				Why: fmt.Sprintf("entry %d is of term %d there, and "+
					"was of term %d", e.GetIndex(), e.GetTerm(), terms[0].term),
			}
		}
	}
	return entries, nil
}

// termsOf are the terms of [lo, hi), the first that of lo. With mu.
func (l *Log) termsOf(lo, hi uint64) []termFrom {
	from := sort.Search(len(l.terms), func(n int) bool { return l.terms[n].index > lo })
	to := sort.Search(len(l.terms), func(n int) bool { return l.terms[n].index >= hi })
	if from == 0 {
		return []termFrom{{lo, 0}}
	}
	return slices.Clone(l.terms[from-1 : max(to, from)])
}

// places finds the segment of entry lo, acquires it, and gives the places of what
// of [lo, hi) is in it; nil when they are in its index file. With mu.
func (l *Log) places(lo, hi uint64) (*segment, []place, error) {
	if lo < l.slotFirst {
		i := sort.Search(len(l.sealed), func(i int) bool { return l.sealed[i].last >= lo })
		if i == len(l.sealed) || l.sealed[i].first > lo {
			return nil, nil, fmt.Errorf("entry %d is in no segment of %s", lo, l.dir)
		}
		l.sealed[i].acquire()
		return l.sealed[i], nil, nil
	}
	s := l.slots[lo-l.slotFirst].segment
	var found []place
	for i := lo; i < min(hi, lo+entriesCount); i++ {
		slot := l.slots[i-l.slotFirst]
		if slot.segment != s {
			break
		}
		found = append(found, place{slot.at, slot.size})
	}
	s.acquire()
	return s, found, nil
}

// places reads from the index file of a sealed segment.
func (s *segment) places(lo, hi uint64) ([]place, error) {
	n := min(hi, s.last+1, lo+entriesCount) - lo
	b := make([]byte, n*placeBytes)
	if err := read(s.index, s.indexName, b, s.entriesAt+int64(lo-s.first)*placeBytes); err != nil {
		return nil, err
	}
	found := make([]place, n)
	for i := range found {
		found[i] = readPlace(b[i*placeBytes:])
	}
	return found, nil
}

// entries reads entries from lo on at those places, up to limit bytes, one at least.
// Frames that are near each other are read in one go.
func (s *segment) entries(lo uint64, places []place, limit int64) ([]*raftpb.Entry, error) {
	n, end := 0, int64(places[0].at)
	for total := int64(0); n < len(places); n++ {
		at, size := int64(places[n].at), int64(frameBytes(int(places[n].size)))
		if total += size; n > 0 && (total > limit || at < end || at-end > gapBytes) {
			break
		}
		end = at + size
	}
	from := int64(places[0].at)
	b := make([]byte, end-from)
	if err := read(s.file, s.name, b, from); err != nil {
		return nil, err
	}
	found := make([]*raftpb.Entry, n)
	for i, p := range places[:n] {
		f, ok := readFrame(b[int64(p.at)-from:], s.salt)
		var e *raftpb.Entry
		if ok && f.kind == kindEntry {
			e, ok = readEntry(f.body)
		}
		if !ok || e == nil || e.GetIndex() != lo+uint64(i) {
			return nil, &Damage{File: s.name, At: int64(p.at), Why: fmt.Sprintf("entry %d is not there", lo+uint64(i))}
		}
		found[i] = e
	}
	return found, nil
}

// Snapshot is the state of the machine after all that was dropped from the log, which
// is what a follower needs that lags behind the first entry: entries follow it without
// a gap. A log that has everything has none, and needs none.
func (l *Log) Snapshot() (*raftpb.Snapshot, error) {
	l.mu.RLock()
	b := l.base
	l.mu.RUnlock()
	if b.number == 0 {
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	f := l.files.handle(b.name)
	c, err := readIndex(f, b.name)
	if closing := f.close(); err == nil {
		err = closing
	}
	if err != nil {
		// It was dropped for a later one in the meantime, or cannot be opened now: the next call tells.
		l.mu.RLock()
		defer l.mu.RUnlock()
		if l.base.number != b.number || errors.Is(err, ErrNoFiles) {
			return nil, raft.ErrSnapshotTemporarilyUnavailable
		}
		return nil, err
	}
	return &raftpb.Snapshot{Data: c.snapshot, Metadata: &raftpb.SnapshotMetadata{
		ConfState: raftpb.EnsureConfState(c.conf), Index: &c.snapIndex, Term: &c.snapTerm,
	}}, nil
}

// cache is the newest entries, by bytes.
type cache struct {
	list  []*raftpb.Entry // consecutive; their data are no other's to change
	bytes int
}

const entryOverhead = 64 // what an entry takes in addition to its data

// replace puts entries behind those before the first of them.
func (c *cache) replace(entries []*raftpb.Entry, limit int) {
	if len(c.list) > 0 {
		first := c.list[0].GetIndex()
		keep := uint64(0)
		if from := entries[0].GetIndex(); from > first {
			keep = min(from-first, uint64(len(c.list)))
		}
		for i, e := range c.list[keep:] {
			c.bytes -= len(e.GetData()) + entryOverhead
			c.list[keep+uint64(i)] = nil
		}
		c.list = c.list[:keep]
		if keep > 0 && c.list[keep-1].GetIndex()+1 != entries[0].GetIndex() {
			c.list, c.bytes = nil, 0
		}
	}
	for _, e := range entries {
		c.list = append(c.list, e)
		c.bytes += len(e.GetData()) + entryOverhead
	}
	drop := 0
	for c.bytes > limit && drop < len(c.list) {
		c.bytes -= len(c.list[drop].GetData()) + entryOverhead
		c.list[drop] = nil
		drop++
	}
	c.list = c.list[drop:]
}

// get is one entry, or nil.
func (c *cache) get(i uint64) *raftpb.Entry {
	if len(c.list) == 0 || i < c.list[0].GetIndex() || i > c.list[len(c.list)-1].GetIndex() {
		return nil
	}
	return c.list[i-c.list[0].GetIndex()]
}

// entries are those from lo on, when lo is here.
func (c *cache) entries(lo, hi, limit uint64) []*raftpb.Entry {
	if c.get(lo) == nil {
		return nil
	}
	from := lo - c.list[0].GetIndex()
	n, total := uint64(0), uint64(0)
	for n < hi-lo && from+n < uint64(len(c.list)) {
		total += uint64(proto.Size(c.list[from+n]))
		if n > 0 && total > limit {
			break
		}
		n++
	}
	return append([]*raftpb.Entry(nil), c.list[from:from+n]...)
}
