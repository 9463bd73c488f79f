package client_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wirelab/hermes"
	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/wire/status"
)

// wires counts a client's connections and can cut them all.
type wires struct {
	mu   sync.Mutex
	all  []net.Conn
	cuts atomic.Int64
}

func (w *wires) connect(ctx context.Context, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err == nil {
		w.mu.Lock()
		w.all = append(w.all, c)
		w.mu.Unlock()
	}
	return c, err
}

func (w *wires) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cuts.Add(1)
	for _, c := range w.all {
		_ = c.Close()
	}
	w.all = nil
}

// A subscription whose connection is cut again and again misses nothing and gets nothing
// twice, from wherever it began.
func TestSubscriptionGoesOn(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]broker.Start{
		"tail":   {},
		"offset": {From: broker.FromOffset},
		"time":   {From: broker.FromTime, Time: 1},
		"oldest": {From: broker.FromOldest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := memory(t)
			apis := []*served{serve(t, m, api.Options{}), serve(t, m, api.Options{})}
			var w wires
			c := connect(t, client.Options{
				Addresses: []string{apis[0].address, apis[1].address}, Connect: w.connect, AheadMessages: 8,
			})
			publisher := connect(t, client.Options{Addresses: []string{apis[0].address}, RunMessages: 3})
			ctx := patient(t)
			start.Topic = "t"
			s, err := c.Subscribe(ctx, start)
			if err != nil {
				t.Fatal(err)
			}
			w.cut() // before anything came
			const n = 300
			var wg sync.WaitGroup
			wg.Go(func() {
				if failed := numbers(t, publisher, n); len(failed) > 0 {
					t.Error(failed)
				}
			})
			for i := start.Offset; i < n; i++ {
				d, err := s.Next(ctx)
				if err != nil || d.Offset != i || string(d.Payload) != fmt.Sprint(i) || d.Topic != "t" ||
					d.Attempt != 1 ||
					d.Time == 0 {
					t.Errorf("message %d is %+v, %v", i, d, err)
					break
				}
				if i%50 == 0 {
					w.cut()
				}
			}
			wg.Wait()
			if err := s.Close(ctx); err != nil {
				t.Error(err)
			}
			if _, err := s.Next(ctx); err == nil || status.CodeOf(err) != status.Canceled {
				t.Errorf("after Close: %v", err)
			}
		})
	}
}

// A group's member whose connection is cut gets each message at least once, in the end
// all are dealt with, and acks that were lost are reported. (hb-D01, hb-M18)
func TestMemberGoesOn(t *testing.T) {
	t.Parallel()
	m := memory(t)
	var w wires
	c := connect(t, client.Options{Addresses: []string{serve(t, m, api.Options{}).address}, Connect: w.connect})
	ctx := patient(t)
	const n = 200
	if failed := numbers(t, c, n); len(failed) > 0 {
		t.Fatal(failed)
	}
	s, err := c.Subscribe(ctx, broker.Start{Topic: "t", From: broker.FromGroup, Group: "g", InFlight: 20})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	for i := 0; len(seen) < n; i++ {
		d, err := s.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		seen[d.Offset] = true
		if err := s.Ack(ctx, broker.Range{First: d.Offset, Last: d.Offset}); err != nil {
			t.Fatal(err)
		}
		if i%40 == 39 {
			w.cut()
		}
	}
	for { // what was acknowledged as its connection was cut comes again
		err := s.Settle(ctx)
		if err != nil && status.CodeOf(err) != status.Unavailable {
			t.Fatal(err)
		}
		g, failed := m.Group(ctx, "t", "g")
		if failed != nil {
			t.Fatal(failed)
		}
		if g.Floor == n {
			break
		}
		if err == nil && g.InFlight == 0 && g.Lag == 0 {
			t.Fatalf("settled, but the group is at %+v", g)
		}
		d, err := s.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Ack(ctx, broker.Range{First: d.Offset, Last: d.Offset}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(ctx); err != nil && status.CodeOf(err) != status.Unavailable {
		t.Error(err)
	}
}

// Close returns when what was acknowledged is stored; nothing of it comes again.
func TestCloseStoresAcks(t *testing.T) {
	t.Parallel()
	m := memory(t)
	c := connect(t, client.Options{Addresses: []string{serve(t, m, api.Options{}).address}})
	ctx := patient(t)
	numbers(t, c, 10)
	start := broker.Start{Topic: "t", From: broker.FromGroup, Group: "g"}
	s, err := c.Subscribe(ctx, start)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		d, err := s.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Ack(ctx, broker.Range{First: d.Offset, Last: d.Offset}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Nack(ctx, "not now", time.Hour, broker.Range{First: 6, Last: 6}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if g, err := m.Group(ctx, "t", "g"); err != nil || g.Floor != 5 {
		t.Errorf("%+v, %v", g, err)
	}
	if err := s.Ack(ctx, broker.Range{}); err == nil || status.CodeOf(err) != status.Canceled {
		t.Errorf("ack after close: %v", err)
	}
}

func TestSubscriptionRefusals(t *testing.T) {
	t.Parallel()
	m := memory(t)
	c := connect(t, client.Options{Addresses: []string{serve(t, m, api.Options{}).address}})
	ctx := patient(t)
	for _, r := range []struct {
		start broker.Start
		code  status.Code
	}{
		{broker.Start{Topic: ""}, status.InvalidArgument},
		{broker.Start{Topic: "none"}, status.NotFound},
		{broker.Start{Topic: "t", From: broker.FromGroup}, status.InvalidArgument},
		{broker.Start{Topic: "t", From: broker.FromGroup, Group: hermes.Replay}, status.InvalidArgument},
		{broker.Start{Topic: "t", From: 9}, status.InvalidArgument},
		{broker.Start{Topic: "t", InFlight: -1}, status.InvalidArgument},
	} {
		if _, err := c.Subscribe(ctx, r.start); err == nil || status.CodeOf(err) != r.code {
			t.Errorf("%+v: %v", r.start, err)
		}
	}
	s, err := c.Subscribe(ctx, broker.Start{Topic: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Ack(ctx, broker.Range{}); err == nil || status.CodeOf(err) != status.InvalidArgument {
		t.Errorf("ack without a group: %v", err)
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Next(short); err == nil || status.CodeOf(err) != status.Canceled {
		t.Errorf("next without time: %v", err)
	}
	// The topic goes: the subscription says so, and does not try for ever.
	if err := c.DeleteTopic(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(ctx); err == nil || status.CodeOf(err) != status.NotFound {
		t.Errorf("the topic was deleted: %v", err)
	}
}

func TestAll(t *testing.T) {
	t.Parallel()
	m := memory(t)
	c := connect(t, client.Options{Addresses: []string{serve(t, m, api.Options{}).address}})
	ctx, cancel := context.WithCancel(patient(t))
	defer cancel()
	numbers(t, c, 20)
	s, err := c.Subscribe(ctx, broker.Start{Topic: "t", From: broker.FromOldest})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for d, err := range s.All(ctx) {
		if err != nil {
			t.Error(err)
		}
		if all = append(all, string(d.Payload)); len(all) == 20 {
			cancel()
		}
	}
	if !slices.Equal(all, sequence(20)) {
		t.Errorf("%v", all)
	}
}

func TestListTopicsInPieces(t *testing.T) {
	t.Parallel()
	m := memory(t)
	c := connect(t, client.Options{Addresses: []string{serve(t, m, api.Options{}).address}})
	ctx := patient(t)
	const n = 1205
	for i := range n {
		if _, err := m.CreateTopic(ctx, broker.Topic{Name: fmt.Sprintf("x%04d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[int]int{0: n, 1100: 1100, 7: 7} {
		all, err := c.ListTopics(ctx, "x", "", limit)
		if err != nil || len(all) != want || all[want-1].Name != fmt.Sprintf("x%04d", want-1) {
			t.Errorf("limit %d: %d topics, %v", limit, len(all), err)
		}
	}
	if s, err := c.Status(ctx); err != nil || s.Node != 1 || len(s.Members) != 1 || !s.Members[0].Leader {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := c.Join(ctx, broker.Member{}); err == nil || status.CodeOf(err) != status.InvalidArgument {
		t.Error(err)
	}
	if _, err := c.Promote(ctx, 1); err != nil {
		t.Error(err)
	}
	if _, err := c.Remove(ctx, 5); err == nil || status.CodeOf(err) != status.NotFound {
		t.Error(err)
	}
	if _, err := c.TransferLeadership(ctx, 1); err != nil {
		t.Error(err)
	}
}

// stuck is a broker whose feeds never get their acks stored.
type stuck struct {
	broker.Broker
	asked chan struct{} // one for each ack
}

type stuckFeed struct {
	broker.Feed
	asked chan struct{}
}

func (s *stuck) Subscribe(ctx context.Context, start broker.Start) (broker.Feed, error) {
	f, err := s.Broker.Subscribe(ctx, start)
	return &stuckFeed{f, s.asked}, err
}

func (f *stuckFeed) Ack(ctx context.Context, _ []broker.Range) error {
	f.asked <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

// Acks that went with their stream are reported, once. (hb-M18)
func TestLostAcks(t *testing.T) {
	t.Parallel()
	m := memory(t)
	b := &stuck{m, make(chan struct{}, 10)}
	var w wires
	c := connect(t, client.Options{Addresses: []string{serve(t, b, api.Options{}).address}, Connect: w.connect})
	ctx := patient(t)
	numbers(t, c, 1)
	s, err := c.Subscribe(ctx, broker.Start{Topic: "t", From: broker.FromGroup, Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if d, err := s.Next(ctx); err != nil || d.Offset != 0 {
			t.Fatalf("%+v, %v", d, err)
		}
		if err := s.Ack(ctx, broker.Range{}); err != nil {
			t.Fatal(err)
		}
		<-b.asked
		w.cut()
		if err := s.Settle(ctx); err == nil || status.CodeOf(err) != status.Unavailable {
			t.Errorf("the ack is said to be stored: %v", err)
		}
		if err := s.Settle(ctx); err != nil {
			t.Errorf("nothing is left to settle: %v", err)
		}
	}
}

// A subscription tells whether a node has it: once Subscribe returned, not while no node is
// there, again at the next one, and not after its end.
func TestAttached(t *testing.T) {
	t.Parallel()
	m := memory(t)
	d := serve(t, m, api.Options{})
	var w wires
	var shut atomic.Bool
	c := connect(t, client.Options{Addresses: []string{d.address}, Connect: func(ctx context.Context,
		address string,
	) (net.Conn, error) {
		if shut.Load() {
			return nil, net.ErrClosed
		}
		return w.connect(ctx, address)
	}})
	ctx := patient(t)
	s, err := c.Subscribe(ctx, broker.Start{Topic: "t"})
	if err != nil {
		t.Fatal(err)
	}
	becomes := func(want bool) {
		t.Helper()
		look := time.NewTicker(time.Millisecond)
		defer look.Stop()
		for s.Attached() != want {
			select {
			case <-look.C:
			case <-ctx.Done():
				t.Fatalf("attached is %v for ever", !want)
			}
		}
	}
	if !s.Attached() {
		t.Error("it is not attached when Subscribe returns")
	}
	shut.Store(true)
	w.cut()
	becomes(false)
	shut.Store(false)
	becomes(true)
	if err := s.Close(ctx); err != nil || s.Attached() {
		t.Errorf("closed, %v, and attached is %v", err, s.Attached())
	}
}
