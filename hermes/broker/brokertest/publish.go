package brokertest

import (
	"context"
	"fmt"
	"sync"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

var publishTests = map[string]func(*suite){
	"Publish":     testPublish,
	"Refusals":    testRefusals,
	"Order":       testOrder,
	"Concurrent":  testConcurrent,
	"Idempotent":  testIdempotent,
	"Sequences":   testSequences,
	"Eventual":    testEventual,
	"Performance": testPerformance,
	"KeptInput":   testKeptInput,
	"Canceled":    testCanceled,
}

func testPublish(s *suite) {
	a := s.publish("a", "b")
	b := s.publish("c")
	s.same("offsets", []uint64{a.Offset, b.Offset}, []uint64{0, 2})
	s.same("counts", []int{a.Count, b.Count}, []int{2, 1})
	if a.Time == 0 || b.Time < a.Time || a.Term == 0 || a.Index == 0 || b.Index < a.Index || a.Duplicate ||
		a.Provisional {
		s.Errorf("verdicts %+v, %+v", a, b)
	}
	s.synced()
	f := s.subscribe(broker.Start{From: broker.FromOldest})
	s.same("messages", s.take(f, 3), []got{{0, "a", 1}, {1, "b", 1}, {2, "c", 1}})

	at := s.publish(nasty()...).Offset
	var want []got
	for i, p := range nasty() {
		want = append(want, got{at + uint64(i), p, 1})
	}
	s.same("payloads of any kind", s.take(f, len(nasty())), want)
}

func testRefusals(s *suite) {
	for _, c := range []struct {
		why  string
		run  broker.Run
		code status.Code
	}{
		{
			"no topic of that name",
			broker.Run{Topic: s.topic + ".none", Messages: Messages("x"), Count: 1},
			status.NotFound,
		},
		{"no messages", broker.Run{Topic: s.topic}, status.InvalidArgument},
		{
			"no such mode",
			broker.Run{Topic: s.topic, Messages: Messages("x"), Count: 1, Mode: 3},
			status.InvalidArgument,
		},
		{
			"sequences from 1",
			broker.Run{Topic: s.topic, Messages: Messages("x"), Count: 1, Producer: 1},
			status.InvalidArgument,
		},
		{"no such producer", broker.Run{
			Topic: s.topic, Messages: Messages("x"), Count: 1, Producer: 1<<62 + 1,
			Sequence: 1,
		}, status.NotFound},
		{"too many messages", broker.Run{
			Topic: s.topic, Messages: Messages(make([]string, hermes.RunMessages+1)...),
			Count: hermes.RunMessages + 1,
		}, status.InvalidArgument},
	} {
		s.refused(c.why, Publish(s.ctx, s.in, c.run).Err, c.code)
	}
	most := make([]string, hermes.RunMessages)
	s.same("nothing of it was stored", s.publish(most...).Offset, 0)
}

// testOrder: runs that one goroutine publishes keep their order, and each is answered once.
func testOrder(s *suite) {
	const runs = 500
	var mu sync.Mutex
	verdicts := make([][]broker.Verdict, runs)
	var wg sync.WaitGroup
	wg.Add(runs)
	for i := range runs {
		s.in.Publish(s.ctx, broker.Run{Topic: s.topic, Messages: Messages(fmt.Sprint(i), ""), Count: 2},
			func(v broker.Verdict) {
				mu.Lock()
				defer mu.Unlock()
				verdicts[i] = append(verdicts[i], v)
				if len(verdicts[i]) == 1 {
					wg.Done()
				}
			})
	}
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	for i, v := range verdicts {
		if len(v) != 1 || v[0].Err != nil || v[0].Offset != uint64(2*i) {
			s.Fatalf("run %d: %+v", i, v)
		}
	}
	s.synced()
	for i, m := range s.take(s.subscribe(broker.Start{From: broker.FromOldest}), 2*runs) {
		if i%2 == 0 && m.payload != fmt.Sprint(i/2) || m.offset != uint64(i) {
			s.Fatalf("message %d is %v", i, m)
		}
	}
}

// testConcurrent: no two messages have an offset, no offset has none, and the message at an offset is what was
// told. (hb-D08, hb-D13)
func testConcurrent(s *suite) {
	const callers, each = 16, 30
	at := make([][]uint64, callers)
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				v := Publish(s.ctx, []broker.Broker{s.in, s.out}[c%2], broker.Run{
					Topic:    s.topic,
					Messages: Messages(fmt.Sprintf("%d/%d", c, i)), Count: 1,
				})
				if v.Err != nil {
					s.Error(v.Err)
					return
				}
				at[c] = append(at[c], v.Offset)
			}
		})
	}
	wg.Wait()
	if s.Failed() {
		return
	}
	s.synced()
	want := make([]got, callers*each)
	for c := range at {
		for i, o := range at[c] {
			if o >= uint64(len(want)) || want[o].attempt != 0 {
				s.Fatalf("offset %d was told twice, or is too high", o)
			}
			want[o] = got{o, fmt.Sprintf("%d/%d", c, i), 1}
		}
	}
	s.same("messages", s.take(s.subscribe(broker.Start{From: broker.FromOldest}), len(want)), want)
}

func (s *suite) producer() uint64 {
	s.Helper()
	id, err := s.in.OpenProducer(s.ctx)
	if err != nil || id == 0 {
		s.Fatalf("producer %d, %v", id, err)
	}
	return id
}

// testIdempotent: a message that is published again is stored once. (hb-D07, hb-D13)
func testIdempotent(s *suite) {
	one, two := s.producer(), s.producer()
	if one == two {
		s.Fatal("two producers have one id")
	}
	run := func(in broker.Broker, producer, sequence uint64, payloads ...string) broker.Verdict {
		return Publish(s.ctx, in, broker.Run{
			Topic: s.topic, Messages: Messages(payloads...), Count: len(payloads),
			Producer: producer, Sequence: sequence,
		})
	}
	a, b, c := run(s.in, one, 1, "a", "b"), run(s.out, one, 3, "c"), run(s.in, two, 1, "a", "b")
	again := run(s.out, one, 1, "a", "b")
	for _, v := range []broker.Verdict{a, b, c, again} {
		if v.Err != nil {
			s.Fatal(v.Err)
		}
	}
	s.same("offsets", []uint64{a.Offset, b.Offset, c.Offset, again.Offset}, []uint64{0, 2, 3, 0})
	s.same("duplicates", []bool{a.Duplicate, b.Duplicate, c.Duplicate, again.Duplicate},
		[]bool{false, false, false, true})
	s.same("the next message's offset", s.publish("z").Offset, 5)
	s.synced()
	s.same("messages", s.take(s.subscribe(broker.Start{From: broker.FromOldest}), 6),
		[]got{{0, "a", 1}, {1, "b", 1}, {2, "c", 1}, {3, "a", 1}, {4, "b", 1}, {5, "z", 1}})
}

func testSequences(s *suite) {
	p := s.producer()
	run := func(sequence uint64, n int) error {
		return Publish(s.ctx, s.in, broker.Run{
			Topic: s.topic, Messages: Messages(make([]string, n)...), Count: n,
			Producer: p, Sequence: sequence,
		}).Err
	}
	if err := run(7, 2); err != nil {
		s.Fatal("a first run may have any sequence:", err)
	}
	s.refused("a gap", run(10, 1), status.Conflict)
	s.refused("half a run again", run(7, 1), status.Conflict)
	s.refused("an old one that never was", run(3, 1), status.Conflict)
	if err := run(9, 1); err != nil {
		s.Error("the next:", err)
	}
}

// testEventual: hb-D06, hb-D07: what was answered is stored, in order with all else.
func testEventual(s *suite) {
	v := Publish(s.ctx, s.in, broker.Run{Topic: s.topic, Messages: Messages("a"), Count: 1, Mode: hermes.Eventual})
	if v.Err != nil || v.Term == 0 || v.Index == 0 || v.Provisional && (v.Offset != 0 || v.Time != 0) {
		s.Fatalf("verdict %+v", v)
	}
	s.same("the next message's offset", s.publish("b").Offset, 1)
	s.synced()
	s.same("messages", s.take(s.subscribe(broker.Start{From: broker.FromOldest}), 2), []got{{0, "a", 1}, {1, "b", 1}})
}

// testPerformance: hb-D17: it takes no offset, and a group never sees it.
func testPerformance(s *suite) {
	leader, ok := s.out.Leader()
	st, err := s.out.Status(s.ctx)
	if !ok || err != nil {
		s.Fatal(ok, err)
	}
	g := s.subscribe(broker.Start{From: broker.FromGroup, Group: "g"})
	f := s.subscribe(broker.Start{From: broker.FromTail})
	v := Publish(s.ctx, s.in, broker.Run{
		Topic: s.topic, Messages: Messages("fast", "faster"), Count: 2,
		Mode: hermes.Performance,
	})
	if v.Err != nil || v.Offset != 0 || v.Duplicate {
		s.Fatalf("verdict %+v", v)
	}
	if st.Node == leader.ID { // others may get it, a little later, or not
		b, err := f.Next(s.ctx, broker.Room{Bytes: 1 << 20})
		if err != nil {
			s.Fatal(err)
		}
		payloads, err := Payloads(b.Messages)
		s.same("pushed", []any{payloads, b.Attempt, b.Count, err}, []any{[]string{"fast", "faster"}, 0, 2, nil})
	}
	s.same("a durable message's offset", s.publish("slow").Offset, 0)
	s.same("what the group gets", s.take(g, 1), []got{{0, "slow", 1}})
	for {
		b, err := f.Next(s.ctx, broker.Room{Bytes: 1 << 20})
		if err != nil {
			s.Fatal(err)
		}
		if b.Attempt != 0 {
			s.same("what the subscriber gets", s.unpack(b), []got{{0, "slow", 1}})
			return
		}
	}
}

// testKeptInput: hb-D14: what was handed over is not read after the answer.
func testKeptInput(s *suite) {
	run := Messages("precious")
	if v := Publish(s.ctx, s.in, broker.Run{Topic: s.topic, Messages: run, Count: 1}); v.Err != nil {
		s.Fatal(v.Err)
	}
	for i := range run {
		run[i] = 'x'
	}
	s.synced()
	s.same("message", s.take(s.subscribe(broker.Start{From: broker.FromOldest}), 1), []got{{0, "precious", 1}})
}

// testCanceled: hb-D15: a publish whose context has ended is answered.
func testCanceled(s *suite) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	v := Publish(ctx, s.in, broker.Run{Topic: s.topic, Messages: Messages("x"), Count: 1})
	s.refused("a publish", v.Err, status.Canceled)
	_, err := s.out.Subscribe(ctx, broker.Start{Topic: s.topic})
	s.refused("a subscription", err, status.Canceled)
	_, err = s.in.CreateTopic(ctx, broker.Topic{Name: s.topic + ".x"})
	s.refused("a new topic", err, status.Canceled)
}
