package client_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/wire/status"
)

// belated is a broker whose feeds answer acks as too late.
type belated struct {
	broker.Broker
	late []broker.Range
}

type belatedFeed struct {
	broker.Feed
	late []broker.Range
}

func (b *belated) Subscribe(ctx context.Context, start broker.Start) (broker.Feed, error) {
	f, err := b.Broker.Subscribe(ctx, start)
	return &belatedFeed{f, b.late}, err
}

func (f *belatedFeed) Ack(context.Context, []broker.Range) error {
	return &broker.LateError{Ranges: f.late}
}

// An ack that came too late is reported, once, with what it was; the subscription continues. One of what never came
// is refused.
func TestLateAcks(t *testing.T) {
	t.Parallel()
	m := memory(t)
	b := &belated{m, []broker.Range{{First: 0, Last: 0}}}
	c := connect(t, client.Options{Addresses: []string{serve(t, b, api.Options{}).address}})
	ctx := patient(t)
	numbers(t, c, 2)
	s, err := c.Subscribe(ctx, broker.Start{Topic: "t", From: broker.FromGroup, Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	for want := range uint64(2) {
		if d, err := s.Next(ctx); err != nil || d.Offset != want {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	if err := s.Ack(ctx, broker.Range{First: 0, Last: 0}); err != nil {
		t.Fatal(err)
	}
	var late *broker.LateError
	if err := s.Settle(ctx); !errors.As(err, &late) || !slices.Equal(late.Ranges, b.late) {
		t.Errorf("a late ack is said to be %v", err)
	}
	if err := s.Settle(ctx); err != nil {
		t.Errorf("it is reported twice: %v", err)
	}
	for _, r := range []broker.Range{{First: 2, Last: 2}, {First: 1, Last: 2}, {First: 0, Last: ^uint64(0)}} {
		if err := s.Ack(ctx, r); status.CodeOf(err) != status.InvalidArgument {
			t.Errorf("acknowledging %v: %v", r, err)
		}
		if err := s.Nack(ctx, "", 0, r); status.CodeOf(err) != status.InvalidArgument {
			t.Errorf("giving %v back: %v", r, err)
		}
	}
	if err := s.Ack(ctx, broker.Range{First: 1, Last: 1}); err != nil {
		t.Errorf("the subscription does not go on: %v", err)
	}
	if err := s.Close(ctx); !errors.As(err, &late) {
		t.Errorf("at the end a late ack is said to be %v", err)
	}
}

// Acks of what came before the connection was cut are lost with it, and told so: the node would refuse them, and the
// messages come again.
func TestAcksOfAnEarlierStream(t *testing.T) {
	t.Parallel()
	m := memory(t)
	var w wires
	var shut atomic.Bool // no connection can be made
	c := connect(t, client.Options{
		Addresses: []string{serve(t, m, api.Options{}).address},
		Connect: func(ctx context.Context, address string) (net.Conn, error) {
			if shut.Load() {
				return nil, net.ErrClosed
			}
			return w.connect(ctx, address)
		},
	})
	ctx := patient(t)
	numbers(t, c, 5)
	s, err := c.Subscribe(ctx, broker.Start{Topic: "t", From: broker.FromGroup, Group: "g", InFlight: 1})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := s.Next(ctx); err != nil || d.Offset != 0 {
		t.Fatalf("%+v, %v", d, err)
	}
	shut.Store(true)
	w.cut()
	for s.Attached() {
		time.Sleep(time.Millisecond)
	}
	if err := s.Ack(ctx, broker.Range{First: 0, Last: 0}); err != nil {
		t.Fatal(err)
	}
	if err := s.Settle(ctx); err == nil || status.CodeOf(err) != status.Unavailable {
		t.Errorf("an ack of an earlier stream is said to be %v", err)
	}
	shut.Store(false)
	for again := false; !again; { // the node may learn late that the first stream is gone, and send others before
		d, err := s.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if again = d.Offset == 0; again && d.Attempt != 2 {
			t.Errorf("it comes again as attempt %d", d.Attempt)
		}
		if err := s.Ack(ctx, broker.Range{First: d.Offset, Last: d.Offset}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
}

// Who takes a number of messages is sent no more, so that the next ones are untried.
func TestSubscribeFor(t *testing.T) {
	t.Parallel()
	m := memory(t)
	c := connect(t, client.Options{Addresses: []string{serve(t, m, api.Options{}).address}})
	ctx := patient(t)
	numbers(t, c, 20)
	for first := uint64(0); first < 15; first += 3 {
		s, err := c.SubscribeFor(ctx, broker.Start{Topic: "t", From: broker.FromGroup, Group: "g"}, 3)
		if err != nil {
			t.Fatal(err)
		}
		for o := first; o < first+3; o++ {
			d, err := s.Next(ctx)
			if err != nil || d.Offset != o || d.Attempt != 1 {
				t.Fatalf("message %d is %+v, %v", o, d, err)
			}
			if err := s.Ack(ctx, broker.Range{First: o, Last: o}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Settle(ctx); err != nil {
			t.Fatal(err)
		}
		if g, err := m.Group(ctx, "t", "g"); err != nil || g.InFlight != 0 || g.Floor != first+3 {
			t.Errorf("after %d messages the group is at %+v, %v", first+3, g, err)
		}
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.SubscribeFor(ctx, broker.Start{Topic: "t"}, -1); status.CodeOf(err) != status.InvalidArgument {
		t.Error(err)
	}
}
