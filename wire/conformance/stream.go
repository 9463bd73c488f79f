package conformance

import (
	"context"
	"sync/atomic"
	"time"

	"wirelab"
)

// heldItems is how many items of [wirelab.ItemSize] a server and the buffers behind it
// may take for a reader that has stopped: 64 MiB, above what kernels and the
// largest stream windows hold (16 MiB), far below what "for ever" means.
const heldItems = 64 << 20 / wirelab.ItemSize

// itemsRead is how many items a reader takes before it stops.
const itemsRead = 3

// source counts the items of endless streams, and tells when one ended.
type source struct {
	items atomic.Int64
	ended chan struct{}
}

// hooks returns the hooks of an endless stream that gives up, with an error no
// contract has, once it has clearly been read by a buffer without a bound.
func (s *source) hooks(operation string) wirelab.Hooks {
	s.ended = make(chan struct{}, 16)
	return wirelab.Hooks{
		Item: func(ctx context.Context) error {
			if s.items.Add(1) > 2*heldItems {
				return wirelab.Errorf(wirelab.Internal, "endless stream was read to its end")
			}
			return ctx.Err()
		},
		After: func(name string) {
			if name == operation {
				s.ended <- struct{}{}
			}
		},
	}
}

// streams tells whether the cell has a server stream to check.
func (c *cell[S]) streams() bool {
	b := c.suite.Behaviour
	return b.Read != nil && b.Stream != "" && !c.hole(b.Stream)
}

// slowReader checks that a stream whose reader stopped is bounded. Either the
// server stops too, or, where the wire carries a reply only whole, the server
// refuses to collect without end.
func (c *cell[S]) slowReader(r reporter) {
	if !c.streams() {
		return
	}
	var s source
	g := c.raise(r, c.workload.Hooked(s.hooks(c.suite.Behaviour.Stream)), setup{})
	if g == nil {
		return
	}
	defer g.lower(r)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stopped, goOn, result := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	read := 0
	c.exchanges.Add(1)
	go func() {
		result <- c.suite.Behaviour.Read(ctx, g.stub, func() bool {
			if read++; read == itemsRead {
				close(stopped)
				<-goOn
			}
			return read < 2*itemsRead
		})
	}()
	select {
	case <-stopped:
	case err := <-result:
		if err == nil || wirelab.CodeOf(err) != wirelab.ResourceExhausted || s.items.Load() > heldItems {
			r.Errorf("an endless stream ends after %d items with %v; want items as they come, or resource_exhausted "+
				"before %d",
				s.items.Load(), err, heldItems)
		}
		return
	case <-time.After(c.patience):
		r.Errorf("%d items of an endless stream in %v, and none reached the reader", s.items.Load(), c.patience)
		cancel()
		close(goOn)
		within(result, c.patience)
		return
	}
	if n := c.stall(&s); n > heldItems {
		r.Errorf("a reader that stopped is not bounded: the server produced %d items of %d bytes for it", n,
			wirelab.ItemSize)
	}
	close(goOn)
	switch err, ok := within(result, c.patience); {
	case !ok:
		r.Errorf("the reader went on, and its stream has not ended %v later", c.patience)
	case err != nil:
		r.Errorf("the reader went on, and its stream failed: %v", err)
	}
}

// stall waits until the source has stood still for c.quiet, or passed its
// bound, and returns how many items it made. Too short a wait could only miss
// a fault, never invent one.
func (c *cell[S]) stall(s *source) int64 {
	last := int64(-1)
	ticker := time.NewTicker(c.quiet)
	defer ticker.Stop()
	for n := s.items.Load(); n != last && n <= heldItems; n = s.items.Load() {
		last = n
		<-ticker.C
	}
	return s.items.Load()
}

// earlyBreak checks that a reader who leaves ends the stream in the service,
// that the next call still works, and that a panic inside a stream is a failed
// call and no short list.
func (c *cell[S]) earlyBreak(r reporter) {
	if !c.streams() {
		return
	}
	var s source
	hooks := s.hooks(c.suite.Behaviour.Stream)
	item := hooks.Item
	var armed atomic.Bool
	hooks.Item = func(ctx context.Context) error {
		if armed.Load() && s.items.Load() > itemsRead {
			panic(injectedPanic)
		}
		return item(ctx)
	}
	g := c.raise(r, c.workload.Hooked(hooks), setup{})
	if g == nil {
		return
	}
	defer g.lower(r)
	read := 0
	leave := func() bool { read++; return read < itemsRead }
	ctx, cancel := g.call()
	defer cancel()
	c.exchanges.Add(1)
	err := c.suite.Behaviour.Read(ctx, g.stub, leave)
	if err != nil && wirelab.CodeOf(err) != wirelab.ResourceExhausted {
		r.Errorf("reading %d items of an endless stream: %v", itemsRead, err)
	}
	if _, ok := within(s.ended, c.patience); !ok {
		r.Errorf("the reader left after %d items, and the service's stream went on for %d and has not ended %v later",
			itemsRead, s.items.Load(), c.patience)
		return
	}
	if n := s.items.Load(); n > heldItems {
		r.Errorf("the reader left after %d items, and the service's stream went on for %d", itemsRead, n)
	}
	if o, ok := c.simplest(); ok && o.Name != c.suite.Behaviour.Stream {
		if e, want, ok := c.drawn(r, o); ok {
			if fault := differ(g.ask(e), want); fault != "" {
				r.Errorf("after a reader left its stream, %s: %s", o.Name, fault)
			}
		}
	}
	s.items.Store(0)
	armed.Store(true)
	c.exchanges.Add(1)
	err = c.suite.Behaviour.Read(ctx, g.stub, func() bool { return true })
	switch {
	case err == nil:
		r.Errorf("short stream as success: the service panicked after %d items, and the reader got a normal end",
			itemsRead)
	case wirelab.CodeOf(err) != wirelab.Internal:
		r.Errorf("the service panicked after %d items: the reader got %v, want the code internal", itemsRead, err)
	}
}
