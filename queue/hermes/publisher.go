package hermes

import (
	"context"
	"sync"
	"time"

	"wirelab"
	hm "wirelab/hermes"
	"wirelab/hermes/client"
	"wirelab/queue"
)

// publisher hands messages to one queue. The client keeps their order, numbers
// them and sends them again where their node went away.
type publisher struct {
	broker  *Broker
	options queue.Options
	topic   string
	done    chan struct{} // closed by Close

	mu      sync.Mutex // guards all below
	waiting int        // calls; at most options.Buffer
	closed  bool
}

// Publisher returns a publisher to a queue that was declared.
func (b *Broker) Publisher(ctx context.Context, o queue.Options) (queue.Publisher, error) {
	o, err := check(o)
	if err != nil {
		return nil, err
	}
	if _, err := b.group(ctx, topicPrefix+o.Name, consumers); err != nil {
		return nil, err
	}
	return &publisher{broker: b, options: o, topic: topicPrefix + o.Name, done: make(chan struct{})}, nil
}

// Publish implements [queue.Publisher].
func (p *publisher) Publish(ctx context.Context, m queue.Message) (queue.Receipt, error) {
	if err := m.Validate(); err != nil {
		return queue.Receipt{}, err
	}
	call := place{publisher: p}
	defer call.leave()
	changed, err := p.reach(ctx, &call)
	if err != nil {
		return queue.Receipt{}, err
	}
	var answered chan error
	var done func(client.Receipt, error)
	if p.options.Confirms {
		answered = make(chan error, 1) // bounded by the one answer
		done = func(_ client.Receipt, err error) { answered <- err }
	}
	if err := p.broker.client.Send(ctx, p.topic, hm.Consistent, envelope(m), done); err != nil {
		return queue.Receipt{}, p.coded(ctx, err)
	}
	receipt := queue.Receipt{Written: time.Now()}
	if !p.options.Confirms {
		return receipt, nil
	}
	for {
		select {
		case err := <-answered:
			if err != nil {
				return queue.Receipt{}, p.coded(ctx, err)
			}
			receipt.Confirmed = time.Now()
			return receipt, nil
		case <-changed: // it waits for the cluster now, or no longer
			if _, changed, err = p.look(ctx, &call); err != nil {
				return queue.Receipt{}, err
			}
		case <-p.done:
			return queue.Receipt{}, errClosed()
		case <-ctx.Done():
			return queue.Receipt{}, p.coded(ctx, ctx.Err())
		}
	}
}

// reach waits until the cluster can be reached, if it may. What waits here was not
// given to the client, so that nobody's message is stored long after he was told
// that it failed.
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

// look reports whether the cluster can be reached, and a channel that is closed when
// that may have changed. While it cannot, the call has a place among those that wait;
// the error says that there is none, or that it is over.
func (p *publisher) look(ctx context.Context, call *place) (up bool, changed <-chan struct{}, err error) {
	up, closed, changed := p.broker.state()
	switch {
	case closed || p.over():
		err = errClosed()
	case ctx.Err() != nil:
		err = p.broker.coded(ctx, ctx.Err())
	case up:
		call.leave()
	default:
		err = call.enter()
	}
	return up, changed, err
}

// place is that of one call among those that wait for the cluster.
type place struct {
	publisher *publisher
	taken     bool
}

func (c *place) enter() error {
	p := c.publisher
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.taken {
		return nil
	}
	if p.waiting >= p.options.Buffer {
		return wirelab.Errorf(wirelab.ResourceExhausted, "the cluster is away, and %d messages wait for it already", p.waiting)
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

// over reports whether the publisher was closed.
func (p *publisher) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// coded tells the publisher's end from the cluster's.
func (p *publisher) coded(ctx context.Context, err error) error {
	if p.over() {
		return errClosed()
	}
	if ctx.Err() == nil && wirelab.CodeOf(err) == wirelab.NotFound {
		return wirelab.Errorf(wirelab.Unavailable, "nobody takes the message: the queue is gone")
	}
	return p.broker.coded(ctx, err)
}

// Close ends the publisher. What is in flight fails, and may yet have been taken.
// What was published without confirms is stored first, as far as that is soon.
func (p *publisher) Close() error {
	p.mu.Lock()
	again := p.closed
	p.closed = true
	p.mu.Unlock()
	if again {
		return nil
	}
	close(p.done)
	if up, closed, _ := p.broker.state(); !p.options.Confirms && up && !closed {
		flushing, cancel := context.WithTimeout(context.Background(), requestLimit)
		defer cancel()
		_ = p.broker.client.Flush(flushing) // without confirms nothing is promised
	}
	return nil
}
