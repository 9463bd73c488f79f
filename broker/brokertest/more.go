package brokertest

import (
	"context"
	"sync"
	"time"

	"wirelab"
	"wirelab/broker"
)

// acks is a handler that acknowledges everything.
func acks(context.Context, broker.Delivery) broker.Disposition { return broker.Ack() }

// counted checks that the depth of a group is the number of messages it has not dealt with.
func (x *trial) counted() {
	t := x.topic("g", "other")
	x.send(t.Name, series("m", 30)...)
	x.depth(t.Name, "g", 30)
	r := x.read(t.Name, "g", 0, nil)
	r.take(30)
	r.close()
	x.depth(t.Name, "g", 0)
	x.depth(t.Name, "other", 30)
	if _, err := x.broker.Depth(x.ctx, "no-such-topic", "g"); wirelab.CodeOf(err) != wirelab.NotFound {
		x.Errorf("the depth of a topic that is not there: %v, want NotFound", err)
	}
}

// depth waits until the group has the wanted depth.
func (x *trial) depth(topic, group string, want int) {
	x.Helper()
	for limit := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		got, err := x.broker.Depth(x.ctx, topic, group)
		x.must(err)
		if got == want {
			return
		}
		if time.Now().After(limit) {
			x.Fatalf("group %s has %d messages, want %d", group, got, want)
		}
	}
}

// retried checks that a message is delivered again if its handler asks for it, and no other message is.
func (x *trial) retried() {
	t := x.topic("g")
	want := series("m", 10)
	x.send(t.Name, want...)
	var mu sync.Mutex // guards all below
	given, failures := map[string]int{}, -1
	all := make(chan struct{})
	sub, err := x.broker.Subscribe(x.ctx, broker.Subscription{
		Topic: t.Name, Group: "g", Concurrency: 4, Retry: time.Millisecond,
	}, func(_ context.Context, d broker.Delivery) broker.Disposition {
		mu.Lock()
		defer mu.Unlock()
		given[string(d.Body)]++
		if string(d.Body) == want[4] {
			if d.Failures < failures || d.Attempt != 0 && d.Attempt <= d.Failures {
				x.Errorf("given after %d failures, then after %d, as attempt %d", failures, d.Failures, d.Attempt)
			}
			if failures = d.Failures; given[want[4]] < 3 {
				return broker.Retry(time.Millisecond, "not yet")
			}
		}
		if len(given) == len(want) && given[want[4]] == 3 {
			close(all)
		}
		return broker.Ack()
	})
	x.must(err)
	select {
	case <-all:
	case <-x.ctx.Done():
		mu.Lock()
		defer mu.Unlock()
		x.Fatalf("given %v; the subscriber says %v", given, sub.Err())
	}
	(&reader{trial: x, sub: sub}).close()
	for _, body := range want {
		if n := given[body]; n != 1 && body != want[4] {
			x.Errorf("%s was given %d times", body, n)
		}
	}
	x.depth(t.Name, "g", 0)
}

// abreast checks that as many handlers run at once as the subscription allows.
func (x *trial) abreast() {
	const handlers = 5
	t := x.topic("g")
	x.send(t.Name, series("m", 3*handlers)...)
	entered, leave := make(chan struct{}, 3*handlers), make(chan struct{})
	var running gauge
	sub, err := x.broker.Subscribe(x.ctx, broker.Subscription{
		Topic: t.Name, Group: "g", Concurrency: handlers,
	}, func(context.Context, broker.Delivery) broker.Disposition {
		running.add(1)
		defer running.add(-1)
		entered <- struct{}{}
		<-leave
		return broker.Ack()
	})
	x.must(err)
	for n := range 3 * handlers {
		select {
		case <-entered:
		case <-x.ctx.Done():
			close(leave)
			x.Fatalf("the %dth handler does not run", n+1)
		}
		if n == handlers-1 {
			if !sub.Ready() {
				x.Error("a subscriber that is given messages says that it is not ready")
			}
			close(leave)
		}
	}
	(&reader{trial: x, sub: sub}).close()
	if running.most() != handlers {
		x.Errorf("%d handlers ran at once, want %d", running.most(), handlers)
	}
}

// named checks that ids stay with messages, and that a receipt has the time of confirmation.
func (x *trial) named() {
	t := x.topic("g")
	p, err := x.broker.Publisher(x.ctx, broker.PublisherConfig{Topic: t.Name})
	x.must(err)
	if _, why := p.Away(); why != nil {
		x.Errorf("a broker that is there is away: %v", why)
	}
	answered := make(chan error, 1)
	one := []broker.Message{{ID: "an-id", Body: []byte("one")}}
	p.Send(x.ctx, t.Name, one, func(_ broker.Receipt, err error) { answered <- err })
	x.must(<-answered)
	x.must(p.Close())
	got := make(chan broker.Delivery, 2)
	sub, err := x.broker.Subscribe(x.ctx, broker.Subscription{Topic: t.Name, Group: "g"},
		func(_ context.Context, d broker.Delivery) broker.Disposition { got <- d; return broker.Ack() })
	x.must(err)
	select {
	case d := <-got:
		if d.ID != "an-id" || d.Redelivered || d.Attempt > 1 || d.Failures != 0 {
			x.Errorf("%+v came", d)
		}
	case <-x.ctx.Done():
		x.Fatal("nothing came")
	}
	(&reader{trial: x, sub: sub}).close()
	_, err = x.broker.Publisher(x.ctx, broker.PublisherConfig{Topic: "no-such-topic"})
	if wirelab.CodeOf(err) != wirelab.NotFound {
		x.Errorf("a publisher to a topic that is not there: %v, want NotFound", err)
	}
}

// absentOnly checks that a topic is created unless it exists.
func (x *trial) absentOnly() {
	t := x.topic("g")
	x.send(t.Name, "kept")
	again := t
	again.IfAbsent = true
	x.must(x.broker.CreateTopic(x.ctx, again))
	x.depth(t.Name, "g", 1)
}
