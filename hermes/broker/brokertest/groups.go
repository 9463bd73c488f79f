package brokertest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

var groupTests = map[string]func(*suite){
	"Group":                    testGroup,
	"GroupStates":              testGroupStates,
	"WorkSharing":              testWorkSharing,
	"Gap":                      testGap,
	"Nack":                     testNack,
	"NackDelay":                testNackDelay,
	"AckTimeout":               testAckTimeout,
	"Leave":                    testLeave,
	"DeadLetter":               testDeadLetter,
	"DeadLettersOfDeadLetters": testDeadLettersOfDeadLetters,
	"InFlight":                 testInFlight,
	"ForeignAck":               testForeignAck,
	"LateAck":                  testLateAck,
	"Room":                     testRoom,
	"Return":                   testReturn,
	"LostInCompany":            testLostInCompany,
	"Seek":                     testSeek,
	"DeleteGroup":              testDeleteGroup,
	"Resume":                   testResume,
	"GroupsApart":              testGroupsApart,
	"GroupAtTail":              testGroupAtTail,
}

func (s *suite) member(name string, inFlight int) broker.Feed {
	s.Helper()
	return s.subscribe(broker.Start{From: broker.FromGroup, Group: name, InFlight: inFlight})
}

func (s *suite) ack(f broker.Feed, ranges ...broker.Range) {
	s.Helper()
	if err := f.Ack(s.ctx, ranges); err != nil {
		s.Fatal("ack:", err)
	}
}

func (s *suite) group(name string) broker.Group {
	s.Helper()
	g, err := s.out.Group(s.ctx, s.topic, name)
	if err != nil {
		s.Fatal(err)
	}
	return g
}

// empty checks that a feed has nothing to give now.
func (s *suite) empty(f broker.Feed) {
	s.Helper()
	short, cancel := context.WithTimeout(s.ctx, 20*time.Millisecond)
	defer cancel()
	if b, err := f.Next(short, broker.Room{Bytes: 1 << 20}); err == nil {
		s.Errorf("a batch of %d at %d came where none was to", b.Count, b.Offset)
	}
}

func testGroup(s *suite) {
	s.publish("a", "b", "c")
	f := s.member("g", 0)
	s.same("messages", s.take(f, 3), []got{{0, "a", 1}, {1, "b", 1}, {2, "c", 1}})
	s.ack(f, broker.Range{First: 0, Last: 2})
	s.same("floor", s.group("g").Floor, 3)
	s.publish("d")
	s.same("live", s.take(f, 1), []got{{3, "d", 1}})
	s.ack(f, broker.Range{First: 3, Last: 3})
	s.empty(f)
}

func testGroupStates(s *suite) {
	s.publish("a", "b", "c")
	g, err := s.in.CreateGroup(s.ctx, broker.Group{Topic: s.topic, Name: "g"}, broker.Start{
		From:   broker.FromOffset,
		Offset: 1,
	})
	if err != nil {
		s.Fatal(err)
	}
	s.same("new", []any{g.Floor, g.AckTimeout, g.MaxAttempts, g.Lag}, []any{
		1, int64(hermes.AckTimeout),
		hermes.MaxAttempts, 2,
	})
	if _, err := s.out.CreateGroup(s.ctx, broker.Group{Topic: s.topic, Name: "g"},
		broker.Start{From: broker.FromOldest}); err != nil {
		s.Error("the same again:", err)
	}
	s.same("where it was", s.group("g").Floor, 1)
	_, err = s.in.CreateGroup(s.ctx, broker.Group{Topic: s.topic, Name: "g", MaxAttempts: 9}, broker.Start{})
	s.refused("with other settings", err, status.Conflict)
	_, err = s.in.CreateGroup(s.ctx, broker.Group{Topic: s.topic + ".none", Name: "g"}, broker.Start{})
	s.refused("without a topic", err, status.NotFound)
	for _, name := range []string{"", "a b", hermes.Replay} {
		_, err = s.in.CreateGroup(s.ctx, broker.Group{Topic: s.topic, Name: name}, broker.Start{})
		s.refused("of name "+name, err, status.InvalidArgument)
	}
	_, err = s.out.Group(s.ctx, s.topic, "none")
	s.refused("one that is not there", err, status.NotFound)

	f := s.member("g", 0)
	s.take(f, 2)
	s.ack(f, broker.Range{First: 2, Last: 2})
	g = s.group("g")
	s.same("state", []any{g.Floor, g.Acked, g.Lag, g.Members, g.InFlight},
		[]any{
			1,
			[]broker.Range{{First: 2, Last: 2}},
			1,
			1, 1,
		})
	if _, err := s.in.CreateGroup(s.ctx, broker.Group{Topic: s.topic, Name: "a"},
		broker.Start{From: broker.FromTail}); err != nil {
		s.Fatal(err)
	}
	s.synced()
	all, err := s.out.ListGroups(s.ctx, s.topic)
	if err != nil || len(all) != 2 {
		s.Fatalf("groups %+v, %v", all, err)
	}
	s.same("list", []any{all[0].Name, all[0].Floor, all[1].Name}, []any{"a", 3, "g"})
}

// testWorkSharing: hb-D18: members share; each message goes to one of them.
func testWorkSharing(s *suite) {
	const n, members = 300, 4
	var (
		mu   sync.Mutex
		seen = map[uint64]int{}
		wg   sync.WaitGroup
	)
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	for range members {
		f := s.member("g", 8)
		wg.Go(func() {
			for {
				b, err := f.Next(ctx, broker.Room{Bytes: 64})
				if err != nil {
					return
				}
				mu.Lock()
				for i := range b.Count {
					seen[b.Offset+uint64(i)]++
				}
				all := len(seen) == n
				mu.Unlock()
				if err := f.Ack(s.ctx,
					[]broker.Range{{First: b.Offset, Last: b.Offset + uint64(b.Count) - 1}}); err != nil {
					s.Error(err)
				}
				if all {
					cancel()
				}
			}
		})
	}
	for i := range n / 10 {
		s.publish(slices.Repeat([]string{fmt.Sprint(i)}, 10)...)
	}
	wg.Wait()
	for o, times := range seen {
		if times != 1 {
			s.Errorf("message %d was given %d times", o, times)
		}
	}
	s.same("messages", len(seen), n)
	s.until("floor at the end", func() bool { return s.group("g").Floor == n })
}

// testGap: hb-D01, hb-D02: what was not acknowledged comes again, whatever was acknowledged behind it.
func testGap(s *suite) {
	s.publish("a", "b", "c", "d")
	f := s.member("g", 0)
	s.take(f, 4)
	s.ack(f, broker.Range{First: 0, Last: 0}, broker.Range{First: 2, Last: 3})
	g := s.group("g")
	s.same("state", []any{g.Floor, g.Acked}, []any{1, []broker.Range{{First: 2, Last: 3}}})
	f.Close()
	again := s.member("g", 0)
	s.same("the gap", s.take(again, 1), []got{{1, "b", 2}})
	s.ack(again, broker.Range{First: 1, Last: 1})
	s.same("floor", s.group("g").Floor, 4)
	s.empty(again)
}

func testNack(s *suite) {
	s.publish("a", "b")
	f := s.member("g", 0)
	s.take(f, 2)
	if err := f.Nack(s.ctx, []broker.Range{{First: 0, Last: 0}}, "busy", 0); err != nil {
		s.Fatal(err)
	}
	s.same("again", s.take(f, 1), []got{{0, "a", 2}})
	s.ack(f, broker.Range{First: 0, Last: 1})
	g := s.group("g")
	s.same("state", []any{g.Floor, g.Redelivered, g.Dead}, []any{2, 1, 0})
}

func testNackDelay(s *suite) {
	s.publish("a")
	f := s.member("g", 0)
	s.take(f, 1)
	if err := f.Nack(s.ctx, []broker.Range{{First: 0, Last: 0}}, "", int64(time.Hour)); err != nil {
		s.Fatal(err)
	}
	s.empty(f)
	s.publish("b")
	s.same("others come", s.take(f, 1), []got{{1, "b", 1}})
	s.refused("a negative delay", f.Nack(s.ctx, []broker.Range{{First: 1, Last: 1}}, "", -1), status.InvalidArgument)
	s.refused("a range that ends before it begins", f.Ack(s.ctx, []broker.Range{{First: 2, Last: 1}}),
		status.InvalidArgument)
}

func testAckTimeout(s *suite) {
	_, err := s.in.CreateGroup(s.ctx, broker.Group{Topic: s.topic, Name: "g", AckTimeout: int64(50 * time.Millisecond)},
		broker.Start{From: broker.FromOldest})
	if err != nil {
		s.Fatal(err)
	}
	f := s.member("g", 0)
	s.publish("a")
	first := s.take(f, 1) // on a slow machine the first attempt may be over before it is taken
	s.same("first", []any{first[0].offset, first[0].payload}, []any{0, "a"})
	again := s.take(s.member("g", 0), 1)
	s.same("again, to another", []any{again[0].offset, again[0].attempt > first[0].attempt}, []any{0, true})
}

func testLeave(s *suite) {
	s.publish("a", "b")
	f := s.member("g", 0)
	s.take(f, 2)
	g := s.member("g", 0)
	s.empty(g)
	f.Close()
	s.same("what the one that left had", s.take(g, 2), []got{{0, "a", 2}, {1, "b", 2}})
	s.refused("ack after close", f.Ack(s.ctx, []broker.Range{{First: 0, Last: 1}}), status.Canceled)
	s.ack(g, broker.Range{First: 0, Last: 1})
}

// testDeadLetter: hb-D19: after its attempts a message is stored with the reason, and only then passed over.
func testDeadLetter(s *suite) {
	dead, err := s.out.Topic(s.ctx, hermes.DeadLetters, true)
	if err != nil {
		s.Fatal(err)
	}
	_, err = s.in.CreateGroup(s.ctx, broker.Group{Topic: s.topic, Name: "g", MaxAttempts: 2},
		broker.Start{From: broker.FromOldest})
	if err != nil {
		s.Fatal(err)
	}
	m := hermes.Message{Payload: []byte("poison"), Key: []byte("k"), Headers: []hermes.Header{
		{Name: "own", Value: []byte("v")},
	}}
	if v := Publish(s.ctx, s.in, broker.Run{
		Topic: s.topic, Messages: record.AppendMessage(nil, &m),
		Count: 1,
	}); v.Err != nil {
		s.Fatal(v.Err)
	}
	f := s.member("g", 0)
	for range 2 {
		s.take(f, 1)
		if err := f.Nack(s.ctx, []broker.Range{{First: 0, Last: 0}}, "bad", 0); err != nil {
			s.Fatal(err)
		}
	}
	s.until("it is passed over", func() bool { g := s.group("g"); return g.Floor == 1 && g.Dead == 1 })
	letters, err := s.out.Subscribe(s.ctx, broker.Start{
		Topic: hermes.DeadLetters, From: broker.FromOffset,
		Offset: dead.Next,
	})
	if err != nil {
		s.Fatal(err)
	}
	defer letters.Close()
	want := hermes.DeadLetter(m, s.topic, 0, "g", 2, "bad")
	for { // other tests may write dead letters next to this one
		b, err := letters.Next(s.ctx, broker.Room{Bytes: 1})
		if err != nil {
			s.Fatal(err)
		}
		for _, have := range s.read(b) {
			if slices.ContainsFunc(have.Headers, func(h hermes.Header) bool { return string(h.Value) == s.topic }) {
				s.same("dead letter", fmt.Sprintf("%q", have), fmt.Sprintf("%q", want))
				return
			}
		}
	}
}

// testDeadLettersOfDeadLetters: a group that cannot handle dead letters passes them over and counts
// them. They stay where they are; no letters about them come after them, which would never end.
func testDeadLettersOfDeadLetters(s *suite) {
	dead, err := s.out.Topic(s.ctx, hermes.DeadLetters, true)
	if err != nil {
		s.Fatal(err)
	}
	if _, err := s.in.CreateGroup(s.ctx, broker.Group{Topic: s.topic, Name: "g", MaxAttempts: 1},
		broker.Start{From: broker.FromOldest}); err != nil {
		s.Fatal(err)
	}
	s.publish("poison")
	f := s.member("g", 0)
	s.take(f, 1)
	if err := f.Nack(s.ctx, []broker.Range{{First: 0, Last: 0}}, "bad", 0); err != nil {
		s.Fatal(err)
	}
	s.until("it is passed over", func() bool { return s.group("g").Dead == 1 })
	name := s.topic // other tests may have groups there too
	_, err = s.in.CreateGroup(s.ctx, broker.Group{Topic: hermes.DeadLetters, Name: name, MaxAttempts: 1},
		broker.Start{From: broker.FromOffset, Offset: dead.Next})
	if err != nil {
		s.Fatal(err)
	}
	letters, err := s.out.Subscribe(s.ctx, broker.Start{Topic: hermes.DeadLetters, From: broker.FromGroup, Group: name})
	if err != nil {
		s.Fatal(err)
	}
	defer letters.Close()
	b, err := letters.Next(s.ctx, broker.Room{Bytes: 1 << 20})
	if err != nil {
		s.Fatal(err)
	}
	had := broker.Range{First: b.Offset, Last: b.Offset + uint64(b.Count) - 1}
	if err := letters.Nack(s.ctx, []broker.Range{had}, "worse", 0); err != nil {
		s.Fatal(err)
	}
	var at broker.Group
	s.until("the dead letter is passed over", func() bool {
		if at, err = s.out.Group(s.ctx, hermes.DeadLetters, name); err != nil {
			s.Fatal(err)
		}
		return at.Floor > had.Last
	})
	s.same("counted", at.Dead, b.Count)
	after, err := s.out.Topic(s.ctx, hermes.DeadLetters, true)
	if err != nil {
		s.Fatal(err)
	}
	all, err := s.out.Subscribe(s.ctx,
		broker.Start{Topic: hermes.DeadLetters, From: broker.FromOffset, Offset: dead.Next})
	if err != nil {
		s.Fatal(err)
	}
	defer all.Close()
	for next := dead.Next; next < after.Next; {
		b, err := all.Next(s.ctx, broker.Room{Bytes: 1 << 20})
		if err != nil {
			s.Fatal(err)
		}
		for _, m := range s.read(b) {
			about := func(h hermes.Header) bool { return h.Name == hermes.HeaderGroup && string(h.Value) == name }
			if slices.ContainsFunc(m.Headers, about) {
				s.Errorf("a letter about a dead letter: %q", m.Headers)
			}
		}
		next = b.Offset + uint64(b.Count)
	}
}

func testInFlight(s *suite) {
	s.publish("a", "b", "c", "d")
	f := s.member("g", 2)
	s.take(f, 2)
	s.empty(f)
	g := s.member("g", 2)
	s.same("the rest goes to another", s.take(g, 2), []got{{2, "c", 1}, {3, "d", 1}})
	s.ack(f, broker.Range{First: 0, Last: 0})
	s.publish("e")
	s.same("room again", s.take(f, 1), []got{{4, "e", 1}})
	_, err := s.out.Subscribe(s.ctx, broker.Start{Topic: s.topic, From: broker.FromGroup, Group: "g", InFlight: -1})
	s.refused("less than nothing in flight", err, status.InvalidArgument)
}

func testSeek(s *suite) {
	s.publish("a", "b", "c")
	f := s.member("g", 0)
	s.take(f, 3)
	s.ack(f, broker.Range{First: 0, Last: 2})
	if _, err := s.in.SeekGroup(s.ctx, s.topic, "g", broker.Start{From: broker.FromOffset, Offset: 1}); err != nil {
		s.Fatal(err)
	}
	s.same("after seeking", s.take(f, 2), []got{{1, "b", 1}, {2, "c", 1}})
	g, err := s.in.SeekGroup(s.ctx, s.topic, "g", broker.Start{From: broker.FromTail})
	s.same("at the tail", []any{g.Floor, g.Lag, err}, []any{3, 0, nil})
	s.ack(f, broker.Range{First: 1, Last: 1}) // in flight with no member any more
	s.same("floor", s.group("g").Floor, 3)
	_, err = s.in.SeekGroup(s.ctx, s.topic, "none", broker.Start{})
	s.refused("one that is not there", err, status.NotFound)
}

func testDeleteGroup(s *suite) {
	f := s.member("g", 0)
	s.publish("a")
	s.take(f, 1)
	if err := s.in.DeleteGroup(s.ctx, s.topic, "g"); err != nil {
		s.Fatal(err)
	}
	_, err := f.Next(s.ctx, broker.Room{Bytes: 1})
	s.refused("its member", err, status.NotFound)
	s.refused("deleting it again", s.in.DeleteGroup(s.ctx, s.topic, "g"), status.NotFound)
	s.same("one of the same name is new", s.take(s.member("g", 0), 1), []got{{0, "a", 1}})
}

// testResume: hb-D02: a group continues where it is, not where it was handed to.
func testResume(s *suite) {
	s.publish("a", "b", "c")
	f := s.member("g", 1)
	s.take(f, 1)
	s.ack(f, broker.Range{First: 0, Last: 0})
	f.Close()
	s.same("the rest", s.take(s.member("g", 0), 2), []got{{1, "b", 1}, {2, "c", 1}})
}

func testGroupsApart(s *suite) {
	s.publish("a", "b")
	f, g := s.member("g", 0), s.member("h", 0)
	s.take(f, 2)
	s.ack(f, broker.Range{First: 0, Last: 1})
	s.same("the other group", s.take(g, 2), []got{{0, "a", 1}, {1, "b", 1}})
	s.same("its floor", s.group("h").Floor, 0)
}

func testGroupAtTail(s *suite) {
	s.publish("old")
	if _, err := s.in.CreateGroup(s.ctx, broker.Group{Topic: s.topic, Name: "g"},
		broker.Start{From: broker.FromTail}); err != nil {
		s.Fatal(err)
	}
	s.publish("new")
	s.same("from the tail", s.take(s.member("g", 0), 1), []got{{1, "new", 1}})
}
