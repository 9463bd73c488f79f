package stack

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"wirelab"
	"wirelab/internal/daemon"
	"wirelab/internal/process"
	"wirelab/lab/control"
	"wirelab/lab/target"
	"wirelab/pipeline/health"
)

// Part is a running component of the pipeline, as it may be shown.
type Part struct {
	Name      string            `json:"name"`
	PID       int               `json:"pid,omitempty"` // 0: it does not run
	Endpoints map[string]string `json:"doors"`         // addresses by what they are for
	// About names the server behind it, with its version: "PostgreSQL 15.18".
	About string `json:"about,omitempty"`
	// Health and Journal are URLs; "" where it has none.
	Health  string `json:"health,omitempty"`
	Journal string `json:"journal,omitempty"`
}

// piece is a component of a stack. It can be started again at the same addresses, and ended in two ways. One goroutine
// at a time starts and ends it.
type piece interface {
	start(ctx context.Context) error
	kill(ctx context.Context) error // as kill -9 does
	stop(ctx context.Context) error // gracefully
	part() Part
	over() <-chan struct{} // closed when it has ended; nil: it does not run
	ended() error          // how it ended by itself; nil: well
	close(ctx context.Context) error
}

// child is a process of this very program.
type child struct {
	name    string
	program string
	env     []string
	cpus    []int
	stderr  io.Writer // nil: none
	// configure returns its configuration, made from the addresses of the components before it.
	configure func() Config
	endpoints []string // that it has
	healthy   string   // the endpoint of its health and journal; "": none

	now daemon.Run[*target.Process]

	mu    sync.Mutex // guards known
	known Part
}

// startLimit is how long a part may take to be there and to be well.
const startLimit = 120 * time.Second

func (c *child) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit,
		wirelab.Errorf(wirelab.Unavailable, "it was not there after %v", startLimit))
	defer cancel()
	if err := c.stop(ctx); err != nil {
		return err
	}
	config := c.configure()
	c.mu.Lock()
	listen := map[string]string{}
	for _, endpoint := range c.endpoints {
		switch {
		case c.known.Endpoints[endpoint] != "": // those that the others know
			listen[endpoint] = c.known.Endpoints[endpoint]
		case config.Listen[endpoint] != "":
			listen[endpoint] = config.Listen[endpoint]
		default:
			listen[endpoint] = "127.0.0.1:0"
		}
	}
	config.Listen = listen
	c.mu.Unlock()
	setting, err := config.text()
	if err != nil {
		return err
	}
	started, err := target.Start(ctx, process.Command{
		Name: c.name, Path: c.program, Args: []string{"part", c.name}, Env: append(slices.Clone(c.env), setting),
		CPUs: c.cpus, Stderr: c.stderr,
	})
	if err != nil {
		return err
	}
	c.now.Begin(started)
	c.mu.Lock()
	c.known = c.describe(started.Ready())
	url := c.known.Health
	c.mu.Unlock()
	if url == "" {
		return nil
	}
	if err := await(ctx, url, started.Done()); err != nil {
		if end := c.ended(); end != nil {
			return end
		}
		return fmt.Errorf("%s runs, but is not well: %w", c.name, err)
	}
	return nil
}

// describe is what can be shown of a child that said it was ready.
func (c *child) describe(ready control.Ready) Part {
	p := Part{Name: c.name, Endpoints: ready.Endpoints, About: ready.Database}
	if at := ready.Endpoints[c.healthy]; c.healthy != "" {
		p.Health, p.Journal = "http://"+at+"/health", "http://"+at+"/journal"
	}
	return p
}

// look is how often a part that is not well yet is asked again.
const look = 50 * time.Millisecond

// await asks for a part's health until it is well, or over. What was amiss when the
// time ran out says more than that it did, even if the last question found no answer.
func await(ctx context.Context, url string, over <-chan struct{}) error {
	var amiss error
	for {
		err := health.Ask(ctx, url)
		if err == nil {
			return nil
		}
		if wirelab.CodeOf(err) == wirelab.Unavailable {
			amiss = err
		}
		timer := time.NewTimer(look)
		select {
		case <-timer.C:
		case <-over:
			timer.Stop()
			return err
		case <-ctx.Done():
			timer.Stop()
			if amiss != nil {
				return amiss
			}
			return context.Cause(ctx)
		}
	}
}

func (c *child) kill(context.Context) error {
	if p := c.now.Take(); p != nil {
		p.Kill()
		_ = p.Stop() // tells that it was killed
	}
	return nil
}

func (c *child) stop(context.Context) error {
	if p := c.now.Take(); p != nil {
		if err := p.Stop(); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

func (c *child) close(ctx context.Context) error { return c.stop(ctx) }

func (c *child) over() <-chan struct{} { return c.now.Done() }

func (c *child) ended() error { return c.now.Err(c.name, daemon.NoWords) }

func (c *child) part() Part {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.known
	p.Name, p.Endpoints = c.name, maps.Clone(p.Endpoints)
	p.PID = c.now.PID()
	return p
}
