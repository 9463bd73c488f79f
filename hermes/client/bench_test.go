package client_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"wirelab/hermes"
	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/client"
)

// swallow answers at once and stores nothing, so that only API and client are measured.
type swallow struct {
	broker.Broker
	next atomic.Uint64
}

func (s *swallow) Publish(_ context.Context, run broker.Run, done func(broker.Verdict)) {
	n := s.next.Add(uint64(run.Count))
	done(broker.Verdict{Offset: n - uint64(run.Count), Count: run.Count, Time: 1, Term: 1, Index: n})
}

func (s *swallow) Subscribe(ctx context.Context, _ broker.Start) (broker.Feed, error) {
	f := &endless{b: broker.Batch{Count: 100, Time: 1, Attempt: 1}}
	var all []string
	for range f.b.Count {
		all = append(all, string(bytes.Repeat([]byte("x"), 100)))
	}
	f.b.Messages = brokertest.Messages(all...)
	return f, nil
}

// endless is a feed at the speed of memory.
type endless struct {
	broker.Feed
	b broker.Batch
}

func (e *endless) Next(ctx context.Context, _ broker.Room) (broker.Batch, error) {
	b := e.b
	e.b.Offset += uint64(b.Count)
	return b, ctx.Err()
}

func (e *endless) Close() {}

func BenchmarkSend(b *testing.B) {
	m := brokertest.Memory()
	defer m.Close()
	c := connect(b, client.Options{Addresses: []string{serve(b, &swallow{Broker: m}, api.Options{}).address}})
	msg := &hermes.Message{Payload: bytes.Repeat([]byte("x"), 100)}
	b.SetBytes(100)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Send(b.Context(), "t", hermes.Consistent, msg, nil); err != nil {
			b.Fatal(err)
		}
	}
	if err := c.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkSendSpread is ten thousand topics, of which each message goes to another.
func BenchmarkSendSpread(b *testing.B) {
	m := brokertest.Memory()
	defer m.Close()
	c := connect(b, client.Options{Addresses: []string{serve(b, &swallow{Broker: m}, api.Options{}).address}})
	var topics []string
	for i := range 10_000 {
		topics = append(topics, fmt.Sprint("spread-", i))
	}
	draw := rand.New(rand.NewPCG(1, 2))
	msg := &hermes.Message{Payload: bytes.Repeat([]byte("x"), 100)}
	b.SetBytes(100)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Send(b.Context(), topics[draw.IntN(len(topics))], hermes.Consistent, msg, nil); err != nil {
			b.Fatal(err)
		}
	}
	if err := c.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkPublish(b *testing.B) {
	for _, callers := range []int{1, 60} {
		b.Run(map[int]string{1: "callers=1", 60: "callers=60"}[callers], func(b *testing.B) {
			m := brokertest.Memory()
			defer m.Close()
			c := connect(b, client.Options{Addresses: []string{serve(b, &swallow{Broker: m}, api.Options{}).address}})
			msg := &hermes.Message{Payload: bytes.Repeat([]byte("x"), 100)}
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if _, err := c.Publish(b.Context(), "t", hermes.Consistent, msg); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

func BenchmarkSubscribe(b *testing.B) {
	m := brokertest.Memory()
	defer m.Close()
	c := connect(b, client.Options{Addresses: []string{serve(b, &swallow{Broker: m}, api.Options{}).address}})
	s, err := c.Subscribe(b.Context(), broker.Start{Topic: "t", From: broker.FromOldest})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(100)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
