package jetstream_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"
	library "github.com/nats-io/nats.go/jetstream"

	"wirelab"
	"wirelab/broker/brokertest"
	"wirelab/broker/jetstream"
	"wirelab/broker/workqueue"
	"wirelab/system/nats"
)

// TestLongHandler checks that a handler may take longer than AckWait, because the subscriber reports that it is in
// progress.
func TestLongHandler(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	b := queues(t, within(t, nats.Options{}), jetstream.Settings{AckWait: 3 * time.Second})
	p := declare(t, b, safe)
	publish(t, p, "long")
	ctx, stop := context.WithCancel(t.Context())
	var calls int // used by one handler at a time; the race detector would report another
	var consuming sync.WaitGroup
	consuming.Go(func() {
		defer stop()
		if err := b.Consume(ctx, safe, func(ctx context.Context, d workqueue.Delivery) error {
			calls++
			// Three times what the server would wait.
			long := time.NewTimer(9 * time.Second)
			defer long.Stop()
			<-long.C
			stop()
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	consuming.Wait()
	settle(t, b, safe, 0, 0)
	if calls != 1 {
		t.Errorf("called %d times", calls)
	}
}

// TestDeletedWhileUsed checks that a queue that is deleted while in use is NotFound to the consumer, and
// Unavailable to the publisher, which checked it when it began.
func TestDeletedWhileUsed(t *testing.T) {
	t.Parallel()
	b := queues(t, within(t, nats.Options{}), jetstream.Settings{})
	p := declare(t, b, safe)
	got, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- b.Consume(t.Context(), safe,
			func(_ context.Context, d workqueue.Delivery) error { got <- d.ID; return nil })
	}()
	publish(t, p, "one")
	<-got
	if err := b.Delete(t.Context(), safe); err != nil {
		t.Fatal(err)
	}
	coded(t, "the consumer", <-ended, wirelab.NotFound)
	_, err := p.Publish(t.Context(), workqueue.Message{ID: "two", Body: []byte("two")})
	coded(t, "the publisher", err, wirelab.Unavailable)
}

// TestTrimmed checks that acknowledged messages do not stay on disk, and that others do: here one message waits
// among many that are done.
func TestTrimmed(t *testing.T) {
	t.Parallel()
	address := within(t, nats.Options{})
	b := queues(t, address, jetstream.Settings{})
	o := safe
	o.Retry = time.Hour
	p := declare(t, b, o)
	conn, err := client.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := library.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		publish(t, p, "a"+strconv.Itoa(i))
	}
	ctx, stop := context.WithCancel(t.Context())
	var consuming sync.WaitGroup
	defer consuming.Wait()
	defer stop()
	consuming.Go(func() {
		if err := b.Consume(ctx, o, func(_ context.Context, d workqueue.Delivery) error {
			if d.ID == "a60" {
				return errors.New("not now")
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	patience, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		stream, err := js.Stream(patience, "wirelab-queue-entries")
		if err != nil {
			t.Fatal(err)
		}
		// Up to the message that waits: those behind it are removed with it.
		if state := stream.CachedInfo().State; state.FirstSeq == 61 && state.Msgs == 40 {
			break
		}
		select {
		case <-look.C:
		case <-patience.Done():
			t.Fatalf("the stream has %+v", stream.CachedInfo().State)
		}
	}
	settle(t, b, o, 1, 0)
}

// TestEndsInMidstream checks that a consumer that ends in mid-stream returns at once the messages that were on
// their way to it: here a message it missed would be unavailable for an hour.
func TestEndsInMidstream(t *testing.T) {
	t.Parallel()
	const n = 400
	b := queues(t, within(t, nats.Options{}), jetstream.Settings{AckWait: time.Hour})
	o := safe
	o.Prefetch, o.Attempts = 32, 1000
	p := declare(t, b, o)
	account := brokertest.NewAccount()
	var publishing sync.WaitGroup
	for i := range 8 {
		publishing.Go(func() {
			for j := range n / 8 {
				m := workqueue.Message{ID: strconv.Itoa(i*100 + j), Body: []byte("x")}
				account.Published(m)
				if _, err := p.Publish(t.Context(), m); err != nil {
					t.Error(err)
					return
				}
				account.Confirmed(m.ID)
			}
		})
	}
	patience, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	rounds := 0
	for left := n; left > 0 && patience.Err() == nil; rounds++ {
		ctx, stop := context.WithCancel(patience)
		before := account.Tally().Delivered
		if err := b.Consume(ctx, o, func(_ context.Context, d workqueue.Delivery) error {
			left := n - account.Delivered(d.Message)
			if left == 0 || n-left >= before+5 {
				stop()
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		stop()
		left = n - account.Tally().Delivered
	}
	publishing.Wait()
	sum := account.Tally()
	if sum.Delivered != n || sum.Duplicated > 0 || len(sum.Missing) > 0 {
		t.Errorf("in %d rounds: %v", rounds, sum)
	}
	t.Logf("%d consumers, one after the other", rounds)
}

// TestHoldsNothingReady checks that a consumer holds no messages other than those it handles: a prefetched
// message would be unavailable to another consumer, here for an hour.
func TestHoldsNothingReady(t *testing.T) {
	t.Parallel()
	b := queues(t, within(t, nats.Options{}), jetstream.Settings{AckWait: time.Hour})
	o := safe
	o.Prefetch = 4
	p := declare(t, b, o)
	for i := range 12 {
		publish(t, p, "a"+strconv.Itoa(i))
	}
	patience, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ctx, stop := context.WithCancel(patience)
	entered := make(chan string, 12)
	var consuming sync.WaitGroup
	defer consuming.Wait()
	defer stop()
	for range 3 {
		consuming.Go(func() {
			if err := b.Consume(ctx, o, func(ctx context.Context, d workqueue.Delivery) error {
				entered <- d.ID
				<-ctx.Done()
				return ctx.Err()
			}); err != nil {
				t.Error(err)
			}
		})
		for range 4 {
			select {
			case <-entered:
			case <-patience.Done():
				t.Fatal("a consumer has messages that it does not handle")
			}
		}
	}
}
