package brokertest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// testForeignAck: what a member was never given it cannot acknowledge or give back, and an answer of success is
// never about what was not done.
func testForeignAck(s *suite) {
	s.publish("a", "b", "c")
	f, g := s.member("g", 1), s.member("g", 1)
	s.take(f, 1)
	s.take(g, 1)
	for _, r := range []broker.Range{
		{First: 0, Last: 0},
		{First: 0, Last: 1},
		{First: 1, Last: 2},
		{First: 1, Last: ^uint64(0)},
		{First: 77, Last: 99},
	} {
		s.refused(fmt.Sprintf("acknowledging %v", r), g.Ack(s.ctx, []broker.Range{r}), status.InvalidArgument)
		s.refused(fmt.Sprintf("giving %v back", r), g.Nack(s.ctx, []broker.Range{r}, "", 0), status.InvalidArgument)
	}
	at := s.group("g")
	s.same("nothing was done", []any{at.Floor, at.Acked, at.InFlight}, []any{0, []broker.Range{}, 2})
	s.ack(g, broker.Range{First: 1, Last: 1})
	s.ack(f, broker.Range{First: 0, Last: 0})
	s.ack(f, broker.Range{First: 0, Last: 0})
	s.same("floor", s.group("g").Floor, 2)
}

// takesAhead is why a test of what was not sent is left out.
const takesAhead = "this client takes messages ahead of its reader: all that came to it was sent"

// ahead tells whether a feed takes more than its reader asks for.
func ahead(f broker.Feed) bool {
	_, is := f.(Ahead)
	return is
}

// testLateAck: an acknowledgement after its time counts as long as no other has the message, and says so where
// another has.
func testLateAck(s *suite) {
	want := broker.Group{Topic: s.topic, Name: "g", AckTimeout: int64(20 * time.Millisecond)}
	if _, err := s.in.CreateGroup(s.ctx, want, broker.Start{From: broker.FromOldest}); err != nil {
		s.Fatal(err)
	}
	f := s.member("g", 1)
	if ahead(f) {
		s.Skip(takesAhead)
	}
	s.publish("a", "b")
	s.take(f, 1)
	expired := func() bool { return s.group("g").InFlight == 0 }
	s.until("its time is over", expired)
	s.ack(f, broker.Range{First: 0, Last: 0})
	s.same("it counts", s.group("g").Floor, 1)

	s.take(f, 1)
	s.until("its time is over again", expired)
	// The other one's time may be over too before this one is heard, and then it counts: so one after the
	// other is tried, until one is late.
	g := s.member("g", 1)
	for at := uint64(1); ; at++ {
		s.same("it goes to another", s.take(g, 1)[0].offset, at)
		err := f.Ack(s.ctx, []broker.Range{{First: at, Last: at}})
		if late := (*broker.LateError)(nil); errors.As(err, &late) {
			s.same("what was late", late.Ranges, []broker.Range{{First: at, Last: at}})
			s.refused("late", err, status.Conflict)
			break
		}
		if err != nil {
			s.Fatal(err)
		}
		s.publish("more")
		s.take(f, 1)
		s.until("its time is over once more", expired)
	}
	s.refused("of what it was never given", g.Ack(s.ctx, []broker.Range{{First: 0, Last: 0}}), status.InvalidArgument)
}

// testRoom: a member is given no more than it has room for, and holds no more.
func testRoom(s *suite) {
	s.publish("a", "b", "c", "d", "e")
	f, g := s.member("g", 0), s.member("g", 0)
	if ahead(f) {
		s.Skip(takesAhead)
	}
	for _, want := range [][]got{{{0, "a", 1}, {1, "b", 1}}, {{2, "c", 1}}} {
		b, err := f.Next(s.ctx, broker.Room{Messages: len(want), Bytes: 1 << 20})
		if err != nil {
			s.Fatal(err)
		}
		s.same("as much as there is room for", s.unpack(b), want)
	}
	s.same("in its hands", s.group("g").InFlight, 3)
	s.same("the rest is free", s.take(g, 2), []got{{3, "d", 1}, {4, "e", 1}})
	wide := s.subscribe(broker.Start{From: broker.FromOldest})
	b, err := wide.Next(s.ctx, broker.Room{Messages: 4, Bytes: 1 << 20})
	if err != nil {
		s.Fatal(err)
	}
	s.same("without a group", s.unpack(b), []got{{0, "a", 1}, {1, "b", 1}, {2, "c", 1}, {3, "d", 1}})
	s.same("and the rest", s.take(wide, 1), []got{{4, "e", 1}})
}

// testReturn: what was given and not sent was not tried.
func testReturn(s *suite) {
	s.publish("a", "b", "c")
	f := s.member("g", 0)
	if ahead(f) {
		s.Skip(takesAhead)
	}
	s.take(f, 3)
	f.Return(2)
	f.Close()
	g := s.member("g", 0)
	all := s.take(g, 3)
	slices.SortFunc(all, func(a, b got) int { return cmp.Compare(a.offset, b.offset) })
	s.same("tried, and untried", all, []got{{0, "a", 2}, {1, "b", 1}, {2, "c", 1}})
	s.same("redelivered", s.group("g").Redelivered, 1)
	s.ack(g, broker.Range{First: 0, Last: 2})
	g.Return(3)
	s.same("settled messages are not given back", s.group("g").Floor, 3)
}

// testLostInCompany: a member that goes away with several messages does not make dead letters of them: after
// two such losses they are handed out alone, and losses then count.
func testLostInCompany(s *suite) {
	want := broker.Group{Topic: s.topic, Name: "g", MaxAttempts: 1}
	if _, err := s.in.CreateGroup(s.ctx, want, broker.Start{From: broker.FromOldest}); err != nil {
		s.Fatal(err)
	}
	s.publish("a", "b", "c")
	for attempt := range uint32(2) {
		f := s.member("g", 0)
		s.same("all at once", s.take(f, 3), []got{{0, "a", attempt + 1}, {1, "b", attempt + 1}, {2, "c", attempt + 1}})
		f.Close()
	}
	f := s.member("g", 0)
	for o, payload := range []string{"a", "b"} {
		s.same("alone", s.take(f, 1), []got{{uint64(o), payload, 3}})
		s.empty(f)
		s.ack(f, broker.Range{First: uint64(o), Last: uint64(o)})
	}
	s.same("the last", s.take(f, 1), []got{{2, "c", 3}})
	s.same("no dead letter yet", s.group("g").Dead, 0)
	f.Close()
	s.until("it is a dead letter, lost alone", func() bool { g := s.group("g"); return g.Dead == 1 && g.Floor == 3 })
}
