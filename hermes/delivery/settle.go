package delivery

import (
	"slices"

	"wirelab/hermes/broker"
)

// Acked is what became of an acknowledgement. Ranges are in order; messages in neither were dealt with before.
type Acked struct {
	Taken []broker.Range // to be written to the log now
	Late  []broker.Range // another member has it, or it is a dead letter: this one counts no more
}

// Ack takes what a member was sent out of flight, or, if no one has it now, out of those that wait. Taken is
// remembered as on its way to the log until Acknowledged says that it is there (or Refused that not). With an
// offset that the member was never sent it does nothing: strange is the first such, and ok is false.
func (g *Group) Ack(id uint64, ranges []broker.Range, now int64) (a Acked, strange uint64, ok bool) {
	g.advance(now)
	if strange, ok = g.known(id, ranges); !ok {
		return a, strange, false
	}
	for _, r := range ranges {
		r.First = max(r.First, g.floor)
		if r.First <= r.Last {
			g.ack(g.members[id], r, &a)
		}
	}
	a.Taken, a.Late = tidy(a.Taken), tidy(a.Late)
	return a, 0, true
}

func (g *Group) ack(m *member, r broker.Range, a *Acked) {
	late := func(first, last uint64) { a.Late = append(a.Late, broker.Range{First: first, Last: last}) }
	at := r.First
	g.each(r, func(*span) bool { return true }, func(s *span) {
		if at < s.first { // the group was set back before: it is to come anew
			late(at, s.first-1)
		}
		at = s.last + 1
		switch {
		case s.state == settled:
			return
		case s.state == deadLettered, s.state == held && s.lease.member != m:
			late(s.first, s.last)
			return
		}
		a.Taken = append(a.Taken, broker.Range{First: s.first, Last: s.last})
		if s.state == sent {
			return // it is on its way, and may fail yet: a caller that asks again is shown by a separate entry
		}
		if s.state == held {
			g.progress(s.lease)
		}
		g.turn(s, func(s *span) { s.state = sent })
		g.join(s)
	})
	if at <= r.Last {
		late(at, r.Last)
	}
}

// known tells whether a member was sent all of the ranges, or which it was not.
func (g *Group) known(id uint64, ranges []broker.Range) (strange uint64, ok bool) {
	m := g.members[id]
	for _, r := range ranges {
		if r.First > r.Last {
			continue
		}
		if m == nil {
			return r.First, false
		}
		if strange, any := m.had.Missing(r); any {
			return strange, false
		}
	}
	return 0, true
}

// progress notes that a member settles something of a lease now.
func (g *Group) progress(l *lease) {
	l.since, l.member.settled = g.now, g.now
	g.look(l.member)
}

// tidy sorts ranges and makes one of neighbours, and of those that overlap.
func tidy(ranges []broker.Range) []broker.Range {
	slices.SortFunc(ranges, func(a, b broker.Range) int {
		if a.First < b.First {
			return -1
		}
		return 1
	})
	kept := ranges[:0]
	for _, r := range ranges {
		if n := len(kept); n > 0 && kept[n-1].Last+1 >= r.First {
			kept[n-1].Last = max(kept[n-1].Last, r.Last)
		} else {
			kept = append(kept, r)
		}
	}
	return kept
}

// Acknowledged tells that ranges are dealt with in the log, no matter which member has them and whether this
// group asked for it or a leader before it.
func (g *Group) Acknowledged(ranges []broker.Range) {
	for _, r := range ranges {
		r.First = max(r.First, g.floor)
		if r.First > r.Last {
			continue
		}
		g.each(r, func(*span) bool { return true }, g.remove)
		s := &span{first: r.First, last: r.Last, state: settled}
		g.add(s)
		g.join(s)
	}
	if s := g.spans.least(); s != nil && s.state == settled && s.first == g.floor {
		g.raise(s.last + 1)
	}
}

// Refused tells that ranges did not get into the log, or that the outcome is unknown. What was acknowledged
// comes again, at once; it is not held against it that it was tried. What was to be a dead letter is reported
// again by Expire, a second later.
func (g *Group) Refused(ranges []broker.Range, now int64) {
	g.advance(now)
	for _, r := range ranges {
		g.each(r, func(s *span) bool { return s.state == sent || s.state == deadLettered }, func(s *span) {
			reason := s.reason
			g.turn(s, func(s *span) {
				if s.state == sent {
					s.state, s.due = waiting, g.now
				} else {
					s.state, s.due, s.reason = doomed, g.now+deadAgain, reason
				}
			})
		})
	}
}

// Nack gives back those of the ranges that the member has in flight, to come again at a time. Call Expire then:
// some may have been tried too often. With an offset that the member was never sent it does nothing, as Ack.
func (g *Group) Nack(id uint64, ranges []broker.Range, reason string, now, again int64) (strange uint64, ok bool) {
	g.advance(now)
	if strange, ok = g.known(id, ranges); !ok {
		return strange, false
	}
	for _, r := range ranges {
		g.each(r, g.has(id), func(s *span) {
			g.progress(s.lease)
			g.fail(s, reason, again, false)
		})
	}
	return 0, true
}
