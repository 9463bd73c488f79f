// Package delivery tracks the unacknowledged messages of a group: which member has which message, until when it
// must be acknowledged, and how often it was tried. The leader keeps this in memory; acknowledgements and failed
// attempts are in the log. It has no clock and no goroutine: callers pass the time. It knows no disk, no Raft and no
// API.
//
// # Representation
//
// The state is stored for ranges of offsets, not for single ones, because any number of messages may have been
// acknowledged after a single one that is not handled yet. Every offset at or above the floor is in one of
// these states:
//
//	fresh ──Next──▶ held ──Ack──▶ sent ──Acknowledged──▶ settled
//	                 │ ▲           └──Refused──▶ waiting
//	     Expire,     ▼ │ Next
//	Nack, Leave    waiting  (tried too often:) doomed ──Expire──▶ buried ──Acknowledged──▶ settled
//
// The floor passes over settled messages, and over nothing else (hb-D01: the origin's floor was a count of
// acknowledgements, and skipped gaps).
//
// # How long a member has
//
// A member that took a thousand messages at once works on the first of them; the last one is not late only because
// it waits. So the ack timeout of a lease starts when the lease was given, and starts again whenever the member
// settles a message of this lease or of an earlier one. Messages of later leases do not count: a message that
// a member lost is delivered again although the member is busy with others.
//
// # Losses of several messages
//
// If a member goes away, or does nothing until the timeout, while it has several messages in flight, it is not
// known which of them is the cause, and most are not. Such a loss never makes a dead letter. A message
// that was lost twice in this way is delivered alone, to a member that has no other message: a loss then counts
// as its attempt. So a message that crashes its worker is found, and the messages next to it do not become dead
// letters.
package delivery

import (
	"math"

	"wirelab/hermes"
	"wirelab/hermes/broker"
)

const (
	// rangesMost is how many ranges there may ever be, at the worst order of
	// acknowledgements: package core takes as many, and refuses more.
	rangesMost = 2 * hermes.GroupRanges
	// deadMost is how many dead letters Expire tells at once: each becomes an entry's item.
	deadMost = 1000
	// deadAgain is how long after a refusal a dead letter is reported again, nanoseconds: what refused it once (a
	// disk, a leader) would refuse it at once again.
	deadAgain = int64(1e9)
	// reasonMost is how many bytes of a reason are kept.
	reasonMost = 1 << 10
	// hadKept is how many ranges a member is known to have been sent before those below the floor are forgotten:
	// there may be as many members as a node takes subscriptions.
	hadKept = 64
	// aloneAfter is how many losses in company make a message one that is handed out alone.
	aloneAfter = 2
)

// Options are what the group was made with.
type Options struct {
	AckTimeout  int64  // nanoseconds; 0: hermes.AckTimeout
	MaxAttempts uint32 // 0: hermes.MaxAttempts
	Floor       uint64 // all before it is dealt with
	Acked       []broker.Range
	Tried       []Tried // above Floor, not in Acked, apart
}

// Tried is messages that were handed out in vain, and are to come again.
type Tried struct {
	broker.Range
	Attempts uint32 // how often, from 1
	Lost     uint32 // of these those that do not count
	Due      int64  // not before; 0: at once
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

	now      int64
	floor    uint64
	fresh    uint64 // every offset from floor to before it is in a span
	spans    sorted // all, by offset
	waiting  sorted // those that wait, by when they are due
	lone     sorted // those that wait and are to be handed out alone, by when they are due
	doomed   sorted
	watch    watch   // members that have something, by when they must have settled some of it
	clearing *member // takes nothing more until it has nothing in flight, and then a lone message
	members  map[uint64]*member

	ranges      int // spans that are sent or settled
	held        int // messages
	open        int // messages that were handed out and not acknowledged
	redelivered uint64
	failed      []Tried // since Failed was asked last
}

// New is a group of which nothing is in flight.
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
	for _, t := range o.Tried {
		g.resume(t)
	}
	return g
}

// resume takes over what a leader before this one noted of messages.
func (g *Group) resume(t Tried) {
	t.First = max(t.First, g.floor)
	if t.First > t.Last || g.onward(t.First, t.Last) != nil {
		return
	}
	s := &span{
		first: t.First, last: t.Last, state: waiting, tried: t.Attempts, lost: min(t.Lost, aloneAfter),
		due: t.Due,
	}
	if s.due == 0 {
		s.due = math.MinInt64
	}
	if s.tried-min(s.lost, s.tried) >= g.attempts {
		s.state, s.due = doomed, 0
	}
	g.add(s)
}

// HasFailed tells whether Failed has any.
func (g *Group) HasFailed() bool { return len(g.failed) > 0 }

// Failed are the messages that were handed out in vain since it was asked last, for a leader after this one to know.
func (g *Group) Failed() []Tried {
	all := g.failed
	g.failed = nil
	return all
}

// Join adds a member that has at most inFlight messages at once (0: hermes.InFlight);
// one that is there keeps what it has and takes the new bound.
func (g *Group) Join(id uint64, inFlight int) {
	if inFlight <= 0 {
		inFlight = hermes.InFlight
	}
	m := g.members[id]
	if m == nil {
		m = &member{id: id, at: unwatched}
		g.members[id] = m
	}
	m.inFlight = inFlight
}

// Leave gives back what a member has, at once and as tried. Call Return before for what was not sent, and
// Expire after: some of it may have been tried too often.
func (g *Group) Leave(id uint64, now int64) {
	m := g.members[id]
	if m == nil {
		return
	}
	g.advance(now)
	company := m.held > 1 // of all that it had: the last lease was not alone only because it is given back last
	for m.oldest != nil {
		g.expire(m.oldest, "the member went away", company)
	}
	delete(g.members, id)
}

// Next leases a member what it may have of the offsets before next, at most most messages: those that come
// again first, then new ones. first is the oldest offset that the topic keeps: everything before it is
// forgotten. ok is false when there is nothing for it now: nothing there, too much in flight, a message there
// that it gets alone once it has nothing in flight, or, for new ones, hermes.GroupRanges acknowledged ranges
// above a gap, which what comes again will close, or more messages open in the whole group (up to 40,000) than
// could leave a gap each.
func (g *Group) Next(id uint64, next, first uint64, most int, now int64) (l Lease, ok bool) {
	g.advance(now)
	g.raise(first)
	m := g.members[id]
	if m == nil {
		return l, false
	}
	most = min(most, m.inFlight-m.held)
	if most <= 0 || m.alone() {
		return l, false
	}
	if s := g.lone.least(); s != nil && s.due <= g.now && (m.held == 0 || g.clearing == nil || g.clearing == m) {
		return g.solo(m, s)
	}
	if s := g.waiting.least(); s != nil && s.due <= g.now {
		return g.again(m, s, most), true
	}
	return g.anew(m, next, most)
}

// solo leases one message to a member that has nothing else. One that has takes nothing more until then; the
// others go on in the meantime.
func (g *Group) solo(m *member, s *span) (l Lease, ok bool) {
	if m.held > 0 {
		g.clearing = m
		return l, false
	}
	if s.size() > 1 {
		g.cut(s, s.first+1)
	}
	g.redelivered++
	g.turn(s, func(s *span) { g.grant(m, s, s.tried+1) })
	return Lease{Member: m.id, First: s.first, Last: s.last, Attempt: s.tried}, true
}

// again leases what was handed out before, and what follows it with the same tries.
func (g *Group) again(m *member, s *span, most int) Lease {
	if s.size() > most {
		g.cut(s, s.first+uint64(most))
	}
	for most -= s.size(); most > 0; {
		after := g.at(s.last + 1)
		if after == nil || after.state != waiting || after.due > g.now || !after.alike(s) {
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

// anew leases messages that no member has had.
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

// grant puts a span, which is not counted now, in flight with a member.
func (g *Group) grant(m *member, s *span, attempt uint32) {
	l := &lease{member: m, first: s.first, last: s.last, since: g.now, alone: s.lone(), earlier: m.newest}
	if m.newest != nil {
		m.newest.later = l
	} else {
		m.oldest = l
	}
	m.newest = l
	g.look(m)
	s.state, s.lease, s.tried = held, l, attempt
}

// Return gives messages from an offset to another on, which a member has in flight, back untried: they were not
// sent. They come next, in the order of offsets with all else that is due at once.
func (g *Group) Return(id uint64, from, last uint64) {
	g.each(broker.Range{First: from, Last: last}, g.has(id), func(s *span) {
		if s.tried > 1 {
			g.redelivered -= uint64(s.size()) // it was not, after all
		}
		g.turn(s, func(s *span) { s.state, s.tried, s.due = waiting, s.tried-1, math.MinInt64 })
	})
}

// Sent tells that a member was sent messages that it has in flight: it may settle them from now on.
func (g *Group) Sent(id, first, last uint64) {
	m := g.members[id]
	if m == nil {
		return
	}
	m.had.Add(broker.Range{First: first, Last: last})
	if m.had.Len() > hadKept {
		m.had.Forget(g.floor) // an acknowledgement there changes nothing, no matter whose it is
	}
}

// Holds tells whether a message is in flight with a member.
func (g *Group) Holds(id, offset uint64) bool {
	s := g.at(offset)
	return s != nil && g.has(id)(s)
}

// has passes messages in flight with a member.
func (g *Group) has(id uint64) func(*span) bool {
	return func(s *span) bool { return s.state == held && s.lease.member.id == id }
}

// fail gives a held span back as tried; company tells that the member had more than it.
func (g *Group) fail(s *span, reason string, again int64, company bool) {
	g.turn(s, func(s *span) {
		if company && !s.lone() {
			s.lost++
		}
		g.note(s, again)
		if s.tried-s.lost < g.attempts {
			s.state, s.due = waiting, again
			return
		}
		s.state, s.reason, s.due = doomed, reason[:min(len(reason), reasonMost)], 0
	})
}

// note keeps for Failed how a span fares, together with the one before it where that fares alike.
func (g *Group) note(s *span, again int64) {
	t := Tried{broker.Range{First: s.first, Last: s.last}, s.tried, s.lost, max(again, 0)}
	if n := len(g.failed); n > 0 {
		if last := &g.failed[n-1]; last.Last+1 == t.First && last.Attempts == t.Attempts && last.Lost == t.Lost &&
			last.Due == t.Due {
			last.Last = t.Last
			return
		}
	}
	g.failed = append(g.failed, t)
}

// expire gives back messages held under a lease.
func (g *Group) expire(l *lease, reason string, company bool) {
	g.each(broker.Range{First: l.first, Last: l.last}, func(s *span) bool { return s.lease == l }, func(s *span) {
		g.fail(s, reason, math.MinInt64, company) // with all that is due at once in the order of offsets
	})
}

// Expire gives back what was not acknowledged in time and returns what has been tried too often, which stays
// not in flight until Acknowledged or Refused. wake is when to call it next, and then to ask Next for members
// that had nothing to do; 0: no need, until something is handed out or given back.
func (g *Group) Expire(now int64) (dead []Dead, wake int64) {
	g.advance(now)
	for m := g.watch.least(); m != nil && m.oldest.since+g.timeout <= g.now; m = g.watch.least() {
		// All that is due of one member at once: what it had besides is the same for each of them.
		held, since := m.held, g.now-g.timeout
		for l := m.oldest; l != nil && l.since <= since; l = m.oldest {
			g.expire(l, "", held > 1 && m.settled <= l.since)
		}
	}
	for s := g.doomed.least(); s != nil && s.due <= g.now && len(dead) < deadMost; s = g.doomed.least() {
		if most := deadMost - len(dead); s.size() > most {
			g.cut(s, s.first+uint64(most))
		}
		reason := s.reason
		for at := range uint64(s.size()) {
			dead = append(dead, Dead{Offset: s.first + at, Attempts: s.tried, Reason: reason})
		}
		g.turn(s, func(s *span) { s.state, s.reason = deadLettered, reason })
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
	if m := g.watch.least(); m != nil {
		soonest(m.oldest.since + g.timeout)
	}
	if s := g.doomed.least(); s != nil {
		soonest(s.due)
	}
	// A due message waits for a member with room, not for time.
	for _, all := range []*sorted{&g.waiting, &g.lone} {
		if s := all.from(place{due: g.now + 1}); s != nil {
			soonest(s.due)
		}
	}
	return wake
}

// Seek forgets all hand-outs, and continues at a floor.
func (g *Group) Seek(floor uint64) {
	g.spans, g.waiting, g.lone, g.doomed = sorted{}, sorted{}, sorted{}, sorted{}
	g.watch, g.clearing = nil, nil
	g.ranges, g.held, g.open, g.failed = 0, 0, 0, nil
	g.floor, g.fresh = floor, floor
	for _, m := range g.members {
		m.held, m.oldest, m.newest, m.at = 0, nil, nil, unwatched
	}
}

// raise moves the floor, and forgets everything before it.
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
	Members, InFlight int    // InFlight: messages in flight with members
	Redelivered       uint64 // messages handed out that had been before
}

// Counts tells.
func (g *Group) Counts() Counts {
	return Counts{Members: len(g.members), InFlight: g.held, Redelivered: g.redelivered}
}
