// Package broker defines one contract over message brokers. A broker takes messages
// under a topic, keeps them, and delivers them to every group that reads the topic. A
// topic that one group reads is a work queue; package workqueue adds attempts and dead
// letters to it. Each folder here implements the contract with one broker, for loads and
// for the pipeline; brokertest tests them against it. This package knows no scenario,
// counts nothing and starts no broker.
//
// # The contract
//
//   - Once [Broker.CreateTopic] has returned, every message acknowledged under the topic
//     is kept for each of its groups until that group has dealt with it, whether a
//     subscriber reads or not and, unless [Config.Ephemeral], whichever node is killed.
//   - A publisher reports a send when the broker has acknowledged all of its messages, by
//     the [Durability] that the broker was opened with, or has refused them, or when the
//     outcome is unknown: that is [ErrLost] if the connection broke.
//   - Messages that one publisher of calls sends one after the other, or that are passed
//     one after the other to a publisher which does not wait, reach a group in that order,
//     as long as nothing fails.
//   - A subscriber of [Subscription.Concurrency] 1 gets a group's messages one at a time
//     and in order. One of n runs n handlers at once, without an order.
//   - A handler's [Disposition] decides what happens to a message. Messages that a
//     subscriber was given and has not acknowledged when it ends, or when its process
//     dies, are delivered to the group again, in any order.
//   - A message to be retried is delivered again after its pause, with a higher
//     [Delivery.Failures]. It does not delay other messages of a work queue.
//   - If a broker is unavailable, nothing ends: sends fail, or wait for their context,
//     and subscribers continue when it is back.
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

// Config says where a broker is and how to use it.
type Config struct {
	// Addresses are those of its nodes, host:port.
	Addresses []string
	// Replicas is how many nodes keep each message. 0: as many as there are addresses, at most 3.
	Replicas int
	// Durability is what an acknowledgement must promise. "": [Synced].
	Durability Durability
	// Variant selects one of the broker's ways to keep a topic; "" is the safest. A broker without that variant
	// returns [wirelab.Unimplemented].
	Variant string
	// Ephemeral says that no node will be killed, so CreateTopic need not wait until a new topic would survive
	// that.
	Ephemeral bool
	// Patient makes requests retry until their context ends, and stay with a slow node instead of changing to
	// another one. Services set it, because they wait. Loads do not, because they record failures.
	Patient bool
	// Token authenticates the client, if the broker requires one.
	Token string
	// Connect opens connections, and is where bytes are counted. nil: net.Dialer.
	Connect func(ctx context.Context, network, address string) (net.Conn, error) `json:"-"`
}

// Durability is what an acknowledgement of a broker promises.
type Durability string

// The durabilities.
const (
	// Synced: each member of a quorum of the copies has written the message to its disk.
	Synced Durability = "fsync"
	// VendorDefault: the promise of the broker's default settings.
	VendorDefault Durability = "default"
)

// Durabilities returns the names of all durabilities.
func Durabilities() []string { return []string{string(Synced), string(VendorDefault)} }

// replicasUsual is the default number of replicas if there are enough nodes.
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

// Limits of the contract.
const (
	BodyLimit   = 1 << 20 // bytes of a message
	IDLimit     = 128     // bytes of a message's id
	BatchLimit  = 1_000   // messages of one send
	BatchBytes  = 3 << 20 // bytes of one send
	GroupsLimit = 64      // of a topic
	NameLimit   = 64      // bytes of a topic's or a group's name: A-Z a-z 0-9 _ -
	QueueLimit  = 100     // bytes of a work queue's name, without the topic's prefix
)

// Message is the unit that a broker stores and delivers.
type Message struct {
	ID   string // at most IDLimit bytes; "" if it needs none
	Body []byte
	// Headers are delivered with the message if the broker can keep them; nil: none.
	Headers map[string]string
	// Once is a deduplication key. A broker that supports it keeps only one of the messages sent under the same key
	// within two minutes. "": every send is kept.
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

// The kinds. A broker returns Unimplemented for kinds it does not have.
const (
	Quorum  Kind = "quorum"  // RabbitMQ, Hermes: replicated by Raft, always on disk
	Classic Kind = "classic" // RabbitMQ: one node, durable
	Stream  Kind = "stream"  // JetStream: a stream in a file
)

// Topic is the name under which messages are sent and read.
type Topic struct {
	Name   string
	Groups []string // the groups that read it; each gets every message
	// Kind is how it is kept. "": as [Config.Variant] says.
	Kind Kind
	// Transient topics may acknowledge a message before it is on disk.
	Transient bool
	// IfAbsent makes CreateTopic accept an existing topic with the same settings; one with other settings is
	// Conflict.
	IfAbsent bool
}

// Validate returns InvalidArgument for names that violate the contract.
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

// Broker is a connection to a message broker. It may be used by any number of goroutines.
type Broker interface {
	io.Closer
	// Name names the broker, with its version if the broker reports it: "NATS JetStream 2.15.2", "Hermes, 3 nodes".
	Name() string
	// CreateTopic creates a topic and its groups, empty. An existing topic is Conflict, unless [Topic.IfAbsent].
	CreateTopic(ctx context.Context, t Topic) error
	// DeleteTopic removes a topic with everything in it. A missing topic is no error. The caller must name its
	// groups, since RabbitMQ cannot list them.
	DeleteTopic(ctx context.Context, t Topic) error
	// Publisher returns a publisher.
	Publisher(ctx context.Context, c PublisherConfig) (Publisher, error)
	// Subscribe passes the messages of the group to handle until the subscriber is closed. It returns once the
	// broker has registered it. A missing topic or group is NotFound.
	Subscribe(ctx context.Context, s Subscription, handle Handler) (Subscriber, error)
	// Depth is how many messages the group has not dealt with, including those that were delivered to it. RabbitMQ
	// does not report delivered ones; there they are included for work queues only.
	Depth(ctx context.Context, topic, group string) (int, error)
}

// NodesName names a cluster whose broker does not report a version: "Hermes, 3 nodes", "Kafka, 1 broker".
func NodesName(broker string, members int, member string) string {
	if members != 1 {
		member += "s"
	}
	return fmt.Sprintf("%s, %d %s", broker, members, member)
}

// PublisherConfig configures a publisher.
type PublisherConfig struct {
	// Topic must exist, or Publisher returns NotFound; "": this is not checked.
	Topic string
	// MaxInFlight is how many sends of a publisher of calls may be in progress at once; 0: 1.
	MaxInFlight int
	// Unconfirmed sends are done once they were written, and promise nothing.
	Unconfirmed bool
	// Transient messages need not be written to disk.
	Transient bool
	// Shared makes the publisher use the connection of the broker, together with others, instead of a separate one.
	Shared bool
	// FailFast makes a send to an unavailable broker fail at once instead of waiting.
	FailFast bool
}

// Receipt says when messages were sent and confirmed, by the clock of this process. Times that the publisher does
// not know are zero.
type Receipt struct {
	Written   time.Time // all of it, to the connection
	Confirmed time.Time // by the broker; zero if unconfirmed
}

// Publisher sends messages.
type Publisher interface {
	io.Closer
	// Calls reports whether a send waits for its acknowledgement, as a call does. Then up to MaxInFlight sends may
	// be in progress, each on its own goroutine. Otherwise Send waits only for buffer space.
	Calls() bool
	// Send sends messages of one topic, and calls done once, when all are acknowledged or the outcome will never be
	// known. done may be called on any goroutine, possibly before Send returns, and must not block. The publisher
	// owns the bodies from the call on.
	Send(ctx context.Context, topic string, batch []Message, done func(Receipt, error))
	// Away returns why the broker currently takes nothing, as Unavailable; nil: it does, as far as is known. The
	// channel is closed when that may have changed.
	Away() (changed <-chan struct{}, why error)
}

// Subscription says what to read, and how.
type Subscription struct {
	Topic, Group string
	// Prefetch is how many messages the subscriber may hold unacknowledged. 0: [PrefetchUsual].
	Prefetch int
	// Concurrency is how many handlers may run at once; 0: 1. It is bounded by Prefetch.
	Concurrency int
	// Retry is the longest pause of [Retry] that the handler requests.
	Retry time.Duration `json:",omitempty"`
}

// PrefetchUsual is the default of [Subscription.Prefetch].
const PrefetchUsual = 1024

// Ahead returns Prefetch with its default.
func (s Subscription) Ahead() int {
	if s.Prefetch > 0 {
		return s.Prefetch
	}
	return PrefetchUsual
}

// Handlers returns Concurrency with its default and bound.
func (s Subscription) Handlers() int { return min(max(s.Concurrency, 1), s.Ahead()) }

// Delivery is a message as a handler gets it.
type Delivery struct {
	Message
	// Attempt counts from 1 if the broker reports it, and is 0 if not. A message whose subscriber died is delivered
	// again with a higher Attempt, or with Redelivered alone.
	Attempt     int
	Redelivered bool
	// Failures is how often the message was retried before. If the server counts deliveries, those to subscribers
	// that died or ended are included.
	Failures int
	// Place is the number of the message in its topic; 0 if the broker reports none.
	Place uint64
}

// Handler processes a message. It owns the body until it returns. ctx ends when the subscriber is closed; the
// disposition returned after that still counts.
type Handler func(ctx context.Context, d Delivery) Disposition

// Disposition decides what happens to a message: Ack, the zero value, Retry or Stop.
type Disposition struct {
	Do    Verb
	After time.Duration // of RetryLater
	Why   string        // of RetryLater: the reason, for a broker that keeps reasons
}

// Verb is the action of a [Disposition].
type Verb uint8

// The verbs.
const (
	Acknowledge Verb = iota
	RetryLater
	StopReading
)

// Ack says that a message is dealt with.
func Ack() Disposition { return Disposition{} }

// Retry asks for a message to be delivered again, after a pause.
func Retry(after time.Duration, why string) Disposition { return Disposition{RetryLater, after, why} }

// Stop says that a message is not dealt with, and that no more are wanted: the broker delivers it to the group
// again, and it does not count as failed.
func Stop() Disposition { return Disposition{Do: StopReading} }

// Subscriber is an active subscription.
type Subscriber interface {
	// Close ends the subscription and waits for the handlers. Messages they dealt with stay acknowledged if the
	// broker can be told before ctx ends. If ctx never ends, Close waits for handlers as long as they take, and for
	// the broker only briefly.
	Close(ctx context.Context) error
	// Done is closed when no more messages will be delivered although Close was not called.
	Done() <-chan struct{}
	// Err returns the reason; nil while the subscription works.
	Err() error
	// Ready reports whether the broker currently knows the subscriber and sends it messages.
	Ready() bool
}
