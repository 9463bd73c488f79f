package grpc_test

import (
	"context"
	"sync/atomic"
	"testing"

	"wirelab/hermes"
	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	pb "wirelab/hermes/gen"
)

// swallow answers at once and stores nothing.
type swallow struct {
	broker.Broker
	next atomic.Uint64
}

func (s *swallow) Publish(_ context.Context, run broker.Run, done func(broker.Verdict)) {
	done(broker.Verdict{Offset: s.next.Add(1), Count: run.Count, Time: 1, Term: 1, Index: 1})
}

// BenchmarkUnary is a publish by a separate call, without what a broker does.
func BenchmarkUnary(b *testing.B) {
	m := brokertest.Memory()
	defer m.Close()
	c := pb.NewHermesClient(serve(b, &swallow{Broker: m}, api.Options{}).conn)
	request := &pb.PublishRequest{Topic: "t", Messages: &pb.Message{Payload: make([]byte, hermes.KeyLimit)}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Publish(b.Context(), request); err != nil {
			b.Fatal(err)
		}
	}
}
