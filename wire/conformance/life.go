package conformance

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"

	"wirelab"
)

// long is a drain time beyond any check's patience: a stop that takes it waited for nothing.
const long = 10 * time.Minute

// drains checks, for each operation, that a stop lets calls in flight finish.
func (c *cell[S]) drains(r reporter) {
	for _, o := range c.live() {
		c.drainOf(r, o)
	}
}

func (c *cell[S]) drainOf(r reporter, o wirelab.Operation[S]) {
	h := newHeld()
	g := c.raise(r, c.workload.Hooked(wirelab.Hooks{Before: h.before}), setup{drain: long})
	if g == nil {
		return
	}
	defer g.lower(r)
	defer h.letGo()
	e, want, ok := c.drawn(r, o)
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
	g.server.stop()
	// A stream wire shows by closing its listener that the stop has begun. A
	// datagram wire needs its socket to drain, so there a short wait gives a
	// server that would cut the call the chance to be seen doing it.
	if c.binding.Protocol.Network == "udp" {
		within(h.ended, c.quiet)
	} else if _, ok := within(g.server.closed, c.patience); !ok {
		r.Errorf("%s: a stop does not close the listener while a call is in flight", o.Name)
	}
	h.letGo()
	got, ok := within(result, c.patience)
	if !ok {
		r.Errorf("%s in flight at a stop is never answered", o.Name)
		return
	}
	if fault := drainFault(got, want, slices.Contains(c.suite.Sequences, o.Name)); fault != "" {
		r.Errorf("%s: a stop cuts a call in flight: %s", o.Name, fault)
	}
	c.await(r, g.server)
}

// drainFault tells how the answer of an operation that was in flight at a stop
// is wrong; "" if it is not. See [Suite.Sequences].
func drainFault(got, want answer, sequence bool) string {
	if sequence && got.err != nil && got.err.Code == wirelab.Unavailable {
		return ""
	}
	return differ(got, want)
}

// cuts checks that a stop does not wait for ever: after the drain time the
// call in flight loses its context, and Serve returns.
func (c *cell[S]) cuts(r reporter) {
	o, ok := c.simplest()
	if !ok {
		return
	}
	h := newHeld()
	g := c.raise(r, c.workload.Hooked(wirelab.Hooks{Before: h.before}), setup{drain: c.quiet})
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
	g.server.stop()
	if _, ok := within(h.ended, c.patience); !ok {
		r.Errorf("%s outlives the drain time of its server: its context is open %v after a drain of %v", o.Name,
			c.patience,
			c.quiet)
		return
	}
	c.await(r, g.server)
	got, ok := within(result, c.patience)
	switch {
	case !ok:
		r.Errorf("%s: the caller cut by a stop still waits", o.Name)
	case got.err == nil:
		r.Errorf("%s: a call cut by a stop is a success: %s", o.Name, short(got.String()))
	case got.err.Code != wirelab.Unavailable && got.err.Code != wirelab.Canceled:
		r.Errorf("%s: a call cut by a stop fails with %v, want the code unavailable or canceled", o.Name, got.err)
	}
}

// restarts checks that a stop with an idle client connected waits for nothing, that calls fail with the right
// code while the server is away, and that the same stub works once it is back. A port that was given up may be
// another process's the next moment, so over TCP the stub's dialler receives what the kernel says of a port
// that nothing listens on, and then of the new server's.
func (c *cell[S]) restarts(r reporter) {
	o, ok := c.simplest()
	if !ok {
		return
	}
	g := c.raise(r, c.workload.New(), setup{drain: long})
	if g == nil {
		return
	}
	defer g.lower(r)
	e, want, ok := c.drawn(r, o)
	if !ok {
		return
	}
	if fault := differ(g.ask(e), want); fault != "" {
		r.Errorf("%s before the restart: %s", o.Name, fault)
	}
	g.server.stop()
	c.await(r, g.server)
	again := g.server.address
	if c.binding.Protocol.Network != "udp" {
		select {
		case <-g.server.closed:
		default:
			r.Errorf("the port is still open after Serve returned")
		}
		g.goTo(nowhere)
		again = "127.0.0.1:0"
	}
	// A separate bound: a datagram wire learns of an absent peer by waiting.
	away, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	c.exchanges.Add(1)
	got := ask(away, e, g.stub)
	cancel()
	if got.err == nil || got.err.Code != wirelab.Unavailable && got.err.Code != wirelab.DeadlineExceeded {
		r.Errorf("%s without a server answers %s, want the code unavailable", o.Name, short(got.String()))
	}
	run, err := c.serveAgain(g.tape, again)
	if err != nil {
		r.Errorf("the server cannot listen again: %v", err)
		return
	}
	g.server = run
	g.goTo(run.address)
	c.reconnects(r, g, o.Name, e, want)
}

// serveAgain starts a server at an address that may be another's for a while: that of a
// datagram wire is given up in between.
func (c *cell[S]) serveAgain(tape *tape, address string) (run *running, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.patience)
	defer cancel()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		run, err = c.serve(c.workload.New(), tape, address, setup{})
		if !errors.Is(err, syscall.EADDRINUSE) {
			return run, err
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// reconnects asks until the stub has found its server again.
func (c *cell[S]) reconnects(r reporter, g *rig[S], name string, e wirelab.Exchange[S], want answer) {
	ctx, cancel := context.WithTimeout(context.Background(), c.patience)
	defer cancel()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		c.exchanges.Add(1)
		got := ask(ctx, e, g.stub)
		if got.err == nil || got.err.Code != wirelab.Unavailable {
			if fault := differ(got, want); fault != "" {
				r.Errorf("%s after a restart: %s", name, fault)
			}
			return
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			r.Errorf("no reconnect: %s still fails %v after the server is back: %v", name, c.patience, got.err)
			return
		}
	}
}
