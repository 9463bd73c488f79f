package access_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab/hermes/access"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/wire/status"
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
	const text = "principals:\n  - {name: a, tokens: [$a], publish: [t], quota: {messages_per_second: %d, " +
		"bytes_per_second: %d}}\n"
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
			refused(t, what, err, status.ResourceExhausted)
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
	refused(t, "more bytes than a second's", large(), status.ResourceExhausted)
	try("a refusal for its bytes does not count as a message", 9, true)

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
	p, all := policy(t, "principals:\n  - {name: a, tokens: [$a], subscribe: [t, u], quota: {subscriptions: 2}}\n  - "+
		"{name: b, tokens: [$b], subscribe: [t]}\n")
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
		refused(t, what, err, status.ResourceExhausted)
	}
	first := subscribe(ctx)
	for range 3 {
		_, err := b.Subscribe(ctx, broker.Start{Topic: "u"}) // it is not there, and takes no place
		refused(t, "a topic that is not there", err, status.NotFound)
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
	for p.Feeds() > 1 { // the end of a context is noticed in a separate goroutine
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

// owned is a broker that notes whose calls are.
type owned struct {
	broker.Broker
	of broker.Owner
}

func (o *owned) OpenProducer(ctx context.Context) (uint64, error) {
	o.of = broker.OwnerOf(ctx)
	return o.Broker.OpenProducer(ctx)
}

func (o *owned) CreateGroup(ctx context.Context, g broker.Group, start broker.Start) (broker.Group, error) {
	o.of = broker.OwnerOf(ctx)
	return o.Broker.CreateGroup(ctx, g, start)
}

func (o *owned) Subscribe(ctx context.Context, start broker.Start) (broker.Feed, error) {
	o.of = broker.OwnerOf(ctx)
	return o.Broker.Subscribe(ctx, start)
}

// What takes of a pool that all share says whose it is and how many he may have; with none it is refused.
func TestShares(t *testing.T) {
	t.Parallel()
	p, all := policy(t, "principals:\n  - {name: a, tokens: [$a], publish: [t], subscribe: [t], admin: [t], quota: "+
		"{groups: 3, producers: 4}}\n"+
		"  - {name: b, tokens: [$b], publish: [t], subscribe: [t], admin: [t], quota: {groups: 0, producers: 0}}\n"+
		"  - {name: c, tokens: [$c], publish: [t]}\n")
	o := &owned{Broker: memory(t, "t")}
	b := access.Wrap(o, p)
	group := broker.Start{Topic: "t", From: broker.FromGroup, Group: "g"}
	use := func(ctx context.Context) (all []error) {
		_, err := b.OpenProducer(ctx)
		_, made := b.CreateGroup(ctx, broker.Group{Topic: "t", Name: "h"}, broker.Start{})
		f, joined := b.Subscribe(ctx, group)
		if joined == nil {
			f.Close()
		}
		return []error{err, made, joined}
	}
	for i, err := range use(all.as(t.Context(), "b")) {
		if refused(t, fmt.Sprint("use ", i), err, status.PermissionDenied); err != nil &&
			!strings.Contains(err.Error(), "is 0") {
			t.Error(err)
		}
	}
	for i, err := range use(all.as(t.Context(), "a")) {
		if err != nil || o.of != (broker.Owner{Name: "a", Groups: 3, Producers: 4}) {
			t.Errorf("use %d: %+v, %v", i, o.of, err)
		}
	}
	if f, err := b.Subscribe(all.as(t.Context(), "b"), group); err != nil {
		t.Errorf("a group that is there: %v", err)
	} else {
		f.Close()
	}
	if _, err := b.OpenProducer(all.as(t.Context(), "c")); err != nil ||
		o.of != (broker.Owner{
			Name: "c", Groups: 10_000,
			Producers: 10_000,
		}) {
		t.Errorf("the usual: %+v, %v", o.of, err)
	}
}

// held is a broker that answers nothing until it is instructed to.
type held struct {
	broker.Broker
	answers chan func(broker.Verdict)
}

func (h held) Publish(_ context.Context, _ broker.Run, done func(broker.Verdict)) { h.answers <- done }

// A principal waits for its own answers once it has its share in the node's hands, and the others do not.
func TestShareOfWhatIsUnanswered(t *testing.T) {
	t.Parallel()
	p, all := policy(t, "principals:\n  - {name: a, tokens: [$a], publish: [t]}\n  - {name: b, tokens: [$b], "+
		"publish: [t]}\n")
	p.Share(1000)
	h := held{answers: make(chan func(broker.Verdict), 100)}
	b := access.Wrap(h, p)
	a, other := all.as(t.Context(), "a"), all.as(t.Context(), "b")
	answered := make(chan error, 100)
	done := func(v broker.Verdict) { answered <- v.Err }
	for len(h.answers) < 7 { // 128 bytes each, and the messages'
		b.Publish(a, run("t", "x"), done)
	}
	ctx, cancel := context.WithCancel(a)
	cancel()
	b.Publish(ctx, run("t", "x"), done)
	refused(t, "one more, by who does not wait", <-answered, status.Canceled)
	waiting := make(chan struct{})
	go func() {
		b.Publish(a, run("t", "x"), done)
		close(waiting)
	}()
	b.Publish(other, run("t", "x"), done)
	if n := len(h.answers); n != 8 {
		t.Errorf("%d publishes came through, want the seven of one principal and the other's", n)
	}
	(<-h.answers)(broker.Verdict{})
	if err := <-answered; err != nil {
		t.Error(err)
	}
	<-waiting
	for len(h.answers) > 0 {
		(<-h.answers)(broker.Verdict{})
	}
	b.Publish(other, run("t", strings.Repeat("x", 5000)), done) // larger than the share
	(<-h.answers)(broker.Verdict{})
}
