package wal

import (
	"context"
	"fmt"
	"slices"
)

// sealed checks a sealed segment against its index file, and replays it. nil: the index file is damaged, so
// that it is unknown what the next segment follows.
func (v *verifier) sealed(ctx context.Context, number uint64, generation uint32, before *contents) (*contents, error) {
	v.seen.Sealed++
	if generation > 0 {
		v.seen.Cleaned++
	}
	name := fileName(v.l.dir, number, generation, "index")
	c := v.index(name)
	s := v.whole(number, generation)
	if s != nil {
		defer s.release() //nolint:errcheck // a file that was only read
	}
	if c == nil {
		return nil, nil
	}
	if !v.adrift && c.first != v.l.slotFirst {
		v.found(WrongOrder, "", &Damage{File: name, Why: fmt.Sprintf("it begins with entry %d, and the one before "+
			"ends with %d", c.first, v.l.slotFirst-1)})
	}
	v.adrift = false
	v.l.slotFirst, v.l.state = c.last+1, c.state
	for _, t := range c.terms {
		if n := len(v.l.terms); n == 0 || v.l.terms[n-1].term != t.term {
			v.l.terms = append(v.l.terms, t)
		}
	}
	v.pending = append(v.pending, pendingSnapshot{name, c.snapIndex, slices.Clone(c.snapshot), c.layout().snapshot})
	if s == nil {
		return c, nil
	}
	entries := v.frames(s, name, c, before)
	if !v.lost {
		v.places(name, c, entries)
	}
	v.runs(s, name, c)
	if v.lost {
		return c, nil
	}
	return c, v.replay(ctx, s, name, c)
}

// frames walks the frames of a sealed segment and returns the entries that count.
func (v *verifier) frames(s *segment, name string, c, before *contents) (entries []written) {
	if !v.belongs(s, name, c) {
		return nil
	}
	last, began := emptyState(), false
	end, err := scan(v.buf[:c.end], s.salt, func(at int64, f frame) error {
		v.seen.Frames++
		damage := func(format string, args ...any) error {
			return &Damage{File: s.name, At: at, Why: fmt.Sprintf(format, args...)}
		}
		if began == (f.kind == kindStart) {
			return damage("a frame is there that does not belong there")
		}
		began = true
		state := last
		switch f.kind {
		case kindStart:
			st, ok := readStart(f.body)
			if !ok {
				return damage("the first frame has %d bytes", len(f.body))
			}
			// A cleaned segment's does not tell: the one before may be gone by then.
			if s.generation == 0 && before != nil && !st.installed && (st.before != before.through() ||
				st.end != before.original) {
				return damage("the first frame tells that it follows byte %d of segment %d, and that one is %d with "+
					"%d bytes",
					st.end, st.before, before.through(), before.original)
			}
			state = st.state
		case kindState:
			if len(f.body) != stateBytes {
				return damage("a hard state has %d bytes", len(f.body))
			}
			state = readState(f.body)
		case kindEntry:
			e, ok := readEntry(f.body)
			if !ok {
				return damage("an entry has %d bytes", len(f.body))
			}
			n := len(entries)
			for n > 0 && entries[n-1].index >= e.GetIndex() {
				n--
			}
			if n > 0 && entries[n-1].term > e.GetTerm() {
				return damage("entry %d of term %d follows one of term %d", e.GetIndex(), e.GetTerm(),
					entries[n-1].term)
			}
			entries = append(entries[:n], written{e.GetIndex(), e.GetTerm(), place{uint32(at), uint32(len(f.body))}})
		default:
			return damage("a frame is of kind %d, which this program does not know", f.kind)
		}
		if state.GetTerm() < last.GetTerm() || state.GetCommit() < last.GetCommit() {
			return damage("a hard state of term %d with entry %d committed follows one of term %d with %d",
				state.GetTerm(),
				state.GetCommit(), last.GetTerm(), last.GetCommit())
		}
		last = state
		return nil
	})
	switch {
	case err != nil:
		v.found(WrongOrder, s.name, err)
	case end < c.end:
		v.found(BrokenFrame, "",
			&Damage{File: s.name, At: end, Why: fmt.Sprintf("no whole frame is there, and frames went "+
				"on to byte %d", c.end)})
	}
	return entries
}

// belongs reads a segment, and tells whether it is the one of its index file, in its whole length.
func (v *verifier) belongs(s *segment, name string, c *contents) bool {
	if err := s.readBlock(v.buf); err != nil {
		v.found(BrokenFrame, s.name, err)
		return false
	}
	if c.number != s.number || c.generation != s.generation || c.salt != s.salt {
		v.found(WrongIndex, "", &Damage{File: name, Why: "it is another segment's"})
		return false
	}
	if c.end > s.size {
		v.found(BrokenFrame, "",
			&Damage{File: s.name, At: s.size, Why: fmt.Sprintf("the file ends there, and had %d bytes",
				c.end)})
		return false
	}
	return true
}

// places compares the entries of a segment with those that its index file lists. What
// later segments replaced is in the segment, and not in the index file.
func (v *verifier) places(name string, c *contents, entries []written) {
	entries = slices.DeleteFunc(entries, func(w written) bool { return w.index > c.last })
	if len(entries) != len(c.places) {
		v.found(WrongIndex, "", &Damage{File: name, Why: fmt.Sprintf("it lists %d entries, and the segment has %d",
			len(c.places), len(entries))})
		return
	}
	for i, w := range entries {
		if w.index != c.first+uint64(i) || w.place != c.places[i] || w.term != v.l.term(w.index) &&
			w.index != v.l.base.index {
			v.found(WrongIndex, "", &Damage{
				File: name, At: c.layout().places + int64(i)*placeBytes,
				Why: fmt.Sprintf("it lists entry %d of term %d at byte %d, and entry %d of term %d is at byte %d",
					c.first+uint64(i), v.l.term(c.first+uint64(i)), c.places[i].at, w.index, w.term, w.place.at),
			})
			return
		}
	}
}

// runs checks the messages of all runs that an index file lists.
func (v *verifier) runs(s *segment, name string, c *contents) {
	for _, d := range c.topics {
		next := d.first
		for i, r := range c.runs[d.start : d.start+d.count] {
			at := c.layout().runs + (int64(d.start)+int64(i))*runWidth(c.form)
			if r.offset < next || r.next() > d.next {
				v.found(WrongIndex, "",
					&Damage{File: name, At: at, Why: fmt.Sprintf("offset %d of topic %d comes behind offset %d",
						r.offset, d.topic, next)})
				return
			}
			next = r.next()
			if got, ok := sum(v.buf, r); !ok || got != r.sum {
				v.found(BrokenFrame, "",
					&Damage{File: s.name, At: int64(r.at), Why: fmt.Sprintf("the messages of topic %d from "+
						"offset %d are not those that %s lists", d.topic, r.offset, name)})
				return
			}
		}
	}
}

// replay applies the entries of a sealed segment, and compares the runs they
// bring with those of the index file.
func (v *verifier) replay(ctx context.Context, s *segment, name string, c *contents) error {
	told := make(map[uint32]run, len(c.runs)) // by where they are
	topic := make(map[uint32]uint32, len(c.runs))
	for _, d := range c.topics {
		for _, r := range c.runs[d.start : d.start+d.count] {
			told[r.at], topic[r.at] = r, d.topic
		}
	}
	from := max(c.first, v.l.applied+1)
	for i := from; i <= c.last; i++ {
		if i%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		p := c.places[i-c.first]
		e, ok := readEntry(v.buf[p.at+headerBytes : p.at+headerBytes+p.size])
		if !ok {
			return fmt.Errorf("entry %d of %s was read and is no longer", i, s.name)
		}
		placed, ok := v.apply(s.name, int64(p.at), e)
		if !ok {
			return nil
		}
		for _, placed := range placed {
			v.count(placed)
			at := p.at + headerBytes + entryBytes + uint32(placed.At)
			r, ok := told[at]
			if placed.Bytes == 0 {
				continue // cleaned: the index file does not have it
			}
			if !ok || topic[at] != placed.Topic || r.offset != placed.Offset || r.count != placed.Count ||
				r.time != placed.Time || int(r.bytes) != placed.Bytes {
				v.found(WrongIndex, "",
					&Damage{File: name, Why: fmt.Sprintf("it tells otherwise of the %d messages of topic %d "+
						"from offset %d, which entry %d brought", placed.Count, placed.Topic, placed.Offset, i)})
				return nil
			}
			delete(told, at)
		}
	}
	if from == c.first && len(told) > 0 {
		v.found(WrongIndex, "",
			&Damage{File: name, Why: fmt.Sprintf("it lists %d runs that no entry brought", len(told))})
	}
	return nil
}
