package rabbitmq

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab/broker"
)

// subscriber reads a group. It reconnects after its connection broke. It is over when its connection is closed,
// which waits for the server: by then the server has read the acknowledgements.
type subscriber struct {
	*broker.Reading
	broker   *Broker
	of       broker.Subscription
	handle   broker.Handler
	work     string        // the name of the work queue, or ""
	again    *publisher    // of a work queue: to the retries and back; else nil
	slots    chan struct{} // one is held by each running handler
	handlers sync.WaitGroup
	ready    atomic.Bool // the server knows it
}

// waitingLimit is the maximum number of retries that a subscriber of a work queue holds until they are due. Those
// behind them wait in their queue for as long.
const waitingLimit = 1000

// Subscribe implements [broker.Broker].
func (b *Broker) Subscribe(
	ctx context.Context, s broker.Subscription, handle broker.Handler,
) (broker.Subscriber, error) {
	done, err := b.begin()
	if err != nil {
		return nil, err
	}
	r := &subscriber{
		Reading: broker.NewReading(ctx), broker: b, of: s, handle: handle, slots: make(chan struct{}, s.Handlers()),
	}
	r.work, _ = queueName(s.Topic)
	opening, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.life, cancel)()
	first, err := r.open(opening)
	if err == nil && r.work != "" {
		if r.again, err = b.newPublisher(broker.PublisherConfig{Shared: true}); err != nil {
			first.close()
		}
	}
	if err != nil {
		r.Stop()
		done()
		return nil, b.coded(err)
	}
	forget := context.AfterFunc(b.life, func() { r.fail(broker.ErrClosed) })
	r.ready.Store(true)
	go func() { // Close waits for it
		defer done()
		defer r.Over()
		defer forget()
		r.read(first)
	}()
	return r, nil
}

// read is the subscriber's goroutine.
func (r *subscriber) read(first *session) {
	var keeping sync.WaitGroup
	if r.again != nil {
		keeping.Go(func() { r.again.keep(nil) })
		defer keeping.Wait()
		defer r.again.end()
	}
	r.run(first)
	r.Stop()
	r.handlers.Wait()
}

// run reads until the subscriber is stopped, or for a permanent reason.
func (r *subscriber) run(s *session) {
	for pause := firstPause; ; {
		if s != nil {
			r.ready.Store(true)
			s.run(r.Life())
			r.ready.Store(false)
			s.close()
			pause = firstPause
		}
		if r.Stopped() {
			return
		}
		var err error
		if s, err = r.open(r.Life()); err == nil {
			continue
		}
		if err = r.broker.coded(err); final(err) {
			r.fail(err)
			return
		}
		pause = rest(r.Life(), pause)
	}
}

// fail records why no more messages are delivered, unless the subscriber was closed.
func (r *subscriber) fail(err error) {
	r.Fail(err)
	r.Stop()
}

// Ready implements [broker.Subscriber].
func (r *subscriber) Ready() bool { return r.ready.Load() && !r.Stopped() }

// session is a subscriber's use of one connection.
type session struct {
	*subscriber
	id      string
	conn    *wire
	channel *amqp.Channel
	life    context.Context // ends with the connection
	end     context.CancelFunc
	// All three are delivered on one channel, whose delivery tags number them in the order in which the server sent
	// them.
	messages, waiting, asks <-chan amqp.Delivery
	closed                  <-chan *amqp.Error
	acks                    *acks
	asked                   uint64 // questions received
	running                 sync.WaitGroup
}

// open begins to consume over a new connection.
func (r *subscriber) open(ctx context.Context) (*session, error) {
	conn, err := r.broker.dial(ctx, "consumer")
	if err != nil {
		return nil, err
	}
	// The calls of the library take no context.
	forget := context.AfterFunc(ctx, func() { hang(conn) })
	s := &session{subscriber: r, id: rand.Text(), conn: conn}
	err = s.begin()
	if !forget() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		hang(conn)
		return nil, err
	}
	s.life, s.end = context.WithCancel(r.Life())
	s.running.Go(func() { s.acks.run(s.life) })
	return s, nil
}

// begin starts the consumers. That of the questions comes last: a consumer that can be asked must be one that the
// server counts.
func (s *session) begin() (err error) {
	name := queueOf(s.of.Topic, s.of.Group)
	if s.channel, err = s.conn.Channel(); err != nil {
		return err
	}
	s.acks = newAcks(s.channel, s.conn.out)
	s.closed = s.channel.NotifyClose(make(chan *amqp.Error, 1))
	if s.work != "" {
		if _, err = inspect(s.channel, name); err != nil {
			return err
		}
	}
	// Not global: the limit applies to each consumer started after it.
	if err = s.channel.Qos(s.of.Ahead(), 0, false); err != nil {
		return err
	}
	if s.messages, err = s.channel.Consume(name, "messages", false, false, false, false, nil); err != nil ||
		s.work == "" {
		return err
	}
	if err = s.channel.Qos(waitingLimit, 0, false); err != nil {
		return err
	}
	if s.waiting, err = s.channel.Consume(retries(name), "retries", false, false, false, false, nil); err != nil {
		return err
	}
	own, err := s.channel.QueueDeclare("", false, true, true, false, nil)
	if err != nil {
		return err
	}
	if err = s.channel.QueueBind(own.Name, "", asking(name), false, nil); err != nil {
		return err
	}
	s.asks, err = s.channel.Consume(own.Name, "questions", true, true, false, false, nil)
	return err
}

// close ends the connection: unacknowledged messages return to their queues.
func (s *session) close() {
	s.end()
	s.acks.flush()
	hang(s.conn)
	s.running.Wait()
}

// run handles deliveries until the connection is lost or, once ctx has ended, until no handler runs.
func (s *session) run(ctx context.Context) {
	var next []amqp.Delivery // at most the prefetch
	var idle chan struct{}   // closed when no handler runs
	ended := ctx.Done()
	for {
		slots := s.slots
		if len(next) == 0 {
			slots = nil
		}
		select {
		case slots <- struct{}{}:
			d := next[0]
			next = next[1:]
			s.handlers.Go(func() {
				defer func() { <-s.slots }()
				s.deal(ctx, d)
			})
		case d, ok := <-s.messages:
			if !ok {
				return // the connection is lost, or the queue deleted
			}
			switch {
			case idle != nil: // it returns to the queue
			case s.of.Handlers() == 1 && s.work == "":
				s.deal(ctx, d) // in order, so on this goroutine
			default:
				next = append(next, d)
			}
		case d, ok := <-s.waiting:
			if !ok {
				return
			}
			s.running.Go(func() { s.restore(d) })
		case d, ok := <-s.asks:
			if !ok {
				return
			}
			s.answer(d)
		case <-s.closed: //nolint:errcheck // why it closed makes no difference
			return
		case <-ended:
			// Wait for the running handlers, so that their messages are acknowledged.
			ended, next, idle = nil, nil, make(chan struct{})
			s.running.Go(func() {
				s.handlers.Wait()
				close(idle)
			})
		case <-idle:
			return
		}
	}
}

// deal passes a message to the handler, and applies its disposition.
func (s *session) deal(ctx context.Context, d amqp.Delivery) {
	if ctx.Err() != nil {
		return // it returns to the queue with the connection
	}
	failures, returns := count(d, failuresHeader), count(d, returnsHeader)
	delivery := broker.Delivery{
		Message: broker.Message{ID: d.MessageId, Body: d.Body}, Redelivered: d.Redelivered,
		Attempt: 1 + int(failures+returns), Failures: int(failures),
	}
	if s.work == "" {
		delivery.Failures = int(returns) // if the server reports it
	}
	if _, counted := d.Headers[returnsHeader]; !counted && d.Redelivered {
		delivery.Attempt = 0 // the number of its returns is unknown
	}
	said := s.handle(ctx, delivery)
	switch said.Do {
	case broker.Acknowledge:
		s.acks.done(d.DeliveryTag)
	case broker.StopReading:
		s.Stop() // the message returns to the queue with the connection
	default:
		s.retry(d, failures+1, said.After)
	}
}

// retry delivers a message again after a pause. In a work queue it waits among the retries, otherwise here.
func (s *session) retry(d amqp.Delivery, failures int64, after time.Duration) {
	if s.work == "" {
		s.running.Go(func() {
			wait(s.life, after)
			if s.life.Err() == nil {
				s.acks.back(d)
			}
		})
		return
	}
	copied := copied(d)
	copied.Headers[failuresHeader] = failures
	copied.Headers[dueHeader] = time.Now().Add(after).UnixMilli()
	s.move(d, retries(s.work), copied)
}

// move publishes a copy of a message to another queue, and then acknowledges the message. If that fails the message
// is returned after a pause.
func (s *session) move(d amqp.Delivery, to string, message amqp.Publishing) {
	if err := s.again.await(s.life, target{key: to}, message); err != nil {
		wait(s.life, s.of.Retry)
		if s.life.Err() == nil {
			s.acks.back(d)
		}
		return
	}
	s.acks.done(d.DeliveryTag)
}

// restore returns a retry to its queue when it is due.
func (s *session) restore(d amqp.Delivery) {
	// The due time is by the clock of the failed handler's host. If that clock is wrong, the pause is no longer
	// than by our own.
	due := time.UnixMilli(number(d, dueHeader))
	timer := time.NewTimer(min(time.Until(due), s.of.Retry))
	defer timer.Stop()
	select {
	case <-timer.C:
		message := copied(d)
		delete(message.Headers, dueHeader)
		s.move(d, s.work, message)
	case <-s.life.Done():
	}
}

// answer reports how many messages the server has sent this consumer, and how many of them are settled. The
// delivery tag counts everything that was sent.
func (s *session) answer(ask amqp.Delivery) {
	sent := ask.DeliveryTag - 1 - s.asked
	s.asked++
	s.acks.none(ask.DeliveryTag)
	reply := amqp.Publishing{
		MessageId: s.id, CorrelationId: ask.CorrelationId,
		Body: fmt.Appendf(nil, "%d %d", sent, min(sent, s.acks.settled.Load())),
	}
	s.running.Go(func() {
		ctx, cancel := context.WithTimeout(s.life, answerLimit)
		defer cancel()
		_ = s.again.await(ctx, target{key: ask.ReplyTo}, reply) // the asker may have gone
	})
}

// Our headers, and RabbitMQ's count of how often a quorum queue got a message back.
const (
	failuresHeader = "wirelab-failures"
	dueHeader      = "wirelab-due" // Unix milliseconds
	codeHeader     = "wirelab-code"
	returnsHeader  = "x-delivery-count"
)

// number reads a header as a number; 0 if it is not one, or is negative.
func number(d amqp.Delivery, header string) int64 {
	switch n := d.Headers[header].(type) {
	case int64:
		return max(n, 0)
	case int32:
		return max(int64(n), 0)
	}
	return 0
}

// count reads a header with a count. Any publisher to the queue may write any value, and none must make a message
// return for ever.
func count(d amqp.Delivery, header string) int64 {
	const most = 1 << 30
	return min(number(d, header), most)
}

// copied returns a message for publishing again, with our headers only. The queue added some, and those of other
// publishers could be as long as a frame: with ours they would break the connection, each time anew.
func copied(d amqp.Delivery) amqp.Publishing {
	headers := amqp.Table{}
	for _, name := range []string{failuresHeader, dueHeader, codeHeader} {
		switch value := d.Headers[name].(type) {
		case int64, int32:
			headers[name] = value
		case string:
			headers[name] = fmt.Sprintf("%.64s", value)
		}
	}
	return amqp.Publishing{
		Headers: headers, ContentType: d.ContentType, ContentEncoding: d.ContentEncoding, DeliveryMode: d.DeliveryMode,
		CorrelationId: d.CorrelationId, MessageId: d.MessageId, Timestamp: d.Timestamp, Type: d.Type, Body: d.Body,
	}
}

// failuresOf converts the count in a header of a message that is published.
func failuresOf(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return text
}
