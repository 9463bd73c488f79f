package brokertest

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"wirelab"
	"wirelab/broker/workqueue"
)

// calls counts the calls of handlers by message id.
type calls struct {
	mu   sync.Mutex // guards both
	of   map[string]int
	last map[string]workqueue.Delivery
}

// note counts a call and returns the count of that id. If the broker reports attempts, they must rise.
func (c *calls) note(b *bench, d workqueue.Delivery) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of, c.last = map[string]int{}, map[string]workqueue.Delivery{}
	}
	c.of[d.ID]++
	n := c.of[d.ID]
	if before := c.last[d.ID]; n > 1 && d.Attempt != 0 && d.Attempt <= before.Attempt ||
		n > 1 && d.Attempt == 0 && !d.Redelivered {
		b.Errorf(
			"%q came for the %dth time as attempt %d, redelivered %v; before as attempt %d",
			d.ID,
			n,
			d.Attempt,
			d.Redelivered,
			before.Attempt,
		)
	}
	c.last[d.ID] = d
	return n
}

func (c *calls) count(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[id]
}

// checkAttempts: a message that fails every time is tried the configured number of times, then becomes a dead
// letter, unaltered; the others are processed. Guards ms-D05.
func checkAttempts(b *bench) {
	o := b.options()
	o.Attempts, o.Prefetch = 3, 8
	broker := b.declare(o)
	all := messages(6)
	all[2].Body = []byte("\x00fails\xff")
	b.publish(b.publisher(broker, o), all...)
	var seen calls
	b.consume(broker, o, func(_ context.Context, d workqueue.Delivery) error {
		seen.note(b, d)
		if d.ID == all[2].ID {
			return errors.New("the store is full")
		}
		return nil
	})
	b.settle(broker, o, 0, 1)
	for i, m := range all {
		want := 1
		if i == 2 {
			want = o.Attempts
		}
		if got := seen.count(m.ID); got != want {
			b.Errorf("%q was tried %d times, want %d", m.ID, got, want)
		}
	}
	b.dead(broker, o, all[2])
}

// dead takes all dead letters and checks that they are the wanted ones.
func (b *bench) dead(broker workqueue.Queues, o workqueue.Options, want ...workqueue.Message) {
	b.Helper()
	got, err := broker.Dead(b.ctx, o, len(want)+10)
	b.must(err, "dead")
	found := map[string]workqueue.Message{}
	for _, m := range got {
		found[m.ID] = m
	}
	for _, m := range want {
		if letter, ok := found[m.ID]; !ok || !bytes.Equal(letter.Body, m.Body) {
			b.Errorf("dead letter %q is %q, want %q", m.ID, letter.Body, m.Body)
		}
	}
	if len(got) != len(want) {
		b.Errorf("%d dead letters, want %d", len(got), len(want))
	}
	b.settle(broker, o, 0, 0)
}

// checkRecovers: a temporary fault costs attempts, not the message.
func checkRecovers(b *bench) {
	o := b.options()
	o.Attempts = 3
	broker := b.declare(o)
	b.publish(b.publisher(broker, o), messages(20)...)
	var seen calls
	b.consume(broker, o, func(_ context.Context, d workqueue.Delivery) error {
		if seen.note(b, d) < 3 {
			return wirelab.Errorf(wirelab.Unavailable, "the logger is away")
		}
		return nil
	})
	b.settle(broker, o, 0, 0)
	for _, m := range messages(20) {
		if got := seen.count(m.ID); got != 3 {
			b.Errorf("%q was tried %d times, want 3", m.ID, got)
		}
	}
}

// checkMeanwhile: while a message waits for its next attempt, here for longer than the check takes, others pass it,
// even with one handler at a time.
func checkMeanwhile(b *bench) {
	o := b.options()
	o.Prefetch, o.Retry = 1, time.Hour
	broker := b.declare(o)
	b.publish(b.publisher(broker, o), messages(8)...)
	done := make(chan string, 16)
	b.consume(broker, o, func(ctx context.Context, d workqueue.Delivery) error {
		put(ctx, done, d.ID)
		if d.ID <= message(2).ID {
			return errors.New("not now")
		}
		return nil
	})
	for range 8 {
		take(b, done, "those behind the ones that failed")
	}
	b.settle(broker, o, 3, 0)
}

// checkHopeless: an error of the message itself is not retried.
func checkHopeless(b *bench) {
	o := b.options()
	o.Retry = time.Hour
	broker := b.declare(o)
	all := messages(3)
	b.publish(b.publisher(broker, o), all...)
	var seen calls
	b.consume(broker, o, func(_ context.Context, d workqueue.Delivery) error {
		seen.note(b, d)
		switch d.ID {
		case all[0].ID:
			return wirelab.Errorf(wirelab.InvalidArgument, "it has no name")
		case all[1].ID:
			return errors.Join(errors.New("it is stored"), wirelab.Errorf(wirelab.Conflict, "with other content"))
		}
		return nil
	})
	b.settle(broker, o, 0, 2)
	for _, m := range all {
		if got := seen.count(m.ID); got != 1 {
			b.Errorf("%q was tried %d times, want once", m.ID, got)
		}
	}
	b.dead(broker, o, all[0], all[1])
}

// checkCancelled: the end of a consumer does not count as a failure of its messages, even if only one attempt is
// allowed.
func checkCancelled(b *bench) {
	o := b.options()
	o.Attempts, o.Prefetch = 1, 5
	broker := b.declare(o)
	b.publish(b.publisher(broker, o), messages(10)...)
	entered := make(chan string, 20)
	stop := b.consume(broker, o, func(ctx context.Context, d workqueue.Delivery) error {
		put(b.ctx, entered, d.ID)
		<-ctx.Done()
		return ctx.Err()
	})
	for range 5 {
		take(b, entered, "five messages")
	}
	stop()
	b.settle(broker, o, 10, 0)
	account, done := NewAccount(), newFlag()
	for _, m := range messages(10) {
		account.Published(m)
		account.Confirmed(m.ID)
	}
	b.consume(b.open(), o, func(_ context.Context, d workqueue.Delivery) error {
		if account.Delivered(d.Message) == 10 {
			done.end()
		}
		return nil
	})
	take(b, done.ended, "all ten at the next consumer")
	b.faultless(account)
	b.settle(broker, o, 0, 0)
}

// checkFinished: a message that a handler finishes after its consumer was told to end counts as handled, since
// Consume waits for the handler.
func checkFinished(b *bench) {
	o := b.options()
	broker := b.declare(o)
	b.publish(b.publisher(broker, o), messages(3)...)
	entered, leave := make(chan string, 6), make(chan struct{})
	ended := make(chan struct{})
	stop := b.consume(broker, o, func(_ context.Context, d workqueue.Delivery) error {
		put(b.ctx, entered, d.ID)
		return b.held(leave)
	})
	for range 3 {
		take(b, entered, "three messages")
	}
	var stopping sync.WaitGroup
	stopping.Go(func() { stop(); close(ended) })
	// The pause catches nearly every Consume that does not wait, and never fails one that does.
	late := time.NewTimer(100 * time.Millisecond)
	defer late.Stop()
	select {
	case <-ended:
		b.Errorf("the consumer ended before its handlers")
	case <-late.C:
	}
	close(leave)
	stopping.Wait()
	b.settle(broker, o, 0, 0)
}

// held waits until leave is closed or the check has ended.
func (b *bench) held(leave <-chan struct{}) error {
	select {
	case <-leave:
		return nil
	case <-b.ctx.Done():
		return b.ctx.Err()
	}
}

// checkKilled: messages belong to a consumer only while it is alive. Its later acknowledgements have no effect.
// Guards ms-D04.
func checkKilled(b *bench) {
	o := b.options()
	o.Prefetch = 10
	broker := b.declare(o)
	account := NewAccount()
	for _, m := range messages(25) {
		account.Published(m)
		b.publish(b.publisher(broker, o), m)
		account.Confirmed(m.ID)
	}
	doomed, cut, err := b.server.Doomed(b.ctx)
	b.must(err, "open a connection to cut")
	b.Cleanup(func() { cut(); _ = doomed.Close() }) // the server cannot be reached any more
	entered, leave := make(chan string, 50), make(chan struct{})
	stop := b.consume(doomed, o, func(_ context.Context, d workqueue.Delivery) error {
		put(b.ctx, entered, d.ID)
		return b.held(leave)
	})
	for range 10 {
		take(b, entered, "ten messages")
	}
	cut()
	close(leave)
	stop()
	done := newFlag()
	b.consume(broker, o, func(_ context.Context, d workqueue.Delivery) error {
		if account.Delivered(d.Message) == 25 {
			done.end()
		}
		return nil
	})
	take(b, done.ended, "all messages at the other consumer")
	b.settle(broker, o, 0, 0)
	b.faultless(account)
}

// checkDead: dead letters are counted, can be taken in any number, and are deleted with their queue.
func checkDead(b *bench) {
	o := b.options()
	broker := b.declare(o)
	b.publish(b.publisher(broker, o), messages(5)...)
	stop := b.consume(broker, o, func(context.Context, workqueue.Delivery) error {
		return wirelab.Errorf(wirelab.InvalidArgument, "nothing is right")
	})
	b.settle(broker, o, 0, 5)
	stop()
	seen := map[string]bool{}
	for _, c := range []struct{ limit, want int }{{2, 2}, {1, 1}, {0, 0}} {
		letters, err := broker.Dead(b.ctx, o, c.limit)
		b.must(err, "dead")
		if len(letters) != c.want {
			b.Errorf("%d dead letters, want %d", len(letters), c.want)
		}
		for _, m := range letters {
			seen[m.ID] = true
		}
	}
	if len(seen) != 3 {
		b.Errorf("of five dead letters %v were taken", seen)
	}
	b.settle(broker, o, 0, 2)
	b.must(broker.Delete(b.ctx, o), "delete")
	_, _, err := broker.Depth(b.ctx, o)
	b.coded(err, "depth of what was deleted", wirelab.NotFound)
	b.must(broker.Declare(b.ctx, o), "declare again")
	b.settle(broker, o, 0, 0)
}
