// Package queue is what the pipeline asks of a message broker: that it takes
// messages, keeps them until they have been dealt with, and puts those that
// cannot be aside. Folder amqp does it with RabbitMQ, jetstream with NATS, hermes with
// our own broker; package queuetest holds all to what is said here. It knows no workload and
// starts no broker.
//
// # The contract
//
//   - A message has an id, which stays with it, and a body of 1 to 1 MiB
//     ([BodyLimit]); other messages are InvalidArgument.
//   - A publisher with [Options.Confirms] returns once the broker has promised to
//     keep the message (with [Options.Persistent]: on disk); one without returns
//     once it was written to the connection, and can promise nothing.
//   - A broker that is away does not end a publisher: up to [Options.Buffer] calls
//     wait until it is back or their context ends, and one more fails at once with
//     ResourceExhausted. What was written before the connection broke and is not
//     confirmed is published again, so that it may come twice, with the same id.
//   - A consumer acknowledges a message after its handler returned nil, no sooner.
//     At most [Options.Prefetch] are with a consumer at once, and as many handlers run.
//   - A handler that fails gets its message again, after [Options.Retry], other
//     messages meanwhile; one that failed [Options.Attempts] times is put into the
//     dead letters, with its id and body, for good. A handler whose error is
//     [wirelab.InvalidArgument] or [wirelab.Conflict] will fail again, and its
//     message goes there at once.
//   - A consumer survives its broker's restart; it ends with its context, having
//     waited for the handlers that run. Their messages are acknowledged where they
//     return nil; the others go back to the queue, and none is a dead letter for that.
//   - A queue that was not declared is NotFound; deleting it is no error.
package queue

import (
	"context"
	"io"
	"time"
)

// The bounds of the contract.
const (
	BodyLimit = 1 << 20 // bytes of a message's body
	IDLimit   = 128     // bytes of a message's id
	NameLimit = 100     // bytes of a queue's name
)

// Message is what is passed on.
type Message struct {
	ID   string // 1 to IDLimit bytes of printable ASCII, without spaces
	Body []byte
}

// Delivery is a message as a handler gets it.
type Delivery struct {
	Message
	// Attempt counts from 1 where the broker tells; a message whose consumer
	// died comes again with a higher one, or with Redelivered alone.
	Attempt     int
	Redelivered bool
}

// Receipt tells when a message was handed over, by this process's clock.
type Receipt struct {
	Written   time.Time // to the connection, all of it
	Confirmed time.Time // by the broker; zero without confirms
}

// Kind is how a broker keeps a queue.
type Kind string

// The kinds. A broker that has only one answers the others with Unimplemented.
const (
	Quorum  Kind = "quorum"  // RabbitMQ, Hermes: replicated by Raft, always on disk
	Classic Kind = "classic" // RabbitMQ: one node, durable
	Stream  Kind = "stream"  // JetStream: a stream in a file
)

// Options says how a queue is used. The zero value of each field but Name is
// made the default named here by Complete.
type Options struct {
	Name       string        // of the queue: 1 to 100 of A-Z a-z 0-9 - _
	Kind       Kind          // default: the broker's safest
	Confirms   bool          // publishers wait for the broker's word
	Persistent bool          // messages are on disk before they are confirmed
	Prefetch   int           // messages with a consumer at once; default 512
	Attempts   int           // before a message is a dead letter; default 5
	Retry      time.Duration // between two attempts; default 200 ms
	Buffer     int           // publishes that may wait for a broker that is away; default 1024
}

// Broker is a connection to a message broker.
type Broker interface {
	io.Closer
	// About names it with its version: "RabbitMQ 3.10.8", "NATS JetStream 2.15.2";
	// one that does not tell it by what else is known of it.
	About() string
	// Declare makes the queue, its dead letters, and what leads to them, unless
	// they are there. Another kind under the same name is Conflict.
	Declare(ctx context.Context, o Options) error
	// Publisher returns a publisher for any number of goroutines, with a
	// long-lived channel of its own.
	Publisher(ctx context.Context, o Options) (Publisher, error)
	// Consume gives the queue's messages to handle until ctx ends, then nil. It
	// does not return for a broker that is away.
	Consume(ctx context.Context, o Options, handle func(context.Context, Delivery) error) error
	// Consuming reports whether a Consume of this very Broker is registered with
	// the server, which sends it the queue's messages: not before the server said
	// so, and not while it is away.
	Consuming(o Options) bool
	// Depth is how many messages the queue and its dead letters hold, those
	// with consumers included.
	Depth(ctx context.Context, o Options) (waiting, dead int, err error)
	// Dead takes up to limit dead letters away and returns them.
	Dead(ctx context.Context, o Options, limit int) ([]Message, error)
	// Delete removes the queue and its dead letters with all they hold.
	Delete(ctx context.Context, o Options) error
}

// Publisher hands messages to a queue. It may be used by several goroutines.
type Publisher interface {
	io.Closer
	// Publish hands a message over, as the package comment says. Errors are
	// coded: Unavailable where the broker was away when ctx's time was up, where
	// it refused the message, or after Close; InvalidArgument; ResourceExhausted;
	// Canceled; DeadlineExceeded. A failed message may yet have been taken.
	Publish(ctx context.Context, m Message) (Receipt, error)
}
