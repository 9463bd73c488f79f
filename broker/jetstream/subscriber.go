package jetstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"wirelab/broker"
)

// Subscribe implements [broker.Broker].
func (b *Broker) Subscribe(ctx context.Context, s broker.Subscription, handle func([]byte) bool) (broker.Subscriber, error) {
	conn, js, err := b.dial()
	if err != nil {
		return nil, err
	}
	consumer, err := js.Consumer(ctx, s.Topic, s.Group)
	if err != nil {
		conn.Close()
		return nil, coded(err)
	}
	r := &subscriber{conn: conn, handle: handle, stop: make(chan struct{}), over: make(chan struct{})}
	r.messages, err = consumer.Messages(
		jetstream.PullMaxMessages(s.Ahead()), jetstream.PullExpiry(pullExpiry), jetstream.PullHeartbeat(pullHeartbeat),
		// The library would end for what a server that is away leaves out.
		jetstream.WithMessagesErrOnMissingHeartbeat(false),
	)
	if err != nil {
		conn.Close()
		return nil, coded(err)
	}
	go r.read() // ends with Close, which waits for it
	return r, coded(conn.FlushTimeout(askLimit))
}

// A pull is asked for anew so often, and is taken for lost if the server was not
// heard of for twice the heartbeat.
const (
	pullExpiry    = 10 * time.Second
	pullHeartbeat = 500 * time.Millisecond
)

// subscriber reads a group over a connection of its own, so that what it was given
// and has not dealt with goes with it.
type subscriber struct {
	conn     *nats.Conn
	messages jetstream.MessagesContext
	handle   func([]byte) bool
	once     sync.Once
	stop     chan struct{} // closed by Close
	over     chan struct{} // closed when read has returned

	mu   sync.Mutex // guards err and last
	err  error
	last jetstream.Msg // dealt with last
}

func (r *subscriber) read() {
	defer close(r.over)
	for {
		m, err := r.messages.Next()
		select {
		case <-r.stop:
			if err == nil {
				_ = m.Nak() // it was not dealt with; a server that does not hear it notices by the silence
				r.giveBack()
			}
			return
		default:
		}
		if err != nil {
			if errors.Is(err, nats.ErrTimeout) || errors.Is(err, jetstream.ErrNoHeartbeat) {
				continue
			}
			r.mu.Lock()
			r.err = coded(err)
			r.mu.Unlock()
			return
		}
		if !r.handle(m.Data()) {
			_ = m.Nak() // as above
			r.messages.Drain()
			r.giveBack()
			return
		}
		_ = m.Ack() // lost with the connection, the message comes again
		r.mu.Lock()
		r.last = m
		r.mu.Unlock()
	}
}

// giveBack gives back what came and was not dealt with, so that nobody waits for it
// until the server notices.
func (r *subscriber) giveBack() {
	for {
		m, err := r.messages.Next()
		if err != nil {
			return
		}
		_ = m.Nak() // as above
	}
}

// Close implements [broker.Subscriber].
func (r *subscriber) Close(ctx context.Context) error {
	r.once.Do(func() {
		close(r.stop)
		r.messages.Drain() // what came already is given back, and no more is asked for
	})
	select {
	case <-r.over:
	case <-ctx.Done():
		return broker.ErrStuck()
	}
	r.mu.Lock()
	last := r.last
	r.mu.Unlock()
	var err error
	if last != nil && r.conn.IsConnected() {
		// Once the server has answered this one it has those before it.
		if err = last.DoubleAck(ctx); errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
			err = r.conn.FlushTimeout(askLimit)
		}
	}
	r.conn.Close()
	return coded(err)
}

// Failed implements [broker.Subscriber].
func (r *subscriber) Failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
