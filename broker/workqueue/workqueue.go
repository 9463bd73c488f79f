// Package workqueue makes a work queue of any broker that keeps the contract of package
// broker: messages are published one by one, are tried a number of times, and become dead
// letters if they keep failing. A queue is a topic that one group reads; its dead letters
// are a second topic. brokertest tests this contract over each broker. The package knows
// no workload and starts no broker.
//
// # The contract
//
//   - A message has an id, which stays with it, and a body of 1 byte to 1 MiB
//     ([BodyLimit]); other messages are InvalidArgument.
//   - A publisher with [Options.Confirms] returns once the broker has promised to
//     keep the message (with [Options.Persistent]: on disk). One without returns
//     once the message was written to the connection, and promises nothing.
//   - An unavailable broker does not end a publisher: up to [Options.Buffer] calls
//     wait until it is back or their context ends, and one more fails at once with
//     ResourceExhausted. A message that was written before the connection broke and is
//     not confirmed is published again, so it may be delivered twice, with the same id.
//   - A consumer acknowledges a message after its handler returned nil, never before.
//     At most [Options.Prefetch] are with a consumer at once, and as many handlers run.
//   - A handler that fails gets its message again, after [Options.Retry]; other
//     messages do not wait for it. A message that failed [Options.Attempts] times becomes
//     a dead letter, with its id and body, for good. A handler whose error is
//     [wirelab.InvalidArgument] or [wirelab.Conflict] would fail again, so its message
//     becomes a dead letter at once. A handler that panics has failed.
//   - A consumer survives the restart of its broker. It ends with its context, after it
//     has waited for the running handlers. Their messages are acknowledged if they return
//     nil; the others return to the queue, and none becomes a dead letter because of that.
//   - A queue that was not declared is NotFound; deleting it is no error.
//
// # Who counts attempts
//
// The broker does, or its client in a header: see [broker.Delivery]. The consumer decides
// that a message is dead: it publishes it to the dead letters, and acknowledges it once
// that is confirmed. A process that dies between the two leaves the message in both.
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
	// Message is the unit that a queue stores and delivers.
	Message = broker.Message
	// Delivery is a message as a handler gets it.
	Delivery = broker.Delivery
	// Receipt says when a message was sent and confirmed.
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

// Options are the settings of a queue. Complete replaces zero values by the defaults named here, except Name.
type Options struct {
	Name       string        // of the queue: 1 to 100 of A-Z a-z 0-9 - _
	Kind       Kind          // default: the broker's safest
	Confirms   bool          // publishers wait for the broker's confirm
	Persistent bool          // messages are on disk before they are confirmed
	Prefetch   int           // messages with a consumer at once; default 512
	Attempts   int           // before a message is a dead letter; default 5
	Retry      time.Duration // between two attempts; default 200 ms
	Buffer     int           // publishes that may wait for an unavailable broker; default 1024
}

// Handler processes a message; see the package comment for the meaning of its error.
type Handler func(context.Context, Delivery) error

// Queues are the work queues of a broker. [New] makes them of any broker. The other implementations are a topology
// that promises less (see package rabbitmq), and those of tests.
type Queues interface {
	io.Closer
	// Name names the broker; see [broker.Broker].
	Name() string
	// Declare creates the queue with its dead letters, unless they exist. Another kind under the same name is
	// Conflict.
	Declare(ctx context.Context, o Options) error
	// Publisher returns a publisher for any number of goroutines, meant for long use.
	Publisher(ctx context.Context, o Options) (Publisher, error)
	// Consume passes the messages of the queue to handle until ctx ends, then returns nil. It does not return
	// because a broker is unavailable.
	Consume(ctx context.Context, o Options, handle Handler) error
	// Consuming reports whether a Consume of these Queues is registered with the server, which then sends it the
	// messages of the queue. It is false until the server has confirmed that, and while the server is unavailable.
	Consuming(o Options) bool
	// Depth returns how many messages the queue and its dead letters hold, including those with consumers.
	Depth(ctx context.Context, o Options) (waiting, dead int, err error)
	// Dead removes up to limit dead letters and returns them.
	Dead(ctx context.Context, o Options, limit int) ([]Message, error)
	// Delete removes the queue and its dead letters with all messages.
	Delete(ctx context.Context, o Options) error
}

// Publisher publishes messages to a queue. It may be used by several goroutines.
type Publisher interface {
	io.Closer
	// Publish publishes a message, as the package comment says. Errors are coded: Unavailable if the broker was
	// unavailable when the deadline of ctx passed, if it refused the message, or after Close; InvalidArgument;
	// ResourceExhausted; Canceled; DeadlineExceeded. A failed message may still have been stored.
	Publish(ctx context.Context, m Message) (Receipt, error)
}
