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
	Reorder Fault = "reorder" // one comes behind the next of its sender
	Corrupt Fault = "corrupt" // a bit of it is another
)

// Faults are all of them.
func Faults() []Fault { return []Fault{Lose, Double, Reorder, Corrupt} }

// Faulty does wrong by a broker's messages on their way to a subscriber, having
// acknowledged each: what a driver's account must see, whatever the load.
type Faulty struct {
	broker.Broker
	Fault Fault
	Every uint64 // > 1
	// Sender tells by a message whose it is, for [Reorder]: two of different senders
	// that are turned are in no wrong order, since nobody said which is first.
	Sender func(body []byte) uint64
	// Done counts the faults done.
	Done  atomic.Uint64
	count atomic.Uint64
}

// Subscribe implements [broker.Broker].
func (f *Faulty) Subscribe(
	ctx context.Context, s broker.Subscription, handle broker.Handler,
) (broker.Subscriber, error) {
	var mu sync.Mutex // guards held, though one reader has no need of it
	var held *broker.Delivery
	return f.Broker.Subscribe(ctx, s, func(ctx context.Context, d broker.Delivery) broker.Disposition {
		mu.Lock()
		defer mu.Unlock()
		// While one is held back no other is: given out now it might yet come in order.
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
		// The same one again, which another fault may make of it, is no later one.
		if held != nil && f.Sender(held.Body) == f.Sender(d.Body) && !bytes.Equal(held.Body, d.Body) {
			handle(ctx, *held)
			held = nil
		}
		return said
	})
}
