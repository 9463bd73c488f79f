package raw

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"wirelab"
	"wirelab/wire/acceptloop"
)

// The bounds of a null responder.
const (
	peersMax      = 16 << 10         // connections
	joiningMax    = 4 << 10          // connections on their way to the loop
	handshakeTime = 10 * time.Second // of TLS
	arrivalsMax   = 128              // connections that the loop has not taken yet
)

// peer is one connection of a null responder.
type peer struct {
	channel
	socket
	server       server
	key, edition int32
	full         bool
}

// nullLoop is a null responder: one goroutine, but for accepting.
type nullLoop struct {
	over      Over
	responder *responder
	heads     heads
	poll      *epoll
	wake      int // an eventfd
	arrivals  chan *peer
	buffers   *buffers
	table     []*peer
	free      []int32
	edition   int32
	traffic   traffic
}

// wakeKey is the key of the loop's eventfd.
const wakeKey = -1

func serveNull(ctx context.Context, at wirelab.Endpoint, over Over, r *responder) error {
	l := &nullLoop{
		over: over, responder: r, heads: heads{}, buffers: newBuffers(over.Secure),
		arrivals: make(chan *peer, arrivalsMax), // bounded: accepting waits for the loop
	}
	var err error
	if l.poll, err = newEpoll(); err != nil {
		_ = at.Listener.Close() // err is the better one
		return wirelab.Errorf(wirelab.Internal, "epoll: %v", err)
	}
	defer l.poll.close()
	if l.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		_ = at.Listener.Close()
		return wirelab.Errorf(wirelab.Internal, "eventfd: %v", err)
	}
	defer func() { _ = unix.Close(l.wake) }()
	if err = l.poll.watch(true, l.wake, unix.EPOLLIN, wakeKey, 0); err != nil {
		_ = at.Listener.Close()
		return wirelab.Errorf(wirelab.Internal, "epoll: %v", err)
	}

	// The loop outlives accepting, which may wait for it.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	looped := make(chan error, 1) // bounded by the one send
	ended := make(chan struct{})
	go func() {
		err := l.run(ended)
		cancel()
		looped <- err
	}()
	var joining sync.WaitGroup
	places := make(chan struct{}, joiningMax)
	err = acceptloop.Loop(ctx, at.Listener, func(conn net.Conn) {
		select {
		case places <- struct{}{}:
			joining.Go(func() {
				l.join(ctx, at, conn)
				<-places
			})
		default:
			_ = conn.Close() // too many that do not get on with their handshakes
		}
	})
	joining.Wait()
	close(ended)
	l.ring()
	return errors.Join(err, <-looped)
}

// ring wakes the loop.
func (l *nullLoop) ring() { _, _ = unix.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) } // full is as good as rung

// join brings a connection to the loop, with TLS settled.
func (l *nullLoop) join(ctx context.Context, at wirelab.Endpoint, conn net.Conn) {
	p := new(peer)
	if l.over.Secure {
		p.buffered = &bufferedConn{conn: conn, traffic: &l.traffic}
		p.secure = tls.Server(p.buffered, &tls.Config{
			Certificates: []tls.Certificate{*at.Certificate}, MinVersion: tls.VersionTLS13,
			NextProtos: []string{l.over.protocolName()}, DynamicRecordSizingDisabled: true,
		})
		limited, cancel := context.WithTimeout(ctx, handshakeTime)
		err := p.secure.HandshakeContext(limited)
		cancel()
		if err != nil || (l.over.Version == HTTP2 && p.secure.ConnectionState().NegotiatedProtocol != "h2") {
			_ = conn.Close() // the client knows why
			return
		}
		p.buffered.conn = nil
	}
	s, err := detach(conn, &l.traffic)
	if err != nil {
		return // no socket, or no descriptor left: the client sees it closed
	}
	p.socket = s
	select {
	case l.arrivals <- p:
		l.ring()
	case <-ctx.Done():
		s.close()
	}
}

// run serves until ended is closed.
func (l *nullLoop) run(ended <-chan struct{}) error {
	defer l.end()
	for {
		ready, err := l.poll.wait(time.Hour)
		if err != nil {
			return wirelab.Errorf(wirelab.Internal, "epoll: %v", err)
		}
		for i := range ready {
			event := &l.poll.events[i]
			if event.Fd == wakeKey {
				l.welcome()
				continue
			}
			if p := l.table[event.Fd]; p != nil && p.edition == event.Pad {
				l.serve(p, event.Events)
			}
		}
		select {
		case <-ended:
			return nil
		default:
		}
	}
}

// welcome takes the connections that have arrived.
func (l *nullLoop) welcome() {
	var rung [8]byte
	_, _ = unix.Read(l.wake, rung[:]) // how often does not matter
	for {
		select {
		case p := <-l.arrivals:
			l.add(p)
		default:
			return
		}
	}
}

func (l *nullLoop) add(p *peer) {
	if l.traffic.open.Load() > peersMax {
		p.close()
		return
	}
	p.server = newServer(l.over, l.responder, l.heads)
	p.end = p.server
	p.key = int32(len(l.table))
	if last := len(l.free) - 1; last >= 0 {
		p.key, l.free = l.free[last], l.free[:last]
	} else {
		l.table = append(l.table, nil)
	}
	l.edition++
	p.edition = l.edition
	l.table[p.key] = p
	if err := l.poll.watch(true, p.fd, unix.EPOLLIN, p.key, p.edition); err != nil {
		l.drop(p)
		return
	}
	// TLS may have read what followed the handshake.
	l.serve(p, 0)
}

// serve reads once and writes once.
func (l *nullLoop) serve(p *peer, events uint32) {
	if events&^unix.EPOLLOUT != 0 || (events == 0 && p.secure != nil) {
		if err := p.pull(l.buffers, p.read); err != nil {
			if !errors.Is(err, io.EOF) {
				l.explain(p, err)
			}
			l.drop(p)
			return
		}
	}
	all, err := p.push(p.write)
	for err == nil && all && p.server.paused() {
		if err = p.again(l.buffers); err == nil {
			all, err = p.push(p.write)
		}
	}
	if err != nil || (all && p.server.quitting()) {
		l.drop(p)
		return
	}
	if all != p.full {
		return
	}
	// A client that does not read is not read from.
	p.full = !all
	events = unix.EPOLLIN
	if p.full {
		events = unix.EPOLLOUT
	}
	if err := l.poll.watch(false, p.fd, events, p.key, p.edition); err != nil {
		l.drop(p)
	}
}

// explain tells a client what was wrong with what it sent.
func (l *nullLoop) explain(p *peer, err error) {
	var wrong *wireError
	if s, ok := p.server.(*null2); ok && errors.As(err, &wrong) {
		s.goodbye(s.highest, wrong)
		_, _ = p.push(p.write) // it is closed either way
	}
}

func (l *nullLoop) drop(p *peer) {
	p.dead = true
	p.close()
	l.table[p.key] = nil
	l.free = append(l.free, p.key)
}

// end closes everything.
func (l *nullLoop) end() {
	for {
		select {
		case p := <-l.arrivals:
			p.close()
			continue
		default:
		}
		break
	}
	for _, p := range l.table {
		if p != nil {
			p.server.stop()
			_, _ = p.push(p.write) // what it does not take in one piece is lost
			l.drop(p)
		}
	}
}
