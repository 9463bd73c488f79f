package acceptloop

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Limits are bounds on the connections of one listener. Zero: no bound.
type Limits struct {
	Total      int // connections at once
	PerAddress int // of one IPv4 address, or of one IPv6 network of 64 bits, which is one machine's
	// Silence ends a connection on which nothing came for so long after it was accepted.
	Silence time.Duration
	// Vouched makes a connection silent until [Vouch] is called with it. Without it the first byte is enough.
	Vouched bool
	// Told receives each connection that is closed for a bound, and of which; nil: nothing is. It must not block.
	Told func(from net.Addr, why string)
}

// Counts are what a listener counted since it was made, but for Open.
type Counts struct {
	Open    int    // connections now
	Full    uint64 // closed because Limits.Total were open
	Address uint64 // closed because Limits.PerAddress of one address were open
	Silent  uint64 // closed because nothing came for Limits.Silence
}

// Limited is a listener that keeps to bounds. A connection beyond them costs another its place: the one of the
// same address, or of all, that has been silent for longest. So those who only connect keep out no client that
// has something to say. Where none is silent, the new connection itself is closed at once.
type Limited struct {
	net.Listener
	limits Limits

	full, address, silent atomic.Uint64

	mu    sync.Mutex // guards all below
	open  int
	quiet *list.List // of *limited: the silent ones, oldest first
	of    map[netip.Addr]*source
}

// source is the connections of one address.
type source struct {
	open  int
	quiet *list.List // as Limited.quiet
}

// limited is an accepted connection.
type limited struct {
	net.Conn
	of     *Limited
	from   netip.Addr
	timer  *time.Timer // ends it if it stays silent; nil: nothing does
	heard  atomic.Bool
	closed bool          // guarded by of.mu
	all    *list.Element // in Limited.quiet; nil: it is not silent. Guarded by of.mu
	same   *list.Element // in source.quiet, likewise
}

// Limit bounds the connections of a listener.
func Limit(l net.Listener, limits Limits) *Limited {
	return &Limited{Listener: l, limits: limits, quiet: list.New(), of: map[netip.Addr]*source{}}
}

// Counts tells what was counted.
func (l *Limited) Counts() Counts {
	l.mu.Lock()
	open := l.open
	l.mu.Unlock()
	return Counts{Open: open, Full: l.full.Load(), Address: l.address.Load(), Silent: l.silent.Load()}
}

// Accept implements [net.Listener].
func (l *Limited) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.admit(accepted); c != nil {
			return c, nil
		}
		_ = accepted.Close() // nothing was said on it
	}
}

// tell reports a closed connection.
func (l *Limited) tell(from net.Addr, why string) {
	if l.limits.Told != nil {
		l.limits.Told(from, why)
	}
}

// admit takes a connection in, nil where it has no place.
func (l *Limited) admit(accepted net.Conn) *limited {
	c := &limited{Conn: accepted, of: l, from: origin(accepted.RemoteAddr())}
	l.mu.Lock()
	s := l.of[c.from]
	var why string
	var quiet *list.List // of whom one is to leave
	switch {
	case l.limits.PerAddress > 0 && s != nil && s.open >= l.limits.PerAddress:
		l.address.Add(1)
		why, quiet = "its address has too many", s.quiet
	case l.limits.Total > 0 && l.open >= l.limits.Total:
		l.full.Add(1)
		why, quiet = "the port has too many", l.quiet
	}
	var leaves *limited
	if quiet != nil {
		if leaves = oldest(quiet); leaves == nil {
			l.mu.Unlock()
			l.tell(accepted.RemoteAddr(), why)
			return nil
		}
		leaves.leave()
		s = l.of[c.from] // it may have been the only one
	}
	if s == nil {
		s = &source{quiet: list.New()}
		l.of[c.from] = s
	}
	l.open++
	s.open++
	c.all, c.same = l.quiet.PushBack(c), s.quiet.PushBack(c)
	if l.limits.Silence > 0 {
		c.timer = time.AfterFunc(l.limits.Silence, c.late)
	}
	l.mu.Unlock()
	if leaves != nil {
		l.tell(leaves.RemoteAddr(), why+", and it was silent for longest")
		_ = leaves.Conn.Close() // it had nothing to say
	}
	return c
}

// oldest is the connection that has been silent for longest; nil: none is.
func oldest(quiet *list.List) *limited {
	if first := quiet.Front(); first != nil {
		return first.Value.(*limited) //nolint:forcetypeassert // nothing else is put in
	}
	return nil
}

// origin is who a connection is counted for.
func origin(at net.Addr) netip.Addr {
	tcp, ok := at.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	a := tcp.AddrPort().Addr().Unmap().WithZone("")
	if !a.Is6() {
		return a
	}
	const machine = 64 // bits: a host draws the rest itself, as often as it likes
	network, err := a.Prefix(machine)
	if err != nil {
		return a
	}
	return network.Addr()
}

// speaks notes that a connection is not silent any more. l.mu is held.
func (c *limited) speaks() {
	if c.all == nil {
		return
	}
	c.of.quiet.Remove(c.all)
	c.of.of[c.from].quiet.Remove(c.same)
	c.all, c.same = nil, nil
	if c.timer != nil {
		c.timer.Stop()
	}
}

// leave gives a connection's place back, once. l.mu is held.
func (c *limited) leave() {
	if c.closed {
		return
	}
	c.speaks()
	c.closed = true
	c.of.open--
	s := c.of.of[c.from]
	if s.open--; s.open == 0 {
		delete(c.of.of, c.from)
	}
}

// late ends a connection that is still silent.
func (c *limited) late() {
	c.of.mu.Lock()
	quiet := c.all != nil
	if quiet {
		c.leave()
		c.of.silent.Add(1)
	}
	c.of.mu.Unlock()
	if quiet {
		c.of.tell(c.RemoteAddr(), "nothing came on it")
		_ = c.Conn.Close() // it had nothing to say
	}
}

// Vouch tells that a connection of a listener with Limits.Vouched is known for what it should be: it keeps
// its place from then on. Others, TLS around them included, are taken too.
func Vouch(conn net.Conn) {
	for {
		switch c := conn.(type) {
		case *limited:
			c.said()
			return
		case interface{ NetConn() net.Conn }: // crypto/tls
			conn = c.NetConn()
		default:
			return
		}
	}
}

func (c *limited) said() {
	c.heard.Store(true)
	c.of.mu.Lock()
	c.speaks()
	c.of.mu.Unlock()
}

// Read implements [net.Conn].
func (c *limited) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.of.limits.Vouched && !c.heard.Load() {
		c.said()
	}
	return n, err
}

// CloseWrite ends the sending side, as net/http wants it of a TCP connection.
func (c *limited) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close implements [net.Conn].
func (c *limited) Close() error {
	c.of.mu.Lock()
	c.leave()
	c.of.mu.Unlock()
	return c.Conn.Close()
}
