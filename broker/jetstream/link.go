package jetstream

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"wirelab"
	"wirelab/broker"
)

// The times of a connection. A server that does not answer two pings is away.
const (
	dialLimit     = 5 * time.Second
	pingEvery     = 2 * time.Second
	pingsMissed   = 2
	reconnectWait = 50 * time.Millisecond
	requestLimit  = 2 * time.Second // then the request is repeated
)

// link is a connection with its state.
type link struct {
	conn  *nats.Conn
	js    jetstream.JetStream
	ended chan struct{} // closed when the connection has ended for good

	mu      sync.Mutex // guards all below
	changed chan struct{}
	closed  bool
}

// dialer opens connections through the function that counts their bytes.
type dialer struct {
	connect func(ctx context.Context, network, address string) (net.Conn, error)
}

// Dial implements nats.CustomDialer.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialLimit)
	defer cancel()
	return d.connect(ctx, network, address)
}

// dial connects to one of the servers. It takes at most until the deadline of ctx or 5 s; ctx ending earlier has no
// effect.
func (b *Broker) dial(ctx context.Context) (*link, error) {
	var urls []string
	for _, a := range b.config.Addresses {
		if !strings.Contains(a, "://") && strings.Contains(a, ":") {
			a = "nats://" + a
		}
		if u, err := url.Parse(a); err != nil || u.Host == "" {
			// The address may contain a password, so the message does not show it.
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"a NATS server's address is like host:4222 or nats://user:password@host:4222")
		}
		urls = append(urls, a)
	}
	if err := ctx.Err(); err != nil {
		return nil, wirelab.Public(err)
	}
	limit := dialLimit
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end))
	}
	l := &link{ended: make(chan struct{}), changed: make(chan struct{})}
	var err error
	l.conn, err = nats.Connect(strings.Join(urls, ","),
		nats.Name("wirelab"), nats.Timeout(limit), nats.SetCustomDialer(dialer{b.config.Connect}),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pingsMissed),
		// Reconnect for ever: every caller that waits has a context that ends.
		nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait), nats.IgnoreAuthErrorAbort(),
		// No buffer: a send fails while the server is unavailable, instead of being sent later.
		nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { l.tell() }),
		nats.ReconnectHandler(func(*nats.Conn) { l.tell() }),
		nats.ClosedHandler(func(*nats.Conn) { close(l.ended) }),
		// The default writes to standard error.
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	)
	if err != nil {
		code := wirelab.Unavailable
		if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) {
			code = wirelab.Unauthenticated
		}
		return nil, wirelab.Errorf(code, "connect to NATS: %v", err)
	}
	if l.js, err = jetstream.New(l.conn); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// close ends the connection. Waiting calls fail with Unavailable.
func (l *link) close() {
	l.mu.Lock()
	again := l.closed
	l.closed = true
	l.mu.Unlock()
	if !again {
		l.tell()
		l.conn.Close()
	}
	<-l.ended
}

// tell wakes all who wait for the connection to change.
func (l *link) tell() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
}

// state reports whether the server can be reached, and returns a channel that is closed when that may have changed.
// The channel is read first, so that no change is missed.
func (l *link) state() (up, closed bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn.IsConnected(), l.closed, l.changed
}

// errAway is the error while the server cannot be reached.
var errAway = wirelab.Errorf(wirelab.Unavailable, "the NATS server is away")

// away is the result of a publisher's Away.
func (l *link) away() (<-chan struct{}, error) {
	up, closed, changed := l.state()
	switch {
	case closed:
		return changed, broker.ErrClosed
	case !up:
		return changed, errAway
	}
	return changed, nil
}

// reach waits until the server can be reached.
func (l *link) reach(ctx context.Context) error {
	for {
		up, closed, changed := l.state()
		switch {
		case closed:
			return broker.ErrClosed
		case ctx.Err() != nil:
			return l.coded(ctx, ctx.Err())
		case up:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// ask makes an idempotent request to the server, and repeats it if the connection broke in between.
func (l *link) ask(ctx context.Context, request func(context.Context) error) error {
	for {
		if err := l.reach(ctx); err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, requestLimit)
		err := request(limited)
		unanswered := limited.Err() != nil
		cancel()
		if err == nil {
			return nil
		}
		if up, closed, _ := l.state(); ctx.Err() == nil && !closed && (unanswered || !up || broken(err)) {
			continue
		}
		return l.coded(ctx, err)
	}
}

// broken reports whether err means that the connection is or was broken.
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

// coded returns the error for a caller with context ctx, given err from the library.
func (l *link) coded(ctx context.Context, err error) error {
	var coded *wirelab.Error
	up, closed, _ := l.state()
	switch {
	case err == nil:
		return nil
	case errors.As(err, &coded):
		return coded
	case closed:
		return broker.ErrClosed
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && !up:
		return errAway
	case ctx.Err() != nil:
		return wirelab.Public(ctx.Err())
	}
	return l.told(err)
}

// told gives the errors of the library their codes.
func (l *link) told(err error) error {
	var api *jetstream.APIError
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrConsumerNotFound),
		errors.Is(err, jetstream.ErrConsumerDoesNotExist):
		return wirelab.Errorf(wirelab.NotFound, "NATS: no such queue, or group of one: %v", err)
	case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse), errors.Is(err, jetstream.ErrConsumerExists):
		return wirelab.Errorf(wirelab.Conflict, "NATS: %v", err)
	case errors.Is(err, nats.ErrMaxPayload):
		return wirelab.Errorf(wirelab.ResourceExhausted,
			"the server takes messages of %d bytes with their headers: its max_payload", l.conn.MaxPayload())
	case errors.As(err, &api):
		return wirelab.Errorf(codeOfAPI(api), "NATS: %s", api.Description)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return wirelab.Errorf(wirelab.Unavailable, "the NATS server does not answer")
	}
	return wirelab.Errorf(wirelab.Unavailable, "NATS: %v", err)
}

// The server's error codes for a full store or account.
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
	return wirelab.Internal // the request was invalid
}
