package exchange

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wirelab"
)

// Client makes calls over a bounded number of connections.
type Client struct {
	dial func(context.Context) (Conn, error)
	// slots are the places for a connection that no call uses. Each place
	// comes back when its call is over, so sending never blocks.
	slots chan *slot
	done  chan struct{} // closed by Close

	mu     sync.Mutex // guards all below
	open   map[*slot]Conn
	closed bool
}

// slot is a place for one connection. It belongs to the call that took it.
type slot struct {
	link *link       // nil where none is open
	gone atomic.Bool // the watch found the link's end
}

// NewClient returns a client that opens up to connections connections by dial,
// each when a call first needs it.
func NewClient(connections int, dial func(context.Context) (Conn, error)) *Client {
	c := &Client{
		dial: dial, slots: make(chan *slot, connections), done: make(chan struct{}), open: map[*slot]Conn{},
	}
	for range connections {
		c.slots <- &slot{}
	}
	return c
}

// Close closes the connections. Calls in flight fail.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	close(c.done)
	var resting []*slot
	for range cap(c.slots) {
		select {
		case s := <-c.slots:
			resting = append(resting, s)
			delete(c.open, s)
		default:
		}
	}
	inUse := slices.Collect(maps.Values(c.open))
	c.mu.Unlock()
	for _, conn := range inUse {
		conn.Abort()
	}
	var closing sync.WaitGroup
	for _, s := range resting {
		if s.link != nil {
			closing.Go(func() {
				s.link.conn.Close()
				s.link.inbox.close()
			})
		}
	}
	closing.Wait()
	return nil
}

func errClosed() error { return wirelab.Errorf(wirelab.Unavailable, "the client is closed") }

// take waits for a place and sees to it that there is a connection in it.
func (c *Client) take(ctx context.Context) (*slot, error) {
	var s *slot
	select {
	case s = <-c.slots:
	default:
		select {
		case s = <-c.slots:
		case <-ctx.Done():
			return nil, wirelab.Public(ctx.Err())
		case <-c.done:
			return nil, errClosed()
		}
	}
	if s.link != nil && (s.gone.Load() || s.link.inbox.arrived()) {
		c.drop(s)
	}
	if s.link != nil {
		return s, nil
	}
	if err := c.connect(ctx, s); err != nil {
		c.giveBack(s)
		return nil, err
	}
	return s, nil
}

// connect opens a connection for a place that has none.
func (c *Client) connect(ctx context.Context, s *slot) error {
	conn, err := c.dial(ctx)
	if err != nil {
		if over := overdue(ctx); over != nil {
			return over
		}
		return wirelab.Lost(wirelab.Unavailable, err, "connect: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		conn.Abort()
		return errClosed()
	}
	s.gone.Store(false)
	s.link = newLink(conn, func() {
		s.gone.Store(true)
		conn.Abort()
	})
	c.open[s] = conn
	return nil
}

// drop ends a place's connection at once.
func (c *Client) drop(s *slot) {
	c.mu.Lock()
	delete(c.open, s)
	c.mu.Unlock()
	s.link.conn.Abort()
	s.link.inbox.close()
	s.link = nil
}

// giveBack ends the use of a place.
func (c *Client) giveBack(s *slot) {
	c.mu.Lock()
	if !c.closed {
		c.slots <- s
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	if s.link != nil {
		c.drop(s)
	}
}

// overdue is the error for a context that ended, or whose deadline has passed
// though its timer has not fired yet: a peer that keeps the same deadline may
// be first to act on it.
func overdue(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return wirelab.Public(err)
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return wirelab.Public(context.DeadlineExceeded)
	}
	return nil
}

// asking is a call that a client is making.
type asking struct {
	ctx    context.Context
	client *Client
	slot   *slot
	link   *link
	stop   func() bool // takes the watch over ctx back; nil if there is none
	spoilt bool        // ctx ended: the connection is aborted or about to be
}

// begin takes a connection, which ends when ctx does.
func (c *Client) begin(ctx context.Context) (*asking, error) {
	if err := ctx.Err(); err != nil {
		return nil, wirelab.Public(err)
	}
	s, err := c.take(ctx)
	if err != nil {
		return nil, err
	}
	a := &asking{ctx: ctx, client: c, slot: s, link: s.link}
	if ctx.Done() != nil {
		a.stop = context.AfterFunc(ctx, s.link.conn.Abort)
	}
	return a, nil
}

// settle says that ctx no longer ends the connection.
func (a *asking) settle() {
	if a.stop != nil {
		a.spoilt = !a.stop()
		a.stop = nil
	}
}

// finish gives the connection back. clean is whether the call left it ready
// for another.
func (a *asking) finish(clean bool) {
	a.settle()
	if clean && !a.spoilt {
		a.link.inbox.watch()
	} else {
		a.client.drop(a.slot)
	}
	a.client.giveBack(a.slot)
}

// why returns what an error of the link means to the caller.
func (a *asking) why(err error) error {
	var wrong malformed
	switch {
	case errors.Is(err, ErrTooLarge):
		return wirelab.Errorf(wirelab.ResourceExhausted, "message of more than %d bytes", MessageLimit)
	case isLost(err):
		if over := overdue(a.ctx); over != nil {
			return over
		}
		return wirelab.Lost(wirelab.Unavailable, err, "%v", err)
	case errors.As(err, &wrong):
		return wirelab.Caused(wirelab.BadProtocol, wirelab.Internal, "the server's answer: %v", err)
	}
	return err
}

// reply reads what answers a call that replies once. clean is whether the
// connection is fit for another.
func (a *asking) reply() (payload []byte, clean bool, err error) {
	k, content, err := a.link.receive()
	switch {
	case err != nil:
		return nil, false, a.why(err)
	case k == kindLast:
		return content, true, nil
	case k == kindFailure:
		return nil, true, parseFailure(content)
	}
	return nil, false, a.why(malformedf("message of kind %d for a reply", k))
}

// open sends a call that is followed by its requests, or by none.
func open[Req any](a *asking, operation byte, codec Codec[Req], req Req) error {
	frame, err := codec.Append(appendCall(a.link.frame(), operation, remaining(a.ctx)), req)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return a.link.send(frame)
}

func parseReply[Rep any](codec Codec[Rep], payload []byte) (Rep, error) {
	rep, err := codec.Parse(payload)
	if err != nil {
		return rep, wirelab.Errorf(wirelab.Internal, "the reply is not a message: %v", err)
	}
	return rep, nil
}

// Call asks one request for one reply.
func (o Operation[Req, Rep]) Call(ctx context.Context, c *Client, req Req) (rep Rep, err error) {
	a, err := c.begin(ctx)
	if err != nil {
		return rep, err
	}
	clean := false
	defer func() { a.finish(clean) }()
	if err := open(a, o.Number, o.Request, req); err != nil {
		clean = !isLost(err) // nothing was sent
		return rep, a.why(err)
	}
	var payload []byte
	payload, clean, err = a.reply()
	if err != nil {
		return rep, err
	}
	return parseReply(o.Reply, payload)
}

// CallServerStream asks one request for a stream. The call, and the connection it occupies, lasts as long as
// the iteration: a call made from within it needs a separate connection.
func (o Operation[Req, Rep]) CallServerStream(ctx context.Context, c *Client, req Req) iter.Seq2[Rep, error] {
	return func(yield func(Rep, error) bool) {
		var none Rep
		a, err := c.begin(ctx)
		if err != nil {
			yield(none, err)
			return
		}
		over := false
		finish := func(clean bool) {
			if !over {
				over = true
				a.finish(clean)
			}
		}
		defer finish(false) // stopped early, or yield panicked
		if err := open(a, o.Number, o.Request, req); err != nil {
			finish(!isLost(err))
			yield(none, a.why(err))
			return
		}
		for {
			rep, end, clean, err := item(a, o.Reply)
			if err == nil && !end {
				if !yield(rep, nil) {
					return
				}
				continue
			}
			finish(clean) // before the error is reported: a caller that hears it may call again
			if err != nil {
				yield(none, err)
			}
			return
		}
	}
}

// item reads the next item of a stream, or its end. clean is whether the call
// is over in good order.
func item[Rep any](a *asking, codec Codec[Rep]) (rep Rep, end, clean bool, err error) {
	k, content, err := a.link.receive()
	switch {
	case err != nil:
		return rep, false, false, a.why(err)
	case k == kindItem:
		rep, err = parseReply(codec, content)
		return rep, false, false, err
	case k == kindEnd:
		return rep, true, true, nil
	case k == kindFailure:
		return rep, false, true, parseFailure(content)
	}
	return rep, false, false, a.why(malformedf("message of kind %d in a stream", k))
}
