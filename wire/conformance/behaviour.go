package conformance

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wirelab"
)

// drawn returns an exchange for checks whose request does not matter, and what
// the reference answers to it.
func (c *cell[S]) drawn(r reporter, o wirelab.Operation[S]) (wirelab.Exchange[S], answer, bool) {
	e, err := o.Draw("", rand.New(rand.NewPCG(c.seed, 6)))
	if err != nil {
		r.Errorf("draw: %v", err)
		return e, answer{}, false
	}
	return e, ask(context.Background(), e, c.workload.New()), true
}

// within waits for an event that must happen.
func within[T any](c <-chan T, patience time.Duration) (v T, ok bool) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case v = <-c:
		return v, true
	case <-timer.C:
		return v, false
	}
}

// held is a service whose calls wait inside it until their context ends, or
// until they are let go.
type held struct {
	entered chan arrival // gets each call
	ended   chan error   // gets the context's error when it ends
	release chan struct{}
	once    sync.Once // closes release
}

// arrival is a call in the service, and when it was there.
type arrival struct {
	ctx context.Context //nolint:containedctx // it is the object of the check
	at  time.Time
}

// letGo lets every call go on, those to come too. It may be called again.
func (h *held) letGo() { h.once.Do(func() { close(h.release) }) }

func newHeld() *held {
	const room = 64 // more calls than any check makes, so that the service never waits for the check
	return &held{entered: make(chan arrival, room), ended: make(chan error, room), release: make(chan struct{})}
}

func (h *held) before(ctx context.Context, _ string) error {
	h.entered <- arrival{ctx, time.Now()}
	select {
	case <-ctx.Done():
		h.ended <- ctx.Err()
		return ctx.Err()
	case <-h.release:
		return nil
	}
}

// deadlineSlack is what rounding may do to a deadline: wires carry the time
// left, whole milliseconds at the coarsest.
const deadlineSlack = 20 * time.Millisecond

// deadline checks, for each operation, that the caller's deadline reaches the service's context and ends it,
// and that the caller is informed. It asks of all operations at once, each with its own server, since each
// waits.
func (c *cell[S]) deadline(r reporter) {
	var all sync.WaitGroup
	for _, o := range c.live() {
		all.Go(func() { c.deadlineOf(r, o) })
	}
	all.Wait()
}

func (c *cell[S]) deadlineOf(r reporter, o wirelab.Operation[S]) {
	const last = 20 * time.Second
	// A slow machine may use a deadline up before the service is reached, so each attempt allows more, and has its
	// own server: a late part of the one before does not come to it.
	for after := 200 * time.Millisecond; after <= last; after *= 4 {
		if c.deadlineAfter(r, o, after) {
			return
		}
	}
	r.Errorf("%s did not reach the service within a deadline of up to %v", o.Name, last)
}

// deadlineAfter makes one call that may take so long, and tells whether there is
// no more to learn: it reached the service, or something is wrong.
func (c *cell[S]) deadlineAfter(r reporter, o wirelab.Operation[S], after time.Duration) bool {
	h := newHeld()
	g := c.raise(r, c.workload.Hooked(wirelab.Hooks{Before: h.before}), setup{})
	if g == nil {
		return true
	}
	defer g.lower(r)
	defer h.letGo()
	e, _, ok := c.drawn(r, o)
	if !ok {
		return true
	}
	result := make(chan answer, 1)
	ctx, cancel := context.WithTimeout(context.Background(), after)
	defer cancel()
	c.exchanges.Add(1)
	go func() { result <- ask(ctx, e, g.stub) }()
	got, ok := within(result, after+c.patience)
	if !ok {
		r.Errorf("%s ignores its deadline: the caller still waits %v after it", o.Name, c.patience)
		return true
	}
	if got.err == nil || got.err.Code != wirelab.DeadlineExceeded {
		r.Errorf("%s past its deadline answers %s, want the code deadline_exceeded", o.Name, short(got.String()))
	}
	select {
	case inside := <-h.entered:
		c.judgeDeadline(ctx, after, inside, r, o.Name, h)
		return true
	default:
		return false
	}
}

// judgeDeadline compares the caller's context, which allowed so long, with the
// service's. How long the call was on its way does not matter: it makes the
// service's deadline later, but never leaves a call in the service more time
// than the caller allowed in all.
func (c *cell[S]) judgeDeadline(
	outside context.Context, allowed time.Duration, inside arrival, r reporter, name string, h *held,
) {
	want, _ := outside.Deadline()
	got, ok := inside.ctx.Deadline()
	switch left := got.Sub(inside.at); {
	case !ok:
		r.Errorf("%s: the deadline is lost on the way: the service's context has none", name)
	case want.Sub(got) > deadlineSlack:
		r.Errorf("%s: the service's deadline is %v before the caller's", name, want.Sub(got))
	case left > allowed+deadlineSlack:
		r.Errorf("%s: the service has %v left, of the caller's %v", name, left, allowed)
	}
	if _, ok := within(h.ended, c.patience); !ok {
		r.Errorf("%s: the service's context is still open %v after the deadline", name, c.patience)
	}
}

// cancel checks, for each operation, that a caller who gives up stops the service's work.
func (c *cell[S]) cancel(r reporter) {
	for _, o := range c.live() {
		if c.cancelOf(r, o); r.Failed() {
			return // the others would say the same, each after as long a wait
		}
	}
}

func (c *cell[S]) cancelOf(r reporter, o wirelab.Operation[S]) {
	h := newHeld()
	g := c.raise(r, c.workload.Hooked(wirelab.Hooks{Before: h.before}), setup{})
	if g == nil {
		return
	}
	defer g.lower(r)
	defer h.letGo()
	e, _, ok := c.drawn(r, o)
	if !ok {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	result := make(chan answer, 1)
	c.exchanges.Add(1)
	go func() { result <- ask(ctx, e, g.stub) }()
	if _, ok := within(h.entered, c.patience); !ok {
		r.Errorf("%s did not reach the service in %v", o.Name, c.patience)
		return
	}
	cancel()
	got, ok := within(result, c.patience)
	if !ok {
		r.Errorf("%s ignores cancel: the caller still waits %v after it", o.Name, c.patience)
		return
	}
	if got.err == nil || got.err.Code != wirelab.Canceled {
		r.Errorf("%s after cancel answers %s, want the code canceled", o.Name, short(got.String()))
	}
	if _, ok := within(h.ended, c.patience); !ok {
		r.Errorf("%s: cancel does not stop the work: the service's context is still open %v after it", o.Name,
			c.patience)
	}
}

// injectedPanic is what the service panics with. If a test run dies of it, the
// server under test does not recover, and the stack says which.
const injectedPanic = "injected by the conformance suite: a server must recover from this"

// panics checks that a panic in the service costs its call and nothing else,
// and tells the caller nothing.
func (c *cell[S]) panics(r reporter) {
	var armed atomic.Bool
	g := c.raise(r, c.workload.Hooked(wirelab.Hooks{Before: func(context.Context, string) error {
		if armed.Load() {
			panic(injectedPanic)
		}
		return nil
	}}), setup{})
	if g == nil {
		return
	}
	defer g.lower(r)
	for _, o := range c.live() {
		e, want, ok := c.drawn(r, o)
		if !ok {
			return
		}
		armed.Store(true)
		got := g.ask(e)
		armed.Store(false)
		c.judgePanic(r, o.Name, got)
		opened := g.tape.opened()
		if fault := differ(g.ask(e), want); fault != "" {
			r.Errorf("%s: a panic in the service harms the next call: %s", o.Name, fault)
		}
		if c.binding.Protocol.Multiplexed && g.tape.opened() > opened {
			r.Errorf("%s: a panic in the service cost the connection, and so every other call on it", o.Name)
		}
	}
}

func (c *cell[S]) judgePanic(r reporter, name string, got answer) {
	switch {
	case got.err == nil || got.err.Code != wirelab.Internal:
		r.Errorf("%s: a panic in the service answers %s, want the code internal", name, short(got.String()))
	case strings.Contains(got.err.Message, "injected"):
		r.Errorf("%s: the caller is shown what the service panicked with: %s", name, got.err.Message)
	}
}
