package jetstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"wirelab"
	"wirelab/queue"
)

// confirmLimit is how long a confirmation may take of a server that is there. A
// caller's deadline is nearly always sooner; this is so that nothing that was
// given up is remembered for ever.
const confirmLimit = time.Minute

// settling is how long a call waits that found the connection broken before the
// connection says so itself.
const settling = 5 * time.Millisecond

// publisher hands messages to one queue.
type publisher struct {
	broker  *Broker
	js      jetstream.JetStream // its own: acknowledgements are matched there
	options queue.Options
	subject string
	done    chan struct{} // closed by Close

	mu      sync.Mutex // guards all below
	waiting int        // calls; at most options.Buffer
	closed  bool
}

// Publisher returns a publisher, whose acknowledgements are its own.
func (b *Broker) Publisher(ctx context.Context, o queue.Options) (queue.Publisher, error) {
	o, err := check(o)
	if err != nil {
		return nil, err
	}
	stream, err := b.stream(ctx, streamPrefix+o.Name)
	if err != nil {
		return nil, err
	}
	if o.Persistent && stream.CachedInfo().Config.PersistMode != jetstream.DefaultPersistMode {
		return nil, wirelab.Errorf(wirelab.Conflict, "the queue %q was declared without Persistent, and cannot promise it", o.Name)
	}
	js, err := jetstream.New(b.conn, jetstream.WithPublishAsyncMaxPending(b.settings.InFlight), jetstream.WithPublishAsyncTimeout(confirmLimit))
	if err != nil {
		return nil, b.coded(ctx, err)
	}
	return &publisher{broker: b, js: js, options: o, subject: subjectPrefix + o.Name, done: make(chan struct{})}, nil
}

// Publish implements [queue.Publisher]. Written is when the message was in the
// connection's write buffer, which another goroutine empties at once.
func (p *publisher) Publish(ctx context.Context, m queue.Message) (queue.Receipt, error) {
	if err := m.Validate(); err != nil {
		return queue.Receipt{}, err
	}
	for {
		if err := p.reach(ctx); err != nil {
			return queue.Receipt{}, err
		}
		receipt, err := p.try(ctx, m)
		if err == nil {
			return receipt, nil
		}
		if !broken(err) || ctx.Err() != nil || p.over() {
			return queue.Receipt{}, p.coded(ctx, err)
		}
		if err := p.settle(ctx); err != nil {
			return queue.Receipt{}, err
		}
	}
}

// try publishes once.
func (p *publisher) try(ctx context.Context, m queue.Message) (queue.Receipt, error) {
	if !p.options.Confirms {
		err := p.broker.conn.PublishMsg(envelope(p.subject, m))
		return queue.Receipt{Written: time.Now()}, err
	}
	future, err := p.js.PublishMsgAsync(envelope(p.subject, m))
	for errors.Is(err, jetstream.ErrTooManyStalledMsgs) && ctx.Err() == nil && !p.over() {
		future, err = p.js.PublishMsgAsync(envelope(p.subject, m)) // it has waited 200 ms for a place
	}
	if err != nil {
		return queue.Receipt{}, err
	}
	written := time.Now()
	select {
	case <-future.Ok():
		return queue.Receipt{Written: written, Confirmed: time.Now()}, nil
	case err := <-future.Err():
		return queue.Receipt{}, err
	case <-p.done:
		return queue.Receipt{}, errClosed()
	case <-ctx.Done():
		return queue.Receipt{}, ctx.Err()
	}
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

// reach waits until the server can be reached, if it may.
func (p *publisher) reach(ctx context.Context) error {
	if p.over() {
		return errClosed()
	}
	up, closed, changed := p.broker.state()
	if up && !closed && ctx.Err() == nil {
		return nil
	}
	if closed || ctx.Err() != nil {
		return p.broker.reach(ctx)
	}
	if err := p.enter(); err != nil {
		return err
	}
	defer p.leave()
	for !up {
		select {
		case <-changed:
		case <-p.done:
			return errClosed()
		case <-ctx.Done():
			return p.broker.coded(ctx, ctx.Err())
		}
		if up, closed, changed = p.broker.state(); closed {
			return errClosed()
		}
	}
	return nil
}

// settle waits a moment, or until the connection changes.
func (p *publisher) settle(ctx context.Context) error {
	up, _, changed := p.broker.state()
	if !up {
		return nil // it is known to be broken
	}
	pause := time.NewTimer(settling)
	defer pause.Stop()
	select {
	case <-changed:
	case <-pause.C:
	case <-ctx.Done():
		return p.coded(ctx, ctx.Err())
	}
	return nil
}

// enter takes a place among the calls that wait.
func (p *publisher) enter() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting >= p.options.Buffer {
		return wirelab.Errorf(wirelab.ResourceExhausted, "the server is away, and %d messages wait for it already", p.waiting)
	}
	p.waiting++
	return nil
}

func (p *publisher) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting--
}

// coded tells a publisher's end from what that does to what is in flight.
func (p *publisher) coded(ctx context.Context, err error) error {
	if p.over() {
		return errClosed()
	}
	if errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders) {
		return wirelab.Errorf(wirelab.Unavailable, "nobody takes the message: the queue is gone, or JetStream not ready")
	}
	return p.broker.coded(ctx, err)
}

// Close ends the publisher. What is in flight fails, and may yet have been
// taken. What was published without confirms is written first.
func (p *publisher) Close() error {
	p.mu.Lock()
	again := p.closed
	p.closed = true
	p.mu.Unlock()
	if again {
		return nil
	}
	close(p.done)
	p.js.CleanupPublisher()
	if up, _, _ := p.broker.state(); !p.options.Confirms && up {
		_ = p.broker.conn.FlushTimeout(requestLimit) // without confirms nothing is promised
	}
	return nil
}
