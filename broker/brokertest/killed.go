package brokertest

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"wirelab/broker"
)

// Killed calls kill to end a broker's server and start it again while messages are sent and read. Each send must be
// answered, every acknowledged message must arrive, and the reader must continue by itself.
func Killed(t *testing.T, of broker.Broker, kill func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	x := &trial{T: t, broker: of, ctx: ctx}
	x.Cleanup(func() {
		if err := of.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	topic := x.topic("g")
	b := &book{seen: map[string]bool{}, acknowledged: map[string]bool{}}
	sub, err := of.Subscribe(ctx, broker.Subscription{Topic: topic.Name, Group: "g"}, b.arrived)
	x.must(err)
	x.sendThrough(topic.Name, b, kill)
	for limit := time.Now().Add(2 * patience); b.missing() > 0 && time.Now().Before(limit); {
		time.Sleep(20 * time.Millisecond)
	}
	if n := b.missing(); n > 0 {
		t.Errorf("%d of %d acknowledged messages did not arrive; the subscriber says %v", n, len(b.acknowledged),
			sub.Err())
	}
	closing, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer stop()
	x.must(sub.Close(closing))
}

// The server is killed after this many messages; sending continues until it has acknowledged this many more after
// the restart.
const (
	killedAfter = 500
	backFor     = 500
)

// book records the state of each message.
type book struct {
	mu                 sync.Mutex // guards all below
	seen, acknowledged map[string]bool
}

func (b *book) arrived(_ context.Context, d broker.Delivery) broker.Disposition {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen[string(d.Body)] = true
	return broker.Ack()
}

func (b *book) answered(body string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.acknowledged[body] = true
	}
}

// count returns how many were acknowledged so far.
func (b *book) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.acknowledged)
}

func (b *book) missing() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for body := range b.acknowledged {
		if !b.seen[body] {
			n++
		}
	}
	return n
}

// sendThrough sends before, during and after the kill, and waits for every answer.
func (x *trial) sendThrough(topic string, b *book, kill func(context.Context) error) {
	x.Helper()
	p, err := x.broker.Publisher(x.ctx, broker.PublisherConfig{})
	x.must(err)
	var open sync.WaitGroup
	killed := make(chan error, 1)
	enough := math.MaxInt // acknowledgements to wait for, set once the server is back
	for n := 0; b.count() < enough; n++ {
		if x.ctx.Err() != nil {
			x.Fatalf("%d messages were acknowledged, too few after the server was back", b.count())
		}
		if n == killedAfter {
			go func() { killed <- kill(x.ctx) }() // waited for below
		}
		select {
		case err := <-killed:
			x.must(err)
			enough = b.count() + backFor
		default:
		}
		body := fmt.Sprintf("m-%06d", n)
		open.Add(1)
		sending, done := context.WithTimeout(x.ctx, 5*time.Second)
		p.Send(sending, topic, broker.Messages([]byte(body)), func(_ broker.Receipt, err error) {
			b.answered(body, err)
			done()
			open.Done()
		})
		if n >= killedAfter {
			time.Sleep(time.Millisecond)
		}
	}
	open.Wait()
	x.must(p.Close())
}
