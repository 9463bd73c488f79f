// Package together has one act done for several tests that run at once: a server that takes seconds to start is
// killed once for all who want it killed. It knows nothing of the work. It is linked into tests only.
package together

import (
	"context"
	"flag"
	"sync"
)

// Party is the tests that share acts. Each of them does the same acts in the same
// order, and leaves at its end.
type Party struct {
	mu      sync.Mutex // guards all below
	size    int
	waiting int
	next    *act
}

// act is done when all have come to it.
type act struct {
	run  func() error // that of who came last
	err  error
	done chan struct{}
}

// New makes a party of so many tests.
func New(size int) *Party { return &Party{size: size, next: newAct()} }

func newAct() *act { return &act{done: make(chan struct{})} }

// Possible tells whether so many parallel tests run at once, as -parallel has it:
// they would wait for one another for ever else.
func Possible(size int) bool {
	at := flag.Lookup("test.parallel")
	if at == nil {
		return false
	}
	parallel, ok := at.Value.(flag.Getter).Get().(int)
	return ok && parallel >= size
}

// Do waits until all who have not left have come to this act, has one of them do
// it, and returns to each what came of it, or that ctx ended first.
func (p *Party) Do(ctx context.Context, do func(context.Context) error) error {
	p.mu.Lock()
	a := p.next
	a.run = func() error { return do(context.WithoutCancel(ctx)) }
	p.waiting++
	p.start()
	p.mu.Unlock()
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Leave is called by each test once, at its end: no one waits for it any more.
func (p *Party) Leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size--
	p.start()
}

// start begins the act if all are there. p.mu is held.
func (p *Party) start() {
	if p.waiting == 0 || p.waiting < p.size {
		return
	}
	a := p.next
	p.next, p.waiting = newAct(), 0
	go func() {
		a.err = a.run()
		close(a.done)
	}()
}
