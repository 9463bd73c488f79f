package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab"
	"wirelab/broker"
)

// Broker is a RabbitMQ server, or a cluster. It may be used by several goroutines. It holds up to two connections:
// one for publishers that share it, which the server may block, and one for everything else. Each subscriber, and
// each other publisher, has its own.
type Broker struct {
	config  broker.Config
	urls    []string     // with passwords: never shown
	address string       // host:port of the first
	at      atomic.Int64 // the index of the URL to try first
	product string       // "RabbitMQ 3.10.8"
	major   int          // 3
	publish *link
	control *link

	life    context.Context // ends with Close
	end     context.CancelFunc
	mu      sync.Mutex // guards closed, known, and that running grows only before closed is set
	closed  bool
	known   map[string]bool // work queues that are known to exist
	running sync.WaitGroup  // what Close waits for
}

var _ broker.Broker = (*Broker)(nil)

// Check validates a variant.
func Check(c broker.Config) error {
	known := []string{string(broker.Quorum), string(broker.Classic)}
	if c.Variant != "" && !slices.Contains(known, c.Variant) {
		return wirelab.UnknownName("kind of queues of RabbitMQ", c.Variant, known)
	}
	return nil
}

// Open connects to servers, each given as host:port, for user guest, or as amqp://user:password@host:port/vhost, or
// amqps. An invalid address is InvalidArgument, a wrong user or password is Unauthenticated, and Unavailable means
// that no server answers.
func Open(ctx context.Context, c broker.Config) (*Broker, error) {
	c, err := c.Complete()
	if err != nil {
		return nil, err
	}
	if err := Check(c); err != nil {
		return nil, err
	}
	b := &Broker{config: c, known: map[string]bool{}}
	for _, url := range c.Addresses {
		if !strings.Contains(url, "://") && strings.Contains(url, ":") {
			url = "amqp://guest:guest@" + url
		}
		at, err := amqp.ParseURI(url)
		if err != nil {
			// The text of the error contains the address with the password.
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"a RabbitMQ server's address is like host:5672 or amqp://user:password@host:5672/")
		}
		if b.urls = append(b.urls, url); b.address == "" {
			b.address = fmt.Sprintf("%s:%d", at.Host, at.Port)
		}
	}
	b.publish, b.control = newLink(b, "publishers"), newLink(b, "control")
	b.life, b.end = context.WithCancel(context.WithoutCancel(ctx))
	conn, err := b.control.get(ctx)
	if err != nil {
		b.end()
		return nil, err
	}
	product, _ := conn.Properties["product"].(string)
	version, _ := conn.Properties["version"].(string)
	b.product = strings.TrimSpace(product + " " + version)
	first, _, _ := strings.Cut(version, ".")
	b.major, _ = strconv.Atoi(first) // 0 if it is not a number: treated as an old version
	return b, nil
}

// Name implements [broker.Broker].
func (b *Broker) Name() string { return b.product }

// Close ends all consumers and publishers, and the connections.
func (b *Broker) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.end()
	var closing sync.WaitGroup
	closing.Go(b.publish.close)
	closing.Go(b.control.close)
	closing.Wait()
	b.running.Wait()
	return nil
}

// begin registers work that Close waits for, until done is called.
func (b *Broker) begin() (done func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, broker.ErrClosed
	}
	b.running.Add(1)
	return b.running.Done, nil
}

// queueName returns the name of the work queue of a topic, or "" if the topic is not a work queue.
func queueName(topic string) (name string, work bool) {
	if name, work = strings.CutPrefix(topic, broker.QueuePrefix); !work {
		name = ""
	}
	return name, work
}

// queueOf returns the queue of a topic's group.
func queueOf(topic, group string) string {
	if name, ok := queueName(topic); ok {
		return name
	}
	if name, ok := strings.CutPrefix(topic, broker.DeadPrefix); ok {
		return letters(name)
	}
	return topic + "." + group
}

// targetOf returns where messages of a topic are published to.
func targetOf(topic string) target {
	if broker.IsQueue(topic) {
		return target{key: queueOf(topic, "")}
	}
	return target{exchange: topic}
}

// Names of the objects of a work queue. The name of a queue itself contains no dot.
func retries(name string) string { return name + ".retry" }
func letters(name string) string { return name + ".dead" }
func asking(name string) string  { return name + ".ask" }

// with runs do on a new channel, and waits no longer than ctx lasts. The calls of the library take no context: one
// that the server leaves unanswered continues in its goroutine, and ends with the connection.
func (b *Broker) with(ctx context.Context, on *link, do func(*amqp.Channel) error) error {
	done, err := b.begin()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		done()
		return over(ctx, true, "RabbitMQ at %s was not asked", b.address)
	}
	ended := make(chan error, 1)
	go func() {
		defer done()
		ended <- b.coded(onChannel(ctx, on, do))
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return over(ctx, true, "RabbitMQ at %s does not answer", b.address)
	}
}

func onChannel(ctx context.Context, on *link, do func(*amqp.Channel) error) error {
	conn, err := on.get(ctx)
	if err != nil {
		return err
	}
	channel, err := conn.Channel()
	if err != nil {
		return err
	}
	err = do(channel)
	if left := channel.Close(); err == nil {
		err = left // closed by the server, which gives the reason
	}
	return err
}

// arguments returns the arguments for declaring a queue of a kind with that many replicas; 0: the server's default.
func (b *Broker) arguments(kind broker.Kind, replicas int) amqp.Table {
	table := amqp.Table{amqp.QueueTypeArg: string(kind)}
	if kind != broker.Quorum {
		return table
	}
	if replicas > 0 {
		table["x-quorum-initial-group-size"] = replicas
	}
	if b.major >= 4 {
		// From version 4 on the server would drop a message that was returned 20 times. Consumers count the
		// attempts instead.
		table["x-delivery-limit"] = int32(-1)
	}
	return table
}

// kindOf returns the kind in which a topic is kept.
func (b *Broker) kindOf(t broker.Topic) (broker.Kind, error) {
	kind := t.Kind
	if kind == "" {
		kind = broker.Kind(b.config.Variant)
	}
	switch kind {
	case "":
		return broker.Quorum, nil
	case broker.Quorum, broker.Classic:
		return kind, nil
	}
	return kind, wirelab.Errorf(wirelab.Unimplemented,
		"RabbitMQ's queues are %s or %s here; its streams have neither retries nor dead letters",
		broker.Quorum, broker.Classic)
}

// registered is how long CreateTopic waits after it created a queue. RabbitMQ persists the existence of a queue
// late: disk_log of Erlang holds data back for up to two seconds, and the table of the Raft library saves itself
// after half a second without changes. If it is killed before, it forgets the queue with every message that it
// confirmed. Observed with 3.10.8: a quorum queue up to 1.2 s after its declaration and, in about one of twenty
// runs on a busy machine, a classic one 1.7 s after.
const registered = 2500 * time.Millisecond

// CreateTopic implements [broker.Broker]. Unless the use is ephemeral it waits 2.5 s after it created a queue, so
// that confirmed messages are kept from the first one on.
func (b *Broker) CreateTopic(ctx context.Context, t broker.Topic) error {
	if err := t.Validate(); err != nil {
		return err
	}
	kind, err := b.kindOf(t)
	if err != nil {
		return err
	}
	if strings.HasPrefix(t.Name, broker.DeadPrefix) {
		return b.usable(ctx) // it is declared with its queue
	}
	name, work := queueName(t.Name)
	b.mu.Lock()
	known := work && b.known[name]
	b.mu.Unlock()
	if !work {
		b.control.prefer() // a queue is led where it was declared, and clients look for it there
	}
	if !known {
		err := b.with(ctx, b.control, func(channel *amqp.Channel) error { return b.there(channel, t) })
		switch {
		case err == nil && !t.IfAbsent:
			return wirelab.Errorf(wirelab.Conflict, "topic %s is there", t.Name)
		case err == nil:
			known = true
		case wirelab.CodeOf(err) != wirelab.NotFound:
			return err
		}
	}
	if err := b.with(ctx, b.control, func(channel *amqp.Channel) error {
		if work {
			return b.declareQueue(channel, name, kind)
		}
		return b.declareTopic(channel, t, kind)
	}); err != nil {
		return err
	}
	if !known && !b.config.Ephemeral {
		wait(ctx, registered)
		if ctx.Err() != nil {
			return over(ctx, false, "RabbitMQ at %s may not have written down that there is a queue %s", b.address,
				t.Name)
		}
	}
	if work {
		b.mu.Lock()
		b.known[name] = true
		b.mu.Unlock()
	}
	return nil
}

// usable returns an error if ctx or the broker has ended.
func (b *Broker) usable(ctx context.Context) error {
	done, err := b.begin()
	if err != nil {
		return err
	}
	done()
	if ctx.Err() != nil {
		return over(ctx, true, "RabbitMQ at %s was not asked", b.address)
	}
	return nil
}

// there returns NotFound unless the topic exists.
func (b *Broker) there(channel *amqp.Channel, t broker.Topic) error {
	if broker.IsQueue(t.Name) {
		_, err := inspect(channel, queueOf(t.Name, ""))
		return err
	}
	return channel.ExchangeDeclarePassive(t.Name, amqp.ExchangeFanout, true, false, false, false, nil)
}

// declareQueue sends the four declarations of a work queue at once, the queue itself last: if it exists, so do the
// others.
func (b *Broker) declareQueue(channel *amqp.Channel, name string, kind broker.Kind) error {
	const durable, unasked = true, true
	err := channel.ExchangeDeclare(asking(name), amqp.ExchangeFanout, durable, false, false, unasked, nil)
	for _, other := range []string{letters(name), retries(name)} {
		if err == nil {
			_, err = channel.QueueDeclare(other, durable, false, false, unasked, b.arguments(broker.Quorum, 0))
		}
	}
	if err == nil {
		_, err = channel.QueueDeclare(name, durable, false, false, !unasked, b.arguments(kind, 0))
	}
	return err
}

// declareTopic declares an exchange and the queues behind it.
func (b *Broker) declareTopic(channel *amqp.Channel, t broker.Topic, kind broker.Kind) error {
	const durable = true
	if err := channel.ExchangeDeclare(t.Name, amqp.ExchangeFanout, durable, false, false, false, nil); err != nil {
		return err
	}
	for _, group := range t.Groups {
		queue := queueOf(t.Name, group)
		arguments := b.arguments(kind, b.config.Replicas)
		if _, err := channel.QueueDeclare(queue, durable, false, false, false, arguments); err != nil {
			return err
		}
		if err := channel.QueueBind(queue, "", t.Name, false, nil); err != nil {
			return err
		}
	}
	return nil
}

// inspect returns the state of a queue that must exist.
func inspect(channel *amqp.Channel, name string) (amqp.Queue, error) {
	return channel.QueueDeclarePassive(name, true, false, false, false, nil)
}

// DeleteTopic implements [broker.Broker]. It deletes the queue first, so that nothing is moved to its retries and
// dead letters afterwards.
func (b *Broker) DeleteTopic(ctx context.Context, t broker.Topic) error {
	if err := t.Validate(); err != nil {
		return err
	}
	queues, exchange := []string(nil), t.Name
	name, work := queueName(t.Name)
	switch {
	case work:
		b.mu.Lock()
		delete(b.known, name)
		b.mu.Unlock()
		queues, exchange = []string{name, retries(name), letters(name)}, asking(name)
	case broker.IsQueue(t.Name):
		queues, exchange = []string{queueOf(t.Name, "")}, ""
	default:
		for _, group := range t.Groups {
			queues = append(queues, queueOf(t.Name, group))
		}
	}
	return b.with(ctx, b.control, func(channel *amqp.Channel) error {
		var all error
		for _, queue := range queues {
			_, err := channel.QueueDelete(queue, false, false, false)
			all = errors.Join(all, err)
		}
		if exchange == "" {
			return all
		}
		return errors.Join(all, channel.ExchangeDelete(exchange, false, false))
	})
}
