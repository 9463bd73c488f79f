package amqp

import (
	"context"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab"
	"wirelab/queue"
)

// Topic is a topology in which messages go to an exchange by a key, and each
// listener has a queue of its own behind it.
type Topic struct {
	Exchange string   // its name; it is of type topic, durable
	Key      string   // of what is published here
	Keys     []string // that a consumer listens to
	// NewID makes the id of a message that came without one.
	NewID func() string
	// Lost is told of each message that is given up, and why; nil: nobody is.
	Lost func(error)
}

// Exchange is a RabbitMQ with a [Topic]. It is a [queue.Broker] that promises less:
//
//   - Publishers wait for no confirmation, and messages are transient. One that is
//     published while nobody listens is gone.
//   - A consumer's queue is its own and ends with its connection. The server
//     forgets a message when it has sent it (automatic acknowledgement).
//   - Each consumer gets every message. There are no dead letters: a message whose
//     handler fails is tried again here, and then gone, as [Topic.Lost] is told.
//
// A consumer that is given more than it can deal with stops taking for a while, so
// that the backlog stays in its queue. Of the options the prefetch, the attempts,
// the retry and the buffer count.
type Exchange struct {
	broker *Broker
	topic  Topic
}

var _ queue.Broker = (*Exchange)(nil)

// OpenTopic connects as [Open] does.
func OpenTopic(ctx context.Context, url string, topic Topic) (*Exchange, error) {
	b, err := Open(ctx, url)
	if err != nil {
		return nil, err
	}
	return &Exchange{b, topic}, nil
}

// About implements [queue.Broker].
func (x *Exchange) About() string { return x.broker.About() }

// Close implements [queue.Broker].
func (x *Exchange) Close() error { return x.broker.Close() }

// Declare makes the exchange.
func (x *Exchange) Declare(ctx context.Context, _ queue.Options) error {
	return x.broker.with(ctx, x.broker.control, x.declare)
}

func (x *Exchange) declare(channel *amqp.Channel) error {
	const durable = true
	return channel.ExchangeDeclare(x.topic.Exchange, amqp.ExchangeTopic, durable, false, false, false, nil)
}

// Depth asks whether the exchange is there. What the queues hold is only for
// those who have them: it is always 0.
func (x *Exchange) Depth(ctx context.Context, _ queue.Options) (waiting, dead int, err error) {
	err = x.broker.with(ctx, x.broker.control, func(channel *amqp.Channel) error {
		return channel.ExchangeDeclarePassive(x.topic.Exchange, amqp.ExchangeTopic, true, false, false, false, nil)
	})
	return 0, 0, err
}

// Dead implements [queue.Broker]: there are no dead letters.
func (x *Exchange) Dead(context.Context, queue.Options, int) ([]queue.Message, error) {
	return nil, nil
}

// Delete leaves the exchange, which others may use. Queues end by themselves.
func (x *Exchange) Delete(context.Context, queue.Options) error { return nil }

// Consuming implements [queue.Broker].
func (x *Exchange) Consuming(queue.Options) bool {
	return x.broker.Consuming(queue.Options{Name: x.topic.Exchange})
}

// topicPublisher publishes to the exchange.
type topicPublisher struct {
	*publisher
	to target
}

// Publisher implements [queue.Broker]. A message has what the published one has,
// and its id beside it.
func (x *Exchange) Publisher(ctx context.Context, o queue.Options) (queue.Publisher, error) {
	o, err := prepared(o)
	if err != nil {
		return nil, err
	}
	o.Confirms, o.Persistent = false, false
	p, err := x.broker.newPublisher(o)
	if err != nil {
		return nil, err
	}
	// The first finds what Declare made. Those after it follow a server that may be new.
	p.again = func(out *outlet) error { return x.declare(out.channel) }
	if err := p.begin(ctx, nil); err != nil {
		return nil, err
	}
	return topicPublisher{p, target{x.topic.Exchange, x.topic.Key}}, nil
}

// Publish implements [queue.Publisher].
func (p topicPublisher) Publish(ctx context.Context, m queue.Message) (queue.Receipt, error) {
	if err := m.Validate(); err != nil {
		return queue.Receipt{}, err
	}
	return p.send(ctx, p.to, amqp.Publishing{ContentType: "text/plain", MessageId: m.ID, Body: m.Body})
}

// Consume implements [queue.Broker]. What was taken is dealt with before it returns; where that takes longer than
// [drainLimit], the rest is lost, which is Unavailable.
func (x *Exchange) Consume(ctx context.Context, o queue.Options, handle func(context.Context, queue.Delivery) error) error {
	o, err := prepared(o)
	if err != nil {
		return err
	}
	done, err := x.broker.begin()
	if err != nil {
		return err
	}
	defer done()
	life, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(x.broker.life, end)()
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	e := &ear{Exchange: x, o: o, handle: handle, work: work, slots: make(chan struct{}, o.Prefetch)}
	err = e.run(life)
	lost := e.finish(stop)
	switch {
	case lost > 0:
		return wirelab.Errorf(wirelab.Unavailable, "%d messages were taken from RabbitMQ and could not be dealt with in %v", lost, drainLimit)
	case ctx.Err() != nil:
		return nil
	case x.broker.life.Err() != nil:
		return errClosed
	}
	return err
}
