// Package path is the ways onward from the gateway: one entry, handed to the
// logger by HTTP, gRPC or net/rpc, or to a message broker's queue. It knows how
// an entry is written on each of them and when it was handed over and promised;
// it knows no gateway, no listener, and nothing of who answers.
//
// # Alike on every path
//
//   - An entry is checked before anything is sent ([Check]), so that the same bad
//     entry is the same error, whichever way it would have gone.
//   - An entry without an id gets one here, so that what is sent twice is stored
//     once on every path.
//   - One deadline for all ([Options.Deadline]); the published ones were 5 s, 1 s
//     and none (docs/origins.md ms-M12).
//   - Connections are kept, replies are read to their end, and a logger or broker
//     that went away is found again by the next call.
//   - What a logger tells of an error arrives whole, code and message. Nobody
//     there is Unavailable.
//
// # As published
//
// With [Options.AsPublished] a path does what the published client did, so that
// what that cost can be measured: HTTP closes replies unread, which throws the
// connection away (ms-M03), and keeps ten idle connections (ms-M04); net/rpc
// dials for each call, by the published method (ms-D09); a queue's channel is
// opened and the queue declared for each message ([QueuePerCall], ms-M02). gRPC
// is the same either way: its connection was kept. Of the published faults these
// are left out: the deadlines, which are one for all, the net/rpc connections
// that were never closed, by which a process ends, and entries without an id.
package path

import (
	"context"
	"errors"
	"time"

	"wirelab"
	"wirelab/broker/workqueue"
	"wirelab/pipeline/message"
	"wirelab/workload/logging"
)

// Path is one way onward. It may be used by several goroutines.
type Path interface {
	// Log hands an entry over, and returns when whoever it was handed to has
	// said so: the logger that it is stored, a broker as [workqueue.Publisher] says.
	// Errors are coded. An entry whose Log failed may yet be stored.
	Log(ctx context.Context, entry logging.Entry) (Receipt, error)
	// Check asks whether the peer is there, without logging anything.
	Check(ctx context.Context) error
	// Close gives the connections up. Calls in flight may fail.
	Close() error
}

// Receipt tells what was handed over and when, by this process's clock.
type Receipt struct {
	ID string // of the entry, chosen here if it had none
	// Written is when the entry was handed over: for a call when it was given to
	// the protocol's library, for a message when it had been written.
	Written time.Time
	// Confirmed is when the peer had promised to keep it: for a call when the
	// logger's reply was there. Zero for a queue without confirms.
	Confirmed time.Time
}

// DefaultDeadline is how long a call may take, on every path.
const DefaultDeadline = 5 * time.Second

// DefaultConnections is how many connections to the logger HTTP opens at most.
const DefaultConnections = 256

// Options are what paths differ in. The zero value is as it should be.
type Options struct {
	// Deadline is how long a Log may take; 0: [DefaultDeadline]. A context that
	// ends sooner counts.
	Deadline time.Duration
	// Connections is how many HTTP opens at most and keeps; 0:
	// [DefaultConnections]. The other paths have one, which is multiplexed. A
	// call that finds none free waits its turn. As published there is no bound.
	Connections int
	// AsPublished is what the package comment says.
	AsPublished bool
	// PublishedForm has messages of a queue carry what the published ones did (see
	// [message.EncodePublished]). Only queues look at it.
	PublishedForm bool
	// Ready tells whether a queue's broker is there, for Check; nil: not known,
	// which Check takes for yes. Only queues look at it.
	Ready func(context.Context) error
}

func (o Options) deadline() time.Duration {
	if o.Deadline <= 0 {
		return DefaultDeadline
	}
	return o.Deadline
}

func (o Options) connections() int {
	if o.Connections <= 0 {
		return DefaultConnections
	}
	return o.Connections
}

// escapeMax is how many bytes of JSON one byte of text takes at most: \u0001.
const escapeMax = 6

// Check returns InvalidArgument for an entry that not every path can carry: one
// outside the logger's contract, or too long for a queue's message once it is
// JSON. Long text is only measured where escaping could make it so.
func Check(entry logging.Entry) error {
	if err := entry.Validate(); err != nil {
		return err
	}
	const frame = 64 + logging.IDLimit + escapeMax*logging.NameLimit // what is around the data, at most
	if frame+escapeMax*len(entry.Data) <= workqueue.BodyLimit {
		return nil
	}
	if entry.ID == "" {
		entry.ID = logging.NewID()
	}
	_, err := message.Encode(entry)
	return err
}

// begin does what every Log does first: the check, the id, the deadline.
func (o Options) begin(ctx context.Context, entry *logging.Entry) (context.Context, context.CancelFunc, error) {
	if err := Check(*entry); err != nil {
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, wirelab.Public(err)
	}
	if entry.ID == "" {
		entry.ID = logging.NewID()
	}
	ctx, cancel := context.WithTimeout(ctx, o.deadline())
	return ctx, cancel, nil
}

// failed is what the caller is told of a call that failed with err, and nobody
// had coded it: that time ran out, that the caller went away, or that the peer
// is not there. Addresses and system calls are not the caller's business.
func failed(ctx context.Context, err error, absent string) error {
	if ended := ctx.Err(); ended != nil {
		return wirelab.Public(ended)
	}
	if code := wirelab.CodeOf(err); code == wirelab.DeadlineExceeded || code == wirelab.Canceled {
		return wirelab.Public(err)
	}
	var coded *wirelab.Error
	if errors.As(err, &coded) {
		return coded
	}
	return wirelab.Errorf(wirelab.Unavailable, "%s", absent)
}

// requestKey is under which a context has the request id.
type requestKey struct{}

// WithRequestID gives calls an id by which a request is known beyond this
// process: HTTP and gRPC pass it on as X-Request-Id. net/rpc and queues have no
// place for it; there, as everywhere, the entry's own id tells what belongs
// together.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// requestID is the one that a context has, or "".
func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}
