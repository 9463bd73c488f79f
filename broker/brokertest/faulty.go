package brokertest

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"

	"wirelab/broker"
)

// Fault is what a faulty broker does to one message in [Faulty.Every].
type Fault string

// The faults.
const (
	Lose    Fault = "lose"
	Double  Fault = "double"
	Reorder Fault = "reorder" // a message is delivered after the next one of its sender
	Corrupt Fault = "corrupt" // one bit of it is flipped
)

// Faults returns all faults.
func Faults() []Fault { return []Fault{Lose, Double, Reorder, Corrupt} }

// Faulty damages the messages of a broker on their way to a subscriber, after each was acknowledged. A driver's
// account must detect every fault, whatever the load.
type Faulty struct {
	broker.Broker
	Fault Fault
	Every uint64 // > 1
	// Sender returns the sender of a message, for [Reorder]. Two swapped messages of different senders are in no
	// wrong order, since no order between senders is promised.
	Sender func(body []byte) uint64
	// Done counts the injected faults.
	Done  atomic.Uint64
	count atomic.Uint64
}

// Subscribe implements [broker.Broker].
func (f *Faulty) Subscribe(
	ctx context.Context, s broker.Subscription, handle broker.Handler,
) (broker.Subscriber, error) {
	var mu sync.Mutex // guards held, although a single reader does not need it
	var held *broker.Delivery
	return f.Broker.Subscribe(ctx, s, func(ctx context.Context, d broker.Delivery) broker.Disposition {
		mu.Lock()
		defer mu.Unlock()
		// Only one message is held back at a time: one released now might still arrive in order.
		if f.count.Add(1)%f.Every == 0 && held == nil {
			f.Done.Add(1)
			switch f.Fault {
			case Lose:
				return broker.Ack()
			case Double:
				handle(ctx, d)
			case Reorder:
				later := d
				later.Body = bytes.Clone(d.Body)
				held = &later
				return broker.Ack()
			case Corrupt:
				d.Body = bytes.Clone(d.Body)
				d.Body[len(d.Body)/2] ^= 1
			}
		}
		said := handle(ctx, d)
		// A duplicate of the held message, from another fault, is not a later message.
		if held != nil && f.Sender(held.Body) == f.Sender(d.Body) && !bytes.Equal(held.Body, d.Body) {
			handle(ctx, *held)
			held = nil
		}
		return said
	})
}
