package rabbitmq

import (
	"context"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab"
	"wirelab/broker"
)

// Topology is a layout in which messages are published to an exchange with a key, and each listener has its own
// queue behind it.
type Topology struct {
	Exchange string   // its name; it is of type topic, durable
	Key      string   // routing key of messages published here
	Keys     []string // that a subscriber binds to
	// NewID returns an id for a message that came without one.
	NewID func() string
}

// Exchange is a RabbitMQ with a [Topology]. It is a [broker.Broker] that promises less,
// and whose topics and groups are all the same:
//
//   - Publishers do not wait for confirms, and messages are transient. A message that is
//     published while no subscriber listens is lost.
//   - A subscriber's queue is exclusive and ends with its connection. The server
//     forgets a message when it has sent it (automatic acknowledgement).
//   - Each subscriber gets every message. A message that is to be retried waits here.
//
// A subscriber with more messages than it can handle stops consuming for a while, so that
// the backlog stays in its queue.
type Exchange struct {
	broker   *Broker
	topology Topology
}

var _ broker.Broker = (*Exchange)(nil)

// OpenExchange connects as [Open] does.
func OpenExchange(ctx context.Context, c broker.Config, t Topology) (*Exchange, error) {
	b, err := Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return &Exchange{b, t}, nil
}

// Name implements [broker.Broker].
func (x *Exchange) Name() string { return x.broker.Name() }

// Close implements [broker.Broker].
func (x *Exchange) Close() error { return x.broker.Close() }

// CreateTopic makes the exchange.
func (x *Exchange) CreateTopic(ctx context.Context, _ broker.Topic) error {
	return x.broker.with(ctx, x.broker.control, x.declare)
}

func (x *Exchange) declare(channel *amqp.Channel) error {
	const durable = true
	return channel.ExchangeDeclare(x.topology.Exchange, amqp.ExchangeTopic, durable, false, false, false, nil)
}

// Depth checks that the exchange exists, and returns 0: only their owners can see the contents of the queues.
func (x *Exchange) Depth(ctx context.Context, _, _ string) (int, error) {
	return 0, x.broker.with(ctx, x.broker.control, func(channel *amqp.Channel) error {
		return channel.ExchangeDeclarePassive(x.topology.Exchange, amqp.ExchangeTopic, true, false, false, false, nil)
	})
}

// DeleteTopic leaves the exchange, which other software may use. Queues end with their connections.
func (x *Exchange) DeleteTopic(context.Context, broker.Topic) error { return nil }

// topicPublisher publishes to the exchange.
type topicPublisher struct {
	*publisher
	to target
}

// Publisher implements [broker.Broker]. A message has the properties of the published one, and its id.
func (x *Exchange) Publisher(ctx context.Context, c broker.PublisherConfig) (broker.Publisher, error) {
	c.Unconfirmed, c.Transient, c.Shared = true, true, true
	p, err := x.broker.newPublisher(c)
	if err != nil {
		return nil, err
	}
	// The first confirm channel finds the exchange that CreateTopic declared. Later ones may connect to a new
	// server, so they declare it again.
	p.again = func(out *confirmChannel) error { return x.declare(out.channel) }
	if err := p.begin(ctx, nil); err != nil {
		return nil, err
	}
	return topicPublisher{p, target{x.topology.Exchange, x.topology.Key}}, nil
}

// Send implements [broker.Publisher].
func (p topicPublisher) Send(ctx context.Context, _ string, batch []broker.Message, done func(broker.Receipt, error)) {
	messages := make([]amqp.Publishing, len(batch))
	for i, m := range batch {
		messages[i] = amqp.Publishing{ContentType: "text/plain", MessageId: m.ID, Body: m.Body}
	}
	p.hand(ctx, &sending{to: p.to, messages: messages, left: len(messages), done: done})
}

// Subscribe implements [broker.Broker]. Close returns after the messages taken so far are handled. If that takes
// longer than [drainLimit], the rest is lost, which is Unavailable.
func (x *Exchange) Subscribe(
	ctx context.Context, s broker.Subscription, handle broker.Handler,
) (broker.Subscriber, error) {
	done, err := x.broker.begin()
	if err != nil {
		return nil, err
	}
	e := &listener{
		Exchange: x, of: s, handle: handle, slots: make(chan struct{}, s.Handlers()),
		over: make(chan struct{}), done: make(chan struct{}),
	}
	opening, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(x.broker.life, cancel)()
	first, err := e.open(opening)
	if err != nil {
		done()
		return nil, x.broker.coded(err)
	}
	e.reads, e.stop = context.WithCancel(context.WithoutCancel(ctx))
	e.work, e.drop = context.WithCancel(context.WithoutCancel(ctx))
	forget := context.AfterFunc(x.broker.life, func() { e.fail(broker.ErrClosed) })
	e.ready.Store(true)
	go func() { // Close waits for it
		defer done()
		defer close(e.over)
		defer forget()
		e.run(first)
		e.stop()
		e.finish()
	}()
	return e, nil
}

// errDropped returns the error for messages that were taken and not handled.
func errDropped(lost int64) error {
	return wirelab.Errorf(wirelab.Unavailable,
		"%d messages were taken from RabbitMQ and could not be dealt with in %v", lost, drainLimit)
}
