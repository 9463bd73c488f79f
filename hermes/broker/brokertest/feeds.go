package brokertest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

var feedTests = map[string]func(*suite){
	"Tail":         testTail,
	"Beginnings":   testBeginnings,
	"Limit":        testLimit,
	"SlowReader":   testSlowReader,
	"FeedEnds":     testFeedEnds,
	"CreateByFeed": testCreateByFeed,
	"CreateAtTail": testCreateAtTail,
	"LiveSwitch":   testLiveSwitch,
	"Skipped":      testSkipped,
	"BatchStays":   testBatchStays,
	"Subscribers":  testSubscribers,
}

func testTail(s *suite) {
	s.publish("old")
	s.synced()
	f, g := s.subscribe(broker.Start{From: broker.FromTail}), s.subscribe(broker.Start{From: broker.FromTail})
	s.publish("new")
	s.same("one", s.take(f, 1), []got{{1, "new", 1}})
	s.same("other", s.take(g, 1), []got{{1, "new", 1}})
	short, cancel := context.WithTimeout(s.ctx, 10*time.Millisecond)
	defer cancel()
	_, err := f.Next(short, broker.Room{Bytes: 1})
	s.refused("nothing more", err, status.DeadlineExceeded)
	s.publish("more")
	s.same("the feed continues", s.take(f, 1), []got{{2, "more", 1}})
}

func testBeginnings(s *suite) {
	var at []int64
	for _, p := range []string{"a", "b", "c"} {
		v := s.publish(p, p+"2")
		at = append(at, v.Time)
		s.until("a later time", func() bool { return time.Now().UnixNano() > v.Time })
	}
	s.synced()
	for _, c := range []struct {
		start broker.Start
		first uint64
	}{
		{broker.Start{From: broker.FromOldest}, 0},
		{broker.Start{From: broker.FromOffset, Offset: 0}, 0},
		{broker.Start{From: broker.FromOffset, Offset: 3}, 3},
		{broker.Start{From: broker.FromTime, Time: 0}, 0},
		{broker.Start{From: broker.FromTime, Time: at[1]}, 2},
		{broker.Start{From: broker.FromTime, Time: at[1] + 1}, 4},
	} {
		f := s.subscribe(c.start)
		all := s.take(f, 6-int(c.first))
		s.same(fmt.Sprintf("first of %+v", c.start), all[0].offset, c.first)
	}
	late := s.subscribe(broker.Start{From: broker.FromTime, Time: at[2] + int64(time.Hour)})
	ahead := s.subscribe(broker.Start{From: broker.FromOffset, Offset: 6})
	_, err := s.out.Subscribe(s.ctx, broker.Start{Topic: s.topic, From: broker.FromOffset, Offset: 7})
	s.refused("from an offset to come", err, status.InvalidArgument)
	s.same("its reason", broker.Reason(err), broker.OutOfRange)
	s.publish("d", "d2")
	s.same("from a time to come", s.take(late, 2), []got{{6, "d", 1}, {7, "d2", 1}})
	s.same("from the next offset", s.take(ahead, 2), []got{{6, "d", 1}, {7, "d2", 1}})
}

// The lost part of a reader's range is reported with the first batch, and once.
func testSkipped(s *suite) {
	name := s.topic + ".gap"
	if _, err := s.in.CreateTopic(s.ctx, broker.Topic{Name: name, First: 7}); err != nil {
		s.Fatal(err)
	}
	for _, p := range []string{"a", "b"} {
		if v := Publish(s.ctx, s.in, broker.Run{Topic: name, Messages: Messages(p), Count: 1}); v.Err != nil {
			s.Fatal(v.Err)
		}
	}
	s.synced()
	for offset, want := range map[uint64]broker.Range{0: {First: 0, Last: 6}, 6: {First: 6, Last: 6}, 7: {}} {
		f, err := s.out.Subscribe(s.ctx, broker.Start{Topic: name, From: broker.FromOffset, Offset: offset})
		if err != nil {
			s.Fatal(err)
		}
		first, err := f.Next(s.ctx, broker.Room{Messages: 1, Bytes: 1})
		if err != nil || first.Offset != 7 {
			s.Fatal(first.Offset, err)
		}
		if first.Gap == nil {
			first.Gap = new(broker.Range)
		}
		s.same(fmt.Sprint("the gap from ", offset), *first.Gap, want)
		if then, err := f.Next(s.ctx, broker.Room{Messages: 1, Bytes: 1}); err != nil || then.Offset != 8 ||
			then.Gap != nil {
			s.Fatal("it is reported again, or nothing follows:", then, err)
		}
		f.Close()
	}
}

func testLimit(s *suite) {
	s.publish("aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc", "dddddddddd")
	s.synced()
	f := s.subscribe(broker.Start{From: broker.FromOldest})
	one := len(Messages("aaaaaaaaaa"))
	var counts []int
	for _, limit := range []int{1, 2*one + 1, 1 << 20} {
		b, err := f.Next(s.ctx, broker.Room{Bytes: limit})
		if err != nil {
			s.Fatal(err)
		}
		s.unpack(b)
		counts = append(counts, b.Count)
	}
	s.same("messages a batch", counts, []int{1, 2, 1})
}

// testSlowReader: hb-D17, hb-D26: one that does not read delays no other, and gets all in the end.
func testSlowReader(s *suite) {
	slow := s.subscribe(broker.Start{From: broker.FromTail})
	fast := s.subscribe(broker.Start{From: broker.FromTail})
	const n, size = 64, 32 << 10
	pad := string(make([]byte, size))
	for i := range n {
		s.publish(fmt.Sprint(i), pad)
		s.same("fast", s.take(fast, 2)[0].payload, fmt.Sprint(i))
	}
	for i, m := range s.take(slow, 2*n) {
		if m.offset != uint64(i) || i%2 == 0 && m.payload != fmt.Sprint(i/2) {
			s.Fatalf("message %d is %d, %.10q", i, m.offset, m.payload)
		}
	}
}

// testFeedEnds: hb-D04, hb-D20: a feed that ends says so, at once, to any waiter.
func testFeedEnds(s *suite) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	for _, start := range []broker.Start{{From: broker.FromTail}, {From: broker.FromGroup, Group: "g"}} {
		start.Topic = s.topic
		closed, err := s.out.Subscribe(s.ctx, start)
		if err != nil {
			s.Fatal(err)
		}
		ended, err := s.out.Subscribe(ctx, start)
		if err != nil {
			s.Fatal(err)
		}
		var wg sync.WaitGroup
		for _, f := range []broker.Feed{closed, ended} {
			wg.Go(func() {
				_, err := f.Next(s.ctx, broker.Room{Bytes: 1})
				s.refused("next", err, status.Canceled)
			})
		}
		closed.Close()
		closed.Close()
		cancel()
		wg.Wait()
		ended.Close()
		_, err = closed.Next(s.ctx, broker.Room{Bytes: 1})
		s.refused("next after close", err, status.Canceled)
		ctx, cancel = context.WithCancel(s.ctx)
		defer cancel()
	}
	f := s.subscribe(broker.Start{From: broker.FromTail})
	s.refused("ack without a group", f.Ack(s.ctx, []broker.Range{{}}), status.InvalidArgument)
	_, err := s.out.Subscribe(s.ctx, broker.Start{Topic: s.topic, From: 9})
	s.refused("no such beginning", err, status.InvalidArgument)
	_, err = s.out.Subscribe(s.ctx, broker.Start{Topic: s.topic, From: broker.FromGroup})
	s.refused("no group", err, status.InvalidArgument)
	_, err = s.out.Subscribe(s.ctx, broker.Start{Topic: s.topic, From: broker.FromGroup, Group: hermes.Replay})
	s.refused("a group of a name that stands for another thing", err, status.InvalidArgument)
}

func testCreateByFeed(s *suite) {
	name := s.topic + ".new"
	_, err := s.out.Subscribe(s.ctx, broker.Start{Topic: name})
	s.refused("without create", err, status.NotFound)
	f, err := s.out.Subscribe(s.ctx, broker.Start{Topic: name, Create: true})
	if err != nil {
		s.Fatal(err)
	}
	defer f.Close()
	if v := Publish(s.ctx, s.in, broker.Run{Topic: name, Messages: Messages("a"), Count: 1}); v.Err != nil {
		s.Fatal(v.Err)
	}
	s.same("message", s.take(f, 1), []got{{0, "a", 1}})
}

// testCreateAtTail: a feed that makes its topic began before the topic, and gets all of it. Only the feed
// makes it here, while a publisher waits for nothing else.
func testCreateAtTail(s *suite) {
	for i := range 50 {
		name := fmt.Sprintf("%s.tail-%d", s.topic, i)
		published := make(chan broker.Verdict, 1)
		go func() {
			for {
				v := Publish(s.ctx, s.in, broker.Run{Topic: name, Messages: Messages("a"), Count: 1})
				if v.Err == nil || status.CodeOf(v.Err) != status.NotFound {
					published <- v
					return
				}
			}
		}()
		f, err := s.out.Subscribe(s.ctx, broker.Start{Topic: name, Create: true})
		if err != nil {
			s.Fatal(err)
		}
		if v := <-published; v.Err != nil {
			s.Fatal(v.Err)
		}
		short, cancel := context.WithTimeout(s.ctx, 10*time.Second)
		b, err := f.Next(short, broker.Room{Bytes: 1})
		cancel()
		f.Close()
		if err != nil || b.Offset != 0 {
			s.Fatalf("topic %d: the feed that made it has not its first message, but %d of offset %d: %v", i, b.Count,
				b.Offset,
				err)
		}
	}
}

// testLiveSwitch: hb-D03: subscribers that begin anywhere while messages are
// published get each of them, once, in order.
func testLiveSwitch(s *suite) {
	const n, readers = 300, 6
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range n {
			v := Publish(s.ctx, s.in, broker.Run{Topic: s.topic, Messages: Messages(fmt.Sprint(i)), Count: 1})
			if v.Err != nil || v.Offset != uint64(i) {
				s.Errorf("publish %d: %+v", i, v)
				return
			}
		}
	})
	for r := range readers {
		wg.Go(func() {
			f, err := s.out.Subscribe(s.ctx, broker.Start{Topic: s.topic, From: broker.FromOldest})
			if err != nil {
				s.Error(err)
				return
			}
			defer f.Close()
			for i := 0; i < n; {
				b, err := f.Next(s.ctx, broker.Room{Bytes: 1 + r*100})
				if err != nil {
					s.Errorf("after %d: %v", i, err)
					return
				}
				payloads, err := Payloads(b.Messages)
				if err != nil || b.Offset != uint64(i) || len(payloads) != b.Count || payloads[0] != fmt.Sprint(i) {
					s.Errorf("message %d: batch at %d of %d, %v", i, b.Offset, b.Count, err)
					return
				}
				i += b.Count
			}
		})
	}
	wg.Wait()
}

func testBatchStays(s *suite) {
	f := s.subscribe(broker.Start{From: broker.FromTail})
	s.publish("first")
	b, err := f.Next(s.ctx, broker.Room{Bytes: 1 << 20})
	if err != nil {
		s.Fatal(err)
	}
	for i := range 50 {
		s.publish(fmt.Sprint(i))
	}
	s.take(f, 50)
	s.same("the batch is as it was", s.unpack(b), []got{{0, "first", 1}})
	s.same("payload", string(s.read(b)[0].Payload), "first")
}

func testSubscribers(s *suite) {
	f := s.subscribe(broker.Start{From: broker.FromTail})
	s.subscribe(broker.Start{From: broker.FromTail})
	count := func(n int) func() bool {
		return func() bool {
			t, err := s.out.Topic(s.ctx, s.topic, false)
			return err == nil && t.Subscribers == n
		}
	}
	s.until("two subscribers", count(2))
	f.Close()
	s.until("one subscriber", count(1))
}
