package rabbitmq

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// acks acknowledges what a channel brought. A server does as much for one
// acknowledgement as for one of a hundred messages (a quorum queue writes each
// into its log), so those of messages that are done at about the same time go
// out as one: all up to the first that is not done. A goroutine of the session's
// sends them.
type acks struct {
	channel amqp.Acknowledger // a channel
	wire    *bounded
	settled atomic.Uint64 // messages and retries that were given back or acknowledged
	bell    chan struct{} // holds one: something is done

	mu   sync.Mutex // guards below
	low  uint64     // what became of all tags up to it is known to the server
	next []ackState // of the tags from low+1 on; bounded by what the server sends unacknowledged
}

// ackState is what became of a message as far as the server is concerned.
type ackState uint8

const (
	open  ackState = iota // it waits for our word
	done                  // it is to be acknowledged
	known                 // it waits for none: it was given back, or never had to be acknowledged
)

// linger is how long a message that is done waits for those before it, to be
// acknowledged with them: longer than handlers whose messages were stored
// together differ, and short enough that a prefetch of few is not idle for it.
const linger = 2 * time.Millisecond

func newAcks(channel amqp.Acknowledger, on *bounded) *acks {
	return &acks{channel: channel, wire: on, bell: make(chan struct{}, 1)}
}

// done notes that a message is to be acknowledged.
func (a *acks) done(tag uint64) {
	a.note(tag, done)
	select {
	case a.bell <- struct{}{}:
	default: // it rings already
	}
}

// back gives a message back to its queue.
func (a *acks) back(d amqp.Delivery) {
	if d.Nack(false, true) == nil {
		a.settled.Add(1)
		a.note(d.DeliveryTag, known)
	}
}

// none notes that nobody waits for word of a message.
func (a *acks) none(tag uint64) { a.note(tag, known) }

func (a *acks) note(tag uint64, is ackState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	place := int(tag - a.low - 1)
	for len(a.next) <= place {
		a.next = append(a.next, open) // one that is still with its handler, or on its way to it
	}
	a.next[place] = is
}

// run acknowledges until ctx ends. What is left then is flush's.
func (a *acks) run(ctx context.Context) {
	for a.wait(ctx, nil) {
		// Those that are done together are told one after the other: let them.
		runtime.Gosched()
		if a.send(false) {
			a.linger(ctx)
		}
	}
}

// linger acknowledges as more messages are done, and in the end those that have
// waited long enough.
func (a *acks) linger(ctx context.Context) {
	limit := time.NewTimer(linger)
	defer limit.Stop()
	for a.wait(ctx, limit.C) {
		if !a.send(false) {
			return
		}
	}
	a.send(true)
}

// wait waits until a message is done; false: time or ctx ended before.
func (a *acks) wait(ctx context.Context, limit <-chan time.Time) bool {
	select {
	case <-a.bell:
		return true
	case <-limit:
	case <-ctx.Done():
	}
	return false
}

// flush acknowledges all that is done.
func (a *acks) flush() { a.send(true) }

// send acknowledges what is done up to the first message that is not, and tells
// whether there is more; all is to acknowledge that too, one by one. Where the
// connection is gone the messages come again; that cannot be helped.
func (a *acks) send(all bool) (more bool) {
	a.wire.hold()
	defer func() { _ = a.wire.release() }() // it closes a connection that is broken
	a.mu.Lock()
	defer a.mu.Unlock()
	count, last, passed := uint64(0), uint64(0), 0
	for passed < len(a.next) && a.next[passed] != open {
		if passed++; a.next[passed-1] == done {
			count, last = count+1, a.low+uint64(passed)
		}
	}
	a.low += uint64(passed)
	a.next = append(a.next[:0], a.next[passed:]...)
	if count > 0 && a.channel.Ack(last, count > 1) == nil {
		a.settled.Add(count)
	}
	for i, is := range a.next {
		if is != done {
			continue
		}
		if !all {
			return true
		}
		if a.channel.Ack(a.low+1+uint64(i), false) == nil {
			a.settled.Add(1)
		}
		a.next[i] = known
	}
	return false
}
