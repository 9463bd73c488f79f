package client

import (
	"context"
	"sync"

	"wirelab/hermes"
	"wirelab/wire/status"
)

// Client is a user of Hermes. It is for any number of goroutines.
type Client struct {
	options Options
	nodes   *nodes
	writer  *writer

	ctx    context.Context //nolint:containedctx // the client's life, which its goroutines share
	cancel context.CancelFunc
	work   sync.WaitGroup // all goroutines

	mu     sync.Mutex // guards closed, and work against one that begins while Close waits
	closed bool
}

// spawn runs f, for Close to wait for, unless the client is closed.
func (c *Client) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.work.Go(f)
	}
	return !c.closed
}

// New returns a client. It connects when it is first asked for something.
func New(o Options) (*Client, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Client{options: o, nodes: newNodes(&o)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.writer = newWriter(c)
	return c, nil
}

// Close ends all that is under way, with Canceled, and waits for it. Call Flush before,
// to be sure of it.
func (c *Client) Close() error {
	c.cancel()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.writer.close()
	c.work.Wait()
	c.writer.fail()
	c.nodes.close()
	return nil
}

var errClosed = status.Errorf(status.Canceled, "the client is closed")

// Receipt is the known state of a message that was published.
type Receipt struct {
	Offset      uint64
	Time        int64  // Unix nanoseconds
	Duplicate   bool   // it had been stored at an earlier try
	Provisional bool   // mode eventual: Offset and Time are not known yet
	Term, Index uint64 // of the log
}

// Publish publishes a message and waits for its acknowledgement. Where ctx ends first,
// the message may be stored all the same.
func (c *Client) Publish(ctx context.Context, topic string, mode hermes.Mode, m *hermes.Message) (Receipt, error) {
	type answer struct {
		r   Receipt
		err error
	}
	answered := make(chan answer, 1) // bounded by the one answer
	if err := c.Send(ctx, topic, mode, m, func(r Receipt, err error) { answered <- answer{r, err} }); err != nil {
		return Receipt{}, err
	}
	select {
	case a := <-answered:
		return a.r, a.err
	case <-ctx.Done():
		return Receipt{}, status.Public(ctx.Err())
	}
}

// Send publishes a message and returns once it is in the client's hands, which may wait for room as long as ctx
// allows; m may be used again then. With an error it is not taken. done is called once, from a goroutine that
// all of the client's answers share, so it must not block; nil: not reported.
func (c *Client) Send(ctx context.Context, topic string, mode hermes.Mode, m *hermes.Message,
	done func(Receipt, error),
) error {
	return c.writer.send(ctx, queueKey{topic, mode}, m, done)
}

// Flush waits until all that was taken before is answered, one way or the other, and
// the callbacks have returned.
func (c *Client) Flush(ctx context.Context) error { return c.writer.flush(ctx) }

// uncertain reports whether an error leaves open what became of a call, so that it is
// tried again where that does no harm.
func uncertain(code status.Code) bool {
	switch code {
	case status.Unavailable, status.DeadlineExceeded, status.Canceled, status.Internal:
		return true
	}
	return false
}
