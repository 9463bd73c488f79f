package wal

import (
	"errors"
	"maps"
	"slices"
	"sort"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/record"
	"wirelab/hermes/vfs"
)

// Clean rewrites one sealed segment of which at most half is still live, leaving the messages of runs that are
// wholly gone away, or joins some that became small, or drops the oldest one when nothing of it is live. done
// is false when there was nothing to do. It may run concurrently with everything else. With ErrNoRoom, or a
// [Damage] of whatever is to be copied, all is as it was.
//
// Entries keep their indices, terms, times and commands: a follower that is
// sent a cleaned one comes to the same offsets. Runs that were no messages (duplicates,
// refused ones) are hollowed with the others.
func (l *Log) Clean(live Live) (done bool, err error) {
	if err := l.err(); err != nil {
		return false, err
	}
	l.maintain.Lock()
	defer l.maintain.Unlock()
	dead, err := l.dead(live)
	if err != nil {
		return false, err
	}
	l.mu.RLock()
	sealed := slices.Clone(l.sealed)
	l.mu.RUnlock()
	for i, s := range sealed {
		if i == 0 && dead[s] == s.runBytes {
			dropped, err := l.drop(s, live)
			if dropped || err != nil {
				return dropped, err
			}
		}
		if bytes := dead[s]; bytes > 0 && s.end-bytes <= s.end/2 {
			if err := l.rewrite([]*segment{s}, live); err != nil {
				return false, l.spoils(err)
			}
			return true, nil
		}
	}
	if group := l.small(sealed); len(group) > 0 {
		if err := l.rewrite(group, live); err != nil {
			return false, l.spoils(err)
		}
		return true, nil
	}
	return false, nil
}

// joinMost bounds how many segments are joined at once: the goroutine that seals waits for it.
const joinMost = 64

// small gives segments that follow each other and that make one together. The largest of them is
// no larger than the others are together: so each byte is copied no more often than its segment can
// double in size, and of the segments that are left each is larger than those behind it, until
// they make no more than one together.
func (l *Log) small(sealed []*segment) []*segment {
	for i := range sealed {
		sum, largest, to := int64(0), int64(0), 0
		for j, s := range sealed[i:min(len(sealed), i+joinMost)] {
			bytes := s.end - blockBytes
			if sum += bytes; sum > l.o.SegmentBytes-blockBytes {
				break
			}
			if largest = max(largest, bytes); j > 0 && largest <= sum-largest {
				to = i + j + 1
			}
		}
		if to > 0 {
			return sealed[i:to]
		}
	}
	return nil
}

// dead counts the bytes of runs that are wholly gone, by sealed segment.
func (l *Log) dead(live Live) (map[*segment]int64, error) {
	l.mu.RLock()
	ids := make([]uint32, 0, len(l.topics))
	for id := range l.topics {
		ids = append(ids, id)
	}
	l.mu.RUnlock()
	slices.Sort(ids)
	dead := map[*segment]int64{}
	for _, id := range ids {
		first, ok := live(id)
		for _, sp := range l.before(id, first, !ok) {
			switch {
			case !ok || sp.next <= first:
				dead[sp.segment] += int64(sp.bytes)
			case sp.first < first: // of one segment at most
				n, err := sp.search(func(r run) bool { return r.next() > first })
				if err != nil {
					return nil, err
				}
				runs, err := sp.runs(0, n)
				if err != nil {
					return nil, err
				}
				for _, r := range runs {
					dead[sp.segment] += int64(r.bytes)
				}
			}
		}
	}
	return dead, nil
}

// before gives a topic's spans that begin before an offset, or all. Mostly there are none,
// and then it costs a look: of ten thousand topics, each in every segment, a copy of all
// would be as large as the log's whole directory, once a second.
func (l *Log) before(id uint32, first uint64, all bool) []span {
	// A lock for each topic: there may be many, and appends wait for it.
	l.mu.RLock()
	defer l.mu.RUnlock()
	t := l.topics[id]
	if t == nil {
		return nil
	}
	n := len(t.spans)
	if !all {
		n = sort.Search(n, func(i int) bool { return t.spans[i].first >= first })
	}
	return slices.Clone(t.spans[:n])
}

// drop takes the oldest segment away, in which nothing is live, unless something is
// in the entries behind it that its snapshot is after: a follower that
// begins with that snapshot would not get them. With maintain.
func (l *Log) drop(s *segment, live Live) (bool, error) {
	c, err := readIndex(s.index, s.indexName)
	if err != nil {
		return false, err
	}
	for _, a := range c.ahead {
		if first, ok := live(a.topic); ok && a.run.next() > first {
			return false, nil
		}
	}
	l.mu.Lock()
	old := l.base
	l.base = base{index: c.snapIndex, term: c.snapTerm, number: s.number, through: s.through(), name: s.indexName}
	l.sealed = slices.Clone(l.sealed[1:])
	for _, d := range c.topics {
		l.forget(d.topic, s)
	}
	// The terms of entries in no segment any more are not needed. Those of entries that are before the first one
	// and still in a segment go into its index file.
	if n := sort.Search(len(l.terms), func(i int) bool { return l.terms[i].index > c.last+1 }); n > 1 {
		l.terms = slices.Clone(l.terms[n-1:])
	}
	l.mu.Unlock()
	// The index file stays, for its snapshot; what was the base before goes after.
	if err := s.retire(); err != nil {
		return false, l.broken(err)
	}
	if err := l.remove([]string{s.name}); err != nil {
		return false, l.broken(err)
	}
	if err := l.takeAway(old); err != nil {
		return false, l.broken(err)
	}
	return true, nil
}

// forget takes a topic's span of a segment away. With mu.
func (l *Log) forget(id uint32, s *segment) {
	t := l.topics[id]
	if t == nil {
		return
	}
	t.spans = slices.DeleteFunc(t.spans, func(sp span) bool { return sp.segment == s })
	if len(t.spans) == 0 && len(t.open) == 0 {
		delete(l.topics, id)
	}
}

// rewrite makes one segment of those given, which follow each other: the next generation of
// the first. It counts from when its index file has its name; then the old files go. Who opens the log
// before all of them are gone knows by that index file which are left over. With maintain.
func (l *Log) rewrite(group []*segment, live Live) error {
	olds := make([]*contents, len(group))
	for i, s := range group {
		c, err := readIndex(s.index, s.indexName)
		if err != nil {
			return err
		}
		if i < len(group)-1 {
			c.snapshot = nil // of the whole only the last one counts, and it may be large
		}
		olds[i] = c
	}
	first, last := group[0], group[len(group)-1]
	next, err := l.makeSegment(l.fs.Create, &segment{
		number: first.number, generation: first.generation + 1, joined: uint32(last.through() - first.number),
	})
	if err != nil {
		return err
	}
	fresh, err := hollow(group, next, olds, live)
	if err == nil {
		err = next.out.Sync()
	}
	if err == nil {
		var index *handle
		var name string
		if index, name, err = l.writeIndex(fresh, "index"); err == nil {
			next.full()
			next.adopt(index, name, fresh)
			err = l.syncDir()
		}
	}
	if err != nil {
		_ = next.release() // the first failure is the one to tell
		var d *Damage
		if (vfs.Full(err) || vfs.Exhausted(err) || errors.As(err, &d)) && next.index == nil &&
			l.fs.Remove(next.name) == nil {
			err = noRoom(err)
		}
		return err
	}
	l.replace(group, next, olds, fresh)
	return l.takeAway(base{}, group...)
}

// replace puts a segment in place of those that it was made of. They stay whole in the meantime, so that
// readers may find the one or the others.
func (l *Log) replace(group []*segment, next *segment, olds []*contents, fresh *contents) {
	l.mu.Lock()
	at := slices.Index(l.sealed, group[0])
	l.sealed = slices.Concat(l.sealed[:at], []*segment{next}, l.sealed[at+len(group):])
	l.mu.Unlock()
	topics := map[uint32][]span{}
	for _, c := range olds {
		for _, d := range c.topics {
			topics[d.topic] = nil
		}
	}
	for _, d := range fresh.topics {
		topics[d.topic] = []span{{next, d}}
	}
	for id, spans := range topics {
		l.respan(id, next, spans)
	}
}

// respan puts spans in place of those that a topic has in a segment's numbers. It takes the lock for
// itself: there may be many topics, and appends wait for it.
func (l *Log) respan(id uint32, s *segment, spans []span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topics[id]
	from := sort.Search(len(t.spans), func(i int) bool { return t.spans[i].segment.number >= s.number })
	to := sort.Search(len(t.spans), func(i int) bool { return t.spans[i].segment.number > s.through() })
	t.spans = slices.Replace(t.spans, from, to, spans...)
	if len(t.spans) == 0 && len(t.open) == 0 {
		delete(l.topics, id)
	}
}

// where is where a run was.
type where struct {
	segment int // of the group
	at      uint32
}

// hollow copies the entries of segments that follow each other into another without the messages
// of runs that are gone, and returns what goes into its index file.
func hollow(group []*segment, to *segment, olds []*contents, live Live) (*contents, error) {
	fresh := *olds[len(olds)-1]
	fresh.number, fresh.generation, fresh.salt, fresh.joined = to.number, to.generation, to.salt, to.joined
	fresh.first = olds[0].first
	fresh.terms, fresh.topics, fresh.runs, fresh.places = nil, nil, nil, nil
	for _, c := range olds {
		for _, t := range c.terms {
			if n := len(fresh.terms); n == 0 || fresh.terms[n-1].term != t.term {
				fresh.terms = append(fresh.terms, t)
			}
		}
	}
	kept := fresh.keep(olds, live)
	b, from := beginFrame(nil)
	b = endFrame(group[0].start.append(b), from, kindStart, 0, to.salt)
	for i, s := range group {
		was := func(at uint32) (int, bool) {
			n, ok := kept[where{i, at}]
			return n, ok
		}
		var err error
		if b, err = s.copy(b, to, olds[i], &fresh, was); err != nil {
			return nil, err
		}
	}
	if _, err := to.out.WriteAt(b, to.end); err != nil {
		return nil, err
	}
	to.end += int64(len(b))
	to.start, to.began, to.size, fresh.end = group[0].start, true, to.end, to.end
	return &fresh, nil
}

// keep puts the runs in that are live, and tells by where they were which number they have.
func (c *contents) keep(olds []*contents, live Live) map[where]int {
	type part struct {
		segment int
		runs    []run
	}
	parts := map[uint32][]part{}
	for i, old := range olds {
		for _, d := range old.topics {
			parts[d.topic] = append(parts[d.topic], part{i, old.runs[d.start : d.start+d.count]})
		}
	}
	kept := map[where]int{}
	for _, topic := range slices.Sorted(maps.Keys(parts)) {
		first, ok := live(topic)
		if !ok {
			continue
		}
		var all []run
		for _, p := range parts[topic] {
			n := sort.Search(len(p.runs), func(i int) bool { return p.runs[i].next() > first })
			for _, r := range p.runs[n:] {
				kept[where{p.segment, r.at}] = len(c.runs) + len(all)
				all = append(all, r)
			}
		}
		c.add(topic, all)
	}
	return kept
}

// copy copies a segment's entries behind others, and gives what of them, and of b before, is not
// written yet. kept is the number that a run has in the new one by where it was.
func (s *segment) copy(b []byte, to *segment, c, fresh *contents, kept func(uint32) (int, bool)) ([]byte, error) {
	for at := 0; at < len(c.places); {
		entries, err := s.entries(c.first+uint64(at), c.places[at:], entriesBytes)
		if err != nil {
			return nil, err
		}
		for i, e := range entries {
			body := int64(c.places[at+i].at) + headerBytes + entryBytes
			where := to.end + int64(len(b))
			if e.GetType() == raftpb.EntryNormal && len(e.GetData()) > 0 {
				if e, err = hollowEntry(e, body, where+headerBytes+entryBytes, kept, fresh.runs); err != nil {
					return nil, err
				}
			}
			fresh.places = append(fresh.places, place{uint32(where), uint32(entryBytes + len(e.GetData()))})
			b = appendEntry(b, e, 0, to.salt)
		}
		at += len(entries)
		if len(b) < writeBytes {
			continue
		}
		if _, err := to.out.WriteAt(b, to.end); err != nil {
			return nil, err
		}
		to.end += int64(len(b))
		b = b[:0]
	}
	return b, nil
}

// hollowEntry writes an entry again. Its data were at one place and will be at another,
// and the runs that are kept are reported.
func hollowEntry(e *raftpb.Entry, was, will int64, kept func(uint32) (int, bool), runs []run) (*raftpb.Entry, error) {
	var n int
	return cleanEntry(e, func(r record.Run) (ok bool) {
		n, ok = kept(uint32(was + int64(r.At)))
		return ok
	}, func(at int) { runs[n].at = uint32(will + int64(at)) })
}

// cleanEntry writes an entry again without the messages of runs that keep refuses. Of each that it keeps, moved
// is called right after where in the new data the messages begin.
func cleanEntry(e *raftpb.Entry, keep func(record.Run) bool, moved func(at int)) (*raftpb.Entry, error) {
	time, items, err := record.Parse(e.GetData())
	if err != nil {
		return nil, err
	}
	data := record.AppendEntry(make([]byte, 0, len(e.GetData())), time)
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		if item.Command != nil {
			data = record.AppendCommand(data, item.Command)
			continue
		}
		ok := keep(item.Run)
		item.Run.Cleaned = item.Run.Cleaned || !ok
		data = record.AppendRun(data, item.Run)
		if ok {
			moved(len(data) - len(item.Run.Messages))
		}
	}
	return &raftpb.Entry{Index: e.Index, Term: e.Term, Type: e.Type, Data: data}, nil
}
