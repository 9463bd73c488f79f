package graphql_test

import (
	"context"
	"testing"

	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/wire/status"
)

// memory is a broker in memory that ends with the test.
func memory(t *testing.T) *brokertest.InMemory {
	m := brokertest.Memory()
	t.Cleanup(m.Close)
	return m
}

// scripted is a broker whose publishes and feeds a test writes.
type scripted struct {
	broker.Broker
	publish   func(context.Context, broker.Run, func(broker.Verdict))
	subscribe func(context.Context, broker.Start) (broker.Feed, error)
}

func (s *scripted) Publish(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
	s.publish(ctx, run, done)
}

func (s *scripted) Subscribe(ctx context.Context, start broker.Start) (broker.Feed, error) {
	return s.subscribe(ctx, start)
}

// feed gives the batches that a test hands it, and tells the acknowledged messages.
type feed struct {
	batches chan broker.Batch
	acked   chan<- []broker.Range
	late    []broker.Range // of every acknowledgement
}

func (f *feed) Next(ctx context.Context, _ broker.Room) (broker.Batch, error) {
	select {
	case b := <-f.batches:
		return b, nil
	case <-ctx.Done():
		return broker.Batch{}, status.Public(ctx.Err())
	}
}

func (*feed) Return(int) {}

func (f *feed) Ack(_ context.Context, ranges []broker.Range) error {
	if len(f.late) > 0 {
		return &broker.LateError{Ranges: f.late}
	}
	f.acked <- ranges
	return nil
}

func (f *feed) Nack(context.Context, []broker.Range, string, int64) error { return nil }

func (f *feed) Close() {}

func batch(offset uint64, payloads ...string) broker.Batch {
	return broker.Batch{Offset: offset, Count: len(payloads), Attempt: 1, Messages: brokertest.Messages(payloads...)}
}
