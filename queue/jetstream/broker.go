// Package jetstream keeps queues in NATS JetStream: a queue is a stream in a
// file, from which whoever consumes trims what was acknowledged, with one durable
// consumer that all who consume share; its dead letters are a second stream. It
// knows the server by its address, and not who runs it.
//
// # What differs from other brokers
//
//   - A consumer that died is noticed by its silence: what it had comes again
//     after [Settings.AckWait], not at once as where a connection is the sign.
//     Handlers may take longer: while they run, the server is told so.
//   - Persistent is the stream's property, so that queues declared with and
//     without it are two kinds, and Declare of one as the other is Conflict. With
//     it the server has written a message to its file before it confirms it; that
//     it is then on the disk holds for a server that syncs always, as package nats
//     runs it and as sync_interval: always makes others. Without, messages are
//     confirmed before they are written.
//   - Deliveries are counted by the server, so that one whose consumer died or
//     ended is an attempt, too.
//   - The server writes down what was acknowledged ten times a second: a killed one
//     gives what it had not written down again. There is no fsync for several
//     messages at once either, as databases have: each confirmation costs one.
//   - Nats-Msg-Id is left off: by it the server drops an id that it has seen in
//     the last two minutes. That would hide here what other brokers double, for two
//     minutes; cost it the memory of every id; and lose the second of two messages
//     that only share an id. Dead letters have it, with the message's place in the
//     queue, since they are put aside by one who may die before he acknowledges.
//   - Without confirms the server drops what comes faster than it can store, above
//     100,000 messages or 128 MiB that it has read, and tells nobody.
//   - What waits for its next attempt is remembered by the server one by one;
//     with more than 100,000 the queue stands still until some are due.
package jetstream

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"wirelab"
	"wirelab/queue"
)

// Settings are what this broker alone has. Zero values mean what is said here.
type Settings struct {
	// AckWait is how long the server waits for a word about a message before it
	// gives it to another consumer; 0: 5 s. NATS's own default is 30 s, which is
	// how long a killed consumer's messages would then be away. The last Declare
	// counts.
	AckWait time.Duration
	// InFlight is how many messages of one publisher may be unconfirmed; 0: 4096.
	InFlight int
}

const (
	defaultAckWait  = 5 * time.Second
	defaultInFlight = 4096
)

// The times of a connection. A server that does not answer two pings is away.
const (
	dialLimit     = 5 * time.Second
	pingEvery     = 2 * time.Second
	pingsMissed   = 2
	reconnectWait = 50 * time.Millisecond
	requestLimit  = 2 * time.Second // then it is asked again
)

// Broker is a connection to a NATS server.
type Broker struct {
	settings Settings
	conn     *nats.Conn
	js       jetstream.JetStream
	about    string
	ended    chan struct{} // closed once the connection is, for good

	mu      sync.Mutex // guards all below
	changed chan struct{}
	closed  bool
	taking  map[string]int // consumers that have asked the server for messages, by queue
}

var _ queue.Broker = (*Broker)(nil)

// Open connects to a server, such as nats://user:password@host:4222. It takes at
// most until ctx's deadline or 5 s; an earlier end of ctx is not noticed before.
func Open(ctx context.Context, address string, s Settings) (*Broker, error) {
	if s.AckWait == 0 {
		s.AckWait = defaultAckWait
	}
	if s.InFlight == 0 {
		s.InFlight = defaultInFlight
	}
	if u, err := url.Parse(address); err != nil || u.Host == "" {
		// The address may hold a password, and stays out of the message.
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "a NATS server's address is like nats://user:password@host:4222")
	}
	if s.AckWait < time.Millisecond || s.InFlight < 1 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "settings %+v", s)
	}
	if err := ctx.Err(); err != nil {
		return nil, wirelab.Public(err)
	}
	limit := dialLimit
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end))
	}
	b := &Broker{settings: s, ended: make(chan struct{}), changed: make(chan struct{}), taking: map[string]int{}}
	tell := func(*nats.Conn) { b.tell() }
	var err error
	b.conn, err = nats.Connect(address,
		nats.Name("wirelab"), nats.Timeout(limit), nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pingsMissed),
		// For ever: whoever waits has a context that ends.
		nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(reconnectWait, reconnectWait), nats.IgnoreAuthErrorAbort(),
		// None: what is published while the server is away waits with its caller, who has a deadline.
		nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { b.tell() }), nats.ReconnectHandler(tell),
		nats.ClosedHandler(func(*nats.Conn) { close(b.ended) }),
		// By default it writes to standard error.
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	)
	if err != nil {
		return nil, wirelab.Errorf(codeOfDial(err), "connect to NATS: %v", err)
	}
	if b.js, err = jetstream.New(b.conn); err == nil {
		_, err = b.js.AccountInfo(ctx)
	}
	if err != nil {
		b.conn.Close()
		<-b.ended
		return nil, b.coded(ctx, fmt.Errorf("is JetStream on? %w", err))
	}
	b.about = "NATS JetStream " + b.conn.ConnectedServerVersion()
	return b, nil
}

func codeOfDial(err error) wirelab.Code {
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) {
		return wirelab.Unauthenticated
	}
	return wirelab.Unavailable
}

// About names the server as it was when the connection was made.
func (b *Broker) About() string { return b.about }

// Close ends the connection. Calls that wait fail with Unavailable.
func (b *Broker) Close() error {
	b.mu.Lock()
	again := b.closed
	b.closed = true
	b.mu.Unlock()
	if !again {
		b.tell()
		b.conn.Close()
	}
	<-b.ended
	return nil
}

// tell wakes all who wait for the connection to change.
func (b *Broker) tell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
}

// state reports whether the server can be reached, and a channel that is closed
// when that may have changed. The channel is taken first: no change is missed.
func (b *Broker) state() (up, closed bool, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.conn.IsConnected(), b.closed, b.changed
}

// reach waits until the server can be reached.
func (b *Broker) reach(ctx context.Context) error {
	for {
		up, closed, changed := b.state()
		switch {
		case closed:
			return errClosed()
		case ctx.Err() != nil:
			return b.coded(ctx, ctx.Err())
		case up:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

func errClosed() error { return wirelab.Errorf(wirelab.Unavailable, "the connection was closed") }

// ask makes a request of the server, which must be one that may be made twice,
// and makes it again where the connection broke over it.
func (b *Broker) ask(ctx context.Context, request func(context.Context) error) error {
	for {
		if err := b.reach(ctx); err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, requestLimit)
		err := request(limited)
		unanswered := limited.Err() != nil
		cancel()
		if err == nil {
			return nil
		}
		if up, closed, _ := b.state(); ctx.Err() == nil && !closed && (unanswered || !up || broken(err)) {
			continue
		}
		return b.coded(ctx, err)
	}
}

// broken reports whether err says that the connection is, or was.
func broken(err error) bool {
	for _, e := range []error{
		nats.ErrDisconnected, nats.ErrReconnectBufExceeded, nats.ErrConnectionReconnecting, nats.ErrStaleConnection,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// coded returns what a caller whose context is ctx is told of err.
func (b *Broker) coded(ctx context.Context, err error) error {
	var coded *wirelab.Error
	var api *jetstream.APIError
	up, closed, _ := b.state()
	switch {
	case err == nil:
		return nil
	case errors.As(err, &coded):
		return coded
	case closed:
		return errClosed()
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && !up:
		return wirelab.Errorf(wirelab.Unavailable, "the server is away")
	case ctx.Err() != nil:
		return wirelab.Public(ctx.Err())
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrConsumerDoesNotExist):
		return wirelab.Errorf(wirelab.NotFound, "no such queue")
	case errors.Is(err, nats.ErrMaxPayload):
		return wirelab.Errorf(wirelab.ResourceExhausted, "the server takes messages of %d bytes with their headers: its max_payload", b.conn.MaxPayload())
	case errors.As(err, &api):
		return wirelab.Errorf(codeOfAPI(api), "NATS: %s", api.Description)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return wirelab.Errorf(wirelab.Unavailable, "the server does not answer")
	}
	return wirelab.Errorf(wirelab.Unavailable, "NATS: %v", err)
}

// The server's codes for what is full: its store, or the account's.
const (
	insufficientResources = 10023
	storageExceeded       = 10047
)

func codeOfAPI(err *jetstream.APIError) wirelab.Code {
	switch {
	case err.ErrorCode == insufficientResources || err.ErrorCode == storageExceeded || err.Code == 429:
		return wirelab.ResourceExhausted
	case err.Code == 404:
		return wirelab.NotFound
	case err.Code >= 500:
		return wirelab.Unavailable
	}
	return wirelab.Internal // we asked for what cannot be
}
