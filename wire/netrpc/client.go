package netrpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"sync"
	"sync/atomic"
	"time"

	"wirelab"
)

// Client makes calls over one connection.
type Client struct {
	to wirelab.Dialing
	// dialing is held while a connection is opened. It is a channel because
	// those who wait for it have contexts.
	dialing chan struct{}

	mu      sync.Mutex // guards all below
	current *connection
	closed  bool
}

// Dial returns a client. It connects when it is first used.
func Dial(to wirelab.Dialing) *Client {
	return &Client{to: to, dialing: make(chan struct{}, 1)}
}

// Close closes the connection. Calls in flight fail.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	current := c.current
	c.current = nil
	c.mu.Unlock()
	if current != nil {
		current.close()
	}
	return nil
}

// Call makes a call of a method, such as "RouteGuide.GetFeature".
func Call[Req, Rep any](ctx context.Context, c *Client, method string, req Req) (Rep, error) {
	var none Rep
	for again := true; ; again = false {
		if err := ctx.Err(); err != nil {
			return none, wirelab.Public(err)
		}
		conn, err := c.connection(ctx)
		if err != nil {
			return none, err
		}
		request, reply := &Request[Req]{Body: req}, new(Reply[Rep])
		err = conn.call(ctx, method, request, reply, &request.Timeout)
		switch {
		case err != nil && !request.was && conn.gone() && again && !coded(err):
			continue // nothing was sent: the next connection may do
		case err != nil && ctx.Err() != nil:
			// The caller's reason goes before what the connection says. A call that
			// was never sent is none that the server could give up.
			if request.was {
				conn.giveUp(request.seq)
			}
			return none, wirelab.Public(ctx.Err())
		case err != nil:
			return none, translate(err)
		case reply.Failure != nil:
			return none, reply.Failure.err()
		}
		return reply.Body, nil
	}
}

// coded reports whether an error is the call's own, which no connection mends.
func coded(err error) bool {
	var c *wirelab.Error
	return errors.As(err, &c)
}

// translate returns an error of net/rpc as wirelab's.
func translate(err error) error {
	var coded *wirelab.Error
	var told rpc.ServerError
	switch {
	case errors.As(err, &coded):
		return coded
	case errors.As(err, &told):
		return wirelab.Errorf(wirelab.Unimplemented, "%s", told)
	}
	return wirelab.Lost(wirelab.Unavailable, err, "connection lost: %v", err)
}

// connection returns the connection to use, opened if need be.
func (c *Client) connection(ctx context.Context) (*connection, error) {
	if conn, err := c.live(); conn != nil || err != nil {
		return conn, err
	}
	select {
	case c.dialing <- struct{}{}:
		defer func() { <-c.dialing }()
	case <-ctx.Done():
		return nil, wirelab.Public(ctx.Err())
	}
	if conn, err := c.live(); conn != nil || err != nil { // opened while this one waited
		return conn, err
	}
	opened, err := c.to.Open(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, wirelab.Public(ctx.Err())
		}
		return nil, wirelab.Lost(wirelab.Unavailable, err, "connect: %v", err)
	}
	conn := newConnection(opened)
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.current = conn
	}
	c.mu.Unlock()
	if closed { // by a Close that found no connection to close
		conn.close()
		return nil, errClosed()
	}
	return conn, nil
}

// live returns the connection if it can be used.
func (c *Client) live() (*connection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed()
	}
	if c.current != nil && c.current.gone() {
		c.current = nil
	}
	return c.current, nil
}

func errClosed() error { return wirelab.Errorf(wirelab.Unavailable, "the client is closed") }

// connection is one connection of a client, as net/rpc's codec.
type connection struct {
	*stream
	calls *rpc.Client
	// slots holds one token for each call that the server has not answered,
	// whether or not its caller still waits: so the server never has more.
	slots chan struct{}
	dead  chan struct{} // closed when nothing more is read
	// failed tells that a write did, which the reading side will find out.
	failed atomic.Bool
}

var _ rpc.ClientCodec = (*connection)(nil)

func newConnection(conn net.Conn) *connection {
	c := &connection{
		stream: newStream(conn), slots: make(chan struct{}, wirelab.MaxStreams), dead: make(chan struct{}),
	}
	c.calls = rpc.NewClientWithCodec(c)
	return c
}

// call makes one call. timeout is where in the request the time left goes.
func (c *connection) call(ctx context.Context, method string, request, reply any, timeout *time.Duration) error {
	// Only an answer frees the slot (ReadResponseHeader), and not the caller's
	// giving up: the server may be at work on the call still.
	select {
	case c.slots <- struct{}{}:
	case <-c.dead:
		return rpc.ErrShutdown
	case <-ctx.Done():
		return ctx.Err()
	}
	if deadline, ok := ctx.Deadline(); ok {
		*timeout = max(time.Until(deadline), time.Microsecond)
	}
	call := c.calls.Go(method, request, reply, make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
		return call.Error
	case <-ctx.Done():
		return ctx.Err()
	}
}

// giveUp tells the server that no one waits for a call.
func (c *connection) giveUp(seq uint64) {
	c.calls.Go(control+".Cancel", &CancelRequest{Seq: seq}, new(CancelReply), make(chan *rpc.Call, 1))
}

// gone reports whether the connection can carry no more.
func (c *connection) gone() bool {
	select {
	case <-c.dead:
		return true
	default:
		return c.failed.Load()
	}
}

// close closes the connection and waits until it is not read any more.
func (c *connection) close() {
	_ = c.calls.Close() // it may be gone already
	<-c.dead
}

// WriteRequest implements [rpc.ClientCodec].
func (c *connection) WriteRequest(r *rpc.Request, body any) error {
	begun, err := c.write(r, body)
	if request, ok := body.(numbered); ok && begun {
		request.sent(r.Seq)
	}
	if err != nil {
		c.failed.Store(true)
		_ = c.conn.Close()
	}
	return err
}

// ReadResponseHeader implements [rpc.ClientCodec]. net/rpc reads no more after
// an error.
func (c *connection) ReadResponseHeader(r *rpc.Response) error {
	if err := c.header(r); err != nil {
		c.stopReading()
		return err
	}
	if r.ServiceMethod != control+".Cancel" {
		select {
		case <-c.slots:
		default: // an answer to nothing, which net/rpc drops
		}
	}
	return nil
}

// ReadResponseBody implements [rpc.ClientCodec].
func (c *connection) ReadResponseBody(body any) error {
	err := c.decode(body)
	if err != nil {
		c.stopReading()
		return fmt.Errorf("reply: %w", err)
	}
	return nil
}

// stopReading says that nothing more is read. Only the reading goroutine calls it,
// and not again after an error.
func (c *connection) stopReading() {
	_ = c.conn.Close()
	close(c.dead)
}

// Close implements [rpc.ClientCodec].
func (c *connection) Close() error { return c.conn.Close() }
