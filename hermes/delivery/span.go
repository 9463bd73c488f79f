package delivery

import "wirelab/hermes/broker"

// state is what became of an offset.
type state uint8

const (
	held         state = iota // in flight with a member
	waiting                   // to be handed out (again)
	sent                      // acknowledged, on its way to the log
	settled                   // acknowledged in the log
	doomed                    // tried too often; Expire has not told it yet
	deadLettered              // told, on its way to the dead letters
)

// span is consecutive offsets with the same fate. Spans do not overlap; an offset at or
// above the floor that is in none was never handed out.
type span struct {
	first, last uint64 // inclusive
	state       state
	tried       uint32 // held: which try this is; else how often it was tried
	lost        uint32 // of these tries, those that were lost in company; at most aloneAfter
	lease       *lease // held
	due         int64  // waiting, doomed: not before
	reason      string // doomed, dead-lettered
}

func (s *span) size() int { return int(s.last - s.first + 1) }

// open tells that it is not acknowledged.
func (s *span) open() bool { return s.state != sent && s.state != settled }

// alike tells that two spans had as many tries, of which as many do not count.
func (s *span) alike(o *span) bool { return s.tried == o.tried && s.lost == o.lost }

// lone tells that it is handed out alone from now on.
func (s *span) lone() bool { return s.lost >= aloneAfter }

// queue is where a span that waits stands.
func (g *Group) queue(s *span) *sorted {
	if s.lone() {
		return &g.lone
	}
	return &g.waiting
}

// in counts a span and puts it where its state is looked for.
func (g *Group) in(s *span) {
	if s.open() {
		g.open += s.size()
	}
	switch s.state {
	case held:
		s.lease.left += s.size()
		s.lease.member.held += s.size()
		g.held += s.size()
	case waiting:
		g.queue(s).insert(place{s.due, s.first, s})
	case doomed:
		g.doomed.insert(place{s.due, s.first, s})
	case sent, settled:
		g.ranges++
	}
}

// out undoes in.
func (g *Group) out(s *span) {
	if s.open() {
		g.open -= s.size()
	}
	switch s.state {
	case held:
		s.lease.left -= s.size()
		s.lease.member.held -= s.size()
		g.held -= s.size()
	case waiting:
		g.queue(s).remove(place{s.due, s.first, s})
	case doomed:
		g.doomed.remove(place{s.due, s.first, s})
	case sent, settled:
		g.ranges--
	}
}

// add adds a span where no other is.
func (g *Group) add(s *span) {
	g.spans.insert(place{first: s.first, span: s})
	g.in(s)
}

// remove takes a span away: its offsets are before the floor, or another's.
func (g *Group) remove(s *span) {
	g.spans.remove(place{first: s.first})
	g.out(s)
	g.close(s.lease)
}

// turn gives a span another state, as set says.
func (g *Group) turn(s *span, set func(s *span)) {
	g.out(s)
	l := s.lease
	s.lease, s.reason, s.due = nil, "", 0
	set(s)
	g.in(s)
	if l != s.lease {
		g.close(l)
	}
}

// cut makes of a span the part from an offset on and, left where it was, the part before it.
func (g *Group) cut(s *span, at uint64) *span {
	g.out(s)
	rest := *s
	s.last, rest.first = at-1, at
	g.in(s)
	g.add(&rest)
	return &rest
}

// join makes one of a span and its neighbours where both are on their way to the
// log after as many tries (they may come back), or both there.
func (g *Group) join(s *span) {
	same := func(o *span) bool {
		return o != nil && o.state == s.state && (s.state == settled || o.alike(s))
	}
	if s.first > 0 {
		if left := g.at(s.first - 1); same(left) {
			g.remove(s)
			left.last = s.last
			s = left
		}
	}
	if right := g.at(s.last + 1); same(right) {
		g.remove(right)
		s.last = right.last
	}
}

// at is the span that an offset is in, or nil.
func (g *Group) at(offset uint64) *span {
	if s := g.spans.to(place{first: offset}); s != nil && s.last >= offset {
		return s
	}
	return nil
}

// onward is the span that an offset is in, or the next one; nil when there is none
// that begins at or before last.
func (g *Group) onward(offset, last uint64) *span {
	if s := g.at(offset); s != nil {
		return s
	}
	if s := g.spans.from(place{first: offset}); s != nil && s.first <= last {
		return s
	}
	return nil
}

// each calls visit with every span of a range that passes, cut to lie within it. visit
// may change the span and join it with its neighbours.
func (g *Group) each(r broker.Range, pass func(*span) bool, visit func(*span)) {
	for at := r.First; at <= r.Last; {
		s := g.onward(at, r.Last)
		if s == nil {
			return
		}
		last := min(s.last, r.Last)
		if pass(s) {
			if s.first < at {
				s = g.cut(s, at)
			}
			if s.last > r.Last {
				g.cut(s, r.Last+1)
			}
			visit(s)
		}
		if last == r.Last {
			return // also where adding 1 would begin again at 0
		}
		at = last + 1
	}
}
