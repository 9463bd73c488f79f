package wal

import (
	"errors"
	"slices"
	"sort"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/record"
	"wirelab/hermes/vfs"
)

// Clean rewrites one sealed segment of which at most half is still live, leaving the
// messages of runs that are wholly gone away, or drops the oldest one when nothing
// of it is live. done is false when there was nothing to do. It may run beside all else. With
// ErrNoRoom, or a [Damage] of what is to be copied, all is as it was.
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
			if err := l.rewrite(s, live); err != nil {
				return false, l.spoils(err)
			}
			return true, nil
		}
	}
	return false, nil
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
	l.base = base{index: c.snapIndex, term: c.snapTerm, number: s.number, name: s.indexName}
	l.sealed = slices.Clone(l.sealed[1:])
	for _, d := range c.topics {
		l.forget(d.topic, s)
	}
	// The terms of what is before the first entry are needed by nobody.
	if n := sort.Search(len(l.terms), func(i int) bool { return l.terms[i].index > c.snapIndex }); n > 1 {
		l.terms = slices.Clone(l.terms[n-1:])
	}
	l.mu.Unlock()
	// The index file stays, for its snapshot; what was the base before goes after.
	if err := l.fs.Remove(s.name); err != nil {
		return false, l.broken(err)
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return false, l.broken(err)
	}
	if err := s.release(); err != nil {
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

// rewrite makes the next generation of a sealed segment. It counts from when its
// index file has its name; then the old files go. With maintain.
func (l *Log) rewrite(s *segment, live Live) error {
	c, err := readIndex(s.index, s.indexName)
	if err != nil {
		return err
	}
	next, err := makeSegment(l.fs, l.fs.Create, l.dir, s.number, s.generation+1, 0)
	if err != nil {
		return err
	}
	fresh, err := hollow(s, next, c, live)
	if err == nil {
		err = next.file.Sync()
	}
	if err == nil {
		var name string
		if next.index, name, err = l.writeIndex(fresh, "index"); err == nil {
			next.adopt(next.index, name, fresh)
			err = l.fs.SyncDir(l.dir)
		}
	}
	if err != nil {
		_ = next.release() // the first failure is the one to tell
		var d *Damage
		if (vfs.Full(err) || errors.As(err, &d)) && next.index == nil && l.fs.Remove(next.name) == nil {
			err = noRoom(err)
		}
		return err
	}
	l.mu.Lock()
	l.sealed[slices.Index(l.sealed, s)] = next
	kept := map[uint32]directory{}
	for _, d := range fresh.topics {
		kept[d.topic] = d
	}
	for _, d := range c.topics {
		if k, ok := kept[d.topic]; ok {
			spans := l.topics[d.topic].spans
			spans[slices.IndexFunc(spans, func(sp span) bool { return sp.segment == s })] = span{next, k}
		} else {
			l.forget(d.topic, s)
		}
	}
	l.mu.Unlock()
	return l.takeAway(base{}, s)
}

// hollow copies the entries of a segment into another without the messages of runs
// that are gone, and returns what goes into its index file.
func hollow(s, to *segment, c *contents, live Live) (*contents, error) {
	fresh := *c
	fresh.generation, fresh.salt, fresh.topics, fresh.runs, fresh.places = to.generation, to.salt, nil, nil, nil
	kept := map[uint32]int{} // where a run was: its number in fresh.runs
	for _, d := range c.topics {
		runs := c.runs[d.start : d.start+d.count]
		first, ok := live(d.topic)
		n := len(runs)
		if ok {
			n = sort.Search(len(runs), func(i int) bool { return runs[i].next() > first })
		}
		for i, r := range runs[n:] {
			kept[r.at] = len(fresh.runs) + i
		}
		fresh.add(d.topic, runs[n:])
	}
	b, from := beginFrame(nil)
	b = endFrame(s.start.append(b), from, kindStart, 0, to.salt)
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
		if _, err := to.file.WriteAt(b, to.end); err != nil {
			return nil, err
		}
		to.end += int64(len(b))
		b = b[:0]
	}
	to.start, to.began, to.size, fresh.end = s.start, true, to.end, to.end
	return &fresh, nil
}

// hollowEntry writes an entry again. Its data were at one place and will be at another,
// and the runs that are kept are told.
func hollowEntry(e *raftpb.Entry, was, will int64, kept map[uint32]int, runs []run) (*raftpb.Entry, error) {
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
		n, ok := kept[uint32(was+int64(item.Run.At))]
		item.Run.Cleaned = item.Run.Cleaned || !ok
		data = record.AppendRun(data, item.Run)
		if ok {
			runs[n].at = uint32(will + int64(len(data)-len(item.Run.Messages)))
		}
	}
	return &raftpb.Entry{Index: e.Index, Term: e.Term, Type: e.Type, Data: data}, nil
}
