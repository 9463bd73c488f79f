package client_test

import (
	"context"
	"strconv"
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

// Past its room a client takes nothing, and says so when the caller's time is over.
func TestRoom(t *testing.T) {
	t.Parallel()
	m := memory(t)
	silent := &faulty{Broker: m, publish: func(context.Context, broker.Run, func(broker.Verdict)) {}}
	c := connect(t, client.Options{Addresses: []string{serve(t, silent, api.Options{}).address}, Buffer: 1 << 10})
	var taken, answered atomic.Int64
	send := func(ctx context.Context) error {
		err := c.Send(ctx, "t", hermes.Consistent, &hermes.Message{Payload: make([]byte, 100)},
			func(_ client.Receipt, err error) {
				if status.CodeOf(err) != status.Canceled {
					t.Error(err)
				}
				answered.Add(1)
			})
		if err == nil {
			taken.Add(1)
		}
		return err
	}
	err := send(patient(t)) // the first has all the time that it needs
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	for err == nil {
		err = send(ctx)
	}
	if status.CodeOf(err) != status.DeadlineExceeded || taken.Load() == 0 || taken.Load() > 10 {
		t.Errorf("%d were taken, then %v", taken.Load(), err)
	}
	if err := c.Flush(ctx); err == nil {
		t.Error("flushed unanswered messages")
	}
	// What can never go is refused at once, also where there is no room for it.
	if err := c.Send(patient(t), "no such name", hermes.Consistent, &hermes.Message{Payload: make([]byte, 100)},
		nil); err == nil || status.CodeOf(err) != status.InvalidArgument {
		t.Errorf("a wrong name without room: %v", err)
	}
	_ = c.Close()
	if answered.Load() != taken.Load() {
		t.Errorf("%d of %d were answered when the client closed", answered.Load(), taken.Load())
	}
	if err := c.Send(t.Context(), "t", hermes.Consistent, &hermes.Message{}, nil); err == nil ||
		status.CodeOf(err) != status.Canceled {
		t.Errorf("after Close: %v", err)
	}
}

// Without any node a publish fails when RetryFor is over.
func TestNoNode(t *testing.T) {
	t.Parallel()
	c := connect(t, client.Options{Addresses: []string{"127.0.0.1:1"}, RetryFor: 50 * time.Millisecond})
	if _, err := c.Publish(patient(t), "t", hermes.Consistent, &hermes.Message{}); err == nil ||
		status.CodeOf(err) != status.Unavailable {
		t.Error(err)
	}
	if _, err := c.Status(patient(t)); err == nil {
		t.Error("the status of no one")
	}
	if _, err := c.Subscribe(patient(t), broker.Start{Topic: "t"}); err == nil {
		t.Error("a subscription to no one")
	}
}

func TestLinger(t *testing.T) {
	t.Parallel()
	m := memory(t)
	var runs atomic.Int64
	f := &faulty{Broker: m, publish: func(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
		runs.Add(1)
		m.Publish(ctx, run, done)
	}}
	c := connect(t, client.Options{
		Addresses: []string{serve(t, f, api.Options{}).address}, Linger: time.Hour,
		RunMessages: 10,
	})
	if failed := numbers(t, c, 25); len(failed) > 0 { // Flush ends the wait
		t.Error(failed)
	}
	if runs.Load() != 3 {
		t.Errorf("%d runs of at most 10 for 25 messages", runs.Load())
	}
	short := connect(t, client.Options{
		Addresses: []string{serve(t, m, api.Options{}).address},
		Linger:    time.Millisecond,
	})
	if _, err := short.Publish(patient(t), "t", hermes.Consistent, &hermes.Message{Payload: []byte("25")}); err != nil {
		t.Error(err)
	}
	wantStored(t, m, sequence(26))
}

func TestModes(t *testing.T) {
	t.Parallel()
	m := memory(t)
	c := connect(t, client.Options{Addresses: []string{serve(t, m, api.Options{}).address}})
	ctx := patient(t)
	live, err := c.Subscribe(ctx, broker.Start{Topic: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.Publish(ctx, "t", hermes.Performance, &hermes.Message{Payload: []byte("fast")}); err != nil ||
		r.Offset != 0 || r.Index != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if d, err := live.Next(ctx); err != nil || string(d.Payload) != "fast" || d.Attempt != 0 || d.Offset != 0 {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := c.Publish(ctx, "t", hermes.Eventual, &hermes.Message{Payload: []byte("0")}); err != nil {
		t.Error(err)
	}
	if d, err := live.Next(ctx); err != nil || string(d.Payload) != "0" || d.Offset != 0 || d.Attempt != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	wantStored(t, m, sequence(1))
	if err := live.Close(ctx); err != nil {
		t.Error(err)
	}
}

// A run whose answer is lost is still known when it is sent again, however many of those
// behind it were answered.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	m := memory(t)
	var calls atomic.Int64
	f := &faulty{Broker: m, publish: func(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
		if calls.Add(1) == 3 {
			m.Publish(ctx, run, func(broker.Verdict) {})
			return
		}
		m.Publish(ctx, run, done)
	}}
	c := connect(t, client.Options{
		Addresses: []string{serve(t, f, api.Options{}).address}, RunMessages: 1,
		Patience: time.Second,
	})
	const n = 3 * hermes.ProducerRuns
	if failed := numbers(t, c, n); len(failed) > 0 {
		t.Error(failed)
	}
	wantStored(t, m, sequence(n))
}

// Of many topics not all have a run on its way at once. Those that wait for their turn stay with the
// client, where they grow: they send two messages as one run.
func TestManyTopicsGather(t *testing.T) {
	t.Parallel()
	const topics, some = api.StreamRuns + 500, 100
	m := memory(t)
	for i := range topics {
		if _, err := m.CreateTopic(t.Context(), broker.Topic{Name: strconv.Itoa(i)}); err != nil {
			t.Fatal(err)
		}
	}
	var runs atomic.Int64
	full, answers := make(chan struct{}), make(chan struct{})
	var held sync.WaitGroup
	defer held.Wait()
	f := &faulty{Broker: m, publish: func(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
		if runs.Add(1) == some {
			close(full)
		}
		held.Go(func() {
			<-answers
			m.Publish(ctx, run, done)
		})
	}}
	c := connect(t, client.Options{Addresses: []string{serve(t, f, api.Options{}).address}})
	ctx := patient(t)
	round := func() {
		for i := range topics {
			if err := c.Send(ctx, strconv.Itoa(i), hermes.Consistent, &hermes.Message{Payload: []byte("x")},
				func(_ client.Receipt, err error) {
					if err != nil {
						t.Error(err)
					}
				}); err != nil {
				t.Error(err)
			}
		}
	}
	round()
	select {
	case <-full:
	case <-ctx.Done():
		t.Fatal("the node was not given as much at once as it takes with ease")
	}
	round()
	close(answers)
	if err := c.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if most := int64(topics + topics/4); runs.Load() > most {
		t.Errorf("%d runs for %d messages of %d topics; want %d at most", runs.Load(), 2*topics, topics, most)
	}
}
