package brokertest

import (
	"context"
	"sync"
	"time"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/broker/workqueue"
	"wirelab/internal/leaktest"
)

// restart kills the server and starts it again.
func (b *bench) restart() {
	b.Helper()
	b.must(b.server.Kill(b.ctx), "kill")
	b.must(b.server.Revive(b.ctx), "revive")
}

// checkKept: a confirmed persistent message survives the server, and so does a dead letter. Guards ms-D04.
func checkKept(b *bench) {
	const n = 200
	o := b.options()
	broker := b.declare(o)
	p := b.publisher(broker, o)
	letter := workqueue.Message{ID: "letter", Body: []byte("\x00dead\xff")}
	b.publish(p, letter)
	stop := b.consume(broker, o, func(context.Context, workqueue.Delivery) error {
		return wirelab.Errorf(wirelab.InvalidArgument, "nothing is right")
	})
	b.settle(broker, o, 0, 1)
	stop()
	account := NewAccount()
	for _, m := range messages(n) {
		account.Published(m)
		b.publish(p, m)
		account.Confirmed(m.ID)
	}
	b.restart()
	done := newFlag()
	b.consume(b.open(), o, func(_ context.Context, d workqueue.Delivery) error {
		if d.ID != letter.ID && account.Delivered(d.Message) == n {
			done.end()
		}
		return nil
	})
	take(b, done.ended, "what was confirmed before the server was killed")
	b.settle(broker, o, 0, 1)
	if sum := account.Tally(); len(sum.Missing)+len(sum.Altered)+len(sum.Unknown) > 0 {
		b.Errorf("%v", sum)
	}
	b.dead(broker, o, letter)
}

// checkThrough: publishers and consumers continue by themselves, and no call fails if the server is back in time.
// Guards ms-D07.
func checkThrough(b *bench) {
	const callers, each, killAt = 4, 250, 300
	o := b.options()
	o.Prefetch = 16
	broker := b.declare(o)
	p := b.publisher(broker, o)
	account := NewAccount()
	done, enough := newFlag(), make(chan struct{})
	b.consume(broker, o, func(_ context.Context, d workqueue.Delivery) error {
		if account.Delivered(d.Message) == callers*each {
			done.end()
		}
		return nil
	})
	var running sync.WaitGroup
	for i := range callers {
		running.Go(func() {
			for k := range each {
				m := message(i*each + k)
				account.Published(m)
				if _, err := p.Publish(b.ctx, m); err != nil {
					b.Errorf("publish %q: %v", m.ID, err)
					return
				}
				if account.Confirmed(m.ID) == killAt {
					close(enough)
				}
			}
		})
	}
	take(b, enough, "the first confirmations")
	b.restart()
	running.Wait()
	if sum := account.Tally(); sum.Confirmed == callers*each {
		take(b, done.ended, "the last message")
	}
	b.settle(broker, o, 0, 0)
	sum := account.Tally()
	b.Logf("through a killed server: %v", sum)
	if sum.Delivered != callers*each || len(sum.Missing)+len(sum.Altered)+len(sum.Unknown) > 0 {
		b.Errorf("%v", sum)
	}
}

// checkAway: while the server is down a bounded number of calls waits, one more fails at once, deadlines are kept,
// and the waiting calls complete once the server is back.
func checkAway(b *bench) {
	const buffer, more = 3, 4
	o := b.options()
	o.Buffer = buffer
	broker := b.declare(o)
	p := b.publisher(broker, o)
	b.publish(p, message(0))
	handled := make(chan string, 20)
	handle := func(_ context.Context, d workqueue.Delivery) error { put(b.ctx, handled, d.ID); return nil }
	stop := b.consume(broker, o, handle)
	take(b, handled, "the first message")
	b.settle(broker, o, 0, 0)
	b.must(b.server.Kill(b.ctx), "kill")
	b.consuming(broker, o, false)

	// Each call has its own context, because one of the waiting calls is cancelled below.
	results := make([]chan error, buffer+more)
	giveUp := make([]context.CancelFunc, buffer+more)
	failed := make(chan int, buffer+more)
	for i := range results {
		results[i] = make(chan error, 1)
		var ctx context.Context
		ctx, giveUp[i] = context.WithCancel(b.ctx)
		defer giveUp[i]()
		go func() {
			_, err := p.Publish(ctx, message(1+i))
			results[i] <- err
			failed <- i
		}()
	}
	waiting := map[int]bool{}
	for i := range results {
		waiting[i] = true
	}
	for range more {
		i := take(b, failed, "the calls that are too many")
		b.coded(take(b, results[i], "a result"), "a call too many", wirelab.ResourceExhausted)
		delete(waiting, i)
	}
	for i := range waiting { // one is enough
		giveUp[i]()
		take(b, failed, "the call that was given up")
		b.coded(take(b, results[i], "a result"), "a call that was given up", wirelab.Canceled)
		delete(waiting, i)
		break
	}
	b.late("publish", func(ctx context.Context) error { _, err := p.Publish(ctx, message(90)); return err })
	b.late("depth", func(ctx context.Context) error { _, _, err := broker.Depth(ctx, o); return err })
	b.late("declare", func(ctx context.Context) error { return broker.Declare(ctx, o) })
	stop() // ending a consumer does not wait for the server
	other := b.consume(broker, o, handle)
	b.must(b.server.Revive(b.ctx), "revive")
	b.consuming(broker, o, true)
	for i := range waiting {
		b.must(take(b, results[i], "a call that waited"), "a call that waited")
	}
	for len(waiting) > 0 {
		id := take(b, handled, "what waited")
		for i := range waiting {
			if message(1+i).ID == id {
				delete(waiting, i)
			}
		}
	}
	b.settle(broker, o, 0, 0)
	other()
}

// late checks that a call whose deadline passes while the server is down returns DeadlineExceeded.
func (b *bench) late(what string, call func(context.Context) error) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 150*time.Millisecond)
	defer cancel()
	b.coded(call(ctx), what+" while the server is away", wirelab.Unavailable)
}

// checkLeaks: closed objects leave no goroutine, even if the server cannot be reached.
func checkLeaks(b *bench) {
	o := b.options()
	b.declare(o)
	before := goleak.IgnoreCurrent()
	doomed, cut, err := b.server.Doomed(b.ctx)
	b.must(err, "open a connection to cut")
	healthy, err := b.server.Open(b.ctx)
	b.must(err, "open")
	for _, broker := range []workqueue.Queues{healthy, doomed} {
		p, err := broker.Publisher(b.ctx, o)
		b.must(err, "publisher")
		got := make(chan string, 10)
		ctx, cancel := context.WithCancel(b.ctx)
		var consuming sync.WaitGroup
		consuming.Go(func() {
			if err := broker.Consume(ctx, o, func(_ context.Context, d workqueue.Delivery) error {
				put(b.ctx, got, d.ID)
				return nil
			}); err != nil {
				b.Errorf("consume: %v", err)
			}
		})
		b.publish(p, message(1))
		take(b, got, "the message")
		if broker == doomed {
			cut()
			b.late("publish", func(ctx context.Context) error { _, err := p.Publish(ctx, message(2)); return err })
		}
		cancel()
		consuming.Wait()
		if broker == healthy {
			b.must(p.Close(), "close the publisher")
		}
		if err := broker.Close(); err != nil && broker == healthy {
			b.Errorf("close: %v", err)
		}
	}
	if err := leaktest.Find(b.patience, before); err != nil {
		b.Errorf("%v", err)
	}
}
