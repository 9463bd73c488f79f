package grpc

import (
	"net"
	"sync"
	"sync/atomic"
)

// listener remembers the connections that it accepted. grpc-go forgets those
// whose handshake is not over, and its Stop and GracefulStop wait for them: a
// client that connects and says nothing would hold a stop for two minutes.
type listener struct {
	net.Listener

	mu       sync.Mutex         // guards all below
	open     map[*conn]struct{} // not closed yet
	draining bool               // a connection that comes now is closed
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: accepted, from: l}
	l.mu.Lock()
	l.open[c] = struct{}{}
	late := l.draining
	l.mu.Unlock()
	if late {
		_ = c.Close()
	}
	return c, nil
}

// dropSilent closes the connections on which nothing was ever read: no call
// can be in flight there.
func (l *listener) dropSilent() {
	l.closeIf(func(c *conn) bool { return !c.heard.Load() })
}

// cut closes every connection.
func (l *listener) cut() {
	l.closeIf(func(*conn) bool { return true })
}

func (l *listener) closeIf(chosen func(*conn) bool) {
	l.mu.Lock()
	l.draining = true
	var all []*conn
	for c := range l.open {
		if chosen(c) {
			all = append(all, c)
		}
	}
	l.mu.Unlock()
	for _, c := range all { // not under the lock: Close takes it
		_ = c.Close()
	}
}

// conn is an accepted connection.
type conn struct {
	net.Conn
	from  *listener
	heard atomic.Bool // the client has sent something
}

// Read implements [net.Conn].
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.heard.Load() {
		c.heard.Store(true)
	}
	return n, err
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.from.mu.Lock()
	delete(c.from.open, c)
	c.from.mu.Unlock()
	return c.Conn.Close()
}
