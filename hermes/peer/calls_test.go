package peer_test

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/peer"
	"wirelab/wire/status"
)

// held is a broker whose publishes are answered when the test says so.
type held struct {
	broker.Broker
	runs chan heldRun
}

type heldRun struct {
	broker.Run
	done func(broker.Verdict)
}

func (h held) Publish(_ context.Context, run broker.Run, done func(broker.Verdict)) {
	h.runs <- heldRun{run, done}
}

// pair is node 1, connected to node 2, which holds published messages.
func pair(t *testing.T, change ...func(*peer.Options)) (a, b *node, h held) {
	h = held{memory(t), make(chan heldRun, 1000)}
	a, b = start(t, 1, memory(t), change...), start(t, 2, h)
	meet(a, 1, b, 2)
	reach(t, a, 2)
	return a, b, h
}

func run(i int) broker.Run {
	return broker.Run{Topic: "t", Messages: brokertest.Messages(strconv.Itoa(i)), Count: 1, Sequence: uint64(i)}
}

// Publishes are pipelined, keep their order, and each gets its own verdict, in whatever order those come.
func TestPublishesArePipelined(t *testing.T) {
	a, _, h := pair(t)
	const n = 100
	var answered sync.WaitGroup
	answered.Add(n)
	for i := range n {
		a.Broker(2).Publish(t.Context(), run(i), func(v broker.Verdict) {
			defer answered.Done()
			if v.Err != nil || v.Offset != uint64(i) {
				t.Errorf("the verdict of run %d is %+v", i, v)
			}
		})
	}
	var runs []heldRun
	for i := range n {
		r := receive(t, h.runs, "a run")
		if r.Sequence != uint64(i) {
			t.Fatalf("run %d came where %d was due", r.Sequence, i)
		}
		runs = append(runs, r)
	}
	for i := range runs {
		r := runs[n-1-i]
		r.done(broker.Verdict{Offset: r.Sequence})
	}
	answered.Wait()
}

// hb-D14: a publisher who is answered by his context may use his bytes again, though
// they are on their way still.
func TestBytesAreTheirOwnersAfterTheAnswer(t *testing.T) {
	a, _, h := pair(t)
	want := brokertest.Messages("what was published")
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		r := broker.Run{Topic: "t", Messages: bytes.Clone(want), Count: 1}
		verdicts := make(chan broker.Verdict, 1)
		a.Broker(2).Publish(ctx, r, func(v broker.Verdict) { verdicts <- v })
		cancel()
		if v := receive(t, verdicts, "a verdict"); status.CodeOf(v.Err) != status.Canceled {
			t.Fatalf("a publish that was given up is answered with %+v", v)
		}
		clear(r.Messages)
		if got := receive(t, h.runs, "a run"); !bytes.Equal(got.Messages, want) {
			t.Fatalf("what arrives is %q", got.Messages)
		}
	}
}

// A publish when its caller no longer waits is answered so, and not sent.
func TestEndedIsNotSent(t *testing.T) {
	a, _, h := pair(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 200 {
		verdicts := make(chan broker.Verdict, 1)
		a.Broker(2).Publish(ended, run(i+1), func(v broker.Verdict) { verdicts <- v })
		if v := receive(t, verdicts, "a verdict"); status.CodeOf(v.Err) != status.Canceled {
			t.Fatalf("a publish whose context had ended is answered with %+v", v)
		}
	}
	a.Broker(2).Publish(t.Context(), run(201), func(broker.Verdict) {})
	r := receive(t, h.runs, "a run")
	if r.Sequence != 201 {
		t.Errorf("run %d came, which no caller waited for", r.Sequence)
	}
	r.done(broker.Verdict{})
}

// hb-D15: who publishes more than the window waits, but for no longer than his context.
// hb-D22: the end of one caller's context touches no other's call.
func TestWindowHoldsPublishersBack(t *testing.T) {
	a, _, h := pair(t, func(o *peer.Options) { o.CallBytes = 2000 })
	first := make(chan broker.Verdict, 1)
	big := broker.Run{Topic: "t", Messages: make([]byte, 5000), Count: 1} // more than the window goes alone
	a.Broker(2).Publish(t.Context(), big, func(v broker.Verdict) { first <- v })
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan broker.Verdict, 1)
	third := make(chan broker.Verdict, 1)
	var both sync.WaitGroup
	both.Go(func() { a.Broker(2).Publish(ctx, run(2), func(v broker.Verdict) { second <- v }) })
	cancel()
	if v := receive(t, second, "the second verdict"); status.CodeOf(v.Err) != status.Canceled {
		t.Fatalf("a publish that waited too long is answered with %+v", v)
	}
	both.Go(func() { a.Broker(2).Publish(t.Context(), run(3), func(v broker.Verdict) { third <- v }) })
	receive(t, h.runs, "the first run").done(broker.Verdict{Offset: 1})
	if v := receive(t, first, "the first verdict"); v.Err != nil || v.Offset != 1 {
		t.Fatalf("the first verdict is %+v", v)
	}
	r := receive(t, h.runs, "the third run")
	if r.Sequence != 3 {
		t.Fatalf("run %d came where 3 was due", r.Sequence)
	}
	r.done(broker.Verdict{Offset: 3})
	if v := receive(t, third, "the third verdict"); v.Err != nil || v.Offset != 3 {
		t.Fatalf("the third verdict is %+v", v)
	}
	both.Wait()
}

// waiters starts one of each thing that waits for an answer, and returns where their errors come.
func waiters(t *testing.T, b broker.Broker) (errs chan error, n int) {
	errs = make(chan error, 10)
	feed, err := b.Subscribe(t.Context(), broker.Start{Topic: "t", Create: true})
	if err != nil {
		t.Fatal(err)
	}
	b.Publish(t.Context(), run(1), func(v broker.Verdict) { errs <- v.Err })
	go func() {
		_, err := feed.Next(t.Context(), broker.Room{Bytes: 1000})
		errs <- err
		feed.Close()
		_, err = feed.Next(t.Context(), broker.Room{Bytes: 1000})
		errs <- err
	}()
	return errs, 3
}

func allUnavailable(t *testing.T, errs chan error, n int, what string) {
	t.Helper()
	for range n {
		if err := receive(t, errs, "an answer"); err == nil || status.CodeOf(err) != status.Unavailable {
			t.Errorf("%s: who waited gets %v", what, err)
		}
	}
}

// hb-D20: what was asked of a node that goes away ends with an error at once, feeds too.
func TestNobodyWaitsForANodeThatIsGone(t *testing.T) {
	a, b, h := pair(t)
	errs, n := waiters(t, a.Broker(2))
	receive(t, h.runs, "the run")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	allUnavailable(t, errs, n, "the node is gone")
}

// Once raft names another leader, no caller is to wait for the old one, which may be paused with its connection
// standing.
func TestAbandon(t *testing.T) {
	a, _, h := pair(t)
	errs, n := waiters(t, a.Broker(2))
	r := receive(t, h.runs, "the run")
	a.Abandon(2, status.Errorf(status.Unavailable, "node 3 leads now"))
	allUnavailable(t, errs, n, "the node leads no longer")
	r.done(broker.Verdict{Offset: 5}) // too late: no caller is notified twice
	a.Broker(2).Publish(t.Context(), run(2), func(v broker.Verdict) { errs <- v.Err })
	receive(t, h.runs, "the next run").done(broker.Verdict{})
	if err := receive(t, errs, "the next verdict"); err != nil {
		t.Fatalf("the connection did not survive: %v", err)
	}
}

// Who waits for room at a peer that is abandoned waits no longer either.
func TestAbandonWhileWaitingForRoom(t *testing.T) {
	a, _, _ := pair(t, func(o *peer.Options) { o.CallBytes = 100 })
	errs := make(chan error, 2)
	a.Broker(2).Publish(t.Context(), run(1), func(v broker.Verdict) { errs <- v.Err })
	waits := make(chan struct{})
	go func() {
		close(waits)
		a.Broker(2).Publish(t.Context(), run(2), func(v broker.Verdict) { errs <- v.Err })
	}()
	<-waits
	for answered := 0; answered < 2; {
		a.Abandon(2, status.Errorf(status.Unavailable, "node 3 leads now"))
		select {
		case err := <-errs:
			answered++
			if status.CodeOf(err) != status.Unavailable {
				t.Fatalf("who waited gets %v", err)
			}
		default:
		}
	}
}

// A call's end travels: the other node does not go on for no one.
func TestCancelReachesTheOtherNode(t *testing.T) {
	blocked := blocking{memory(t), make(chan struct{}), make(chan error, 1)}
	a, b := start(t, 1, memory(t)), start(t, 2, blocked)
	meet(a, 1, b, 2)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-blocked.entered
		cancel()
	}()
	if _, err := a.Broker(2).OpenProducer(ctx); status.CodeOf(err) != status.Canceled {
		t.Fatalf("a canceled call ends with %v", err)
	}
	if err := receive(t, blocked.left, "the end at the other node"); status.CodeOf(err) != status.Canceled {
		t.Fatalf("at the other node it ended with %v", err)
	}
}

type blocking struct {
	broker.Broker
	entered chan struct{}
	left    chan error
}

func (b blocking) OpenProducer(ctx context.Context) (uint64, error) {
	close(b.entered)
	<-ctx.Done()
	b.left <- ctx.Err()
	return 0, ctx.Err()
}

// A feed that is not read is sent no more than its credit, and holds no other up.
func TestSlowFeedIsBounded(t *testing.T) {
	m := memory(t)
	counted := &counting{Broker: m}
	a, b := start(t, 1, memory(t), func(o *peer.Options) { o.FeedBytes = 200_000 }), start(t, 2, counted)
	meet(a, 1, b, 2)
	const n, size = 200, 50_000 // more than the reader's end takes without having given credit
	slow, err := a.Broker(2).Subscribe(t.Context(), broker.Start{Topic: "t", Create: true})
	if err != nil {
		t.Fatal(err)
	}
	quick, err := a.Broker(2).Subscribe(t.Context(), broker.Start{Topic: "t"})
	if err != nil {
		t.Fatal(err)
	}
	messages := brokertest.Messages(string(make([]byte, size)))
	for range n {
		if v := brokertest.Publish(t.Context(), m, broker.Run{Topic: "t", Messages: messages, Count: 1}); v.Err != nil {
			t.Fatal(v.Err)
		}
	}
	read := func(f broker.Feed) {
		t.Helper()
		for next := uint64(0); next < n; {
			got, err := f.Next(t.Context(), broker.Room{Bytes: 60_000})
			if err != nil || got.Offset != next || len(got.Messages) > 60_000 {
				t.Fatalf("batch at %d, %v where %d was due", got.Offset, err, next)
			}
			next += uint64(got.Count)
		}
	}
	read(quick)
	// The slow one has at most its credit and one batch more; the quick one has all.
	if got := counted.bytes(); got > len(messages)*n+500_000 {
		t.Fatalf("%d bytes were taken for a feed without a reader", got-len(messages)*n)
	}
	read(slow)
	slow.Close()
	if _, err := slow.Next(t.Context(), broker.Room{Bytes: 1}); status.CodeOf(err) != status.Canceled {
		t.Fatalf("a closed feed says %v", err)
	}
}

// What was sent as one batch is given out in parts where the reader's limit wants it.
func TestBatchInParts(t *testing.T) {
	m := memory(t)
	a, b := start(t, 1, memory(t)), start(t, 2, m)
	meet(a, 1, b, 2)
	f, err := a.Broker(2).Subscribe(t.Context(), broker.Start{Topic: "t", Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	one := brokertest.Messages("a")
	if v := brokertest.Publish(t.Context(), m, broker.Run{Topic: "t", Messages: brokertest.Messages("a", "b", "c", "d",
		"e"), Count: 5}); v.Err != nil {
		t.Fatal(v.Err)
	}
	for _, want := range []struct {
		limit    int
		offset   uint64
		payloads string
	}{{2 * len(one), 0, "[a b]"}, {1, 2, "[c]"}, {1000, 3, "[d e]"}} {
		got, err := f.Next(t.Context(), broker.Room{Bytes: want.limit})
		if err != nil {
			t.Fatal(err)
		}
		payloads, err := brokertest.Payloads(got.Messages)
		if err != nil || got.Offset != want.offset || fmt.Sprint(payloads) != want.payloads ||
			got.Count != len(payloads) {
			t.Errorf("with a limit of %d come %v at %d (%d), %v; want %v at %d", want.limit, payloads, got.Offset,
				got.Count,
				err, want.payloads, want.offset)
		}
	}
}

// counting counts what its feeds gave.
type counting struct {
	broker.Broker
	mu sync.Mutex
	n  int
}

func (c *counting) bytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func (c *counting) Subscribe(ctx context.Context, s broker.Start) (broker.Feed, error) {
	f, err := c.Broker.Subscribe(ctx, s)
	return countedFeed{f, c}, err
}

type countedFeed struct {
	broker.Feed
	c *counting
}

func (f countedFeed) Next(ctx context.Context, room broker.Room) (broker.Batch, error) {
	b, err := f.Feed.Next(ctx, room)
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	f.c.n += len(b.Messages)
	return b, err
}

// A node that knows no more than an address can ask the node that is there.
func TestAsk(t *testing.T) {
	m := memory(t)
	b := start(t, 2, m)
	o := peer.Options{Cluster: "test"}
	var got error
	join := func(b broker.Broker) error {
		_, got = b.Join(t.Context(), broker.Member{ID: 3, Peer: "x:1"})
		return got
	}
	if err := peer.Ask(t.Context(), o, "127.0.0.1:1", join); status.CodeOf(err) != status.Unavailable {
		t.Fatalf("who asks at an unused address gets %v", err)
	}
	// In memory there is one node for ever: it says so, and that is the answer to the join.
	_, want := m.Join(t.Context(), broker.Member{ID: 3, Peer: "x:1"})
	err := peer.Ask(t.Context(), o, b.Addr().String(), join)
	if fmt.Sprint(err) != fmt.Sprint(want) || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("the join ends with %v, not %v", err, want)
	}
}
