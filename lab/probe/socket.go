package probe

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"

	"golang.org/x/net/ipv4"

	"wirelab"
)

// Sockets counts the bytes through a client's sockets as the kernel sees them. So headers, framing and TLS records
// are included. The zero value is ready to use. It is safe for concurrent use.
type Sockets struct {
	sent, received, opened, closed atomic.Uint64
}

// Count returns the counts so far.
func (s *Sockets) Count() wirelab.Traffic {
	opened, closed := s.opened.Load(), s.closed.Load()
	return wirelab.Traffic{Sent: s.sent.Load(), Received: s.received.Load(), Opened: opened, Open: opened - closed}
}

// Connect opens a counted stream connection, for clients that know the address.
func (s *Sockets) Connect(ctx context.Context, network, address string) (net.Conn, error) {
	var plain net.Dialer
	return s.counted(plain.DialContext(ctx, network, address))
}

func (s *Sockets) counted(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	s.opened.Add(1)
	return &countedConn{Conn: conn, sockets: s}, nil
}

// Watch returns a copy of to whose sockets are counted by s.
func (s *Sockets) Watch(to wirelab.Dialing) wirelab.Dialing {
	below, openPackets := to, to.OpenPackets
	to.Connect = func(ctx context.Context, _, address string) (net.Conn, error) {
		at := below
		at.Address, at.Next = address, nil // the caller has chosen the address
		return s.counted(at.Open(ctx))
	}
	to.Packets = func() (net.PacketConn, error) {
		conn, err := openPackets()
		if err != nil {
			return nil, err
		}
		udp, ok := conn.(*net.UDPConn)
		if !ok {
			_ = conn.Close() // nothing was sent on it
			return nil, fmt.Errorf("cannot count a %T", conn)
		}
		s.opened.Add(1)
		return &countedPackets{UDPConn: udp, batches: ipv4.NewPacketConn(udp), sockets: s}, nil
	}
	return to
}

type countedConn struct {
	net.Conn
	sockets *Sockets
	closed  atomic.Bool
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.sockets.received.Add(uint64(n))
	return n, err
}

func (c *countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.sockets.sent.Add(uint64(n))
	return n, err
}

func (c *countedConn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.sockets.closed.Add(1)
	}
	return c.Conn.Close()
}

// countedPackets counts a UDP socket. It keeps the methods that send and receive many datagrams in one system call.
// QUIC looks for them, and a plain wrapper would hide them and make the protocol slower.
type countedPackets struct {
	*net.UDPConn
	batches *ipv4.PacketConn // reads many datagrams at once; works for IPv6 too
	sockets *Sockets
	closed  atomic.Bool
}

func (c *countedPackets) ReadFrom(p []byte) (int, net.Addr, error) {
	n, addr, err := c.UDPConn.ReadFrom(p)
	c.sockets.received.Add(uint64(n))
	return n, addr, err
}

// ReadMsgUDP is [net.UDPConn.ReadMsgUDP], counted.
func (c *countedPackets) ReadMsgUDP(p, oob []byte) (n, oobn, flags int, addr *net.UDPAddr, err error) {
	n, oobn, flags, addr, err = c.UDPConn.ReadMsgUDP(p, oob)
	c.sockets.received.Add(uint64(n))
	return n, oobn, flags, addr, err
}

// ReadBatch is [ipv4.PacketConn.ReadBatch], counted.
func (c *countedPackets) ReadBatch(messages []ipv4.Message, flags int) (int, error) {
	n, err := c.batches.ReadBatch(messages, flags)
	for _, m := range messages[:max(n, 0)] {
		c.sockets.received.Add(uint64(m.N))
	}
	return n, err
}

func (c *countedPackets) WriteTo(p []byte, addr net.Addr) (int, error) {
	n, err := c.UDPConn.WriteTo(p, addr)
	c.sockets.sent.Add(uint64(n))
	return n, err
}

// WriteMsgUDP is [net.UDPConn.WriteMsgUDP], counted.
func (c *countedPackets) WriteMsgUDP(p, oob []byte, addr *net.UDPAddr) (n, oobn int, err error) {
	n, oobn, err = c.UDPConn.WriteMsgUDP(p, oob, addr)
	c.sockets.sent.Add(uint64(n))
	return n, oobn, err
}

func (c *countedPackets) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.sockets.closed.Add(1)
	}
	return c.UDPConn.Close()
}
