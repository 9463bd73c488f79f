package grpc

import (
	"context"
	"math"
	"sync"

	"wirelab/hermes/broker"
	pb "wirelab/hermes/gen"
)

// credit is what a subscriber lets come. It takes it from the client's frames and gives it
// to the one goroutine that delivers.
type credit struct {
	mu       sync.Mutex // guards all below
	messages purse
	bytes    purse
	more     chan struct{} // 1: some was added
}

// unlimited is a credit that was never given, and so does not count.
const unlimited = math.MaxInt

// purse is one kind of credit. Invariant: left <= math.MaxInt64, and 0 while not given.
type purse struct {
	given bool
	left  int64 // below 0: the last message went beyond it
}

func newCredit() credit { return credit{more: make(chan struct{}, 1)} }

func (p *purse) add(n uint64) {
	if n == 0 {
		return
	}
	p.given = true
	p.left += int64(min(n, uint64(math.MaxInt64-max(p.left, 0))))
}

// room is how much may come: all, where it was never given.
func (p *purse) room() int {
	if !p.given {
		return unlimited
	}
	return int(max(p.left, 0))
}

func (p *purse) spend(n int) {
	if p.given {
		p.left -= int64(n)
	}
}

func (c *credit) add(more *pb.Credit) {
	c.mu.Lock()
	c.messages.add(uint64(more.GetMessages()))
	c.bytes.add(more.GetBytes())
	c.mu.Unlock()
	signal(c.more)
}

func (c *credit) spend(messages, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages.spend(messages)
	c.bytes.spend(bytes)
}

// wait waits until a message may come, and says how much there is room for.
func (c *credit) wait(ctx context.Context) (broker.Room, error) {
	for {
		c.mu.Lock()
		messages, bytes := c.messages.room(), c.bytes.room()
		any := c.messages.given || c.bytes.given
		c.mu.Unlock()
		if any && messages > 0 && bytes > 0 {
			return broker.Room{Messages: messages, Bytes: min(bytes, deliveryBytes)}, nil
		}
		select {
		case <-c.more:
		case <-ctx.Done():
			return broker.Room{}, context.Cause(ctx)
		}
	}
}
