package conformance

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
)

// keptBytes bounds what a track keeps each way; the wire check asks little.
const keptBytes = 1 << 20

// tape records what passes between a client and a server.
type tape struct {
	mu     sync.Mutex // guards all below
	tracks []*track   // one for each connection the server accepted
	dialed int        // connections the client opened through Dialing.Connect
	// clients are the QUIC connections seen by the server: address and source
	// connection id of each Initial packet.
	clients map[string]bool
	sockets int // datagram sockets the client opened through Dialing.Packets

	// The bytes at the client's end, which has read a reply once a call returned.
	sent, received atomic.Int64
}

// track is one connection as the server sees it.
type track struct {
	mu                 sync.Mutex // guards all below
	toServer, toClient []byte     // the first keptBytes of each
}

func (k *track) add(way *[]byte, b []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	*way = append(*way, b[:min(len(b), keptBytes-len(*way))]...)
}

// both returns copies of what was said.
func (k *track) both() (toServer, toClient []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]byte(nil), k.toServer...), append([]byte(nil), k.toClient...)
}

func (t *tape) newTrack() *track {
	k := &track{}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tracks = append(t.tracks, k)
	return k
}

func (t *tape) all() []*track {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]*track(nil), t.tracks...)
}

// opened is how many connections the server has seen so far.
func (t *tape) opened() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.tracks) + len(t.clients)
}

// throughHooks is how many connections or sockets the client opened as [wirelab.Dialing] asks.
func (t *tape) throughHooks() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dialed + t.sockets
}

// listener records the server's end and tells when it was closed.
type listener struct {
	net.Listener
	tape   *tape
	once   sync.Once
	closed chan struct{}
}

func (t *tape) listener(inner net.Listener) *listener {
	return &listener{Listener: inner, tape: t, closed: make(chan struct{})}
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &serverConn{Conn: conn, track: l.tape.newTrack()}, nil
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type serverConn struct {
	net.Conn
	track *track
}

func (c *serverConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.track.add(&c.track.toServer, b[:n])
	return n, err
}

func (c *serverConn) Write(b []byte) (int, error) {
	c.track.add(&c.track.toClient, b)
	return c.Conn.Write(b)
}

// connect is the client's end: a dialer that counts.
func (t *tape) connect(
	dial func(ctx context.Context, network, address string) (net.Conn, error),
) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		t.mu.Lock()
		t.dialed++
		t.mu.Unlock()
		return &clientConn{Conn: conn, tape: t}, nil
	}
}

type clientConn struct {
	net.Conn
	tape *tape
}

func (c *clientConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.tape.received.Add(int64(n))
	return n, err
}

// Write counts before it writes: the reply may be back before Write is.
func (c *clientConn) Write(b []byte) (int, error) {
	c.tape.sent.Add(int64(len(b)))
	return c.Conn.Write(b)
}

// serverPackets records the server's end of a datagram wire. It hides what
// else the socket can do, so that nothing bypasses it.
type serverPackets struct {
	net.PacketConn
	tape   *tape
	once   sync.Once
	closed chan struct{}
}

func (t *tape) serverPackets(inner net.PacketConn) *serverPackets {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.clients == nil {
		t.clients = map[string]bool{}
	}
	return &serverPackets{PacketConn: inner, tape: t, closed: make(chan struct{})}
}

func (p *serverPackets) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := p.PacketConn.ReadFrom(b)
	if err == nil {
		if source, ok := quicInitial(b[:n]); ok {
			p.tape.mu.Lock()
			p.tape.clients[from.String()+"/"+source] = true
			p.tape.mu.Unlock()
		}
	}
	return n, from, err
}

func (p *serverPackets) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.PacketConn.Close()
}

// clientPackets is the client's end.
type clientPackets struct {
	net.PacketConn
	tape *tape
}

func (t *tape) packets() (net.PacketConn, error) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	t.sockets++
	t.mu.Unlock()
	return &clientPackets{PacketConn: conn, tape: t}, nil
}

func (p *clientPackets) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := p.PacketConn.ReadFrom(b)
	p.tape.received.Add(int64(n))
	return n, from, err
}

func (p *clientPackets) WriteTo(b []byte, to net.Addr) (int, error) {
	p.tape.sent.Add(int64(len(b)))
	return p.PacketConn.WriteTo(b, to)
}

// quicInitial reads the long header of a QUIC version 1 Initial packet
// (RFC 9000, 17.2.2) and returns its source connection id.
func quicInitial(b []byte) (source string, ok bool) {
	const form, fixed, kind = 0x80, 0x40, 0x30 // bits of the first byte; kind 0 is Initial
	if len(b) < 7 || b[0]&(form|fixed) != form|fixed || b[0]&kind != 0 || binary.BigEndian.Uint32(b[1:]) != 1 {
		return "", false
	}
	at := 6 + int(b[5]) // after the destination's id
	if at >= len(b) || at+1+int(b[at]) > len(b) {
		return "", false
	}
	return string(b[at+1 : at+1+int(b[at])]), true
}
