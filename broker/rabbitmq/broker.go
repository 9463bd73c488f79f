// Package rabbitmq drives RabbitMQ as package broker asks of any broker: a topic is a
// durable fanout exchange, a group a queue that is bound to it, so that each message
// is kept once for every group. It knows the servers by their addresses.
//
// Quorum queues are on the disks of a majority before they confirm; a classic queue
// is durable and on one node's. Messages are persistent in both.
package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab"
	"wirelab/broker"
)

// The variants: the kinds of queues.
const (
	Quorum  = "quorum"
	Classic = "classic"
)

// The times of a connection. A server that is silent for two heartbeats is away.
const (
	dialLimit   = 5 * time.Second
	heartbeat   = 2 * time.Second
	dialPause   = 50 * time.Millisecond
	dialPauseUp = time.Second
)

// Broker is a connection to a RabbitMQ server, or a cluster.
type Broker struct {
	reach broker.Reach
	about string
	major int          // of its version
	at    atomic.Int64 // the address that is tried first
}

var _ broker.Broker = (*Broker)(nil)

// Check returns what is wrong with a reach's variant, if anything.
func Check(r broker.Reach) error {
	if known := []string{Quorum, Classic}; r.Variant != "" && !slices.Contains(known, r.Variant) {
		return wirelab.UnknownName("kind of queues of RabbitMQ", r.Variant, known)
	}
	return nil
}

// Open connects to servers, each host:port, for user guest, or
// amqp://user:password@host:port. Connections are opened for each thing that is
// asked: on a channel an error ends what else it is used for.
func Open(_ context.Context, r broker.Reach) (*Broker, error) {
	r, err := r.Complete()
	if err != nil {
		return nil, err
	}
	if err := Check(r); err != nil {
		return nil, err
	}
	if r.Variant == "" {
		r.Variant = Quorum
	}
	b := &Broker{reach: r}
	conn, err := b.dial()
	if err != nil {
		return nil, err
	}
	version := fmt.Sprint(conn.Properties["version"])
	b.about = fmt.Sprintf("%v %s", conn.Properties["product"], version)
	b.major, _ = strconv.Atoi(strings.SplitN(version, ".", 2)[0]) // 0 of a version that is no number
	return b, coded(conn.Close())
}

// dial connects to the first server that takes connections.
func (b *Broker) dial() (*amqp.Connection, error) {
	var last error
	for range b.reach.Addresses {
		at := b.at.Load()
		address := b.reach.Addresses[int(at)%len(b.reach.Addresses)]
		if !strings.Contains(address, "://") {
			address = "amqp://guest:guest@" + address
		}
		conn, err := amqp.DialConfig(address, amqp.Config{Heartbeat: heartbeat, Dial: b.connect})
		if err == nil {
			return conn, nil
		}
		last = err
		b.at.CompareAndSwap(at, at+1)
	}
	if _, err := amqp.ParseURI(b.reach.Addresses[0]); strings.Contains(b.reach.Addresses[0], "://") && err != nil {
		// The address may hold a password, and stays out of the message.
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "a RabbitMQ server's address is like host:5672 or amqp://user:password@host:5672")
	}
	return nil, wirelab.Errorf(wirelab.Unavailable, "connect to RabbitMQ: %v", last)
}

// connect opens a connection where it is counted. The library takes the deadline off
// once the handshake is over.
func (b *Broker) connect(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialLimit)
	defer cancel()
	conn, err := b.reach.Connect(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(time.Now().Add(dialLimit))
}

// Close implements [broker.Broker].
func (*Broker) Close() error { return nil }

// About implements [broker.Broker].
func (b *Broker) About() string { return b.about }

// channel opens a channel on a connection of its own and has f use it: a server that
// does not answer within dialLimit, as one that is still starting, is given up.
func (b *Broker) channel(f func(*amqp.Channel) error) (*amqp.Connection, *amqp.Channel, error) {
	conn, err := b.dial()
	if err != nil {
		return nil, nil, err
	}
	late := time.AfterFunc(dialLimit, func() { _ = conn.CloseDeadline(time.Now().Add(dialLimit)) })
	defer late.Stop()
	channel, err := conn.Channel()
	if err == nil {
		err = f(channel)
	}
	if err != nil {
		_ = conn.CloseDeadline(time.Now().Add(dialLimit)) // the error before says it
		return nil, nil, err
	}
	return conn, channel, nil
}

// with runs f with a channel of its own, on a connection of its own.
func (b *Broker) with(f func(*amqp.Channel) error) error {
	conn, _, err := b.channel(f)
	if err != nil {
		return coded(err)
	}
	if err := conn.CloseDeadline(time.Now().Add(dialLimit)); !errors.Is(err, amqp.ErrClosed) {
		return coded(err)
	}
	return nil
}

// queueOf is a group's queue.
func queueOf(topic, group string) string { return topic + "." + group }

// registered is how long a new queue is left alone: killed earlier, a server forgets
// it with every message that it confirmed (see package queue/amqp, which saw it 1.7 s
// after a declaration).
const registered = 2500 * time.Millisecond

// Make implements [broker.Broker]. Unless the use is brief it takes 2.5 s longer than
// the server does, so that what is acknowledged is kept from the first message on.
func (b *Broker) Make(ctx context.Context, t broker.Topic) error {
	if err := t.Validate(); err != nil {
		return err
	}
	b.at.Store(0) // a queue is led where it was declared, and whoever is to find it looks there
	err := b.with(func(channel *amqp.Channel) error {
		return channel.ExchangeDeclarePassive(t.Name, amqp.ExchangeFanout, true, false, false, false, nil)
	})
	if err == nil {
		return wirelab.Errorf(wirelab.Conflict, "topic %s is there", t.Name)
	}
	if wirelab.CodeOf(err) != wirelab.NotFound {
		return err
	}
	arguments := amqp.Table{"x-queue-type": b.reach.Variant}
	if b.reach.Variant == Quorum {
		arguments["x-quorum-initial-group-size"] = b.reach.Copies
		if b.major >= 4 {
			// From version 4 on the server itself would drop a message that came back 20 times.
			arguments["x-delivery-limit"] = int32(-1)
		}
	}
	err = b.with(func(channel *amqp.Channel) error {
		if err := channel.ExchangeDeclare(t.Name, amqp.ExchangeFanout, true, false, false, false, nil); err != nil {
			return err
		}
		for _, group := range t.Groups {
			queue := queueOf(t.Name, group)
			if _, err := channel.QueueDeclare(queue, true, false, false, false, arguments); err != nil {
				return err
			}
			if err := channel.QueueBind(queue, "", t.Name, false, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || b.reach.Brief {
		return err
	}
	rest := time.NewTimer(registered)
	defer rest.Stop()
	select {
	case <-rest.C:
		return nil
	case <-ctx.Done():
		return wirelab.Public(ctx.Err())
	}
}

// Remove implements [broker.Broker].
func (b *Broker) Remove(_ context.Context, t broker.Topic) error {
	return b.with(func(channel *amqp.Channel) error {
		for _, group := range t.Groups {
			if _, err := channel.QueueDelete(queueOf(t.Name, group), false, false, false); err != nil {
				return err
			}
		}
		return channel.ExchangeDelete(t.Name, false, false)
	})
}

// coded gives the library's errors their codes.
func coded(err error) error {
	var refused *amqp.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return wirelab.Public(err)
	case errors.As(err, &refused):
		switch refused.Code {
		case amqp.NotFound:
			return wirelab.Errorf(wirelab.NotFound, "RabbitMQ: %s", refused.Reason)
		case amqp.PreconditionFailed, amqp.ResourceLocked:
			return wirelab.Errorf(wirelab.Conflict, "RabbitMQ: %s", refused.Reason)
		}
	}
	var known *wirelab.Error
	if errors.As(err, &known) {
		return err
	}
	return wirelab.Errorf(wirelab.Unavailable, "RabbitMQ: %v", err)
}
