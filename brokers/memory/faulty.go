package memory

import (
	"context"
	"sync"
	"sync/atomic"

	"wirelab/brokers"
)

// Fault is what a faulty broker does to one message in [Faulty.Every].
type Fault string

// The faults.
const (
	Lose    Fault = "lose"
	Double  Fault = "double"
	Reorder Fault = "reorder" // one comes behind the next [heldFor]
	Corrupt Fault = "corrupt" // a bit of it is another
)

// heldFor is how many messages one that is turned comes behind. Two neighbours of
// different senders that are turned are in no wrong order: nobody said which is first.
const heldFor = 200

// Faults are all of them.
func Faults() []Fault { return []Fault{Lose, Double, Reorder, Corrupt} }

// Faulty does wrong by a broker's messages on their way to a subscriber, having
// acknowledged each: what a driver's account must see, whatever the load.
type Faulty struct {
	brokers.Broker
	Fault Fault
	Every uint64 // > 1
	// Done counts the faults done.
	Done  atomic.Uint64
	count atomic.Uint64
}

// Subscribe implements [brokers.Broker].
func (f *Faulty) Subscribe(ctx context.Context, s brokers.Subscription, handle func([]byte) bool) (brokers.Subscriber, error) {
	var mu sync.Mutex // guards held and behind, though one reader has no need of it
	var held []byte
	behind := 0
	return f.Broker.Subscribe(ctx, s, func(body []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		if f.count.Add(1)%f.Every == 0 {
			f.Done.Add(1)
			switch f.Fault {
			case Lose:
				return true
			case Double:
				handle(body)
			case Reorder:
				held, behind = append([]byte(nil), body...), 0
				return true
			case Corrupt:
				body = append([]byte(nil), body...)
				body[len(body)/2] ^= 1
			}
		}
		dealt := handle(body)
		if behind++; held != nil && behind == heldFor {
			handle(held)
			held = nil
		}
		return dealt
	})
}
