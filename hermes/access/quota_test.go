package access_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/hermes/access"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
)

// clock is a time that stands until it is moved.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func TestPublishQuota(t *testing.T) {
	t.Parallel()
	const text = "principals:\n  - {name: a, tokens: [$a], publish: [t], quota: {messages_per_second: %d, bytes_per_second: %d}}\n"
	p, all := policy(t, fmt.Sprintf(text, 10, 1000))
	c := &clock{at: time.Unix(1, 0)}
	p.SetClock(c.now)
	b, ctx := access.Wrap(memory(t, "t"), p), all.as(t.Context(), "a")
	small := strings.Split(strings.Repeat("x", 40), "")
	try := func(what string, count int, ok bool) {
		t.Helper()
		err := brokertest.Publish(ctx, b, run("t", small[:count]...)).Err
		if ok && err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if !ok {
			refused(t, what, err, wirelab.ResourceExhausted)
		}
	}
	try("a second's worth at once", 10, true)
	try("one more", 1, false)
	c.pass(99 * time.Millisecond)
	try("before a tenth of a second", 1, false)
	c.pass(2 * time.Millisecond)
	try("after it", 1, true)
	c.pass(time.Hour)
	try("10 after an hour, not 36,000", 10, true)
	try("nor one more", 1, false)
	c.pass(500 * time.Millisecond)
	try("beyond the worth of a second before the bucket is full", 40, false)
	c.pass(500 * time.Millisecond)
	try("beyond it when it is full", 40, true)
	c.pass(3 * time.Second)
	try("before it has paid", 1, false)
	c.pass(200 * time.Millisecond)
	try("after", 1, true)

	c.pass(time.Minute)
	large := func() error { return brokertest.Publish(ctx, b, run("t", strings.Repeat("x", 600))).Err }
	if err := large(); err != nil {
		t.Error(err)
	}
	refused(t, "more bytes than a second's", large(), wirelab.ResourceExhausted)
	try("what is refused for its bytes does not count as a message", 9, true)

	all.reload(fmt.Sprintf(text, 11, 1000))
	try("a reload fills no bucket", 2, false)
	all.reload("principals:\n  - {name: a, tokens: [$a], publish: [t]}\n")
	try("without a quota", 40, true)
	if err := large(); err != nil {
		t.Error(err)
	}
}

func TestSubscriptionQuota(t *testing.T) {
	t.Parallel()
	p, all := policy(t, "principals:\n  - {name: a, tokens: [$a], subscribe: [t, u], quota: {subscriptions: 2}}\n  - {name: b, tokens: [$b], subscribe: [t]}\n")
	b, ctx := access.Wrap(memory(t, "t"), p), all.as(t.Context(), "a")
	subscribe := func(ctx context.Context) broker.Feed {
		t.Helper()
		f, err := b.Subscribe(ctx, broker.Start{Topic: "t"})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	full := func(what string) {
		t.Helper()
		_, err := b.Subscribe(ctx, broker.Start{Topic: "t"})
		refused(t, what, err, wirelab.ResourceExhausted)
	}
	first := subscribe(ctx)
	for range 3 {
		_, err := b.Subscribe(ctx, broker.Start{Topic: "u"}) // it is not there, and takes no place
		refused(t, "a topic that is not there", err, wirelab.NotFound)
	}
	limited, cancel := context.WithCancel(ctx)
	second := subscribe(limited)
	defer second.Close()
	full("a third")
	subscribe(all.as(t.Context(), "b")).Close() // the other has his own
	all.reload("principals:\n  - {name: a, tokens: [$a], subscribe: [t], quota: {subscriptions: 2}}\n")
	full("a third after a reload")
	first.Close()
	first.Close()
	third := subscribe(ctx)
	full("a third again, though one was closed twice")
	cancel()
	for p.Feeds() > 1 { // the end of a context is noticed in a goroutine of its own
		if t.Context().Err() != nil {
			t.Fatal("the place is not given back")
		}
	}
	third.Close()
	subscribe(ctx).Close()
	if n := p.Feeds(); n != 0 {
		t.Errorf("%d subscriptions are still watched", n)
	}
}
