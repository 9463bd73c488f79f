// Package cluster holds servers of one kind that run together, here as processes of this machine: it ends one or
// all, pauses one, starts one again, counts what they used, and stops them in the order that the kind needs. It must
// not know any kind, how a server is started for the first time, or what messages it carries.
package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Server is one server, which keeps its address and its data when it is started again. Servers of packages rabbitmq
// and nats are such, and nodes of Hermes by an adapter, since Hermes does not know this package.
type Server interface {
	PID() int              // 0: it does not run
	Done() <-chan struct{} // closed when what runs has ended, by whichever cause; nil: it does not run
	// Err is nil while the server runs and after Kill and Stop; else it tells how the server ended.
	Err() error
	URL() string       // as a client takes it; it may hold a password
	Directory() string // of its data
	// Kill ends the server as a crash does, and returns when it is gone.
	Kill(ctx context.Context) error
	// Restart stops the server as for an update if it runs, starts it on its data, and returns when it can be used.
	Restart(ctx context.Context) error
	// Stop stops the server for good. Further calls do nothing.
	Stop(ctx context.Context) error
}

// Healer is a server that needs less than a restart after its disk was full.
type Healer interface {
	// Heal makes the server work again, and returns when it can be used.
	Heal(ctx context.Context) error
}

// Order is in which order the servers of a cluster are stopped.
type Order int

const (
	// LastFirst is for servers that need those that were started before them.
	LastFirst Order = iota
	// Together is for servers that hand over to each other as long as there are others.
	Together
)

// Cluster is servers of one kind. Its methods may be called by several goroutines once all servers are added.
type Cluster[S Server] struct {
	order   Order
	servers []S
}

// New returns a cluster of servers that run. It may be empty: see [Cluster.Add].
func New[S Server](order Order, servers ...S) *Cluster[S] {
	return &Cluster[S]{order: order, servers: servers}
}

// Add adds a server that was started. Not while other methods run.
func (c *Cluster[S]) Add(s S) { c.servers = append(c.servers, s) }

// Nodes are the servers, in the order of their start.
func (c *Cluster[S]) Nodes() []S { return c.servers }

// URLs are where clients reach the servers, in the same order.
func (c *Cluster[S]) URLs() []string {
	all := make([]string, len(c.servers))
	for i, s := range c.servers {
		all[i] = s.URL()
	}
	return all
}

// Kill ends every server as a crash does, one after the other. One that has ended already is no error.
func (c *Cluster[S]) Kill(ctx context.Context) {
	for _, s := range c.servers {
		_ = s.Kill(ctx) // it has ended, or Stop tells
	}
}

// Stop stops all servers for good. The error is of those that did not stop well; the others are stopped.
func (c *Cluster[S]) Stop(ctx context.Context) error {
	failed := make([]error, len(c.servers))
	if c.order == LastFirst {
		for i, s := range slices.Backward(c.servers) {
			failed[i] = s.Stop(ctx)
		}
		return errors.Join(failed...)
	}
	var stopping sync.WaitGroup
	for i, s := range c.servers {
		stopping.Go(func() { failed[i] = s.Stop(ctx) })
	}
	stopping.Wait()
	return errors.Join(failed...)
}
