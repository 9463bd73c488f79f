package wal

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Sealing tells that the oldest segment that is not sealed is full and all its entries
// are applied and on disk, the last of them being index: Seal may be called now.
func (l *Log) Sealing() (index uint64, ok bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.full) == 0 || l.failed != nil || l.replacing {
		return 0, false
	}
	index = l.lastOf(l.full[0])
	return index, min(l.applied, l.stable) >= index
}

// lastOf is the index of the last entry in a segment that is not sealed, or the one
// before the first that is in a later one. With mu.
func (l *Log) lastOf(s *segment) uint64 {
	n := sort.Search(len(l.slots), func(i int) bool { return l.slots[i].segment.number > s.number })
	return l.slotFirst + uint64(n) - 1
}

// Seal writes the index file of the oldest segment that is not sealed, after which its runs are found on disk
// and no longer in memory. snapshot is the state machine's after an entry of that index, and conf the members
// then. index is Sealing's or a later one that Applied reported and that is on disk: one that is later costs
// that what was dropped ends only there. Where Sealing does not say so any more, nothing is done. It may run
// concurrently with appends. With ErrNoRoom all is as it was.
func (l *Log) Seal(index uint64, snapshot []byte, conf *raftpb.ConfState) error {
	l.maintain.Lock()
	defer l.maintain.Unlock()
	switch last, ok := l.Sealing(); {
	case !ok:
		return l.err()
	case index < last:
		return fmt.Errorf("a segment that ends with entry %d cannot be sealed with the state after entry %d", last,
			index)
	}
	s, c, err := l.collect(index, snapshot, conf)
	if err != nil {
		return err
	}
	f, name, err := l.writeIndex(c, "index")
	if err != nil {
		return l.spoils(err)
	}
	if err := l.syncDir(); err != nil {
		return l.broken(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.adopt(f, name, c)
	l.full = slices.Clone(l.full[1:])
	l.sealed = append(l.sealed, s)
	// Cloned, or the part in use would keep the whole in memory.
	l.slots = slices.Clone(l.slots[len(c.places):])
	l.slotFirst = c.last + 1
	for _, d := range c.topics {
		l.topics[d.topic].open = slices.Clone(l.topics[d.topic].open[d.count:])
	}
	l.span(s, c)
	return nil
}

// collect gathers what goes into the index file of the oldest segment that is not sealed.
func (l *Log) collect(index uint64, snapshot []byte, conf *raftpb.ConfState) (*segment, *contents, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if index > min(l.applied, l.stable) {
		return nil, nil, fmt.Errorf("a state after entry %d is to be kept; entries are applied to %d and on disk to %d",
			index, l.applied, l.stable)
	}
	s := l.full[0]
	c := &contents{
		number: s.number, generation: s.generation, salt: s.salt, end: s.end, original: s.end,
		first: l.slotFirst, last: l.lastOf(s), snapIndex: index, snapTerm: l.term(index),
		// What was the state where this segment ended is on disk; the state now may not be.
		state: proto.CloneOf(l.after(s).start.state), conf: raftpb.EnsureConfState(proto.CloneOf(conf)),
		snapshot: snapshot,
	}
	c.state.Commit = &index
	for _, slot := range l.slots[:c.last+1-c.first] {
		c.places = append(c.places, place{slot.at, slot.size})
	}
	if c.first <= c.last {
		c.terms = append(c.terms, termFrom{c.first, l.term(c.first)})
	}
	for _, t := range l.terms {
		if t.index > c.first && t.index <= c.last {
			c.terms = append(c.terms, t)
		}
	}
	var ids []uint32
	for id, t := range l.topics {
		if len(t.open) > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		open := l.topics[id].open
		n := sort.Search(len(open), func(i int) bool { return open[i].segment != s })
		runs := make([]run, 0, n)
		for _, r := range open[:n] {
			runs = append(runs, r.run)
		}
		c.add(id, runs)
		for _, r := range open[n:] {
			if r.index > index {
				break
			}
			c.ahead = append(c.ahead, ahead{r.segment.number, id, r.run})
		}
	}
	return s, c, nil
}

// after is the segment behind the oldest that is not sealed. With mu.
func (l *Log) after(s *segment) *segment {
	all := l.segments()
	return all[slices.Index(all, s)+1]
}

// add puts a topic's runs in. Topics are added in order.
func (c *contents) add(id uint32, runs []run) {
	if len(runs) == 0 {
		return
	}
	d := directory{
		topic: id, start: uint32(len(c.runs)), count: uint32(len(runs)), first: runs[0].offset,
		next: runs[len(runs)-1].next(),
	}
	for _, r := range runs {
		d.bytes += uint64(r.bytes)
	}
	c.topics = append(c.topics, d)
	c.runs = append(c.runs, runs...)
}

// Install puts the leader's snapshot in place of all there is, as Raft asks for when
// this node lags behind the leader's first entry. It is for the goroutine that
// appends; what it did is on disk when it returns. The machine is the caller's to restore.
func (l *Log) Install(snapshot *raftpb.Snapshot) error {
	if err := l.err(); err != nil {
		return err
	}
	l.maintain.Lock()
	defer l.maintain.Unlock()
	l.making.Lock()
	defer l.making.Unlock()
	index, term := snapshot.GetMetadata().GetIndex(), snapshot.GetMetadata().GetTerm()
	l.mu.RLock()
	applied, state, old := l.applied, proto.CloneOf(l.state), l.base
	l.mu.RUnlock()
	if index <= applied {
		return fmt.Errorf("a snapshot after entry %d is to be installed, and entries are applied to %d", index, applied)
	}
	if l.prepared != nil {
		if err := l.discard(l.prepared); err != nil {
			return l.broken(err)
		}
	}
	state.Commit = &index
	c := &contents{
		number: l.active.number + 1, first: index + 1, last: index, snapIndex: index, snapTerm: term, state: state,
		conf:     raftpb.EnsureConfState(proto.CloneOf(snapshot.GetMetadata().GetConfState())),
		snapshot: snapshot.GetData(),
	}
	// From when the name of this file is on disk, Open takes all earlier ones away. A disk that is full ends the
	// log here: nothing is torn, and what would give room back is the replaced part.
	var name string
	if err := l.waiting(func() (err error) {
		_, name, err = l.writeIndex(c, "snapshot")
		return err
	}); err != nil {
		return l.broken(err)
	}
	if err := l.syncDir(); err != nil {
		return l.broken(err)
	}
	var s *segment
	if err := l.waiting(func() (err error) {
		s, err = l.make(c.number+1, l.o.SegmentBytes)
		return err
	}); err != nil {
		return l.broken(err)
	}
	l.mu.Lock()
	gone := l.segments()
	l.sealed, l.full, l.rolled, l.active = nil, nil, nil, s
	l.slots, l.slotFirst, l.cache, l.topics = nil, index+1, cache{}, map[uint32]*topic{}
	l.terms = []termFrom{{index, term}}
	l.base = base{index: index, term: term, number: c.number, through: c.number, name: name}
	l.applied, l.stable, l.replacing, l.state = index, index, false, state
	l.mu.Unlock()
	if err := l.begin(s, start{before: c.number, installed: true, state: state}); err != nil {
		return l.broken(err)
	}
	if err := l.takeAway(old, gone...); err != nil {
		return l.broken(err)
	}
	return nil
}

// waiting does what needs a file to be made, again where none can be opened as long as Room says so.
func (l *Log) waiting(do func() error) error {
	for {
		err := do()
		if !errors.Is(err, ErrNoFiles) || l.o.Room == nil || !l.o.Room(err) {
			return err
		}
	}
}

// takeAway removes segments that are in no list any more, and the file of a base that
// is none any more. With maintain.
func (l *Log) takeAway(old base, gone ...*segment) error {
	var indexes, logs []string
	if old.number > 0 {
		indexes = append(indexes, old.name)
	}
	for _, s := range gone {
		logs = append(logs, s.name)
		if s.index != nil {
			indexes = append(indexes, s.indexName)
		}
		if err := s.retire(); err != nil {
			return err
		}
	}
	return l.removeBoth(indexes, logs)
}
