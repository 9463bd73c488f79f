package amqp

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab"
	"wirelab/queue"
)

// handler is what a consumer gives its messages to.
type handler func(context.Context, queue.Delivery) error

// consumer takes messages over one connection after the other.
type consumer struct {
	broker   *Broker
	o        queue.Options
	handle   handler
	again    *publisher    // to the retries, the dead letters and back
	slots    chan struct{} // one is held by each handler that runs
	handlers sync.WaitGroup
}

// waitingLimit is how many messages a consumer holds at once that wait for their
// next attempt. Those behind wait in their queue, for as long as these.
const waitingLimit = 1000

// Consume implements [queue.Broker]. A handler that panics has failed.
func (b *Broker) Consume(ctx context.Context, o queue.Options, handle func(context.Context, queue.Delivery) error) error {
	o, err := prepared(o)
	if err != nil {
		return err
	}
	safe := queue.Options{Name: o.Name, Confirms: true, Buffer: o.Prefetch + waitingLimit}
	again, err := b.newPublisher(safe)
	if err != nil {
		return err
	}
	c := &consumer{broker: b, o: o, handle: handle, again: again, slots: make(chan struct{}, o.Prefetch)}
	var keeping sync.WaitGroup
	keeping.Go(func() { again.keep(nil) })
	defer keeping.Wait()
	defer again.end()
	life, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(b.life, end)()
	err = c.run(life)
	end()
	c.handlers.Wait()
	switch {
	case ctx.Err() != nil:
		return nil
	case b.life.Err() != nil:
		return errClosed
	}
	return err
}

// run consumes until ctx ends, or for a reason that will not go away.
func (c *consumer) run(ctx context.Context) error {
	pause := firstPause
	for ctx.Err() == nil {
		s, err := c.open(ctx)
		if err == nil {
			c.broker.take(c.o.Name, 1)
			s.run(ctx)
			c.broker.take(c.o.Name, -1)
			s.close()
			pause = firstPause
			continue
		}
		if err = c.broker.coded(err); final(err) {
			return err
		}
		pause = rest(ctx, pause)
	}
	return nil
}

// Consuming implements [queue.Broker].
func (b *Broker) Consuming(o queue.Options) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.taking[o.Name] > 0
}

// take notes that the server has so many more consumers of ours.
func (b *Broker) take(name string, more int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taking[name] += more
}

// session is a consumer's time with one connection.
type session struct {
	*consumer
	id      string
	conn    *wire
	channel *amqp.Channel
	life    context.Context // ends with the connection
	end     context.CancelFunc
	// All three come over one channel, whose delivery tags number them in the
	// order in which the server sent them.
	messages, waiting, asks <-chan amqp.Delivery
	closed                  <-chan *amqp.Error
	acks                    *acks
	asked                   uint64 // questions that came
	running                 sync.WaitGroup
}

// open begins to consume over a new connection.
func (c *consumer) open(ctx context.Context) (*session, error) {
	conn, err := c.broker.dial(ctx, "consumer")
	if err != nil {
		return nil, err
	}
	// The library's calls know no context.
	forget := context.AfterFunc(ctx, func() { hang(conn) })
	s := &session{consumer: c, id: rand.Text(), conn: conn}
	err = s.begin()
	if !forget() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		hang(conn)
		return nil, err
	}
	s.life, s.end = context.WithCancel(ctx)
	s.running.Go(func() { s.acks.run(s.life) })
	return s, nil
}

// begin asks for messages. The questions last: a consumer that can be asked is
// one that the server counts.
func (s *session) begin() (err error) {
	name := s.o.Name
	if s.channel, err = s.conn.Channel(); err != nil {
		return err
	}
	s.acks = newAcks(s.channel, s.conn.out)
	s.closed = s.channel.NotifyClose(make(chan *amqp.Error, 1))
	if _, err = inspect(s.channel, name); err != nil {
		return err
	}
	// Not global: it holds for each consumer that comes after it.
	if err = s.channel.Qos(s.o.Prefetch, 0, false); err != nil {
		return err
	}
	if s.messages, err = s.channel.Consume(name, "messages", false, false, false, false, nil); err != nil {
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

// close ends the connection: what is not acknowledged goes back.
func (s *session) close() {
	s.end()
	s.acks.flush()
	hang(s.conn)
	s.running.Wait()
}

// run deals with what comes until the connection is lost or, once ctx has ended,
// until no handler runs.
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
			if idle == nil {
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
			// Those that run are waited for, and what they finish is acknowledged.
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

// deal gives a message to the handler, and acts upon what becomes of it.
func (s *session) deal(ctx context.Context, d amqp.Delivery) {
	failures := count(d, failuresHeader)
	delivery := queue.Delivery{
		Message: queue.Message{ID: d.MessageId, Body: d.Body}, Redelivered: d.Redelivered,
		Attempt: 1 + int(failures+count(d, returnsHeader)),
	}
	if s.o.Kind == queue.Classic && d.Redelivered {
		delivery.Attempt = 0 // how often it came back is not counted
	}
	err := s.handle.try(ctx, delivery)
	switch {
	case err == nil:
		s.acks.done(d.DeliveryTag)
		return
	case ctx.Err() != nil:
		return // no fault of the message, which goes back
	}
	failures++
	copied := copied(d)
	copied.Headers[failuresHeader] = failures
	to := retries(s.o.Name)
	if failures >= int64(s.o.Attempts) || always(err) {
		to = letters(s.o.Name)
		copied.Headers[codeHeader] = wirelab.CodeOf(err).String()
	} else {
		copied.Headers[dueHeader] = time.Now().Add(s.o.Retry).UnixMilli()
	}
	s.move(d, to, copied)
}

// try calls the handler.
func (h handler) try(ctx context.Context, d queue.Delivery) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = wirelab.Errorf(wirelab.Internal, "the handler of message %q panicked: %v", d.ID, fault)
		}
	}()
	return h(ctx, d)
}

// always reports whether a handler that failed so will fail again.
func always(err error) bool {
	code := wirelab.CodeOf(err)
	return code == wirelab.InvalidArgument || code == wirelab.Conflict
}

// move puts a copy of a message into another queue, and then takes the message
// away. Where that fails the message goes back, after a while.
func (s *session) move(d amqp.Delivery, to string, message amqp.Publishing) {
	if _, err := s.again.send(s.life, target{key: to}, message); err != nil {
		wait(s.life, s.o.Retry)
		if s.life.Err() == nil {
			s.acks.back(d)
		}
		return
	}
	s.acks.done(d.DeliveryTag)
}

// restore puts a message that waits back into its queue when it is due.
func (s *session) restore(d amqp.Delivery) {
	// By the clock of whose handler failed; should it be another's and wrong, it
	// is no later than by our own.
	due := time.UnixMilli(number(d, dueHeader))
	timer := time.NewTimer(min(time.Until(due), s.o.Retry))
	defer timer.Stop()
	select {
	case <-timer.C:
		message := copied(d)
		delete(message.Headers, dueHeader)
		s.move(d, s.o.Name, message)
	case <-s.life.Done():
	}
}

// answer tells who asks how many messages the server has sent this consumer, and
// of how many it was told that they are done. The tag numbers all that was sent.
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
		_, _ = s.again.send(ctx, target{key: ask.ReplyTo}, reply) // who asked may have gone
	})
}

// The headers that are ours, and RabbitMQ's count of how often a quorum queue
// got a message back.
const (
	failuresHeader = "wirelab-failures"
	dueHeader      = "wirelab-due" // Unix milliseconds
	codeHeader     = "wirelab-code"
	returnsHeader  = "x-delivery-count"
)

// number reads a header; 0 if it is none, or below.
func number(d amqp.Delivery, header string) int64 {
	switch n := d.Headers[header].(type) {
	case int64:
		return max(n, 0)
	case int32:
		return max(int64(n), 0)
	}
	return 0
}

// count reads a header that counts. Whoever may publish to the queue may write
// any, and none is to make a message come again for ever.
func count(d amqp.Delivery, header string) int64 {
	const most = 1 << 30
	return min(number(d, header), most)
}

// copied is a message to be published again, with no headers but ours: its queue
// added some, and those of a stranger could be as long as a frame, so that ours
// beside them would end the connection, each time anew.
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
