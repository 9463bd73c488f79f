package amqp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab"
	"wirelab/queue"
)

// Broker is a RabbitMQ. It may be used by several goroutines. It holds up to two
// connections, one for publishers, which the server may hold back, and one for
// the rest; each consumer has one of its own.
type Broker struct {
	url     string // with the password: never shown
	address string // host:port
	product string // "RabbitMQ 3.10.8"
	major   int    // 3
	publish *link
	control *link

	life    context.Context // ends with Close
	end     context.CancelFunc
	mu      sync.Mutex // guards closed, that running only grows before it, known and taking
	closed  bool
	known   map[string]bool // queues that were there when we looked
	taking  map[string]int  // consumers that the server knows, by queue
	running sync.WaitGroup  // what Close waits for

	// registered is [registered], but in tests that kill no server.
	registered time.Duration
}

var _ queue.Broker = (*Broker)(nil)

// errClosed is what a closed broker and its publishers answer.
var errClosed = wirelab.Errorf(wirelab.Unavailable, "the connection to RabbitMQ was closed")

// Open connects to the RabbitMQ at an URL: amqp://user:password@host:port/vhost,
// or amqps. InvalidArgument where it is none, Unauthenticated where user or
// password are wrong, Unavailable where nobody answers.
func Open(ctx context.Context, url string) (*Broker, error) {
	at, err := amqp.ParseURI(url)
	if err != nil {
		// Its text has the address with the password.
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "the broker's address is no URL such as amqp://user:password@host:5672/")
	}
	b := &Broker{url: url, known: map[string]bool{}, taking: map[string]int{}, registered: registered, address: fmt.Sprintf("%s:%d", at.Host, at.Port)}
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
	b.major, _ = strconv.Atoi(first) // 0 where it is no number: as of old
	return b, nil
}

// About implements [queue.Broker].
func (b *Broker) About() string { return b.product }

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

// begin notes that something runs that Close is to wait for, until done is called.
func (b *Broker) begin() (done func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errClosed
	}
	b.running.Add(1)
	return b.running.Done, nil
}

// prepared completes and checks options.
func prepared(o queue.Options) (queue.Options, error) {
	o = o.Complete()
	if o.Kind == "" {
		o.Kind = queue.Quorum
	}
	if err := o.Validate(); err != nil {
		return o, err
	}
	if o.Kind == queue.Stream {
		return o, wirelab.Errorf(wirelab.Unimplemented, "RabbitMQ's queues are %s or %s here; its streams have neither retries nor dead letters", queue.Quorum, queue.Classic)
	}
	return o, nil
}

// The names of what belongs to a queue. A dot is in no queue's own name.
func retries(name string) string { return name + ".retry" }
func letters(name string) string { return name + ".dead" }
func asking(name string) string  { return name + ".ask" }

// with runs something on a channel of its own, for as long as ctx lasts. The library's calls know no context: one that the server leaves
// unanswered goes on by itself, and ends with its connection.
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
		err = left // closed by the server: it says why
	}
	return err
}

// arguments are those that a queue of a kind is declared with.
func (b *Broker) arguments(kind queue.Kind) amqp.Table {
	table := amqp.Table{amqp.QueueTypeArg: string(kind)}
	if kind == queue.Quorum && b.major >= 4 {
		// From version 4 on the server itself would drop a message that came back
		// 20 times; attempts are counted by consumers.
		table["x-delivery-limit"] = int32(-1)
	}
	return table
}

// registered is how long a new queue is left alone. RabbitMQ writes down that
// there is one only later: Erlang's disk_log holds back what it has for up to two
// seconds, and the table of the library for Raft saves itself after half a second
// of rest. Killed before, it forgets the queue with every message that it
// confirmed: seen with 3.10.8, a quorum queue up to 1.2 s after its declaration
// and, once in some twenty on a busy machine, a classic one 1.7 s after.
const registered = 2500 * time.Millisecond

// Declare implements [queue.Broker]. A new queue takes it 2.5 s longer, so
// that what is confirmed is kept from the first message on.
func (b *Broker) Declare(ctx context.Context, o queue.Options) error {
	o, err := prepared(o)
	if err != nil {
		return err
	}
	b.mu.Lock()
	known := b.known[o.Name]
	b.mu.Unlock()
	if !known {
		err := b.with(ctx, b.control, func(channel *amqp.Channel) error {
			_, err := inspect(channel, o.Name)
			return err
		})
		switch {
		case err == nil:
			known = true
		case wirelab.CodeOf(err) != wirelab.NotFound:
			return err
		}
	}
	if err := b.with(ctx, b.control, func(channel *amqp.Channel) error { return b.declare(channel, o) }); err != nil {
		return err
	}
	if !known {
		wait(ctx, b.registered)
		if ctx.Err() != nil {
			return over(ctx, false, "RabbitMQ at %s may not have written down that there is a queue %s", b.address, o.Name)
		}
	}
	b.mu.Lock()
	b.known[o.Name] = true
	b.mu.Unlock()
	return nil
}

// declare sends the four declarations at once, the queue's own last: where it
// is, the others are.
func (b *Broker) declare(channel *amqp.Channel, o queue.Options) error {
	const durable, unasked = true, true
	err := channel.ExchangeDeclare(asking(o.Name), amqp.ExchangeFanout, durable, false, false, unasked, nil)
	for _, name := range []string{letters(o.Name), retries(o.Name)} {
		if err == nil {
			_, err = channel.QueueDeclare(name, durable, false, false, unasked, b.arguments(queue.Quorum))
		}
	}
	if err == nil {
		_, err = channel.QueueDeclare(o.Name, durable, false, false, !unasked, b.arguments(o.Kind))
	}
	return err
}

// inspect tells of a queue that must be there.
func inspect(channel *amqp.Channel, name string) (amqp.Queue, error) {
	return channel.QueueDeclarePassive(name, true, false, false, false, nil)
}

// Dead implements [queue.Broker]. Letters that were read are returned even where
// it stays unknown whether they are gone.
func (b *Broker) Dead(ctx context.Context, o queue.Options, limit int) ([]queue.Message, error) {
	o, err := prepared(o)
	if err != nil {
		return nil, err
	}
	taken := make(chan []queue.Message, 1)
	err = b.with(ctx, b.control, func(channel *amqp.Channel) error {
		var all []queue.Message
		defer func() { taken <- all }()
		if _, err := inspect(channel, letters(o.Name)); err != nil {
			return err
		}
		var last uint64
		for len(all) < limit {
			letter, ok, err := channel.Get(letters(o.Name), false)
			if err != nil {
				all = nil // they go back
				return err
			}
			if !ok {
				break
			}
			last = letter.DeliveryTag
			all = append(all, queue.Message{ID: letter.MessageId, Body: letter.Body})
		}
		if last == 0 {
			return nil
		}
		if err := channel.Ack(last, true); err != nil {
			return err
		}
		// Nothing answers an acknowledgement: the answer to this tells that it came.
		_, err := inspect(channel, letters(o.Name))
		return err
	})
	if err != nil && ctx.Err() != nil {
		return nil, err // who reads may be at it still
	}
	select {
	case all := <-taken:
		return all, err
	default:
		return nil, err
	}
}

// Delete implements [queue.Broker].
func (b *Broker) Delete(ctx context.Context, o queue.Options) error {
	o, err := prepared(o)
	if err != nil {
		return err
	}
	b.mu.Lock()
	delete(b.known, o.Name)
	b.mu.Unlock()
	return b.with(ctx, b.control, func(channel *amqp.Channel) error {
		var all error
		// The queue first: nothing comes into the others then.
		for _, name := range []string{o.Name, retries(o.Name), letters(o.Name)} {
			_, err := channel.QueueDelete(name, false, false, false)
			all = errors.Join(all, err)
		}
		return errors.Join(all, channel.ExchangeDelete(asking(o.Name), false, false))
	})
}
