package workqueue

import (
	"context"
	"strconv"
	"sync"
	"time"

	"wirelab"
	"wirelab/broker"
)

// consumer is the state of one Consume.
type consumer struct {
	queues  *queues
	options Options
	handle  Handler

	mu      sync.Mutex // guards letters
	letters broker.Publisher
}

// deadLetterLimit is the time limit for publishing a dead letter.
const deadLetterLimit = 5 * time.Second

// The headers of a dead letter.
const (
	failuresHeader = "wirelab-failures"
	codeHeader     = "wirelab-code"
)

// deal passes a message to the handler, and returns its disposition.
func (c *consumer) deal(ctx context.Context, d Delivery) broker.Disposition {
	err := c.try(ctx, d)
	if err == nil {
		return broker.Ack()
	}
	if ctx.Err() != nil {
		return broker.Stop() // not a failure of the message, which returns to the queue
	}
	why := wirelab.Public(err).Message
	if !hopeless(err) && d.Failures+1 < c.options.Attempts {
		return broker.Retry(c.options.Retry, why)
	}
	if err := c.deadLetter(ctx, d, err); err != nil {
		return broker.Retry(c.options.Retry, why) // it is not lost: it is retried, and becomes a dead letter later
	}
	return broker.Ack()
}

// try calls the handler. A handler that panics has failed; the others continue.
func (c *consumer) try(ctx context.Context, d Delivery) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = wirelab.Errorf(wirelab.Internal, "the handler of message %q panicked: %v", d.ID, fault)
		}
	}()
	return c.handle(ctx, d)
}

// hopeless reports whether a handler with this error would fail again.
func hopeless(err error) bool {
	code := wirelab.CodeOf(err)
	return code == wirelab.InvalidArgument || code == wirelab.Conflict
}

// deadLetter publishes a message to the dead letters. Its place in the queue is the deduplication key, so that a broker
// that supports it keeps one copy.
func (c *consumer) deadLetter(ctx context.Context, d Delivery, failed error) error {
	if !c.queues.kept {
		if c.queues.lost != nil {
			c.queues.lost(failed)
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deadLetterLimit)
	defer cancel()
	p, err := c.publisher(ctx)
	if err != nil {
		return err
	}
	m := d.Message
	m.Headers = map[string]string{
		failuresHeader: strconv.Itoa(d.Failures + 1), codeHeader: wirelab.CodeOf(failed).String(),
	}
	if d.Place != 0 {
		m.Once = strconv.FormatUint(d.Place, 10)
	}
	answered := make(chan error, 1) // bounded by the one answer
	p.Send(ctx, lettersOf(c.options), []Message{m}, func(_ Receipt, err error) { answered <- err })
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// publisher returns the publisher to the dead letters, which is opened when first needed.
func (c *consumer) publisher(ctx context.Context) (p broker.Publisher, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.letters == nil {
		c.letters, err = c.queues.broker.Publisher(ctx, broker.PublisherConfig{
			Topic: lettersOf(c.options), Shared: true, FailFast: true,
		})
		if err != nil {
			c.letters = nil // a nil pointer in an interface is not nil
		}
	}
	return c.letters, err
}

// close closes what the consumer opened.
func (c *consumer) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.letters != nil {
		_ = c.letters.Close() // nothing is in flight
	}
}
