package peer_test

import (
	"context"
	"sync"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/peer"
	"wirelab/hermes/record"
)

func startBench(b *testing.B, local broker.Broker) (*node, *node) {
	t := new(testing.T)
	quiet := func(o *peer.Options) { o.Logger = nil }
	from, to := start(t, 1, nil, quiet), start(t, 2, local, quiet)
	meet(from, 1, to, 2)
	b.Cleanup(func() {
		_, _ = from.Close(), to.Close()
	})
	for !from.Reached(2) {
		_, _ = from.Broker(2).Status(b.Context())
	}
	return from, to
}

// A message of Raft with an entry of a size, one way: what a leader sends one follower.
func BenchmarkRaft(b *testing.B) {
	for name, size := range map[string]int{"1KiB": 1 << 10, "100KiB": 100 << 10, "1MiB": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			from, to := startBench(b, noBroker{})
			m := message(raftpb.MsgApp, 1, 2, 1, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			slots := make(chan struct{}, 32)
			var all sync.WaitGroup
			b.ResetTimer()
			all.Go(func() {
				for range b.N {
					<-to.steps
					<-slots
				}
			})
			for range b.N {
				slots <- struct{}{}
				from.Send([]*raftpb.Message{m})
			}
			all.Wait()
		})
	}
}

// noBroker answers every publish at once.
type noBroker struct{ broker.Broker }

func (noBroker) Publish(_ context.Context, r broker.Run, done func(broker.Verdict)) {
	done(broker.Verdict{Count: r.Count})
}

func (noBroker) Status(context.Context) (broker.Status, error) { return broker.Status{}, nil }

// Runs of 1 and of 100 messages of 100 bytes, pipelined, from a follower to its leader and back.
func BenchmarkPublish(b *testing.B) {
	for name, count := range map[string]int{"1": 1, "100": 100} {
		b.Run(name, func(b *testing.B) {
			from, _ := startBench(b, noBroker{})
			var messages []byte
			for range count {
				messages = record.AppendMessage(messages, &hermes.Message{Payload: make([]byte, 100)})
			}
			run := broker.Run{Topic: "bench", Messages: messages, Count: count}
			b.ReportAllocs()
			slots := make(chan struct{}, 256)
			leader := from.Broker(2)
			b.ResetTimer()
			for range b.N {
				slots <- struct{}{}
				leader.Publish(b.Context(), run, func(broker.Verdict) { <-slots })
			}
			for range cap(slots) {
				slots <- struct{}{}
			}
			b.ReportMetric(float64(b.N*count)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}
