package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/experiment"
)

// child is a server or a driver on a host.
type child struct {
	fleet *Fleet
	id    string
	host  Info
	ready control.Ready

	beating sync.WaitGroup
	stop    context.CancelFunc // of the beats
	lost    chan struct{}      // closed when the host does not answer
	dead    error              // why; set before lost is closed

	mu     sync.Mutex // guards quiet
	quiet  time.Time  // no beat is sent before
	ending sync.Once
	ended  error
}

var _ experiment.Child = (*child)(nil)

// begin starts a child on a host, and shows it from then on that its runner lives.
func (f *Fleet) begin(ctx context.Context, host Info, r Role, s *Serve) (*child, error) {
	c := &child{fleet: f, id: newID(), host: host, lost: make(chan struct{})}
	order := start{ID: c.id, Role: r, Build: f.Build, Serve: s}
	a, err := f.request(ctx, host.Name, hostSubject(host.Name, "start"), order)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(a.Said, &c.ready); err != nil {
		return nil, fmt.Errorf("what a %s on host %s said first: %w", r, host.Name, err)
	}
	beats, stop := context.WithCancel(context.WithoutCancel(ctx)) // it lives until it is stopped
	c.stop = stop
	c.beating.Go(func() { c.beat(beats) })
	return c, nil
}

// beat shows the host that the runner lives, and finds out whether the host does.
func (c *child) beat(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if c.silent() {
			continue
		}
		asked, cancel := context.WithTimeout(ctx, Lease)
		_, err := c.fleet.exchange(asked, c.host.Name, childSubject(c.id, "beat"), nil)
		cancel()
		if err != nil && ctx.Err() == nil {
			c.dead = wirelab.Errorf(wirelab.Unavailable, "host %s was lost: %v", c.host.Name, err)
			close(c.lost)
			return
		}
	}
}

func (c *child) silent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.quiet)
}

// Ready implements [experiment.Child].
func (c *child) Ready() control.Ready { return c.ready }

// Ask implements [experiment.Child].
func (c *child) Ask(ctx context.Context, order control.Order) (reply control.Reply, err error) {
	return c.ask(ctx, order, 0)
}

// ask gives an order. For so long nothing else is sent to the child.
func (c *child) ask(ctx context.Context, order control.Order, quiet time.Duration) (reply control.Reply, err error) {
	text, err := json.Marshal(order)
	if err != nil {
		return reply, err
	}
	c.mu.Lock()
	c.quiet = time.Now().Add(quiet)
	c.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := make(chan struct{})
	defer close(over)
	go func() { // it ends with this call
		select {
		case <-c.lost:
			cancel(c.dead)
		case <-over:
		}
	}()
	a, err := c.fleet.request(ctx, c.host.Name, childSubject(c.id, "ask"), ask{Order: text, Quiet: quiet})
	if err != nil {
		return reply, err
	}
	if err := json.Unmarshal(a.Said, &reply); err != nil {
		return reply, fmt.Errorf("a reply from host %s: %w", c.host.Name, err)
	}
	return reply, nil
}

// CPU implements [experiment.Child]: as the kernel of the host tells it.
func (c *child) CPU() (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Lease)
	defer cancel()
	a, err := c.fleet.exchange(ctx, c.host.Name, childSubject(c.id, "cpu"), nil)
	return a.CPU, err
}

// Kill implements [experiment.Child].
func (c *child) Kill() { c.end(killWord) }

// Stop implements [experiment.Child].
func (c *child) Stop() error {
	c.end("")
	return c.ended
}

// end stops the child once. A host that is lost kills it by itself.
func (c *child) end(how string) {
	c.ending.Do(func() {
		limit := stopTime
		select {
		case <-c.lost:
			limit = Lease
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		_, c.ended = c.fleet.exchange(ctx, c.host.Name, childSubject(c.id, "stop"), []byte(how))
		c.stop()
		c.beating.Wait()
		if c.dead != nil {
			c.ended = c.dead
		}
		if how == killWord && errors.Is(c.ended, context.DeadlineExceeded) {
			c.ended = fmt.Errorf("host %s does not say that the child has ended: %w", c.host.Name, c.ended)
		}
	})
}
