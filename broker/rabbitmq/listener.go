package rabbitmq

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab/broker"
)

// drainLimit is how long a subscriber that ends has for what it took.
const drainLimit = 5 * time.Second

// listener is a subscriber of an exchange, over one connection after the other.
type listener struct {
	*Exchange
	of     broker.Subscription
	handle broker.Handler
	reads  context.Context //nolint:containedctx // the life of its goroutine
	stop   context.CancelFunc
	work   context.Context //nolint:containedctx // of handlers: it outlasts reads by drainLimit
	drop   context.CancelFunc
	over   chan struct{} // closed when nothing of it runs
	done   chan struct{} // closed if it ended by itself
	ready  atomic.Bool   // the server knows of it

	slots    chan struct{} // one is held by each handler that runs
	handlers sync.WaitGroup
	// next are messages that no handler has yet: those of a prefetch, and what was
	// under way when the server was told to send no more.
	next []amqp.Delivery
	lost atomic.Int64 // of those that work ended before

	mu  sync.Mutex // guards err
	err error
}

// run listens until the subscriber is to end, or for a reason that will not go away.
func (e *listener) run(h *listening) {
	for pause := firstPause; ; {
		if h != nil {
			e.ready.Store(true)
			h.run(e.reads)
			e.ready.Store(false)
			h.close()
			pause = firstPause
		}
		if e.reads.Err() != nil {
			return
		}
		var err error
		if h, err = e.open(e.reads); err == nil {
			continue
		}
		if err = e.broker.coded(err); final(err) {
			e.fail(err)
			return
		}
		pause = rest(e.reads, pause)
	}
}

// fail notes why nothing is given any more, unless the subscriber was closed.
func (e *listener) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil && e.reads.Err() == nil {
		e.err = err
		close(e.done)
	}
	e.stop()
}

// finish deals with what is left.
func (e *listener) finish() {
	limit := time.AfterFunc(drainLimit, e.drop)
	defer limit.Stop()
	for _, d := range e.next {
		e.slots <- struct{}{} // handlers end when work does
		e.start(d)
	}
	e.handlers.Wait()
	e.drop()
}

// Close implements [broker.Subscriber].
func (e *listener) Close(ctx context.Context) error {
	e.stop()
	select {
	case <-e.over:
	case <-ctx.Done():
		return broker.ErrStuck()
	}
	if lost := e.lost.Load(); lost > 0 {
		return errDropped(lost)
	}
	return nil
}

// Done implements [broker.Subscriber].
func (e *listener) Done() <-chan struct{} { return e.done }

// Err implements [broker.Subscriber].
func (e *listener) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// Ready implements [broker.Subscriber].
func (e *listener) Ready() bool { return e.ready.Load() && e.reads.Err() == nil }

// start gives a message to a handler, for whom a slot is held.
func (e *listener) start(d amqp.Delivery) {
	e.handlers.Go(func() {
		defer func() { <-e.slots }()
		e.deal(d)
	})
}

// deal gives a message to the handler until that has dealt with it or gives up.
func (e *listener) deal(d amqp.Delivery) {
	delivery := broker.Delivery{Message: broker.Message{ID: d.MessageId, Body: d.Body}}
	if delivery.ID == "" {
		delivery.ID = e.topology.NewID()
	}
	for {
		if e.work.Err() != nil {
			e.lost.Add(1)
			return
		}
		delivery.Attempt++
		said := e.handle(e.work, delivery)
		switch said.Do {
		case broker.Acknowledge:
			return
		case broker.StopReading:
			e.stop()
			e.lost.Add(1)
			return
		}
		delivery.Failures++
		wait(e.work, said.After)
	}
}

// listening is a listener's time with one connection.
type listening struct {
	*listener
	conn     *wire
	channel  *amqp.Channel
	queue    string               // its name, which the server chose
	messages <-chan amqp.Delivery // nil: the server sends none
	held     bool                 // the server was told, or will be, to send no more
	closed   <-chan *amqp.Error   // when the channel is
	running  sync.WaitGroup
}

// open begins to listen over a new connection.
func (e *listener) open(ctx context.Context) (*listening, error) {
	conn, err := e.broker.dial(ctx, "consumer")
	if err != nil {
		return nil, err
	}
	// The library's calls know no context.
	forget := context.AfterFunc(ctx, func() { hang(conn) })
	h := &listening{listener: e, conn: conn}
	err = h.begin()
	if !forget() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		hang(conn)
		return nil, err
	}
	return h, nil
}

// begin makes the queue and asks for its messages.
func (h *listening) begin() (err error) {
	if h.channel, err = h.conn.Channel(); err != nil {
		return err
	}
	h.closed = h.channel.NotifyClose(make(chan *amqp.Error, 1))
	if err = h.declare(h.channel); err != nil {
		return err
	}
	const durable, autoDelete, exclusive = false, false, true
	own, err := h.channel.QueueDeclare("", durable, autoDelete, exclusive, false, nil)
	if err != nil {
		return err
	}
	h.queue = own.Name
	for _, key := range h.topology.Keys {
		if err = h.channel.QueueBind(h.queue, key, h.topology.Exchange, false, nil); err != nil {
			return err
		}
	}
	return h.consume()
}

// tag names the consumer to the server.
const tag = "messages"

// consume asks for messages, which the server then forgets as it sends them.
func (h *listening) consume() (err error) {
	const autoAck = true
	h.messages, err = h.channel.Consume(h.queue, tag, autoAck, false, false, false, nil)
	h.held = false
	return err
}

// hold tells the server to send no more: messages is closed when it has stopped.
func (h *listening) hold() {
	if h.held {
		return
	}
	h.held = true
	h.running.Go(func() { _ = h.channel.Cancel(tag, false) }) // broken: messages is closed then too
}

// close ends the connection, and the queue with it.
func (h *listening) close() {
	hang(h.conn)
	h.running.Wait()
}

// run takes messages until the connection is lost or, once ctx has ended, the
// server sends no more.
func (h *listening) run(ctx context.Context) {
	ended := ctx.Done()
	var limit <-chan time.Time // of what is under way after that
	for {
		if h.messages == nil && ended == nil {
			return
		}
		// One that is at its limit takes again when half of that is done.
		if h.messages == nil && len(h.next) <= h.of.Ahead()/2 && h.consume() != nil {
			return
		}
		slots := h.slots
		if len(h.next) == 0 {
			slots = nil
		}
		select {
		case slots <- struct{}{}:
			d := h.next[0]
			h.next = h.next[1:]
			h.start(d)
		case d, ok := <-h.messages:
			if !ok {
				if !h.held {
					return // the connection is lost
				}
				h.messages = nil
				continue
			}
			if h.next = append(h.next, d); len(h.next) >= h.of.Ahead() {
				h.hold()
			}
		case <-h.closed: //nolint:errcheck // why it closed makes no difference
			return
		case <-ended:
			ended = nil
			timer := time.NewTimer(closeLimit)
			defer timer.Stop()
			limit = timer.C
			h.hold()
		case <-limit:
			return
		}
	}
}
