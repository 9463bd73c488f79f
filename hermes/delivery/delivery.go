// Package delivery is what members of a group have in their hands: who gets which
// message, until when it is to be acknowledged, how often it was tried. The leader
// keeps it in memory; what is acknowledged is in the log. No clock, no goroutine:
// time comes in. It knows no disk, no Raft and no door.
//
// # How it is kept
//
// As spans of offsets with the same fate, and not one by one: beside a single
// message that nobody deals with, any number of others may have been acknowledged
// already. Every offset at or above the floor is in one of these states:
//
//	fresh ──Next──▶ held ──Ack──▶ sent ──Acknowledged──▶ settled
//	                 │ ▲           └──Refused──▶ waiting
//	     Expire,     ▼ │ Next
//	Nack, Leave    waiting  (tried too often:) doomed ──Expire──▶ buried ──Acknowledged──▶ settled
//
// The floor passes over what is settled, and over nothing else (hb-D01: the
// origin's floor was a count of acknowledgements, and skipped gaps).
package delivery

import (
	"math"
	"slices"

	"wirelab/hermes"
	"wirelab/hermes/broker"
)

const (
	// rangesMost is how many ranges there may ever be, at the worst order of
	// acknowledgements: package core takes as many, and refuses more.
	rangesMost = 2 * hermes.GroupRanges
	// deadMost is how many dead letters Expire tells at once: each becomes an entry's item.
	deadMost = 1000
	// deadAgain is how long after a refusal a dead letter is told again, nanoseconds:
	// what refused it once (a disk, a leader) would refuse it at once again.
	deadAgain = int64(1e9)
	// reasonMost is how many bytes of a reason are kept.
	reasonMost = 1 << 10
)

// Options are what the group was made with.
type Options struct {
	AckTimeout  int64  // nanoseconds; 0: hermes.AckTimeout
	MaxAttempts uint32 // 0: hermes.MaxAttempts
	Floor       uint64 // all before it is dealt with
	Acked       []broker.Range
}

// Lease is messages for a member: consecutive, same attempt.
type Lease struct {
	Member      uint64
	First, Last uint64 // inclusive
	Attempt     uint32 // from 1
}

// Dead is a message that was tried as often as it may be.
type Dead struct {
	Offset   uint64
	Attempts uint32
	Reason   string // what the last member said; "": it was not acknowledged in time
}

// Group is one group's hand-outs. For one goroutine at a time. Times are Unix
// nanoseconds by any clock that does not fall; one that does is taken to stand still.
type Group struct {
	timeout  int64
	attempts uint32

	now            int64
	floor          uint64
	fresh          uint64 // every offset from floor to before it is in a span
	spans          sorted // all, by offset
	waiting        sorted // those that wait, by when they are due
	doomed         sorted
	oldest, newest *lease
	members        map[uint64]*member

	ranges      int // spans that are sent or settled
	held        int // messages
	open        int // messages that were handed out and not acknowledged
	redelivered uint64
}

// New is a group of which nothing is in anybody's hands.
func New(o Options) *Group {
	g := &Group{timeout: o.AckTimeout, attempts: o.MaxAttempts, members: map[uint64]*member{}}
	if g.timeout == 0 {
		g.timeout = int64(hermes.AckTimeout)
	}
	if g.attempts == 0 {
		g.attempts = hermes.MaxAttempts
	}
	g.Seek(o.Floor)
	g.Acknowledged(o.Acked)
	return g
}

// Join adds a member that has at most inFlight messages at once (0: hermes.InFlight);
// one that is there keeps what it has and takes the new bound.
func (g *Group) Join(id uint64, inFlight int) {
	if inFlight <= 0 {
		inFlight = hermes.InFlight
	}
	m := g.members[id]
	if m == nil {
		m = &member{id: id, leases: map[*lease]struct{}{}}
		g.members[id] = m
	}
	m.inFlight = inFlight
}

// Leave gives back what a member has, at once and as tried. Call Expire then: some of
// it may have been tried too often.
func (g *Group) Leave(id uint64, now int64) {
	m := g.members[id]
	if m == nil {
		return
	}
	g.advance(now)
	for l := range m.leases { // each is independent of the others: any order gives the same
		g.expire(l, "the member went away")
	}
	delete(g.members, id)
}

// Next leases a member what it may have of the offsets before next, at most most
// messages: those that come again first, then new ones. first is the oldest offset that
// the topic keeps: what is before it is forgotten. ok is false when there is nothing for
// it now: nothing there, too much in its hands, or, for new ones, hermes.GroupRanges
// acknowledged ranges above a gap, which what comes again will close, or more messages
// open in the whole group (up to 40,000) than could leave a gap each.
func (g *Group) Next(id uint64, next, first uint64, most int, now int64) (l Lease, ok bool) {
	g.advance(now)
	g.raise(first)
	m := g.members[id]
	if m == nil {
		return l, false
	}
	most = min(most, m.inFlight-m.held)
	if most <= 0 {
		return l, false
	}
	if s := g.waiting.least(); s != nil && s.due <= g.now {
		return g.again(m, s, most), true
	}
	return g.anew(m, next, most)
}

// again leases what was handed out before, and what follows it with the same tries.
func (g *Group) again(m *member, s *span, most int) Lease {
	if s.size() > most {
		g.cut(s, s.first+uint64(most))
	}
	for most -= s.size(); most > 0; {
		after := g.at(s.last + 1)
		if after == nil || after.state != waiting || after.due > g.now || after.tried != s.tried {
			break
		}
		if after.size() > most {
			g.cut(after, after.first+uint64(most))
		}
		g.remove(after)
		most -= after.size()
		g.out(s)
		s.last = after.last
		g.in(s)
	}
	if s.tried > 0 {
		g.redelivered += uint64(s.size())
	}
	g.turn(s, func(s *span) { g.grant(m, s, s.tried+1) })
	return Lease{Member: m.id, First: s.first, Last: s.last, Attempt: s.tried}
}

// anew leases what nobody has had.
func (g *Group) anew(m *member, next uint64, most int) (l Lease, ok bool) {
	// Of messages that are open, every other one could be acknowledged and make a range.
	most = min(most, 2*(rangesMost-g.ranges)-g.open)
	if g.ranges >= hermes.GroupRanges || most <= 0 {
		return l, false
	}
	for s := g.at(g.fresh); s != nil; s = g.at(g.fresh) {
		g.fresh = s.last + 1
	}
	if g.fresh >= next {
		return l, false
	}
	last := min(next-1, g.fresh+uint64(most)-1)
	if s := g.onward(g.fresh, last); s != nil {
		last = s.first - 1
	}
	s := &span{first: g.fresh, last: last}
	g.grant(m, s, 1)
	g.add(s)
	g.fresh = last + 1
	return Lease{Member: m.id, First: s.first, Last: last, Attempt: 1}, true
}

// grant puts a span, which is not counted now, into a member's hands.
func (g *Group) grant(m *member, s *span, attempt uint32) {
	l := &lease{member: m, first: s.first, last: s.last, deadline: g.now + g.timeout, earlier: g.newest}
	if g.newest != nil {
		g.newest.later = l
	} else {
		g.oldest = l
	}
	g.newest = l
	m.leases[l] = struct{}{}
	s.state, s.lease, s.tried = held, l, attempt
}

// Return gives a lease's messages from an offset to another on back untried (they were
// not sent). They are the next to be handed out.
func (g *Group) Return(id uint64, from, last uint64) {
	g.each(broker.Range{First: from, Last: last}, g.has(id), func(s *span) {
		if s.tried > 1 {
			g.redelivered -= uint64(s.size()) // it was not, after all
		}
		g.turn(s, func(s *span) { s.state, s.tried, s.due = waiting, s.tried-1, math.MinInt64 })
	})
}

// has passes what is in a member's hands.
func (g *Group) has(id uint64) func(*span) bool {
	return func(s *span) bool { return s.state == held && s.lease.member.id == id }
}

// Ack is those of the ranges that the member has in its hands, in order; they are no longer. Acked ones are
// remembered as on their way to the log until Acknowledged says that they are there (or Refused that not).
func (g *Group) Ack(id uint64, ranges []broker.Range) (taken []broker.Range) {
	for _, r := range ranges {
		g.each(r, g.has(id), func(s *span) {
			taken = append(taken, broker.Range{First: s.first, Last: s.last})
			g.turn(s, func(s *span) { s.state = sent })
			g.join(s)
		})
	}
	return tidy(taken)
}

// tidy sorts ranges that do not overlap and makes one of neighbours.
func tidy(ranges []broker.Range) []broker.Range {
	slices.SortFunc(ranges, func(a, b broker.Range) int {
		if a.First < b.First {
			return -1
		}
		return 1
	})
	kept := ranges[:0]
	for _, r := range ranges {
		if n := len(kept); n > 0 && kept[n-1].Last+1 == r.First {
			kept[n-1].Last = r.Last
		} else {
			kept = append(kept, r)
		}
	}
	return kept
}

// Acknowledged tells that ranges are dealt with in the log, whoever has them and
// whether this group asked for it or a leader before it.
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

// Refused tells that ranges did not get into the log, or that nobody knows. What was
// acknowledged comes again, at once; it is not held against it that it was tried.
// What was to be a dead letter is told again by Expire, a second later.
func (g *Group) Refused(ranges []broker.Range, now int64) {
	g.advance(now)
	for _, r := range ranges {
		g.each(r, func(s *span) bool { return s.state == sent || s.state == buried }, func(s *span) {
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

// Nack gives back those of the ranges that the member has in its hands, to come again
// at a time. Call Expire then: some may have been tried too often.
func (g *Group) Nack(id uint64, ranges []broker.Range, reason string, again int64) {
	for _, r := range ranges {
		g.each(r, g.has(id), func(s *span) { g.fail(s, reason, again) })
	}
}

// fail gives a held span back as tried.
func (g *Group) fail(s *span, reason string, again int64) {
	g.turn(s, func(s *span) {
		if s.tried < g.attempts {
			s.state, s.due = waiting, again
			return
		}
		s.state, s.reason, s.due = doomed, reason[:min(len(reason), reasonMost)], 0
	})
}

// expire gives back what is held under a lease.
func (g *Group) expire(l *lease, reason string) {
	g.each(broker.Range{First: l.first, Last: l.last}, func(s *span) bool { return s.lease == l }, func(s *span) {
		g.fail(s, reason, g.now)
	})
}

// Expire gives back what was not acknowledged in time and returns what has been tried too often, which stays
// out of everybody's hands until Acknowledged or Refused. wake is when to call it next, and then to ask Next
// for members that had nothing to do; 0: no need, until something is handed out or given back.
func (g *Group) Expire(now int64) (dead []Dead, wake int64) {
	g.advance(now)
	for l := g.oldest; l != nil && l.deadline <= g.now; l = g.oldest {
		g.expire(l, "")
	}
	for s := g.doomed.least(); s != nil && s.due <= g.now && len(dead) < deadMost; s = g.doomed.least() {
		if most := deadMost - len(dead); s.size() > most {
			g.cut(s, s.first+uint64(most))
		}
		reason := s.reason
		for at := range uint64(s.size()) {
			dead = append(dead, Dead{Offset: s.first + at, Attempts: s.tried, Reason: reason})
		}
		g.turn(s, func(s *span) { s.state, s.reason = buried, reason })
	}
	return dead, g.next()
}

// next is when something becomes due that is not due yet.
func (g *Group) next() (wake int64) {
	soonest := func(at int64) {
		if wake == 0 || at < wake {
			wake = max(at, 1)
		}
	}
	if g.oldest != nil {
		soonest(g.oldest.deadline)
	}
	if s := g.doomed.least(); s != nil {
		soonest(s.due)
	}
	// What is due already waits for a member with room, not for time.
	if s := g.waiting.from(place{due: g.now + 1}); s != nil {
		soonest(s.due)
	}
	return wake
}

// Seek forgets all hand-outs, and goes on at a floor.
func (g *Group) Seek(floor uint64) {
	g.spans, g.waiting, g.doomed = sorted{}, sorted{}, sorted{}
	g.oldest, g.newest = nil, nil
	g.ranges, g.held, g.open = 0, 0, 0
	g.floor, g.fresh = floor, floor
	for _, m := range g.members {
		m.held = 0
		clear(m.leases)
	}
}

// raise moves the floor, and forgets what is before it.
func (g *Group) raise(floor uint64) {
	if floor <= g.floor {
		return
	}
	g.each(broker.Range{First: g.floor, Last: floor - 1}, func(*span) bool { return true }, g.remove)
	g.floor = floor
	g.fresh = max(g.fresh, floor)
	if s := g.at(floor); s != nil && s.state == settled {
		g.raise(s.last + 1)
	}
}

func (g *Group) advance(now int64) { g.now = max(g.now, now) }

// Counts are a group's figures since it was made here.
type Counts struct {
	Members, InFlight int    // InFlight: messages in members' hands
	Redelivered       uint64 // messages handed out that had been before
}

// Counts tells.
func (g *Group) Counts() Counts {
	return Counts{Members: len(g.members), InFlight: g.held, Redelivered: g.redelivered}
}
