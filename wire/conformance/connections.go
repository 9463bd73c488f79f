package conformance

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"wirelab"
)

// concurrentCalls is how many calls are in flight at once in the connections
// check; a multiplexed wire carries them on one connection (docs/origins.md R4).
const concurrentCalls = 16

// pooled is how many connections a wire that is not multiplexed is given, to
// see that it uses them all and opens no more.
const pooled = 4

// errNotTogether ends the calls of a group that did not come together.
var errNotTogether = errors.New("conformance: calls were not in flight together")

// gathering holds calls in the service until size of them are there, then
// lets them go together. It proves that they were in flight at once without
// asking how long anything took.
type gathering struct {
	size     int
	patience time.Duration

	mu      sync.Mutex // guards all below
	waiting int
	most    int           // that ever waited together
	gate    chan struct{} // of the group that gathers now
}

func newGathering(size int, patience time.Duration) *gathering {
	return &gathering{size: size, patience: patience, gate: make(chan struct{})}
}

func (g *gathering) join(ctx context.Context) error {
	g.mu.Lock()
	gate := g.gate
	g.waiting++
	g.most = max(g.most, g.waiting)
	if g.waiting == g.size {
		g.waiting = 0
		g.gate = make(chan struct{})
		close(gate)
	}
	g.mu.Unlock()
	timer := time.NewTimer(g.patience)
	defer timer.Stop()
	var err error
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = errNotTogether
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gate == gate { // else the group came together just now
		g.waiting--
	}
	return err
}

// came is how many ever waited together. A call that its caller gave up may
// still be in the service.
func (g *gathering) came() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most
}

// connections checks how many connections calls in flight take, that calls do
// run at once, and that connections are kept.
func (c *cell[S]) connections(r reporter) {
	o, ok := c.simplest()
	if !ok {
		return
	}
	together, allowed, s := concurrentCalls, 1, setup{dialing: c.quiet}
	if !c.binding.Protocol.Multiplexed {
		together, allowed, s.connections = pooled, pooled, pooled
	}
	gather := newGathering(together, c.patience/4)
	g := c.raise(r, c.workload.Hooked(wirelab.Hooks{
		Before: func(ctx context.Context, _ string) error { return gather.join(ctx) },
	}), s)
	if g == nil {
		return
	}
	defer g.lower(r)
	calls := 0
	for range 3 {
		if !c.burst(r, g, o, gather) {
			return
		}
		calls += concurrentCalls
		if opened := max(g.tape.opened(), g.tape.throughHooks()); opened > allowed {
			r.Errorf("opened %d connections for %d calls, %d at once; %d allowed (multiplexed %v)",
				opened, calls, concurrentCalls, allowed, c.binding.Protocol.Multiplexed)
			return
		}
	}
}

// burst makes concurrentCalls calls at once.
func (c *cell[S]) burst(r reporter, g *rig[S], o wirelab.Operation[S], gather *gathering) bool {
	random := rand.New(rand.NewPCG(c.seed, 5))
	var wg sync.WaitGroup
	var missed atomic.Int64 // calls that failed unlike the reference
	for range concurrentCalls {
		e, err := o.Draw("", random)
		if err != nil {
			r.Errorf("draw: %v", err)
			return false
		}
		want := ask(context.Background(), e, c.workload.New())
		wg.Go(func() {
			if got := g.ask(e); got.err != nil && (want.err == nil || got.err.Code != want.err.Code) &&
				missed.Add(1) == 1 {
				r.Errorf("a call among %d at once: %v", concurrentCalls, got.err)
			}
		})
	}
	wg.Wait()
	if missed.Load() > 0 {
		r.Errorf("%d of %d calls at once failed; at most %d came together in the service, want %d",
			missed.Load(), concurrentCalls, gather.came(), gather.size)
	}
	return missed.Load() == 0
}
