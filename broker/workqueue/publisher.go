package workqueue

import (
	"context"
	"errors"
	"sync"
	"time"

	"wirelab"
	"wirelab/broker"
)

// publisher publishes messages one by one over a broker's publisher, which its callers share.
type publisher struct {
	to      broker.Publisher
	options Options
	topic   string
	done    chan struct{} // closed by Close

	mu      sync.Mutex // guards all below
	waiting int        // calls; at most options.Buffer
	closed  bool
}

// settling is how long a call that found the connection broken waits for the publisher to report it.
const settling = 5 * time.Millisecond

// Publisher implements [Queues].
func (q *queues) Publisher(ctx context.Context, o Options) (Publisher, error) {
	o, err := prepared(o)
	if err != nil {
		return nil, err
	}
	to, err := q.broker.Publisher(ctx, broker.PublisherConfig{
		Topic: topicOf(o), Unconfirmed: !o.Confirms, Transient: !o.Persistent, Shared: true, FailFast: true,
	})
	if err != nil {
		return nil, err
	}
	return &publisher{to: to, options: o, topic: topicOf(o), done: make(chan struct{})}, nil
}

// answer is the result of a send.
type answer struct {
	receipt Receipt
	err     error
}

// Publish implements [Publisher].
func (p *publisher) Publish(ctx context.Context, m Message) (Receipt, error) {
	if err := Check(m); err != nil {
		return Receipt{}, err
	}
	call := place{publisher: p}
	defer call.leave()
	for {
		changed, err := p.reach(ctx, &call)
		if err != nil {
			return Receipt{}, err
		}
		a := p.send(ctx, m, &call, changed)
		if !errors.Is(a.err, broker.ErrLost) || ctx.Err() != nil || p.over() {
			return a.receipt, a.err
		}
		p.settle(ctx)
	}
}

// send sends a message once, and waits for the answer.
func (p *publisher) send(ctx context.Context, m Message, call *place, changed <-chan struct{}) answer {
	answered := make(chan answer, 1) // bounded by the one answer
	p.to.Send(ctx, p.topic, []Message{m}, func(r Receipt, err error) { answered <- answer{r, err} })
	for {
		select {
		case a := <-answered:
			if a.err != nil {
				a = answer{err: p.coded(ctx, a.err)}
			}
			return a
		case <-changed: // the broker became unavailable, or available again
			var err error
			if _, changed, err = p.look(ctx, call); err != nil {
				return answer{err: err}
			}
		case <-p.done:
			return answer{err: broker.ErrClosed}
		case <-ctx.Done():
			return answer{err: p.coded(ctx, ctx.Err())}
		}
	}
}

// reach waits until the broker can be reached, if the call may wait. A call that waits here was not given to the
// client of the broker, so that no message is stored long after its caller was told that it failed.
func (p *publisher) reach(ctx context.Context, call *place) (changed <-chan struct{}, err error) {
	for {
		up, changed, err := p.look(ctx, call)
		if up || err != nil {
			return changed, err
		}
		select {
		case <-changed:
		case <-p.done:
		case <-ctx.Done():
		}
	}
}

// look reports whether the broker can be reached, and returns a channel that is closed when that may have changed.
// While it cannot be reached, the call holds a place among the waiting calls; the error says that there is no free
// place, or that the publisher is closed.
func (p *publisher) look(ctx context.Context, call *place) (up bool, changed <-chan struct{}, err error) {
	changed, why := p.to.Away()
	switch {
	case p.over():
		err = broker.ErrClosed
	case ctx.Err() != nil:
		err = p.coded(ctx, ctx.Err())
	case why == nil:
		call.leave()
		up = true
	case final(why):
		err = why
	default:
		err = call.enter(why)
	}
	return up, changed, err
}

// settle waits for settling, or until the broker is known to be unavailable.
func (p *publisher) settle(ctx context.Context) {
	changed, why := p.to.Away()
	if why != nil {
		return
	}
	pause := time.NewTimer(settling)
	defer pause.Stop()
	select {
	case <-changed:
	case <-pause.C:
	case <-ctx.Done():
	}
}

// coded returns the error for a caller with context ctx, given err from the broker.
func (p *publisher) coded(ctx context.Context, err error) error {
	if p.over() {
		return broker.ErrClosed
	}
	if ended := ctx.Err(); ended != nil {
		if _, why := p.to.Away(); why != nil && errors.Is(ended, context.DeadlineExceeded) {
			return why
		}
		return wirelab.Public(ended)
	}
	return err
}

// over reports whether the publisher was closed.
func (p *publisher) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// place is the place of one call among those that wait for the broker.
type place struct {
	publisher *publisher
	taken     bool
}

func (c *place) enter(why error) error {
	p := c.publisher
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.taken {
		return nil
	}
	if p.waiting >= p.options.Buffer {
		return wirelab.Errorf(wirelab.ResourceExhausted,
			"%s, and %d messages wait for it already", wirelab.Public(why).Message, p.waiting)
	}
	p.waiting++
	c.taken = true
	return nil
}

func (c *place) leave() {
	if !c.taken {
		return
	}
	p := c.publisher
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting--
	c.taken = false
}

// Close implements [Publisher]. Messages in flight fail, and may still have been stored.
func (p *publisher) Close() error {
	p.mu.Lock()
	again := p.closed
	p.closed = true
	p.mu.Unlock()
	if again {
		return nil
	}
	close(p.done)
	return p.to.Close()
}
