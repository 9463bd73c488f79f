package amqp

import (
	"context"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab"
	"wirelab/queue"
)

// publisher is a [queue.Publisher]: an outlet, opened again when it broke.
type publisher struct {
	broker *Broker
	o      queue.Options
	life   context.Context // ends with Close, or the broker's
	end    context.CancelFunc
	ended  chan struct{} // closed when keep has returned
	done   func()
	again  func(*outlet) error // what an outlet that replaces one is prepared by; nil: nothing

	mu      sync.Mutex    // guards all below
	out     *outlet       // nil: the server is away
	changed chan struct{} // closed and replaced when out changes
	waiting int           // calls that wait for an outlet
	why     error         // what was wrong at the last try
}

// Publisher implements [queue.Broker].
func (b *Broker) Publisher(ctx context.Context, o queue.Options) (queue.Publisher, error) {
	o, err := prepared(o)
	if err != nil {
		return nil, err
	}
	p, err := b.newPublisher(o)
	if err != nil {
		return nil, err
	}
	// What is published without confirms to a queue that is not there would vanish unseen.
	err = p.begin(ctx, func(out *outlet) error {
		_, err := inspect(out.channel, o.Name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// begin opens the first outlet, and keeps that there is one.
func (p *publisher) begin(ctx context.Context, check func(*outlet) error) error {
	out, err := p.open(ctx, check)
	if err != nil {
		p.end()
		p.done()
		return err
	}
	p.set(out, nil)
	go p.keep(out) // Close waits for it
	return nil
}

// newPublisher returns a publisher that somebody has to keep.
func (b *Broker) newPublisher(o queue.Options) (*publisher, error) {
	done, err := b.begin()
	if err != nil {
		return nil, err
	}
	p := &publisher{broker: b, o: o, ended: make(chan struct{}), done: done, changed: make(chan struct{})}
	p.life, p.end = context.WithCancel(b.life)
	return p, nil
}

// open opens an outlet and, where it is to be looked at, does so. The library's
// calls know no context: one that the server leaves unanswered is left to end by
// itself, and what it opened is closed.
func (p *publisher) open(ctx context.Context, check func(*outlet) error) (*outlet, error) {
	if ctx.Err() != nil {
		return nil, over(ctx, true, "RabbitMQ at %s was not asked", p.broker.address)
	}
	done, err := p.broker.begin()
	if err != nil {
		return nil, err
	}
	type opened struct {
		out *outlet
		err error
	}
	result := make(chan opened)
	go func() {
		defer done()
		out, err := p.openUnbounded(ctx, check)
		select {
		case result <- opened{out, err}:
		case <-ctx.Done():
			if err == nil {
				out.close()
			}
		}
	}()
	select {
	case r := <-result:
		return r.out, r.err
	case <-ctx.Done():
		return nil, over(ctx, true, "RabbitMQ at %s does not answer", p.broker.address)
	}
}

func (p *publisher) openUnbounded(ctx context.Context, check func(*outlet) error) (*outlet, error) {
	conn, err := p.broker.publish.get(ctx)
	if err != nil {
		return nil, err
	}
	out, err := p.broker.openOutlet(conn, p.o.Confirms)
	if err != nil || check == nil {
		return out, err
	}
	if err := check(out); err != nil {
		out.close()
		return nil, p.broker.coded(err)
	}
	return out, nil
}

// set makes an outlet the one to use, nil: there is none.
func (p *publisher) set(out *outlet, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out, p.why = out, why
	close(p.changed)
	p.changed = make(chan struct{})
}

// keep sees to it that there is an outlet, as long as the publisher lives.
func (p *publisher) keep(out *outlet) {
	defer close(p.ended)
	defer p.set(nil, errClosed)
	pause := firstPause
	for {
		if out != nil {
			select {
			case <-out.gone:
				p.set(nil, errLost)
				out.close()
				out, pause = nil, firstPause
			case <-p.life.Done():
				p.leave(out)
				return
			}
		}
		next, err := p.open(p.life, p.again)
		switch {
		case err == nil:
			out = next
			p.set(out, nil)
		case p.life.Err() != nil:
			p.done()
			return
		default:
			p.set(nil, err)
			pause = rest(p.life, pause)
		}
	}
}

// leave closes the last outlet. A server that does not answer is waited for no
// longer than a moment; the broker's Close is what ends the rest.
func (p *publisher) leave(out *outlet) {
	closed := make(chan struct{})
	go func() {
		defer p.done()
		defer close(closed)
		out.close()
	}()
	limit := time.NewTimer(closeLimit)
	defer limit.Stop()
	select {
	case <-closed:
	case <-limit.C:
	}
}

// Close implements [queue.Publisher]. Calls that wait fail.
func (p *publisher) Close() error {
	p.end()
	<-p.ended
	return nil
}

// outlet waits for an outlet that the server takes messages from.
func (p *publisher) outlet(ctx context.Context) (*outlet, error) {
	counted := false
	defer func() {
		if counted {
			p.mu.Lock()
			p.waiting--
			p.mu.Unlock()
		}
	}()
	for {
		held := p.broker.publish.held()
		p.mu.Lock()
		out, changed, why := p.out, p.changed, p.why
		switch {
		case p.life.Err() != nil:
			p.mu.Unlock()
			return nil, errClosed
		case out != nil && held == nil && !out.lost():
			p.mu.Unlock()
			return out, nil
		case !counted && p.waiting >= p.o.Buffer:
			p.mu.Unlock()
			return nil, wirelab.Errorf(wirelab.ResourceExhausted, "RabbitMQ at %s is away, and %d calls wait for it", p.broker.address, p.o.Buffer)
		case !counted:
			counted = true
			p.waiting++
		}
		p.mu.Unlock()
		select {
		case <-changed:
		case <-held:
		case <-ctx.Done():
			switch {
			case held != nil:
				return nil, over(ctx, true, "RabbitMQ at %s takes no messages: it is short of memory or disk", p.broker.address)
			case why != nil:
				return nil, over(ctx, true, "RabbitMQ at %s is away: %s", p.broker.address, wirelab.Public(why).Message)
			}
			return nil, over(ctx, true, "RabbitMQ at %s is away", p.broker.address)
		}
	}
}

// Publish implements [queue.Publisher].
func (p *publisher) Publish(ctx context.Context, m queue.Message) (queue.Receipt, error) {
	if err := m.Validate(); err != nil {
		return queue.Receipt{}, err
	}
	mode := amqp.Transient
	if p.o.Persistent {
		mode = amqp.Persistent
	}
	return p.send(ctx, target{key: p.o.Name}, amqp.Publishing{MessageId: m.ID, Body: m.Body, DeliveryMode: mode})
}

// send hands a message over, again if the connection broke meanwhile.
func (p *publisher) send(ctx context.Context, to target, publishing amqp.Publishing) (queue.Receipt, error) {
	for lost := false; ; lost = true {
		if ctx.Err() != nil {
			return queue.Receipt{}, over(ctx, lost, "the message was not written")
		}
		out, err := p.outlet(ctx)
		if err != nil {
			return queue.Receipt{}, err
		}
		receipt, err := out.publish(ctx, to, publishing)
		if err != errLost { //nolint:errorlint // this very one, which is never wrapped
			return receipt, err
		}
	}
}
