package memory

import (
	"context"
	"sync"
	"time"

	"wirelab/broker"
)

// Subscribe implements [broker.Broker].
func (b *Broker) Subscribe(
	ctx context.Context, s broker.Subscription, handle broker.Handler,
) (broker.Subscriber, error) {
	t, err := b.find(ctx, s.Topic)
	if err != nil {
		return nil, err
	}
	defer b.server.mu.Unlock()
	if t.groups[s.Group] == nil {
		return nil, errNoGroup(s.Topic, s.Group)
	}
	r := &subscriber{Reading: broker.NewReading(ctx), broker: b, of: s, handle: handle}
	go r.read() // Close waits for it
	return r, nil
}

// subscriber reads a group.
type subscriber struct {
	*broker.Reading
	broker   *Broker
	of       broker.Subscription
	handle   broker.Handler
	handlers sync.WaitGroup

	// Guarded by the server's mu.
	running int
}

// read takes messages until the subscriber is closed, or its topic is gone.
func (r *subscriber) read() {
	defer r.Over()
	for !r.Stopped() {
		g, it, changed, err := r.next()
		if err != nil {
			r.Fail(err)
			break
		}
		if it == nil {
			select {
			case <-changed:
			case <-r.Life().Done():
			}
			continue
		}
		d := broker.Delivery{
			Message: it.Message, Attempt: it.attempts, Redelivered: it.attempts > 1, Failures: it.failures,
			Place: it.place,
		}
		if r.of.Handlers() == 1 {
			r.settle(g, it, r.handle(r.Life(), d)) // in order, so on this goroutine
			continue
		}
		r.handlers.Go(func() { r.settle(g, it, r.handle(r.Life(), d)) })
	}
	r.handlers.Wait()
}

// next takes a message if there is one and another handler may run.
func (r *subscriber) next() (g *group, it *item, changed <-chan struct{}, err error) {
	s := r.broker.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.broker.closed {
		return nil, nil, nil, broker.ErrClosed
	}
	if r.broker.away() {
		return nil, nil, s.changed, nil
	}
	t := s.topics[r.of.Topic]
	if t == nil {
		return nil, nil, nil, errNoTopic(r.of.Topic)
	}
	g = t.groups[r.of.Group]
	if r.running == r.of.Handlers() || len(g.ready) == 0 {
		return nil, nil, s.changed, nil
	}
	it, g.ready = g.ready[0], g.ready[1:]
	g.held[it] = r
	it.attempts++
	r.running++
	return g, it, nil, nil
}

// settle applies the disposition of a handler to its message.
func (r *subscriber) settle(g *group, it *item, said broker.Disposition) {
	s := r.broker.server
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.tell()
	r.running--
	if g.held[it] != r {
		return // it was released, and another subscriber has it
	}
	delete(g.held, it)
	switch said.Do {
	case broker.RetryLater:
		it.failures++
		g.later++
		time.AfterFunc(said.After, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			g.later--
			g.put(it)
			s.tell()
		})
	case broker.StopReading:
		it.attempts-- // not counted as a failure
		g.put(it)
		r.Stop()
	}
}

// Ready implements [broker.Subscriber].
func (r *subscriber) Ready() bool {
	r.broker.server.mu.Lock()
	defer r.broker.server.mu.Unlock()
	return !r.Stopped() && r.Err() == nil && !r.broker.away() && !r.broker.closed
}
