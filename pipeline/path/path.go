// Package path is the paths from the gateway to the logger: an entry is sent by
// HTTP, gRPC or net/rpc, or through a queue of a message broker. It knows the form
// of an entry on each of them, and when it was sent and confirmed. It knows no
// gateway, no listener, and nothing about the peer.
//
// # The same on every path
//
//   - An entry is validated before anything is sent ([Check]), so that a bad entry
//     gets the same error on every path.
//   - An entry without an id gets one here, so that an entry sent twice is stored
//     once on every path.
//   - There is one deadline for all ([Options.Deadline]); the published ones were
//     5 s, 1 s and none (docs/origins.md ms-M12).
//   - Connections are kept, replies are read to their end, and the next call
//     reconnects to a logger or broker that was away.
//   - An error of the logger keeps its code and message. If there is no peer, the
//     error is Unavailable.
//
// # As published
//
// With [Options.AsPublished] a path behaves like the published client, so that the
// cost of that can be measured. HTTP closes replies unread, which closes the
// connection (ms-M03), and keeps ten idle connections (ms-M04). net/rpc dials for
// each call, and calls the published method (ms-D09). A queue's channel is opened
// and the queue declared for each message ([QueuePerCall], ms-M02). gRPC is the
// same either way: its connection was kept. These published faults are left out:
// the different deadlines; the net/rpc connections that were never closed, which
// end a process in time; and entries without an id.
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

// Path is one path onward. It may be used by several goroutines.
type Path interface {
	// Log sends an entry and returns when the peer has confirmed it: the logger that it is stored, a broker as
	// [workqueue.Publisher] documents. Errors are coded. An entry whose Log failed may still be stored.
	Log(ctx context.Context, entry logging.Entry) (Receipt, error)
	// Check reports whether the peer is available, without logging anything.
	Check(ctx context.Context) error
	// Close closes the connections. Calls in flight may fail.
	Close() error
}

// Receipt says what was sent and when, by the clock of this process.
type Receipt struct {
	ID string // of the entry, chosen here if it had none
	// Written is when the entry was sent: for a call when it was given to the library of the protocol, for a
	// message when it had been written.
	Written time.Time
	// Confirmed is when the peer had confirmed it: for a call when the reply of the logger had arrived. Zero for a
	// queue without confirms.
	Confirmed time.Time
}

// DefaultDeadline is the default time limit of a call, on every path.
const DefaultDeadline = 5 * time.Second

// DefaultConnections is the default limit of HTTP connections to the logger.
const DefaultConnections = 256

// Options are the settings of a path. The zero value is the recommended one.
type Options struct {
	// Deadline is the time limit of a Log; 0: [DefaultDeadline]. A context that ends sooner takes precedence.
	Deadline time.Duration
	// Connections is the maximum number of connections that HTTP opens and keeps; 0: [DefaultConnections]. A call
	// that finds none free waits. The other paths have one multiplexed connection. With AsPublished there is no
	// limit.
	Connections int
	// AsPublished selects the behaviour of the published client: see the package comment.
	AsPublished bool
	// PublishedForm makes messages of a queue carry the body of the published ones (see [message.EncodePublished]).
	// Only queues use it.
	PublishedForm bool
	// Ready checks whether the broker of a queue is available, for Check. nil: unknown, which Check treats as
	// available. Only queues use it.
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

// escapeMax is the maximum number of bytes of JSON for one byte of text: \u0001.
const escapeMax = 6

// Check returns InvalidArgument for an entry that not every path can carry: one that violates the contract of the
// logger, or is too long for a message of a queue once it is JSON. The JSON is only made if escaping could make the
// entry too long.
func Check(entry logging.Entry) error {
	if err := entry.Validate(); err != nil {
		return err
	}
	const frame = 64 + logging.IDLimit + escapeMax*logging.NameLimit // the maximum of everything but the data
	if frame+escapeMax*len(entry.Data) <= workqueue.BodyLimit {
		return nil
	}
	if entry.ID == "" {
		entry.ID = logging.NewID()
	}
	_, err := message.Encode(entry)
	return err
}

// begin does what every Log does first: it validates, assigns the id and sets the deadline.
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

// failed returns the error for the caller of a call that failed with err, which has no code: the deadline passed,
// the caller left, or the peer is unavailable. It does not show addresses and system calls.
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

// requestKey is the context key of the request id.
type requestKey struct{}

// WithRequestID sets an id by which a request is known outside this process: HTTP and gRPC pass it on as
// X-Request-Id. net/rpc and queues have no field for it; there, as everywhere, the id of the entry identifies the
// request.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// requestID returns the request id of a context, or "".
func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}
