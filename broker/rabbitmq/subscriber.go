package rabbitmq

import (
	"context"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab"
	"wirelab/broker"
)

// Subscribe implements [broker.Broker].
func (b *Broker) Subscribe(_ context.Context, s broker.Subscription, handle func([]byte) bool) (broker.Subscriber, error) {
	r := &subscriber{broker: b, of: s, handle: handle}
	f, err := r.open()
	if err != nil {
		return nil, coded(err)
	}
	r.reads, r.stop = context.WithCancel(context.Background())
	r.over = make(chan struct{})
	go r.read(f) // ends with Close, which waits for it
	return r, nil
}

// subscriber reads a group, over one connection after another.
type subscriber struct {
	broker *Broker
	of     broker.Subscription
	handle func([]byte) bool
	reads  context.Context //nolint:containedctx // the life of its goroutine
	stop   context.CancelFunc
	over   chan struct{} // closed when read has returned

	mu  sync.Mutex // guards err
	err error
}

// feed is a consumer on a connection of its own.
type feed struct {
	conn     *amqp.Connection
	channel  *amqp.Channel
	messages <-chan amqp.Delivery
}

func (r *subscriber) open() (*feed, error) {
	f := &feed{}
	var err error
	f.conn, f.channel, err = r.broker.channel(func(c *amqp.Channel) error {
		if err := c.Qos(r.of.Ahead(), 0, false); err != nil {
			return err
		}
		f.messages, err = c.Consume(queueOf(r.of.Topic, r.of.Group), "", false, false, false, false, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// ackBatch is how many messages are acknowledged at once, at most, and ackAfter how
// long one waits for others: each acknowledgement of a quorum queue is an entry in
// its log.
const (
	ackBatch = 64
	ackAfter = 5 * time.Millisecond
)

// read handles messages until it is stopped, and opens another connection when one is lost.
func (r *subscriber) read(f *feed) {
	defer close(r.over)
	for pause := dialPause; ; pause = min(2*pause, dialPauseUp) {
		if f != nil {
			r.take(f)
			_ = f.conn.CloseDeadline(time.Now().Add(dialLimit)) // what was not acknowledged goes back to the queue
			pause = dialPause
		}
		timer := time.NewTimer(pause)
		select {
		case <-r.reads.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		var err error
		if f, err = r.open(); err != nil && wirelab.CodeOf(coded(err)) == wirelab.NotFound {
			r.mu.Lock()
			r.err = coded(err)
			r.mu.Unlock()
			return
		}
		if err != nil {
			f = nil
		}
	}
}

// take handles what a feed brings until it ends or the subscriber is stopped.
func (r *subscriber) take(f *feed) {
	var last uint64
	open := 0
	flush := func() {
		if open > 0 {
			_ = f.channel.Ack(last, true) // lost with the connection, they come again
			open = 0
		}
	}
	defer flush()
	late := time.NewTicker(ackAfter)
	defer late.Stop()
	for {
		select {
		case <-r.reads.Done():
			return
		case <-late.C:
			flush()
		case m, more := <-f.messages:
			if !more {
				return
			}
			if r.reads.Err() != nil {
				return
			}
			if !r.handle(m.Body) {
				r.stop() // nothing more
				return
			}
			last = m.DeliveryTag
			if open++; open == ackBatch {
				flush()
			}
		}
	}
}

// Close implements [broker.Subscriber]. Closing the connection waits for the server,
// which has read the acknowledgements before it.
func (r *subscriber) Close(ctx context.Context) error {
	r.stop()
	select {
	case <-r.over:
		return nil
	case <-ctx.Done():
		return broker.ErrStuck()
	}
}

// Failed implements [broker.Subscriber].
func (r *subscriber) Failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
