// Package workqueue makes a work queue of any broker that keeps the contract of package
// broker: messages are published one by one, are tried so many times, and put aside if
// that does not help. A queue is a topic that one group reads; its dead letters are a
// second one. brokertest holds it to what is said here, over each broker. It knows no
// workload and starts no broker.
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
//   - A handler that fails gets its message again, after [Options.Retry]; other
//     messages do not wait for it. One that failed [Options.Attempts] times is put into
//     the dead letters, with its id and body, for good. A handler whose error is
//     [wirelab.InvalidArgument] or [wirelab.Conflict] will fail again, and its
//     message goes there at once. One that panics has failed.
//   - A consumer survives its broker's restart; it ends with its context, having
//     waited for the handlers that run. Their messages are acknowledged where they
//     return nil; the others go back to the queue, and none is a dead letter for that.
//   - A queue that was not declared is NotFound; deleting it is no error.
//
// # Who counts attempts
//
// The broker does, or its client in a header, as [broker.Delivery] tells. The consumer
// decides that a message is dead: it publishes it to the dead letters, and acknowledges it
// once that is confirmed. A process that dies between the two leaves it in both.
package workqueue

import (
	"context"
	"io"
	"time"

	"wirelab/broker"
)

// The bounds of the contract.
const (
	BodyLimit = broker.BodyLimit  // bytes of a message's body
	IDLimit   = broker.IDLimit    // bytes of a message's id: printable ASCII without spaces
	NameLimit = broker.QueueLimit // bytes of a queue's name
)

type (
	// Message is what is passed on.
	Message = broker.Message
	// Delivery is a message that a handler is given.
	Delivery = broker.Delivery
	// Receipt is what a broker says of a message that it has.
	Receipt = broker.Receipt
	// Kind is how a queue is kept.
	Kind = broker.Kind
)

// The kinds of queues.
const (
	Quorum  = broker.Quorum
	Classic = broker.Classic
	Stream  = broker.Stream
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

// Handler deals with a message; see the package comment for what its error means.
type Handler func(context.Context, Delivery) error

// Queues are the work queues of a broker. [New] makes them of any; the others are a
// topology that promises less (see package rabbitmq), and those of tests.
type Queues interface {
	io.Closer
	// Name names the broker; see [broker.Broker].
	Name() string
	// Declare makes the queue, its dead letters, and what leads to them, unless
	// they are there. Another kind under the same name is Conflict.
	Declare(ctx context.Context, o Options) error
	// Publisher returns a publisher for any number of goroutines, which lives long.
	Publisher(ctx context.Context, o Options) (Publisher, error)
	// Consume gives the queue's messages to handle until ctx ends, then nil. It
	// does not return for a broker that is away.
	Consume(ctx context.Context, o Options, handle Handler) error
	// Consuming reports whether a Consume of these very Queues is registered with
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
