package connect

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"

	"connectrpc.com/connect"
	"golang.org/x/net/http2"

	"wirelab"
	"wirelab/wire/multiplex"
)

// Client is what connect-go's clients send their requests through: net/http
// set up as the package comment says. It is safe for concurrent use.
type Client struct {
	http    http.Client
	idle    func() // closes what connections carry no call
	baseURL string

	mu     sync.Mutex            // guards all below
	open   map[*dialled]struct{} // not closed yet
	closed bool
}

var _ connect.HTTPClient = (*Client)(nil)

// Dial returns a client of the server at to. It connects at the first call.
func Dial(to wirelab.Dialing, over Carrier) *Client {
	c := &Client{baseURL: "http://" + to.Address, open: map[*dialled]struct{}{}}
	dial := func(ctx context.Context) (net.Conn, error) { return c.dial(ctx, to) }
	switch over {
	case HTTP1:
		transport := &http.Transport{
			DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
			DisableCompression:  true, // connect-go asks for itself; net/http must not add to it
			Protocols:           over.protocols(),
			MaxConnsPerHost:     to.ConnectionCount(),
			MaxIdleConnsPerHost: to.ConnectionCount(), // the default of 2 would reconnect all the time
		}
		c.http.Transport, c.idle = transport, transport.CloseIdleConnections
	case H2TLS:
		c.baseURL = "https://" + to.Address
		c.share(multiplex.New(dial, to.Address, to.TLS()))
	default:
		c.share(multiplex.New(dial, to.Address, nil))
	}
	// A redirect is no answer to a call, and following one would hide it.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// share has calls share a connection.
func (c *Client) share(over *multiplex.Transport) {
	c.http.Transport = over
	c.idle = func() { _ = over.Close() } // the connection is closed with all others
}

// BaseURL returns what generated clients are made with.
func (c *Client) BaseURL() string { return c.baseURL }

// Close closes the client's connections. Calls in flight fail with Unavailable.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	var all []*dialled
	for d := range c.open {
		all = append(all, d)
	}
	c.mu.Unlock()
	c.idle()
	for _, d := range all { // not under the lock: Close takes it
		_ = d.Close()
	}
	return nil
}

// Do implements [connect.HTTPClient].
func (c *Client) Do(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	release := func() bool { return false }
	if request.ContentLength < 0 {
		// A stream of requests, which net/http reads from a pipe. While it
		// waits there for the next one it does not act on the end of the
		// context: over HTTP/1.1 not at all, over HTTP/2 not once the reply
		// has begun. The caller would wait for a reply, and the server for a
		// request, for ever. Closing the pipe tells all of them.
		requests := upload{ReadCloser: request.Body, ctx: ctx}
		release = context.AfterFunc(ctx, func() { _ = requests.Close() })
		request = request.WithContext(ctx) // a copy: the caller's is not ours to change
		request.Body = requests
	}
	response, err := c.http.Do(request)
	if err != nil {
		release()
		return nil, broken(ctx, err)
	}
	response.Body = &body{ReadCloser: response.Body, ctx: ctx, release: release}
	return response, nil
}

// upload is the body of a request whose end, once the context has ended, is no
// end: connect-go closes what it gave up, and the server must not take a part
// for the whole.
type upload struct {
	io.ReadCloser
	ctx context.Context //nolint:containedctx // of the one request it is
}

// Read implements [io.Reader].
func (u upload) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && u.ctx.Err() != nil {
		err = context.Cause(u.ctx)
	}
	return n, err
}

// body is a response's body whose failures are distinguished from its end.
type body struct {
	io.ReadCloser
	ctx     context.Context //nolint:containedctx // of the one request it answers
	release func() bool     // ends the watch over ctx; may be called often
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.release()
	} else if err != nil {
		err = broken(b.ctx, err)
	}
	return n, err
}

// Close implements [io.Closer]. net/http resets a stream whose end was not read.
func (b *body) Close() error {
	b.release()
	return b.ReadCloser.Close()
}

// broken marks a failure of the connection as Unavailable. It leaves alone
// what connect-go tells apart better: the end of the call's own context, and
// a stream that the server reset, whose reason is a code.
func broken(ctx context.Context, err error) error {
	var reset http2.StreamError
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &reset) {
		return err
	}
	return connect.NewError(connect.CodeUnavailable, err)
}

// dial opens a connection and remembers it: net/http closes idle ones only.
func (c *Client) dial(ctx context.Context, to wirelab.Dialing) (net.Conn, error) {
	opened, err := to.Open(ctx)
	if err != nil {
		return nil, err
	}
	d := &dialled{Conn: opened, by: c}
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.open[d] = struct{}{}
	}
	c.mu.Unlock()
	if closed {
		_ = opened.Close()
		return nil, net.ErrClosed
	}
	return d, nil
}

// dialled is a connection of a client.
type dialled struct {
	net.Conn
	by *Client
}

// Close implements [net.Conn].
func (d *dialled) Close() error {
	d.by.mu.Lock()
	delete(d.by.open, d)
	d.by.mu.Unlock()
	return d.Conn.Close()
}
