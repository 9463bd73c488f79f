package rabbitmq

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab/broker"
)

// drainLimit is how long a subscriber that ends may take for the messages it has.
const drainLimit = 5 * time.Second

// listener is a subscriber of an exchange. It reconnects after its connection broke.
type listener struct {
	*Exchange
	of     broker.Subscription
	handle broker.Handler
	reads  context.Context //nolint:containedctx // the life of its goroutine
	stop   context.CancelFunc
	work   context.Context //nolint:containedctx // of handlers: it outlasts reads by drainLimit
	drop   context.CancelFunc
	over   chan struct{} // closed when all its goroutines have ended
	done   chan struct{} // closed if it ended by itself
	ready  atomic.Bool   // the server knows it

	slots    chan struct{} // one is held by each running handler
	handlers sync.WaitGroup
	// next are messages without a handler yet: those of a prefetch, and those in flight when the server was told to
	// stop.
	next []amqp.Delivery
	lost atomic.Int64 // by sessions that ended before

	mu  sync.Mutex // guards err
	err error
}

// run listens until the subscriber is stopped, or for a permanent reason.
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

// fail records why no more messages are delivered, unless the subscriber was closed.
func (e *listener) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil && e.reads.Err() == nil {
		e.err = err
		close(e.done)
	}
	e.stop()
}

// finish handles the remaining messages.
func (e *listener) finish() {
	limit := time.AfterFunc(drainLimit, e.drop)
	defer limit.Stop()
	for _, d := range e.next {
		e.slots <- struct{}{} // handlers end when their context does
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

// start passes a message to a handler, for which a slot is held.
func (e *listener) start(d amqp.Delivery) {
	e.handlers.Go(func() {
		defer func() { <-e.slots }()
		e.deal(d)
	})
}

// deal calls the handler with a message until it is dealt with or given up.
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

// listening is a listener's use of one connection.
type listening struct {
	*listener
	conn     *wire
	channel  *amqp.Channel
	queue    string               // chosen by the server
	messages <-chan amqp.Delivery // nil: the server sends none
	held     bool                 // the server was or will be told to stop sending
	closed   <-chan *amqp.Error   // receives when the channel closes
	running  sync.WaitGroup
}

// open begins to listen over a new connection.
func (e *listener) open(ctx context.Context) (*listening, error) {
	conn, err := e.broker.dial(ctx, "consumer")
	if err != nil {
		return nil, err
	}
	// The calls of the library take no context.
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

// begin declares the queue and consumes from it.
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

// consume starts a consumer with automatic acknowledgement: the server forgets messages when it sends them.
func (h *listening) consume() (err error) {
	const autoAck = true
	h.messages, err = h.channel.Consume(h.queue, tag, autoAck, false, false, false, nil)
	h.held = false
	return err
}

// hold tells the server to stop sending; messages is closed when it has stopped.
func (h *listening) hold() {
	if h.held {
		return
	}
	h.held = true
	h.running.Go(func() { _ = h.channel.Cancel(tag, false) }) // on a broken connection messages is closed too
}

// close ends the connection, and with it the queue.
func (h *listening) close() {
	hang(h.conn)
	h.running.Wait()
}

// run takes messages until the connection is lost or, once ctx has ended, the server has stopped sending.
func (h *listening) run(ctx context.Context) {
	ended := ctx.Done()
	var limit <-chan time.Time // for messages in flight after that
	for {
		if h.messages == nil && ended == nil {
			return
		}
		// After a hold, consume again when half of the prefetch is done.
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
