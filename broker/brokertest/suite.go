// Package brokertest tests a broker's driver against the contract of package broker, and turns any broker into a
// faulty one for tests of fault detection. It checks the content of every message, and starts no broker.
package brokertest

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/broker"
)

// patience limits the wait for anything that must happen.
const patience = 2 * time.Minute

// Run tests a broker. open connects to it, anew for each check.
func Run(t *testing.T, open func(t *testing.T) broker.Broker) {
	t.Helper()
	for _, c := range []struct {
		name string
		try  func(*trial)
	}{
		{"each group gets every message in order", (*trial).groups},
		{"a group keeps messages without a reader", (*trial).kept},
		{"what was not dealt with comes again", (*trial).again},
		{"what a handler does not deal with", (*trial).undealt},
		{"many senders at once", (*trial).crowd},
		{"batches", (*trial).batches},
		{"bodies of every size", (*trial).sizes},
		{"two topics do not mix", (*trial).topics},
		{"a topic that is there", (*trial).conflict},
		{"a topic that is not there", (*trial).absent},
		{"a topic removed", (*trial).removed},
		{"a topic made unless it is there", (*trial).absentOnly},
		{"ids and publishers of one topic", (*trial).named},
		{"how much a group has", (*trial).counted},
		{"a retried message is delivered again", (*trial).retried},
		{"several handlers at once", (*trial).abreast},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &trial{T: t, broker: open(t)}
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			x.ctx = ctx
			t.Cleanup(func() {
				if err := x.broker.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			c.try(x)
		})
	}
}

// trial is a running check.
type trial struct {
	*testing.T
	ctx    context.Context //nolint:containedctx // the test's
	broker broker.Broker
}

func (x *trial) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

// topic creates a topic with a name that no other check uses, and deletes it at the end.
func (x *trial) topic(groups ...string) broker.Topic {
	x.Helper()
	t := broker.Topic{Name: "t-" + strings.ToLower(rand.Text()), Groups: groups}
	x.must(x.broker.CreateTopic(x.ctx, t))
	x.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := x.broker.DeleteTopic(ctx, t); err != nil {
			x.Errorf("remove: %v", err)
		}
	})
	return t
}

// send sends the bodies one after the other, one per send, and waits for all.
func (x *trial) send(topic string, bodies ...string) {
	x.Helper()
	p, err := x.broker.Publisher(x.ctx, broker.PublisherConfig{})
	x.must(err)
	var all sync.WaitGroup
	var mu sync.Mutex // guards failed
	var failed error
	for _, body := range bodies {
		all.Add(1)
		p.Send(x.ctx, topic, broker.Messages([]byte(body)), func(_ broker.Receipt, err error) {
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = err
			}
			all.Done()
		})
	}
	all.Wait()
	x.must(failed)
	x.must(p.Close())
}

// reader reads a group.
type reader struct {
	*trial
	sub broker.Subscriber
	got chan string
}

func (x *trial) read(topic, group string, ahead int, handle func(string)) *reader {
	x.Helper()
	r := &reader{trial: x, got: make(chan string, 100_000)}
	var err error
	of := broker.Subscription{Topic: topic, Group: group, Prefetch: ahead}
	r.sub, err = x.broker.Subscribe(x.ctx, of, func(_ context.Context, d broker.Delivery) broker.Disposition {
		if handle != nil {
			handle(string(d.Body))
		}
		r.got <- string(d.Body)
		return broker.Ack()
	})
	x.must(err)
	return r
}

// take waits for n messages.
func (r *reader) take(n int) []string {
	r.Helper()
	var all []string
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for len(all) < n {
		select {
		case body := <-r.got:
			all = append(all, body)
		case <-limit.C:
			r.Fatalf("%d of %d messages came; the subscriber says %v", len(all), n, r.sub.Err())
		}
	}
	return all
}

func (r *reader) close() {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r.must(r.sub.Close(ctx))
}

// nothing checks that no more messages arrive for a while.
func (r *reader) nothing() {
	r.Helper()
	limit := time.NewTimer(200 * time.Millisecond)
	defer limit.Stop()
	select {
	case body := <-r.got:
		r.Errorf("%.40q was never sent, or came before", body)
	case <-limit.C:
	}
}

func series(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%05d", prefix, i)
	}
	return all
}

func (x *trial) groups() {
	t := x.topic("one", "two")
	first, second := x.read(t.Name, "one", 0, nil), x.read(t.Name, "two", 0, nil)
	want := series("m", 500)
	x.send(t.Name, want...)
	for _, r := range []*reader{first, second} {
		if got := r.take(len(want)); !slices.Equal(got, want) {
			x.Errorf("got %v", got)
		}
		r.nothing()
		r.close()
	}
}

func (x *trial) kept() {
	t := x.topic("later")
	want := series("m", 300)
	x.send(t.Name, want...)
	r := x.read(t.Name, "later", 0, nil)
	if got := r.take(len(want)); !slices.Equal(got, want) {
		x.Errorf("got %v", got)
	}
	r.close()
	r = x.read(t.Name, "later", 0, nil) // acknowledged messages are not delivered again
	r.nothing()
	r.close()
}

// again closes a reader while it holds most of its messages unread.
func (x *trial) again() {
	t := x.topic("g")
	want := series("m", 200)
	x.send(t.Name, want...)
	hold := make(chan struct{})
	r := x.read(t.Name, "g", 50, func(body string) {
		if body == want[20] {
			<-hold
		}
	})
	before := r.take(20)
	go func() { // ends when the context does
		timer := time.NewTimer(100 * time.Millisecond)
		defer timer.Stop()
		<-timer.C
		close(hold)
	}()
	r.close()
	for len(r.got) > 0 {
		before = append(before, <-r.got)
	}
	if len(before) == len(want) {
		x.Fatal("a subscriber that was closed went on to the end")
	}
	next := x.read(t.Name, "g", 0, nil)
	after := next.take(len(want) - len(before))
	next.nothing()
	next.close()
	got := slices.Concat(before, after)
	slices.Sort(got) // messages that were prefetched may come in another order
	if !slices.Equal(got, want) {
		x.Errorf("got %v", got)
	}
}

// undealt checks that a handler that returns Stop gets no more messages, and that the message goes to the next
// subscriber.
func (x *trial) undealt() {
	t := x.topic("g")
	want := series("m", 20)
	x.send(t.Name, want...)
	refused := make(chan struct{})
	given := 0
	of := broker.Subscription{Topic: t.Name, Group: "g", Prefetch: 4}
	sub, err := x.broker.Subscribe(x.ctx, of, func(context.Context, broker.Delivery) broker.Disposition {
		if given++; given < 6 {
			return broker.Ack()
		}
		if given == 6 {
			close(refused)
		}
		return broker.Stop()
	})
	x.must(err)
	select {
	case <-refused:
	case <-x.ctx.Done():
		x.Fatal("the sixth message did not come")
	}
	(&reader{trial: x, sub: sub}).close()
	if given != 6 {
		x.Errorf("%d messages were given, want none after the sixth", given)
	}
	r := x.read(t.Name, "g", 0, nil)
	got := r.take(15)
	slices.Sort(got) // as above
	if !slices.Equal(got, want[5:]) {
		x.Errorf("got %v, want those from the sixth on", got)
	}
	r.nothing()
	r.close()
}

func (x *trial) crowd() {
	const senders, each = 8, 50
	t := x.topic("g")
	r := x.read(t.Name, "g", 0, nil)
	p, err := x.broker.Publisher(x.ctx, broker.PublisherConfig{MaxInFlight: senders})
	x.must(err)
	var all sync.WaitGroup
	answers := make(chan error, senders*each)
	work := func(from string) {
		for _, body := range series(from, each) {
			p.Send(x.ctx, t.Name, broker.Messages([]byte(body)), func(_ broker.Receipt, err error) { answers <- err })
		}
	}
	for i := range senders {
		if p.Calls() {
			all.Go(func() { work("s" + strconv.Itoa(i)) })
		} else {
			work("s" + strconv.Itoa(i))
		}
	}
	all.Wait()
	for range senders * each {
		x.must(<-answers)
	}
	got := r.take(senders * each)
	r.close()
	x.must(p.Close())
	for i := range senders {
		want := series("s"+strconv.Itoa(i), each)
		mine := slices.DeleteFunc(slices.Clone(got), func(body string) bool { return body[:3] != want[0][:3] })
		if !slices.Equal(mine, want) {
			x.Errorf("of sender %d came %v", i, mine)
		}
	}
}

func (x *trial) batches() {
	t := x.topic("g")
	p, err := x.broker.Publisher(x.ctx, broker.PublisherConfig{})
	x.must(err)
	want := series("b", broker.BatchLimit)
	bodies := make([][]byte, len(want))
	for i, b := range want {
		bodies[i] = []byte(b)
	}
	answered := make(chan error, 1)
	p.Send(x.ctx, t.Name, broker.Messages(bodies...), func(_ broker.Receipt, err error) { answered <- err })
	x.must(<-answered)
	x.must(p.Close())
	r := x.read(t.Name, "g", 0, nil)
	if got := r.take(len(want)); !slices.Equal(got, want) {
		x.Errorf("got %v", got)
	}
	r.close()
}

func (x *trial) sizes() {
	t := x.topic("g")
	var want []string
	for _, size := range []int{1, 100, 64 << 10, broker.BodyLimit} {
		body := make([]byte, size)
		for i := range body {
			body[i] = byte(i * 7) // every byte value, so not UTF-8
		}
		want = append(want, string(body))
	}
	x.send(t.Name, want...)
	r := x.read(t.Name, "g", 0, nil)
	if got := r.take(len(want)); !slices.Equal(got, want) {
		x.Error("a body is not as it was sent")
	}
	r.close()
}

func (x *trial) topics() {
	a, b := x.topic("g"), x.topic("g")
	x.send(a.Name, series("a", 20)...)
	x.send(b.Name, series("b", 20)...)
	for _, c := range []struct{ topic, prefix string }{{a.Name, "a"}, {b.Name, "b"}} {
		r := x.read(c.topic, "g", 0, nil)
		if got := r.take(20); !slices.Equal(got, series(c.prefix, 20)) {
			x.Errorf("under topic %s came %v", c.prefix, got)
		}
		r.nothing()
		r.close()
	}
}

func (x *trial) conflict() {
	t := x.topic("g")
	if err := x.broker.CreateTopic(x.ctx, t); wirelab.CodeOf(err) != wirelab.Conflict {
		x.Errorf("a topic that is there: %v, want Conflict", err)
	}
	err := x.broker.CreateTopic(x.ctx, broker.Topic{Name: "no spaces"})
	if wirelab.CodeOf(err) != wirelab.InvalidArgument {
		x.Errorf("a name with a space: %v, want InvalidArgument", err)
	}
}

func (x *trial) absent() {
	absent := broker.Subscription{Topic: "no-such-topic", Group: "g"}
	if _, err := x.broker.Subscribe(x.ctx, absent, acks); wirelab.CodeOf(err) != wirelab.NotFound {
		x.Errorf("subscribing to it: %v, want NotFound", err)
	}
	p, err := x.broker.Publisher(x.ctx, broker.PublisherConfig{})
	x.must(err)
	answered := make(chan error, 1)
	p.Send(x.ctx, "no-such-topic", broker.Messages([]byte{1}), func(_ broker.Receipt, err error) { answered <- err })
	if err := <-answered; err == nil {
		x.Error("a message under it was acknowledged")
	}
	x.must(p.Close())
	x.must(x.broker.DeleteTopic(x.ctx, broker.Topic{Name: "no-such-topic", Groups: []string{"g"}}))
}

func (x *trial) removed() {
	t := x.topic("g")
	x.send(t.Name, "old")
	x.must(x.broker.DeleteTopic(x.ctx, t))
	x.must(x.broker.CreateTopic(x.ctx, t))
	x.send(t.Name, "new")
	r := x.read(t.Name, "g", 0, nil)
	if got := r.take(1); got[0] != "new" {
		x.Errorf("%q came, which was removed", got[0])
	}
	r.close()
}
