package httprpc

import (
	"context"
	"net"
	"net/http"
	"sync"

	"wirelab/wire/endpoint"
	"wirelab/wire/multiplex"
	"wirelab/wire/status"
)

// Dial returns a client over net/http that speaks the one HTTP version set in
// protocols, over at most connections connections, all of which it keeps. It
// connects with the first call. Over HTTP/2 there is one connection, on which
// calls beyond what the server takes at once wait: see package multiplex.
func Dial(to endpoint.Dialing, protocols *http.Protocols, secure bool, connections int) *Client {
	opened := &connSet{open: map[*keptConn]struct{}{}}
	scheme := "http"
	if secure {
		scheme = "https"
	}
	dial := opened.dialer(to)
	if !protocols.HTTP1() {
		config := to.TLS()
		if !secure {
			config = nil
		}
		over := multiplex.New(func(ctx context.Context) (net.Conn, error) { return dial(ctx, "", "") }, to.Address,
			config)
		return NewClient(over, scheme, to.Address, 2, func() error {
			_ = over.Close() // its connections are among those opened
			opened.close()
			return nil
		})
	}
	transport := &http.Transport{
		DialContext:         dial,
		Protocols:           protocols,
		TLSClientConfig:     to.TLS(),
		DisableCompression:  true,
		MaxConnsPerHost:     connections,
		MaxIdleConnsPerHost: connections,
	}
	return NewClient(transport, scheme, to.Address, 1, func() error {
		transport.CloseIdleConnections()
		opened.close()
		return nil
	})
}

// connSet is the connections of one client. net/http closes the idle ones on
// request, but a connection whose last call has just returned may not count
// as idle yet, and would stay open for ever.
type connSet struct {
	mu     sync.Mutex // guards all below
	open   map[*keptConn]struct{}
	closed bool
}

// keptConn is a connection that leaves its set when it closes.
type keptConn struct {
	net.Conn
	set *connSet
}

// Close implements net.Conn.
func (c *keptConn) Close() error {
	c.set.mu.Lock()
	delete(c.set.open, c)
	c.set.mu.Unlock()
	return c.Conn.Close()
}

func (s *connSet) dialer(to endpoint.Dialing) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := to.Open(ctx)
		if err != nil {
			return nil, err
		}
		kept := &keptConn{Conn: conn, set: s}
		s.mu.Lock()
		closed := s.closed
		if !closed {
			s.open[kept] = struct{}{}
		}
		s.mu.Unlock()
		if closed {
			_ = conn.Close() // unused
			return nil, status.Errorf(status.Canceled, "the client is closed")
		}
		return kept, nil
	}
}

// close closes every connection and keeps new ones from opening.
func (s *connSet) close() {
	s.mu.Lock()
	s.closed = true
	left := make([]*keptConn, 0, len(s.open))
	for c := range s.open {
		left = append(left, c)
	}
	s.mu.Unlock()
	for _, c := range left {
		_ = c.Close() // may have failed already, which is what closing it is for
	}
}
