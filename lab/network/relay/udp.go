package relay

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// datagramMax is the size of the largest possible datagram.
	datagramMax = 65_535
	// packetSize fits the datagrams that QUIC and other users of UDP send over Ethernet. Buffers of this size are
	// reused.
	packetSize = 2048
	// clientsMax is the most clients at the same time, each with a socket and a buffer.
	clientsMax = 4096
	// silence is how long a client is remembered after the last datagram in either direction: RFC 4787 asks address
	// translators for two minutes.
	silence = 2 * time.Minute
)

// packet is a datagram.
type packet struct {
	data []byte // in room if it fits
	room [packetSize]byte
}

// store keeps unused packets.
type store struct{ pool sync.Pool }

func (p *store) hold(data []byte) *packet {
	k, ok := p.pool.Get().(*packet)
	if !ok {
		k = &packet{}
	}
	k.data = append(k.room[:0], data...)
	return k
}

// give takes back a packet, and releases data that was too large for its buffer.
func (p *store) give(k *packet) {
	k.data = nil
	p.pool.Put(k)
}

// session is a client, with the relay's socket to the server.
type session struct {
	far         *net.UDPConn
	there, back *flow
	heard       atomic.Int64 // when the last datagram of the client came
}

// datagrams is a running UDP relay.
type datagrams struct {
	*Relay
	unused store
	mu     sync.Mutex // guards sessions
	// sessions has the clients by address.
	sessions map[netip.AddrPort]*session
	all      sync.WaitGroup
}

// runUDP reads datagrams of clients until ctx is done.
func (r *Relay) runUDP(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = r.packets.Close() })() // unsent datagrams are lost
	d := &datagrams{Relay: r, sessions: map[netip.AddrPort]*session{}}
	defer d.all.Wait()
	buffer := make([]byte, datagramMax)
	for {
		n, client, err := r.packets.ReadFromUDPAddrPort(buffer)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			continue // the kernel reports here that a client has gone
		}
		if s := d.session(ctx, client); s != nil {
			now := r.clock.now()
			s.heard.Store(now)
			d.add(s.there, now, buffer[:n])
		}
	}
}

// session returns a client's session, a new one for a new client. It returns nil if there are too many, or a socket
// cannot be opened.
func (d *datagrams) session(ctx context.Context, client netip.AddrPort) *session {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.sessions[client]; s != nil {
		return s
	}
	if len(d.sessions) >= min(d.config.Connections, clientsMax) {
		d.stats.dropped.Add(1)
		return nil
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "udp", d.config.To)
	if err != nil {
		d.stats.dropped.Add(1)
		return nil
	}
	s := &session{far: conn.(*net.UDPConn), there: d.newFlow(&d.there), back: d.newFlow(&d.back)}
	enlarge(s.far)
	d.sessions[client] = s
	d.stats.connections.Add(1)
	d.all.Go(func() { d.serve(ctx, client, s) })
	return s
}

// serve carries a client's datagrams until it has been silent for too long, or ctx is done.
func (d *datagrams) serve(ctx context.Context, client netip.AddrPort, s *session) {
	own, over := context.WithCancel(ctx)
	defer over()
	var writing sync.WaitGroup
	writing.Go(func() {
		d.write(own, s.there, func(data []byte) { _, _ = s.far.Write(data) }) // a datagram that cannot be sent is lost
	})
	writing.Go(func() {
		d.write(own, s.back, func(data []byte) { _, _ = d.packets.WriteToUDPAddrPort(data, client) })
	})
	unblock := context.AfterFunc(own, func() { _ = s.far.Close() })
	d.read(own, s)
	d.mu.Lock()
	delete(d.sessions, client)
	d.mu.Unlock()
	over()
	writing.Wait()
	unblock()
	_ = s.far.Close() // closing again does no harm
}

// read reads the server's datagrams for a client.
func (d *datagrams) read(ctx context.Context, s *session) {
	buffer := make([]byte, datagramMax)
	for ctx.Err() == nil {
		_ = s.far.SetReadDeadline(time.Now().Add(silence)) // it fails only on a closed socket, as the read then does
		n, err := s.far.Read(buffer)
		now := d.clock.now()
		switch {
		case err == nil:
			d.add(s.back, now, buffer[:n])
		case errors.Is(err, os.ErrDeadlineExceeded):
			if now-s.heard.Load() > int64(silence) {
				return
			}
		case errors.Is(err, net.ErrClosed):
			return
		default:
			// The server's host reports that no server listens. UDP cannot pass this on, so the datagrams are lost to
			// the client.
		}
	}
}

// add gives the path a datagram, which the path may drop.
func (d *datagrams) add(f *flow, now int64, data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.way.lost(f.rand) || f.held+len(data) > flowMax {
		d.stats.dropped.Add(1)
		return
	}
	leaves, ok := f.way.send(now, len(data)+headUDP)
	if !ok {
		d.stats.dropped.Add(1)
		return
	}
	due := leaves + f.way.delay(f.rand)
	f.held += len(data)
	f.entries.push(entry{due: due, since: due, bytes: len(data), parts: 1, data: d.unused.hold(data)})
	f.look(now)
}

// write sends datagrams on when they are due.
func (d *datagrams) write(ctx context.Context, f *flow, send func([]byte)) {
	free := int64(0) // when the last was sent
	for {
		f.mu.Lock()
		now := d.clock.now()
		entries, _, again := f.due(now)
		if entries == 0 {
			f.rearm(now, again)
			f.mu.Unlock()
			if !f.await(ctx) {
				return
			}
			continue
		}
		e := f.entries.at(0)
		next := e.data
		f.held -= e.bytes
		f.count(now, free, 1)
		f.drop(1)
		f.mu.Unlock()
		send(next.data)
		d.unused.give(next)
		free = d.clock.now()
		if ctx.Err() != nil {
			return
		}
	}
}
