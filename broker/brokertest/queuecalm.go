package brokertest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"wirelab"
	"wirelab/broker/workqueue"
)

// checkWhole: the content of a message is never altered.
func checkWhole(b *bench) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	long := make([]byte, workqueue.BodyLimit)
	for i := range long {
		long[i] = byte(rand.Uint32())
	}
	samples := []workqueue.Message{
		{ID: "0", Body: []byte{0}},
		{ID: strings.Repeat("i", workqueue.IDLimit), Body: every},
		{ID: `!"#$%&'()*+,-./:;<=>?@[\]^_{|}~`, Body: []byte("\r\n\r\n")},
		{ID: "utf-8-it-is-not", Body: []byte("\xff\xfe\xc3")},
		{ID: "longest", Body: long},
	}
	for _, confirms := range []bool{true, false} {
		for _, persistent := range []bool{true, false} {
			o := b.options()
			o.Confirms, o.Persistent = confirms, persistent
			broker := b.declare(o)
			p := b.publisher(broker, o)
			account, got := NewAccount(), make(chan workqueue.Delivery, 2*len(samples))
			for _, m := range samples {
				account.Published(m)
				began := time.Now()
				r, err := p.Publish(b.ctx, m)
				b.must(err, "publish %.20q, confirms %v, persistent %v", m.ID, confirms, persistent)
				if r.Written.Before(began) || confirms && r.Confirmed.Before(r.Written) ||
					!confirms && !r.Confirmed.IsZero() {
					b.Errorf("confirms %v: receipt %+v", confirms, r)
				}
				account.Confirmed(m.ID)
			}
			b.consume(broker, o, func(ctx context.Context, d workqueue.Delivery) error {
				d.Body = bytes.Clone(d.Body)
				put(ctx, got, d)
				return nil
			})
			for range samples {
				d := take(b, got, "a delivery")
				if d.Redelivered || d.Attempt > 1 {
					b.Errorf("%.20q came for the first time, as attempt %d, redelivered %v", d.ID, d.Attempt,
						d.Redelivered)
				}
				account.Delivered(d.Message)
			}
			b.faultless(account)
			b.settle(broker, o, 0, 0)
		}
	}
}

// faultless checks that every message was delivered once, unaltered.
func (b *bench) faultless(a *Account) {
	b.Helper()
	if sum := a.Tally(); sum.Delivered != sum.Published ||
		sum.Duplicated+len(sum.Missing)+len(sum.Unknown)+len(sum.Altered) > 0 {
		b.Errorf("%v", sum)
	}
}

// checkRefused: messages and names that violate the contract do not reach a broker.
func checkRefused(b *bench) {
	o := b.options()
	broker := b.declare(o)
	p := b.publisher(broker, o)
	for name, m := range map[string]workqueue.Message{
		"no id":           {Body: []byte("x")},
		"a long id":       {ID: strings.Repeat("i", workqueue.IDLimit+1), Body: []byte("x")},
		"a line's end":    {ID: "a\r\nb", Body: []byte("x")},
		"an id not ASCII": {ID: "é", Body: []byte("x")},
		"no body":         {ID: "a"},
		"a long body":     {ID: "a", Body: make([]byte, workqueue.BodyLimit+1)},
	} {
		_, err := p.Publish(b.ctx, m)
		b.coded(err, name, wirelab.InvalidArgument)
	}
	b.settle(broker, o, 0, 0)
	for _, bad := range []workqueue.Options{
		{},
		{Name: "a b"},
		{Name: "a.b"},
		{Name: o.Name, Prefetch: -1},
		{Name: o.Name, Kind: "topic"},
	} {
		what := fmt.Sprintf("options %+v", bad)
		b.coded(broker.Declare(b.ctx, bad), "declare with "+what, wirelab.InvalidArgument)
		_, err := broker.Publisher(b.ctx, bad)
		b.coded(err, "publisher with "+what, wirelab.InvalidArgument)
		b.coded(broker.Consume(b.ctx, bad, nothing), "consume with "+what, wirelab.InvalidArgument)
		_, _, err = broker.Depth(b.ctx, bad)
		b.coded(err, "depth with "+what, wirelab.InvalidArgument)
		_, err = broker.Dead(b.ctx, bad, 1)
		b.coded(err, "dead with "+what, wirelab.InvalidArgument)
		b.coded(broker.Delete(b.ctx, bad), "delete with "+what, wirelab.InvalidArgument)
	}
}

func nothing(context.Context, workqueue.Delivery) error { return nil }

// checkOrder: with one handler at a time and no faults, messages arrive in the order of publishing.
func checkOrder(b *bench) {
	const n = 300
	o := b.options()
	o.Prefetch = 1
	broker := b.declare(o)
	account, done := NewAccount(), newFlag()
	b.consume(broker, o, func(_ context.Context, d workqueue.Delivery) error {
		if account.Delivered(d.Message) == n {
			done.end()
		}
		return nil
	})
	p := b.publisher(broker, o)
	for _, m := range messages(n) {
		account.Published(m)
		b.publish(p, m)
		account.Confirmed(m.ID)
	}
	take(b, done.ended, "the last message")
	b.faultless(account)
	if sum := account.Tally(); sum.Reordered > 0 {
		b.Errorf("%v", sum)
	}
}

// checkMany: several publishers used by many goroutines, several consumers.
func checkMany(b *bench) {
	const publishers, callers, each = 2, 8, 50
	o := b.options()
	o.Prefetch = 16
	broker, other := b.declare(o), b.open()
	account, done := NewAccount(), newFlag()
	count := func(_ context.Context, d workqueue.Delivery) error {
		if account.Delivered(d.Message) == publishers*callers*each {
			done.end()
		}
		return nil
	}
	b.consume(broker, o, count)
	b.consume(other, o, count)
	var running sync.WaitGroup
	for i := range publishers {
		p := b.publisher([]workqueue.Queues{broker, other}[i], o)
		for j := range callers {
			running.Go(func() {
				for k := range each {
					m := message((i*callers+j)*each + k)
					account.Published(m)
					if _, err := p.Publish(b.ctx, m); err != nil {
						b.Errorf("publish: %v", err)
						return
					}
					account.Confirmed(m.ID)
				}
			})
		}
	}
	running.Wait()
	take(b, done.ended, "the last message")
	b.settle(broker, o, 0, 0)
	b.faultless(account)
}

// checkPrefetch: a consumer is given as many messages as its prefetch allows and no more; the rest is available to
// another consumer. Guards ms-D06.
func checkPrefetch(b *bench) {
	o := b.options()
	o.Prefetch = 4
	broker := b.declare(o)
	b.publish(b.publisher(broker, o), messages(12)...)
	entered, leave := make(chan string, 24), make(chan struct{})
	b.Cleanup(sync.OnceFunc(func() {
		select {
		case <-leave:
		default:
			close(leave)
		}
	}))
	hold := func(running *gauge) handler {
		return func(ctx context.Context, d workqueue.Delivery) error {
			running.add(1)
			defer running.add(-1)
			put(ctx, entered, d.ID)
			select {
			case <-leave:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	var first, second gauge
	b.consume(broker, o, hold(&first))
	for range 4 {
		take(b, entered, "the first consumer's four messages")
	}
	wide := o
	wide.Prefetch = 100
	b.consume(b.open(), wide, hold(&second))
	for range 8 {
		take(b, entered, "the eight that the first consumer may not have")
	}
	b.settle(broker, o, 12, 0) // including those delivered to consumers
	close(leave)
	b.settle(broker, o, 0, 0)
	if first.most() != 4 || second.most() != 8 {
		b.Errorf("%d and %d handlers ran at once, want 4 and 8", first.most(), second.most())
	}
}

// gauge is a level that remembers its maximum.
type gauge struct {
	mu         sync.Mutex // guards both
	level, top int
}

func (g *gauge) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.level += n
	g.top = max(g.top, g.level)
}

func (g *gauge) most() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.top
}

// checkDeclare: declaring a queue again changes nothing; another kind is another queue.
func checkDeclare(b *bench) {
	o := b.options()
	broker := b.declare(o)
	b.publish(b.publisher(broker, o), message(1))
	b.must(broker.Declare(b.ctx, o), "declare again")
	b.settle(broker, o, 1, 0)
	if broker.Name() == "" {
		b.Errorf("the broker has no name")
	}
	for _, kind := range []workqueue.Kind{workqueue.Quorum, workqueue.Classic, workqueue.Stream} {
		if other := o; kind != b.kind {
			other.Kind = kind
			b.coded(broker.Declare(b.ctx, other), "declare as "+string(kind), wirelab.Conflict, wirelab.Unimplemented)
		}
	}
	b.settle(broker, o, 1, 0)
}

// checkConsuming: Consuming reports the consumers of this connection only, and a message published while it is true
// reaches one.
func checkConsuming(b *bench) {
	o := b.options()
	broker, other := b.declare(o), b.open()
	b.consuming(broker, o, false)
	got := make(chan string, 2)
	stop := b.consume(broker, o,
		func(_ context.Context, d workqueue.Delivery) error { put(b.ctx, got, d.ID); return nil })
	b.consuming(broker, o, true)
	b.consuming(other, o, false)
	b.publish(b.publisher(other, o), message(1))
	take(b, got, "a message")
	stop()
	b.consuming(broker, o, false)
}

// consuming waits until a broker reports the wanted state.
func (b *bench) consuming(broker workqueue.Queues, o workqueue.Options, want bool) {
	b.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for broker.Consuming(o) != want {
		select {
		case <-again.C:
		case <-b.ctx.Done():
			b.Fatalf("consuming is %v for ever", !want)
		}
	}
}

// checkUndeclared: no call creates a queue as a side effect, since messages sent to it would go unnoticed.
func checkUndeclared(b *bench) {
	o := b.options()
	broker := b.open()
	_, err := broker.Publisher(b.ctx, o)
	b.coded(err, "publisher", wirelab.NotFound)
	b.coded(broker.Consume(b.ctx, o, nothing), "consume", wirelab.NotFound)
	_, _, err = broker.Depth(b.ctx, o)
	b.coded(err, "depth", wirelab.NotFound)
	_, err = broker.Dead(b.ctx, o, 1)
	b.coded(err, "dead", wirelab.NotFound)
	b.must(broker.Delete(b.ctx, o), "delete a missing queue")
}

// checkContext: a call whose context has ended fails with the error of the context. A consumer whose context ended
// returns nil, because that is the way to stop it.
func checkContext(b *bench) {
	o := b.options()
	broker := b.declare(o)
	p := b.publisher(broker, o)
	ended, end := context.WithCancel(b.ctx)
	end()
	_, err := p.Publish(ended, message(1))
	b.coded(err, "publish", wirelab.Canceled)
	b.coded(broker.Declare(ended, o), "declare", wirelab.Canceled)
	_, err = broker.Publisher(ended, o)
	b.coded(err, "publisher", wirelab.Canceled)
	_, _, err = broker.Depth(ended, o)
	b.coded(err, "depth", wirelab.Canceled)
	_, err = broker.Dead(ended, o, 1)
	b.coded(err, "dead", wirelab.Canceled)
	b.coded(broker.Delete(ended, o), "delete", wirelab.Canceled)
	b.must(broker.Consume(ended, o, nothing), "consume")
}

// checkClosed: closed objects return an error that says so, and may be closed again.
func checkClosed(b *bench) {
	o := b.options()
	b.declare(o)
	broker := b.open()
	closing, left := b.publisher(broker, o), b.publisher(broker, o)
	b.must(closing.Close(), "close the publisher")
	_, err := closing.Publish(b.ctx, message(1))
	b.coded(err, "publish after the publisher's end", wirelab.Unavailable)
	b.must(closing.Close(), "close the publisher again")
	b.must(broker.Close(), "close")
	b.must(broker.Close(), "close again")
	_, err = left.Publish(b.ctx, message(1))
	b.coded(err, "publish after the broker's end", wirelab.Unavailable)
	_, _, err = broker.Depth(b.ctx, o)
	b.coded(err, "depth after the end", wirelab.Unavailable)
	b.coded(broker.Consume(b.ctx, o, nothing), "consume after the end", wirelab.Unavailable)
}
