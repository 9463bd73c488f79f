package amqp

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab/queue"
)

// drainLimit is how long a consumer that ends has for what it took.
const drainLimit = 5 * time.Second

// ear is a consumer of an exchange, over one connection after the other.
type ear struct {
	*Exchange
	o        queue.Options
	handle   handler
	work     context.Context // of handlers: it outlasts the consumer by drainLimit
	slots    chan struct{}   // one is held by each handler that runs
	handlers sync.WaitGroup
	// next are messages that no handler has yet: those of a prefetch, and what was
	// under way when the server was told to send no more.
	next []amqp.Delivery
	lost atomic.Int64 // of those that work ended before
}

// run listens until ctx ends, or for a reason that will not go away.
func (e *ear) run(ctx context.Context) error {
	pause := firstPause
	for ctx.Err() == nil {
		h, err := e.open(ctx)
		if err == nil {
			e.broker.take(e.topic.Exchange, 1)
			h.run(ctx)
			e.broker.take(e.topic.Exchange, -1)
			h.close()
			pause = firstPause
			continue
		}
		if err = e.broker.coded(err); final(err) {
			return err
		}
		pause = rest(ctx, pause)
	}
	return nil
}

// finish deals with what is left, and tells how much it could not.
func (e *ear) finish(stop func()) (lost int64) {
	limit := time.AfterFunc(drainLimit, stop)
	defer limit.Stop()
	for _, d := range e.next {
		e.slots <- struct{}{} // handlers end when work does
		e.start(d)
	}
	e.handlers.Wait()
	return e.lost.Load()
}

// start gives a message to a handler, for whom a slot is held.
func (e *ear) start(d amqp.Delivery) {
	e.handlers.Go(func() {
		defer func() { <-e.slots }()
		e.deal(d)
	})
}

// deal gives a message to the handler until that has dealt with it or gives up.
func (e *ear) deal(d amqp.Delivery) {
	delivery := queue.Delivery{Message: queue.Message{ID: d.MessageId, Body: d.Body}}
	if delivery.ID == "" {
		delivery.ID = e.topic.NewID()
	}
	for {
		if e.work.Err() != nil {
			e.lost.Add(1)
			return
		}
		delivery.Attempt++
		err := e.handle.try(e.work, delivery)
		switch {
		case err == nil:
			return
		case e.work.Err() != nil:
			continue
		case delivery.Attempt >= e.o.Attempts || always(err):
			if e.topic.Lost != nil {
				e.topic.Lost(err)
			}
			return
		}
		wait(e.work, e.o.Retry)
	}
}

// hearing is an ear's time with one connection.
type hearing struct {
	*ear
	conn     *wire
	channel  *amqp.Channel
	queue    string               // its name, which the server chose
	messages <-chan amqp.Delivery // nil: the server sends none
	held     bool                 // the server was told, or will be, to send no more
	closed   <-chan *amqp.Error   // when the channel is
	running  sync.WaitGroup
}

// open begins to listen over a new connection.
func (e *ear) open(ctx context.Context) (*hearing, error) {
	conn, err := e.broker.dial(ctx, "consumer")
	if err != nil {
		return nil, err
	}
	// The library's calls know no context.
	forget := context.AfterFunc(ctx, func() { hang(conn) })
	h := &hearing{ear: e, conn: conn}
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
func (h *hearing) begin() (err error) {
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
	for _, key := range h.topic.Keys {
		if err = h.channel.QueueBind(h.queue, key, h.topic.Exchange, false, nil); err != nil {
			return err
		}
	}
	return h.consume()
}

// tag names the consumer to the server.
const tag = "messages"

// consume asks for messages, which the server then forgets as it sends them.
func (h *hearing) consume() (err error) {
	const autoAck = true
	h.messages, err = h.channel.Consume(h.queue, tag, autoAck, false, false, false, nil)
	h.held = false
	return err
}

// hold tells the server to send no more: messages is closed when it has stopped.
func (h *hearing) hold() {
	if h.held {
		return
	}
	h.held = true
	h.running.Go(func() { _ = h.channel.Cancel(tag, false) }) // broken: messages is closed then too
}

// close ends the connection, and the queue with it.
func (h *hearing) close() {
	hang(h.conn)
	h.running.Wait()
}

// run takes messages until the connection is lost or, once ctx has ended, the
// server sends no more.
func (h *hearing) run(ctx context.Context) {
	ended := ctx.Done()
	var limit <-chan time.Time // of what is under way after that
	for {
		if h.messages == nil && ended == nil {
			return
		}
		// Whoever is at its limit takes again when half of that is done.
		if h.messages == nil && len(h.next) <= h.o.Prefetch/2 && h.consume() != nil {
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
			if h.next = append(h.next, d); len(h.next) >= h.o.Prefetch {
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
