// Package multiplex is the client's end of one connection of HTTP/2 that many
// calls share, in the clear or over TLS 1.3. It knows nothing of what they
// carry. The HTTP/2 is that of golang.org/x/net, which is net/http's own:
// net/http has it as a copy.
//
// # Why not net/http's own pool
//
// A server says how many calls a connection may carry at once. What comes
// beyond that must wait, since a second connection would be another experiment.
// Told to do so, net/http counts calls that wait among those that are carried:
// once there are as many of both as the server allows, none moves until its
// deadline (golang/go#34941, #70809). So calls wait here, before they are known
// there. What a server says it has not processed (GOAWAY, REFUSED_STREAM), the
// library sends again, over a new connection where it must.
package multiplex

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"wirelab/wire/status"
)

// Transport makes calls over one connection at a time. It is safe for
// concurrent use.
type Transport struct {
	dial  func(context.Context) (net.Conn, error)
	h2    *http2.Transport //nolint:staticcheck // deprecated for http.ClientConn, which sends nothing again
	alone chan struct{}    // holds one token: who takes it may open a connection

	mu      sync.Mutex // guards all below
	conn    *conn      // nil: none is open
	newest  *heard     // that was opened; nil: none was
	taken   int        // calls under way
	waiting []chan struct{}
	closed  bool
}

// conn is a connection and the known part of its limit.
type conn struct {
	*http2.ClientConn
	raw   net.Conn
	limit int // calls at once; 0: the server has not said, or allows none yet
}

var (
	_ http.RoundTripper    = (*Transport)(nil)
	_ http2.ClientConnPool = (*pool)(nil) //nolint:staticcheck // see Transport
)

// New returns a transport whose connections dial opens; with a config they speak TLS,
// with the host of an address unless it names another server.
func New(dial func(context.Context) (net.Conn, error), address string, config *tls.Config) *Transport {
	t := &Transport{alone: make(chan struct{}, 1)}
	dial = t.hears(dial)
	t.dial = dial
	if config != nil {
		config = config.Clone()
		if host, _, err := net.SplitHostPort(address); err == nil && config.ServerName == "" {
			config.ServerName = host
		}
		config.NextProtos = []string{http2.NextProtoTLS}
		t.dial = func(ctx context.Context) (net.Conn, error) { return secure(ctx, dial, config) }
	}
	t.alone <- struct{}{}
	t.h2 = &http2.Transport{ //nolint:staticcheck // see Transport
		AllowHTTP:          true, //nolint:staticcheck // likewise
		DisableCompression: true, StrictMaxConcurrentStreams: true,
		ConnPool: (*pool)(t), //nolint:staticcheck // likewise
	}
	return t
}

// hears makes connections tell what ended them.
func (t *Transport) hears(dial func(context.Context) (net.Conn, error)) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		c, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		h := &heard{Conn: c, of: t}
		t.mu.Lock()
		t.newest = h
		t.mu.Unlock()
		return h, nil
	}
}

// heard is a connection that keeps what ended it, for its transport.
type heard struct {
	net.Conn
	of   *Transport
	lost error // nil: nothing did; guarded by the transport's mu
}

// Read implements [net.Conn].
func (h *heard) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	h.ended(err)
	return n, err
}

// Write implements [net.Conn].
func (h *heard) Write(p []byte) (int, error) {
	n, err := h.Conn.Write(p)
	h.ended(err)
	return n, err
}

// ended keeps what ended the connection: the first error says more than those that follow from it.
func (h *heard) ended(err error) {
	if err == nil {
		return
	}
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	if h.lost == nil {
		h.lost = err
	}
}

// hidden are the library's errors that keep to themselves what ended the connection: before it was established,
// and when a request could not be written, which the library takes as its own wish to close the connection.
var hidden = []string{"client conn could not be established", "force closed via ClientConn.Close"}

// why adds to an error of the library what ended the connection, where the library does not say so.
func (t *Transport) why(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := err.Error()
	if t.newest != nil && t.newest.lost != nil && slices.ContainsFunc(hidden, func(h string) bool {
		return strings.HasSuffix(text, h)
	}) {
		return fmt.Errorf("%w: %w", err, t.newest.lost)
	}
	return err
}

// secure opens a connection over TLS.
func secure(ctx context.Context, dial func(context.Context) (net.Conn, error), config *tls.Config) (net.Conn, error) {
	plain, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	over := tls.Client(plain, config)
	if err = over.HandshakeContext(ctx); err == nil && over.ConnectionState().NegotiatedProtocol != http2.NextProtoTLS {
		err = errors.New("TLS: the server does not offer HTTP/2 (by ALPN)")
	}
	if err != nil {
		_ = plain.Close()
		return nil, err
	}
	return over, nil
}

// Full is a call that ended before its turn on the connection had come.
type Full struct {
	Limit int // of calls at once; 0: the server had not said
	Cause error
}

// Error implements error.
func (f *Full) Error() string {
	if f.Limit == 0 {
		return "waited for the server to say how many calls it takes at once (SETTINGS of HTTP/2)"
	}
	return fmt.Sprintf("waited for others to end: the server takes %d calls at once on a connection; more connections "+
		"take more", f.Limit)
}

// Unwrap makes a full connection what ended the call.
func (f *Full) Unwrap() error { return f.Cause }

// RoundTrip implements [http.RoundTripper]. The call is over when the reply's
// body is closed.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.enter(r.Context()); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as every RoundTripper does
		}
		return nil, err
	}
	resp, err := t.h2.RoundTrip(r) //nolint:staticcheck // see Transport
	if err != nil {
		t.leave()
		return nil, t.why(err)
	}
	resp.Body = &body{ReadCloser: resp.Body, of: t}
	return resp, nil
}

// body ends its call when it is closed.
type body struct {
	io.ReadCloser
	of   *Transport
	once sync.Once
}

// Close implements [io.Closer].
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(b.of.leave)
	return err
}

// One that waits looks this often whether the server has said how many calls it takes, and
// whether it takes more by now: calls that end let others in by themselves.
const (
	glance = 5 * time.Millisecond
	look   = 100 * time.Millisecond
)

// enter waits for a call's turn.
func (t *Transport) enter(ctx context.Context) error {
	t.mu.Lock()
	if c := t.conn; c != nil && t.taken < c.limit && len(t.waiting) == 0 {
		t.taken++
		t.mu.Unlock()
		return nil
	}
	turn := make(chan struct{}, 1)
	t.waiting = append(t.waiting, turn)
	t.mu.Unlock()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		c, err := t.current(ctx)
		if err != nil {
			t.forget(turn)
			return err
		}
		limit := t.admit(c)
		if limit == 0 {
			timer.Reset(glance)
		} else {
			timer.Reset(look)
		}
		select {
		case <-turn:
			return nil
		case <-timer.C:
		case <-ctx.Done():
			t.forget(turn)
			return &Full{Limit: limit, Cause: ctx.Err()}
		}
	}
}

// admit lets in who waits, as far as the server allows, and returns that. It is asked what that is only
// here: State waits for those who write.
func (t *Transport) admit(c *conn) int {
	state := c.State()
	limit := int(min(state.MaxConcurrentStreams, 1<<30))
	if state.Closed && limit == 0 {
		limit = 1 // it says why it is, to who calls over it
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c.limit = limit
	if t.conn == c {
		t.next()
	}
	return limit
}

// next lets in who waits. t.mu is held.
func (t *Transport) next() {
	for len(t.waiting) > 0 && t.conn != nil && t.taken < t.conn.limit {
		t.taken++
		t.waiting[0] <- struct{}{}
		t.waiting = t.waiting[1:]
	}
}

// forget takes one that gives up out of the line, or ends its call where its turn has just come.
func (t *Transport) forget(turn chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.Index(t.waiting, turn); at >= 0 {
		t.waiting = slices.Delete(t.waiting, at, at+1)
		return
	}
	t.ends()
}

// leave ends a call.
func (t *Transport) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ends()
}

// ends gives the place of a call to the next. t.mu is held.
func (t *Transport) ends() {
	t.taken--
	t.next()
}

// errClosed is the error of calls after Close.
var errClosed = status.Errorf(status.Canceled, "the client is closed")

// current returns the connection, and opens one if none can be used.
func (t *Transport) current(ctx context.Context) (*conn, error) {
	if c, err := t.usable(); c != nil || err != nil {
		return c, err
	}
	select {
	case <-t.alone:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { t.alone <- struct{}{} }()
	if c, err := t.usable(); c != nil || err != nil {
		return c, err
	}
	raw, err := t.dial(ctx)
	if err != nil {
		return nil, err
	}
	made, err := t.h2.NewClientConn(raw) //nolint:staticcheck // see Transport
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	c := &conn{ClientConn: made, raw: raw}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		_ = raw.Close()
		return nil, errClosed
	}
	t.conn = c
	return c, nil
}

// usable is the connection, if calls can begin on it.
func (t *Transport) usable() (*conn, error) {
	t.mu.Lock()
	c, closed := t.conn, t.closed
	t.mu.Unlock()
	switch {
	case closed:
		return nil, errClosed
	case c != nil && c.CanTakeNewRequest():
		return c, nil
	}
	return nil, nil //nolint:nilnil // one is to be opened
}

// Close closes the connection. Calls in flight fail.
func (t *Transport) Close() error {
	t.mu.Lock()
	c := t.conn
	t.conn, t.closed = nil, true
	t.mu.Unlock()
	if c != nil {
		_ = c.raw.Close() // it may be gone
	}
	return nil
}

// pool is a transport as the library asks it for connections.
type pool Transport

// GetClientConn implements [http2.ClientConnPool].
//
//nolint:staticcheck // see Transport
func (p *pool) GetClientConn(r *http.Request, _ string) (*http2.ClientConn, error) {
	t := (*Transport)(p)
	for {
		c, err := t.current(r.Context())
		if err != nil {
			return nil, err
		}
		if c.ReserveNewRequest() {
			return c.ClientConn, nil
		}
	}
}

// MarkDead implements [http2.ClientConnPool].
func (p *pool) MarkDead(dead *http2.ClientConn) { //nolint:staticcheck // see Transport
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil && p.conn.ClientConn == dead {
		p.conn = nil
	}
}
