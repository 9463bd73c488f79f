package rabbitmq

import (
	"context"
	"errors"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab"
	"wirelab/broker"
)

// pendingLimit is the maximum number of unanswered messages of a publisher; the next one waits. This bounds the
// memory of the server, too.
const pendingLimit = 4096

// publisher publishes on a confirm channel, which is reopened after it broke.
type publisher struct {
	broker *Broker
	config broker.PublisherConfig
	link   *link           // the broker's, or its own
	life   context.Context // ends with Close, or the broker's
	end    context.CancelFunc
	ended  chan struct{} // closed when keep has returned
	done   func()
	again  func(*confirmChannel) error // prepares a new confirm channel that replaces one; nil: nothing
	turn   chan struct{}               // held while room is taken for a send
	room   chan struct{}               // holds one element for each unanswered message

	mu      sync.Mutex      // guards all below
	out     *confirmChannel // nil: the server is away
	changed chan struct{}   // closed and replaced when out changes
	why     error           // the error of the last try
}

// Publisher implements [broker.Broker].
func (b *Broker) Publisher(ctx context.Context, c broker.PublisherConfig) (broker.Publisher, error) {
	p, err := b.newPublisher(c)
	if err != nil {
		return nil, err
	}
	var check func(*confirmChannel) error
	if c.Topic != "" {
		// Unconfirmed messages to a missing queue would be lost unnoticed, so check it first.
		check = func(out *confirmChannel) error { return b.there(out.channel, broker.Topic{Name: c.Topic}) }
	}
	if err := p.begin(ctx, check); err != nil {
		if !c.Shared {
			p.link.drop()
		}
		return nil, err
	}
	return p, nil
}

// begin opens the first confirm channel, and starts the goroutine that replaces it.
func (p *publisher) begin(ctx context.Context, check func(*confirmChannel) error) error {
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

// newPublisher returns a publisher; its caller must start keep.
func (b *Broker) newPublisher(c broker.PublisherConfig) (*publisher, error) {
	done, err := b.begin()
	if err != nil {
		return nil, err
	}
	p := &publisher{
		broker: b, config: c, link: b.publish, ended: make(chan struct{}), done: done, changed: make(chan struct{}),
		turn: make(chan struct{}, 1), room: make(chan struct{}, pendingLimit),
	}
	if !c.Shared {
		p.link = newLink(b, "publisher")
	}
	p.life, p.end = context.WithCancel(b.life)
	return p, nil
}

// open opens a confirm channel and runs the check, if any. The calls of the library take no context: one that the
// server leaves unanswered is left to end by itself, and its channel is closed then.
func (p *publisher) open(ctx context.Context, check func(*confirmChannel) error) (*confirmChannel, error) {
	if ctx.Err() != nil {
		return nil, over(ctx, true, "RabbitMQ at %s was not asked", p.broker.address)
	}
	done, err := p.broker.begin()
	if err != nil {
		return nil, err
	}
	type opened struct {
		out *confirmChannel
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

func (p *publisher) openUnbounded(ctx context.Context, check func(*confirmChannel) error) (*confirmChannel, error) {
	conn, err := p.link.get(ctx)
	if err != nil {
		return nil, err
	}
	out, err := p.broker.openConfirmChannel(conn, !p.config.Unconfirmed, p.room)
	if err != nil || check == nil {
		return out, err
	}
	if err := check(out); err != nil {
		out.close()
		return nil, p.broker.coded(err)
	}
	return out, nil
}

// set sets the confirm channel in use; nil: none.
func (p *publisher) set(out *confirmChannel, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out, p.why = out, why
	close(p.changed)
	p.changed = make(chan struct{})
}

// keep reopens the confirm channel as long as the publisher lives.
func (p *publisher) keep(out *confirmChannel) {
	defer close(p.ended)
	defer p.set(nil, broker.ErrClosed)
	pause := firstPause
	for {
		if out != nil {
			select {
			case <-out.gone:
				p.set(nil, broker.ErrLost)
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

// leave closes the last confirm channel. It waits only briefly for a server that does not answer; the broker's
// Close ends the rest.
func (p *publisher) leave(out *confirmChannel) {
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

// answersLimit is how long a publisher with its own connection waits for answers when it is closed.
const answersLimit = 10 * time.Second

// Close implements [broker.Publisher]. A publisher with its own connection waits for missing answers; waiting calls
// of the others fail.
func (p *publisher) Close() error {
	if p.life.Err() == nil && !p.config.Shared {
		look := time.NewTicker(time.Millisecond)
		defer look.Stop()
		for until := time.Now().Add(answersLimit); len(p.room) > 0 && !p.gone() && time.Now().Before(until); {
			<-look.C
		}
	}
	p.end()
	<-p.ended
	if !p.config.Shared {
		p.link.drop()
	}
	return nil
}

// Calls implements [broker.Publisher].
func (*publisher) Calls() bool { return false }

// gone reports whether there is no confirm channel.
func (p *publisher) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out == nil || p.out.isLost()
}

// state returns the confirm channel if the server takes messages on it, else the reason why not. The changed
// channel is closed when that may have changed.
func (p *publisher) state() (out *confirmChannel, changed <-chan struct{}, why error) {
	held := p.link.held()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.life.Err() != nil:
		return nil, p.changed, broker.ErrClosed
	case p.out != nil && held != nil:
		return nil, held, wirelab.Errorf(wirelab.Unavailable,
			"RabbitMQ at %s takes no messages: it is short of memory or disk", p.broker.address)
	case p.out != nil && !p.out.isLost():
		return p.out, p.changed, nil
	case p.why != nil && !errors.Is(p.why, broker.ErrLost):
		return nil, p.changed, wirelab.Errorf(wirelab.Unavailable,
			"RabbitMQ at %s is away: %s", p.broker.address, wirelab.Public(p.why).Message)
	}
	return nil, p.changed, wirelab.Errorf(wirelab.Unavailable, "RabbitMQ at %s is away", p.broker.address)
}

// Away implements [broker.Publisher].
func (p *publisher) Away() (<-chan struct{}, error) {
	_, changed, why := p.state()
	return changed, why
}

// confirmChannel waits until there is a confirm channel on which the server takes messages. With FailFast it fails
// instead of waiting.
func (p *publisher) confirmChannel(ctx context.Context) (*confirmChannel, error) {
	for {
		out, changed, why := p.state()
		switch {
		case out != nil:
			return out, nil
		case errors.Is(why, broker.ErrClosed):
			return nil, why
		case p.config.FailFast:
			return nil, broker.ErrLost
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, over(ctx, true, "%s", wirelab.Public(why).Message)
		}
	}
}

// Send implements [broker.Publisher].
func (p *publisher) Send(ctx context.Context, topic string, batch []broker.Message, done func(broker.Receipt, error)) {
	messages := make([]amqp.Publishing, len(batch))
	for i := range batch {
		messages[i] = p.publishing(&batch[i])
	}
	p.hand(ctx, &sending{to: targetOf(topic), messages: messages, left: len(messages), done: done})
}

// publishing converts a message for AMQP.
func (p *publisher) publishing(m *broker.Message) amqp.Publishing {
	as := amqp.Publishing{MessageId: m.ID, Body: m.Body, DeliveryMode: amqp.Persistent}
	if p.config.Transient {
		as.DeliveryMode = amqp.Transient
	}
	if len(m.Headers) > 0 {
		as.Headers = amqp.Table{}
	}
	for name, value := range m.Headers {
		as.Headers[name] = value
		if name == failuresHeader { // a number, as our retries write it
			as.Headers[name] = failuresOf(value)
		}
	}
	return as
}

// hand passes a send to the confirm channel, or fails it at once.
func (p *publisher) hand(ctx context.Context, s *sending) {
	if ctx.Err() != nil {
		s.done(broker.Receipt{}, wirelab.Public(ctx.Err()))
		return
	}
	out, err := p.confirmChannel(ctx)
	if err == nil {
		err = p.reserve(ctx, len(s.messages))
	}
	if err != nil {
		s.done(broker.Receipt{}, err)
		return
	}
	out.send(ctx, s)
}

// reserve takes room for n messages. One caller at a time does: two that had half of what they need would wait for
// each other for ever.
func (p *publisher) reserve(ctx context.Context, n int) error {
	if n == 1 { // a single message cannot cause that deadlock
		select {
		case p.room <- struct{}{}:
			return nil
		case <-ctx.Done():
			return wirelab.Public(ctx.Err())
		}
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return wirelab.Public(ctx.Err())
	}
	for taken := range n {
		select {
		case p.room <- struct{}{}:
		case <-ctx.Done():
			for range taken {
				<-p.room
			}
			return wirelab.Public(ctx.Err())
		}
	}
	return nil
}

// await publishes one message and waits until it is confirmed. It publishes again if the connection broke.
func (p *publisher) await(ctx context.Context, to target, m amqp.Publishing) error {
	for {
		answered := make(chan error, 1) // bounded by the one answer
		p.hand(ctx, &sending{
			to: to, messages: []amqp.Publishing{m}, left: 1,
			done: func(_ broker.Receipt, err error) { answered <- err },
		})
		select {
		case err := <-answered:
			if !errors.Is(err, broker.ErrLost) || ctx.Err() != nil {
				return err
			}
		case <-ctx.Done():
			return wirelab.Public(ctx.Err())
		}
	}
}
