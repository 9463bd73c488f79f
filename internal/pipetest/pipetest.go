// Package pipetest gives tests a listener in memory, so that servers and clients wait by the clock of a
// synctest bubble. It knows nothing of the bytes on its connections.
package pipetest

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
)

// Listener is a [net.Listener] whose connections are pipes.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
	// Opened counts the connections.
	Opened atomic.Int64
}

// New opens a listener.
func New() *Listener {
	l := &Listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *Listener) Close() error { l.close(); return nil }

// Addr implements [net.Listener].
func (*Listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// Connect opens a connection to the listener, whatever the network and the address.
func (l *Listener) Connect(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		l.Opened.Add(1)
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
