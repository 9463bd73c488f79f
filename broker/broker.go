// Package broker has the one contract over message brokers: a broker takes messages
// under a topic, keeps them, and hands them to every group that reads the topic. A topic
// read by one group is a work queue; package workqueue makes attempts and dead letters of
// it. Each folder here does it with one broker, for loads and for the pipeline alike;
// brokertest holds them to what is said here. This package knows no scenario, counts
// nothing and starts no broker.
//
// # The contract
//
//   - Once [Broker.CreateTopic] has returned, every message acknowledged under the topic
//     is kept for each of its groups until that group has dealt with it, whether a
//     subscriber reads or not, and unless [Config.Ephemeral] whatever node is killed.
//   - A publisher reports a send once the broker has acknowledged all of its messages, by
//     the [Durability] that the broker was opened with, or has refused them, or once it
//     is unknown what became of them: that is [ErrLost] if the connection broke.
//   - Messages that one publisher of calls sends one after the other, or that one
//     which does not wait is handed in turn, reach a group in that order, as long as
//     nothing fails.
//   - A subscriber of [Subscription.Concurrency] 1 is given a group's messages one at a
//     time and in order; one of n runs n handlers at once, and has no order.
//   - A handler's [Disposition] says what becomes of a message. What a subscriber was
//     given and has not acknowledged when it ends, or its process dies, is given to the
//     group again, in any order.
//   - A message to be retried comes again after its pause, with a higher
//     [Delivery.Failures]. It does not hold up other messages of a work queue.
//   - A broker that is away ends nothing: sends fail, or wait for their context, and
//     subscribers continue when it is back.
package broker

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"wirelab"
)

// Config says where a broker is and how it is to be used.
type Config struct {
	// Addresses are those of its nodes, host:port.
	Addresses []string
	// Replicas is how many nodes are to keep each message. 0: as many as there are
	// addresses, at most 3.
	Replicas int
	// Durability is what an acknowledgement is to promise. "": [Synced].
	Durability Durability
	// Variant chooses among the ways in which this broker keeps a topic; "" is the
	// safest. [wirelab.Unimplemented] where it has no such.
	Variant string
	// Ephemeral says that no node is going to be killed: CreateTopic need not wait until a
	// topic that it made would outlive that.
	Ephemeral bool
	// Patient says that what is asked is tried until its context ends, and that a node
	// that is slow is not left for another one: a service waits, and a load is told.
	Patient bool
	// Token is what says who connects, where a broker wants one as well as its address.
	Token string
	// Connect opens connections, and is where bytes are counted. nil: net.Dialer.
	Connect func(ctx context.Context, network, address string) (net.Conn, error) `json:"-"`
}

// Durability is what a broker promises by an acknowledgement.
type Durability string

// The durabilities.
const (
	// Synced: each of a quorum of the copies brought the message to its disk first.
	Synced Durability = "fsync"
	// VendorDefault: what the broker promises with its default settings.
	VendorDefault Durability = "default"
)

// Durabilities are both, as they are typed.
func Durabilities() []string { return []string{string(Synced), string(VendorDefault)} }

// replicasUsual is how many replicas a topic has where there are nodes enough.
const replicasUsual = 3

// Complete returns c with its defaults, or InvalidArgument.
func (c Config) Complete() (Config, error) {
	if len(c.Addresses) == 0 {
		return c, wirelab.Errorf(wirelab.InvalidArgument, "no address of a broker; name one as host:port")
	}
	if c.Replicas == 0 {
		c.Replicas = min(replicasUsual, len(c.Addresses))
	}
	if c.Durability == "" {
		c.Durability = Synced
	}
	if c.Connect == nil {
		var plain net.Dialer
		c.Connect = plain.DialContext
	}
	if c.Durability != Synced && c.Durability != VendorDefault {
		return c, wirelab.UnknownName("durability", string(c.Durability), Durabilities())
	}
	return c, nil
}

// The bounds of the contract.
const (
	BodyLimit   = 1 << 20 // bytes of a message
	IDLimit     = 128     // bytes of a message's id
	BatchLimit  = 1_000   // messages of one send
	BatchBytes  = 3 << 20 // bytes of one send
	GroupsLimit = 64      // of a topic
	NameLimit   = 64      // bytes of a topic's or a group's name: A-Z a-z 0-9 _ -
	QueueLimit  = 100     // bytes of a work queue's name, without the topic's prefix
)

// Message is what is passed on.
type Message struct {
	ID   string // at most IDLimit bytes; "" of one that needs none
	Body []byte
	// Headers go with it where the broker can keep them; nil: none.
	Headers map[string]string
	// Once has a message taken once that is sent twice within two minutes under the same
	// name, by a broker that can. "": as often as it is sent.
	Once string
}

// Messages returns bodies as messages without ids.
func Messages(bodies ...[]byte) []Message {
	all := make([]Message, len(bodies))
	for i, body := range bodies {
		all[i].Body = body
	}
	return all
}

// Kind is how a broker keeps a topic.
type Kind string

// The kinds. A broker that has only one answers the others with Unimplemented.
const (
	Quorum  Kind = "quorum"  // RabbitMQ, Hermes: replicated by Raft, always on disk
	Classic Kind = "classic" // RabbitMQ: one node, durable
	Stream  Kind = "stream"  // JetStream: a stream in a file
)

// Topic is what messages are sent under.
type Topic struct {
	Name   string
	Groups []string // those that read it; each gets every message
	// Kind is how it is kept. "": as [Config.Variant] says.
	Kind Kind
	// Transient topics need not have a message on disk before they acknowledge it.
	Transient bool
	// IfAbsent makes a topic unless it is there; one with other settings is Conflict.
	IfAbsent bool
}

// Validate returns InvalidArgument for names outside the contract.
func (t Topic) Validate() error {
	for _, name := range append([]string{t.Name}, t.Groups...) {
		limit := NameLimit
		if IsQueue(name) {
			limit = len(QueuePrefix) + QueueLimit
		}
		if name == "" || len(name) > limit || strings.Trim(name, nameBytes) != "" {
			return wirelab.Errorf(wirelab.InvalidArgument, "name %.80q is not 1 to %d of A-Z a-z 0-9 _ -", name, limit)
		}
	}
	if len(t.Groups) > GroupsLimit {
		return wirelab.Errorf(wirelab.InvalidArgument, "%d groups of a topic; at most %d", len(t.Groups), GroupsLimit)
	}
	return nil
}

const nameBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// Broker is a connection to a message broker. It is for any number of goroutines.
type Broker interface {
	io.Closer
	// Name names the broker, with its version where the broker tells it: "NATS JetStream
	// 2.15.2", "Hermes, 3 nodes".
	Name() string
	// CreateTopic makes a topic and its groups, empty. One that is there is Conflict,
	// unless [Topic.IfAbsent].
	CreateTopic(ctx context.Context, t Topic) error
	// DeleteTopic removes a topic with all it holds; one that is not there is no error.
	// RabbitMQ cannot list a topic's groups, so that they have to be named.
	DeleteTopic(ctx context.Context, t Topic) error
	// Publisher returns a publisher.
	Publisher(ctx context.Context, c PublisherConfig) (Publisher, error)
	// Subscribe gives the group's messages to handle until the subscriber is closed. It
	// returns once the broker has registered it. A topic or group that is not there is
	// NotFound.
	Subscribe(ctx context.Context, s Subscription, handle Handler) (Subscriber, error)
	// Depth is how many messages the group has not dealt with, those that it was given
	// included; on RabbitMQ, which does not tell, those are included for work queues only.
	Depth(ctx context.Context, topic, group string) (int, error)
}

// NodesName names a cluster whose broker tells no version: "Hermes, 3 nodes", "Kafka, 1 broker".
func NodesName(broker string, members int, member string) string {
	if members != 1 {
		member += "s"
	}
	return fmt.Sprintf("%s, %d %s", broker, members, member)
}

// PublisherConfig says how messages are published.
type PublisherConfig struct {
	// Topic must be there, or the publisher is NotFound; "": the publisher does not look.
	Topic string
	// MaxInFlight is how many sends are to be under way at once, of a publisher of calls;
	// 0: 1.
	MaxInFlight int
	// Unconfirmed sends are done once they were written, and promise nothing.
	Unconfirmed bool
	// Transient messages need not be on disk.
	Transient bool
	// Shared has the publisher use the broker's own connection, with others, and not one
	// for it alone.
	Shared bool
	// FailFast has a send to a broker that is away fail at once, where it could wait.
	FailFast bool
}

// Receipt tells when messages were handed over, by this process's clock. What a
// publisher does not know is zero.
type Receipt struct {
	Written   time.Time // to the connection, all of it
	Confirmed time.Time // by the broker; zero if unconfirmed
}

// Publisher sends messages.
type Publisher interface {
	io.Closer
	// Calls reports whether a send waits for its acknowledgement, as a call does: up
	// to MaxInFlight may then be under way, from as many goroutines. Otherwise Send waits
	// only for room.
	Calls() bool
	// Send hands over messages of one topic, and calls done once, when all are
	// acknowledged or that will not be known; from any goroutine, which done must not
	// block, and perhaps before Send returns. Bodies belong to the publisher from then on.
	Send(ctx context.Context, topic string, batch []Message, done func(Receipt, error))
	// Away is why the broker takes nothing just now, Unavailable; nil: it does, as far as
	// is known. The channel is closed when the broker may have gone, or come back.
	Away() (changed <-chan struct{}, why error)
}

// Subscription says what is read, and how.
type Subscription struct {
	Topic, Group string
	// Prefetch is how many messages may be with the subscriber, not dealt with.
	// 0: [PrefetchUsual].
	Prefetch int
	// Concurrency is how many handlers may run at once; 0: 1. More than Prefetch never do.
	Concurrency int
	// Retry is the longest pause of [Retry] that the handler asks for.
	Retry time.Duration `json:",omitempty"`
}

// PrefetchUsual is how many messages a subscriber is given ahead.
const PrefetchUsual = 1024

// Ahead is Prefetch with its default.
func (s Subscription) Ahead() int {
	if s.Prefetch > 0 {
		return s.Prefetch
	}
	return PrefetchUsual
}

// Handlers is Concurrency with its default and bound.
func (s Subscription) Handlers() int { return min(max(s.Concurrency, 1), s.Ahead()) }

// Delivery is a message as a handler gets it.
type Delivery struct {
	Message
	// Attempt counts from 1 where the broker tells, and is 0 where it does not; a message
	// whose subscriber died comes again with a higher one, or with Redelivered alone.
	Attempt     int
	Redelivered bool
	// Failures is how often the message was retried before. Where the server counts
	// deliveries, one whose subscriber died or ended is among them.
	Failures int
	// Place is the message's number in its topic; 0 where the broker tells none.
	Place uint64
}

// Handler deals with a message, whose body is its own until it returns. ctx ends when the
// subscriber is closed; what the handler says after that counts still.
type Handler func(ctx context.Context, d Delivery) Disposition

// Disposition is what becomes of a message: Ack, the zero value, Retry or Stop.
type Disposition struct {
	Do    Verb
	After time.Duration // of RetryLater
	Why   string        // of RetryLater: what a broker that keeps reasons is told
}

// Verb is what is done with a message.
type Verb uint8

// The verbs.
const (
	Acknowledge Verb = iota
	RetryLater
	StopReading
)

// Ack says that a message is dealt with.
func Ack() Disposition { return Disposition{} }

// Retry says that a message is to come again, after a pause.
func Retry(after time.Duration, why string) Disposition { return Disposition{RetryLater, after, why} }

// Stop says that a message is not dealt with, and that nothing more is to be given: the
// broker gives it to the group again, and it did not fail.
func Stop() Disposition { return Disposition{Do: StopReading} }

// Subscriber is a subscription under way.
type Subscriber interface {
	// Close ends it, having waited for the handlers: what they dealt with is dealt
	// with for good if the broker can be told before ctx ends. Without an end of ctx it
	// waits for handlers as long as they take, and for the broker no longer than a moment.
	Close(ctx context.Context) error
	// Done is closed once nothing is given any more, though it was not closed.
	Done() <-chan struct{}
	// Err is why; nil while all is well.
	Err() error
	// Ready reports whether the broker knows of it just now and sends it messages.
	Ready() bool
}
