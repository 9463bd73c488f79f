package rabbitmq

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// acks acknowledges the messages of a channel. One acknowledgement costs the server as much as one for a hundred
// messages (a quorum queue writes each into its log), so messages handled at about the same time are acknowledged
// together: all up to the first that is unhandled. A goroutine of the session sends them.
type acks struct {
	channel amqp.Acknowledger // a channel
	wire    *bounded
	settled atomic.Uint64 // messages and retries that were returned or acknowledged
	bell    chan struct{} // holds one element: something is done

	mu   sync.Mutex // guards below
	low  uint64     // all tags up to it are settled at the server
	next []ackState // the tags from low+1 on; bounded by the server's unacknowledged messages
}

// ackState is the state of a message towards the server.
type ackState uint8

const (
	open  ackState = iota // unacknowledged
	done                  // to be acknowledged
	known                 // settled: returned, or needs no acknowledgement
)

// linger is how long a handled message waits for those before it, to be acknowledged with them. It is longer than
// the differences between handlers whose messages were stored together, and short enough that a small prefetch does
// not run idle.
const linger = 2 * time.Millisecond

func newAcks(channel amqp.Acknowledger, on *bounded) *acks {
	return &acks{channel: channel, wire: on, bell: make(chan struct{}, 1)}
}

// done records that a message is to be acknowledged.
func (a *acks) done(tag uint64) {
	a.note(tag, done)
	select {
	case a.bell <- struct{}{}:
	default: // the signal is pending already
	}
}

// back returns a message to its queue.
func (a *acks) back(d amqp.Delivery) {
	if d.Nack(false, true) == nil {
		a.settled.Add(1)
		a.note(d.DeliveryTag, known)
	}
}

// none records that a message needs no acknowledgement.
func (a *acks) none(tag uint64) { a.note(tag, known) }

func (a *acks) note(tag uint64, is ackState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	place := int(tag - a.low - 1)
	for len(a.next) <= place {
		a.next = append(a.next, open) // still with its handler, or on its way to it
	}
	a.next[place] = is
}

// run acknowledges until ctx ends. The rest is left to flush.
func (a *acks) run(ctx context.Context) {
	for a.wait(ctx, nil) {
		// Let other handlers finish first, so that their messages are included.
		runtime.Gosched()
		if a.send(false) {
			a.linger(ctx)
		}
	}
}

// linger acknowledges as more messages are done, and at last those that have waited for the linger time.
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

// wait waits until a message is done; false if the limit or ctx ended first.
func (a *acks) wait(ctx context.Context, limit <-chan time.Time) bool {
	select {
	case <-a.bell:
		return true
	case <-limit:
	case <-ctx.Done():
	}
	return false
}

// flush acknowledges everything that is done.
func (a *acks) flush() { a.send(true) }

// send acknowledges messages up to the first that is not done, and reports whether later ones are done. With all it
// acknowledges those too, one by one. If the connection is gone the messages are redelivered, so errors are
// ignored.
func (a *acks) send(all bool) (more bool) {
	a.wire.hold()
	defer func() { _ = a.wire.release() }() // it closes a broken connection
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
