package client_test

import (
	"context"
	"encoding/binary"
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
	"wirelab/hermes/record"
)

// Messages to many topics, sent by several goroutines in an order that is unknown, arrive in the order of each
// topic, whole, and each is answered once.
func TestManyTopicsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	const topics, each, senders = 100, 6000, 3
	m := brokertest.Memory()
	t.Cleanup(m.Close)
	for i := range topics * senders {
		if _, err := m.CreateTopic(t.Context(), broker.Topic{Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex // guards next
	next := map[string]uint64{}
	f := &faulty{Broker: m, publish: func(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
		mu.Lock()
		for bytes := range record.Messages(run.Messages) {
			var message hermes.Message
			if err := record.ReadMessage(bytes, &message); err != nil {
				t.Error(err)
			}
			seed := binary.BigEndian.Uint64(message.Payload)
			if got := binary.BigEndian.Uint64(message.Key); got != next[run.Topic] || seed != hash(run.Topic, got) {
				t.Errorf("topic %s got message %d (%d); %d was next", run.Topic, got, seed, next[run.Topic])
			}
			next[run.Topic]++
		}
		mu.Unlock()
		m.Publish(ctx, run, done)
	}}
	c := connect(t, client.Options{Addresses: []string{serve(t, f, api.Options{}).address}})
	ctx := patient(t)
	var answered atomic.Int64
	all := make(chan struct{})
	var sending sync.WaitGroup
	for sender := range senders {
		random := rand.New(rand.NewPCG(rand.Uint64(), 0))
		sending.Go(func() {
			sent := map[string]uint64{}
			for range each {
				topic := fmt.Sprint(sender*topics + random.IntN(topics))
				n := sent[topic]
				sent[topic]++
				payload := binary.BigEndian.AppendUint64(nil, hash(topic, n))
				if random.IntN(1000) == 0 {
					// more than an inbox, or a run, is to have
					payload = append(payload, make([]byte, random.IntN(300<<10))...)
				}
				message := &hermes.Message{Key: binary.BigEndian.AppendUint64(nil, n), Payload: payload}
				err := c.Send(ctx, topic, hermes.Consistent, message, func(_ client.Receipt, err error) {
					if answered.Add(1) == each*senders {
						close(all)
					}
					if err != nil {
						t.Error(err)
					}
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	sending.Wait()
	select {
	case <-all: // it was not asked for: Flush would move what waits
	case <-ctx.Done():
		t.Fatalf("%d were answered, of %d", answered.Load(), each*senders)
	}
	total := uint64(0)
	for _, n := range next {
		total += n
	}
	if total != each*senders {
		t.Errorf("%d arrived, of %d", total, each*senders)
	}
}

func hash(topic string, n uint64) uint64 {
	for _, b := range []byte(topic) {
		n = (n ^ uint64(b)) * 0x100000001b3
	}
	return n
}

// Of what waits with a client that closes, each message is answered once, with an error.
func TestCloseAnswersWhatWaits(t *testing.T) {
	t.Parallel()
	const many = 2000
	m := memory(t)
	f := &faulty{Broker: m, publish: func(context.Context, broker.Run, func(broker.Verdict)) {}} // no answer, ever
	c := connect(t, client.Options{Addresses: []string{serve(t, f, api.Options{}).address}})
	var failed [many]atomic.Int64
	for i := range many {
		err := c.Send(patient(t), fmt.Sprint("t", i), hermes.Consistent, &hermes.Message{},
			func(_ client.Receipt, err error) {
				if err != nil {
					failed[i].Add(1)
				}
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Log(err) // what it says is another test's
	}
	for i := range many {
		if n := failed[i].Load(); n != 1 {
			t.Fatalf("message %d was answered %d times with an error", i, n)
		}
	}
}
