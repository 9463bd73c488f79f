// Package peertest is a network between nodes of one process that can be cut, for tests. A cut link behaves as
// after a pulled cable: nothing arrives, nothing is refused.
package peertest

import (
	"context"
	"net"
	"sync"
	"time"
)

// Network carries connections of nodes that dial each other by [Network.Dialer].
type Network struct {
	mu      sync.Mutex // guards all below
	cut     map[way]bool
	changed chan struct{} // closed and made anew at every change
}

// way is a direction.
type way struct{ from, to uint64 }

// New is a network on which every node reaches every other.
func New() *Network {
	return &Network{cut: map[way]bool{}, changed: make(chan struct{})}
}

// Cut lets nothing pass from one node to another, until Heal. Connections stay.
func (n *Network) Cut(from, to uint64) { n.set(way{from, to}, true) }

// Heal undoes Cut.
func (n *Network) Heal(from, to uint64) { n.set(way{from, to}, false) }

// Isolate cuts a node off from others, both ways; Rejoin undoes it.
func (n *Network) Isolate(node uint64, from ...uint64) {
	for _, other := range from {
		n.Cut(node, other)
		n.Cut(other, node)
	}
}

// Rejoin undoes Isolate.
func (n *Network) Rejoin(node uint64, from ...uint64) {
	for _, other := range from {
		n.Heal(node, other)
		n.Heal(other, node)
	}
}

func (n *Network) set(w way, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[w] = cut
	close(n.changed)
	n.changed = make(chan struct{})
}

// pass waits until a direction is open, or gives false when closed is.
func (n *Network) pass(w way, closed <-chan struct{}) bool {
	for {
		n.mu.Lock()
		cut, changed := n.cut[w], n.changed
		n.mu.Unlock()
		if !cut {
			return true
		}
		select {
		case <-changed:
		case <-closed:
			return false
		}
	}
}

// Dialer is peer.Options.Dial of a node.
func (n *Network) Dialer(from uint64) func(ctx context.Context, to uint64, address string) (net.Conn, error) {
	var d net.Dialer
	return func(ctx context.Context, to uint64, address string) (net.Conn, error) {
		if !n.pass(way{from, to}, ctx.Done()) || !n.pass(way{to, from}, ctx.Done()) {
			return nil, ctx.Err()
		}
		c, err := d.DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c, network: n, out: way{from, to}, in: way{to, from}, closed: make(chan struct{})}, nil
	}
}

// conn is the dialling end; the other end's silence comes of this one's.
type conn struct {
	net.Conn
	network *Network
	out, in way
	once    sync.Once
	closed  chan struct{}
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	// What was read is held back while the way is cut, as a router would; an end
	// of the connection is not heard either.
	if !c.network.pass(c.in, c.closed) {
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	if !c.network.pass(c.out, c.closed) {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}

func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// SetDeadline of a time that is over ends calls that a cut holds, as it would those of a socket.
func (c *conn) SetDeadline(t time.Time) error {
	if !t.IsZero() && t.Before(time.Now()) {
		c.once.Do(func() { close(c.closed) })
	}
	return c.Conn.SetDeadline(t)
}
