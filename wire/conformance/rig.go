package conformance

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"wirelab"
)

// setup says how a rig differs from the usual.
type setup struct {
	connections int           // Dialing.Connections
	drain       time.Duration // Endpoint.Drain
	tap         bool          // read what a Secure stream wire says
	// dialing is how long opening a connection takes: long enough for every
	// caller who would open one of his own to begin.
	dialing time.Duration
}

// running is a server of a cell.
type running struct {
	address string
	closed  <-chan struct{} // closed when the server closed its endpoint
	cancel  context.CancelFunc
	done    chan error // gets what Serve returned
	told    bool       // whether the suite has told it to stop
	awaited bool
}

// rig is a server and a client of a cell, connected, with a tape between them.
type rig[S any] struct {
	cell   *cell[S]
	server *running
	stub   S
	closer io.Closer
	tape   *tape
	tap    *tap // nil unless setup.tap

	// target is where connections go, whatever address the client asks for:
	// where the server is, or [nowhere].
	target atomic.Pointer[string]
}

// nowhere is an address that nothing listens on.
const nowhere = ""

// goTo says where connections go from now on.
func (g *rig[S]) goTo(address string) { g.target.Store(&address) }

// dial connects to where the server is. It knows no other way to be refused
// for certain: a port that was given up may be taken by another process.
func (g *rig[S]) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	target := *g.target.Load()
	if target == nowhere {
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	return (&net.Dialer{}).DialContext(ctx, network, target)
}

// serve starts a server at address, which may end in port 0.
func (c *cell[S]) serve(service S, tape *tape, address string, s setup) (*running, error) {
	at := wirelab.Endpoint{Drain: s.drain}
	if c.binding.Protocol.Secure {
		certificate := c.identity.certificate
		at.Certificate = &certificate
	}
	run := &running{done: make(chan error, 1)}
	if c.binding.Protocol.Network == "udp" {
		inner, err := net.ListenPacket("udp", address)
		if err != nil {
			return nil, err
		}
		packets := tape.serverPackets(inner)
		at.Packets, run.address, run.closed = packets, inner.LocalAddr().String(), packets.closed
	} else {
		inner, err := net.Listen("tcp", address)
		if err != nil {
			return nil, err
		}
		listener := tape.listener(inner)
		at.Listener, run.address, run.closed = listener, inner.Addr().String(), listener.closed
	}
	ctx, cancel := context.WithCancel(context.Background())
	run.cancel = cancel
	go func() { run.done <- c.server.Serve(ctx, at, service) }() // awaited by await
	return run, nil
}

// stop tells a server to stop.
func (run *running) stop() {
	run.told = true
	run.cancel()
}

// await waits until a server that was told to stop has stopped.
func (c *cell[S]) await(r reporter, run *running) {
	r.Helper()
	run.awaited = true
	select {
	case err := <-run.done:
		if err != nil {
			r.Errorf("Serve returned %v after a stop, want nil", err)
		}
	case <-time.After(c.patience):
		c.stuck.Store(true)
		r.Errorf("server does not stop: Serve is still running %v after its context ended", c.patience)
	}
}

// raise starts a server and a client. On failure it reports and returns nil. A
// cell whose servers do not stop is raised no more: each would cost the
// suite's patience again, and say the same.
func (c *cell[S]) raise(r reporter, service S, s setup) *rig[S] {
	r.Helper()
	if c.stuck.Load() {
		r.Errorf("not asked: an earlier server of this cell did not stop")
		return nil
	}
	g := &rig[S]{cell: c, tape: &tape{}}
	var err error
	if g.server, err = c.serve(service, g.tape, "127.0.0.1:0", s); err != nil {
		r.Errorf("listen: %v", err)
		return nil
	}
	g.goTo(g.server.address)
	dial := g.dial
	if s.tap {
		g.tap = &tap{identity: c.identity, upstream: g.server.address, tape: &tape{}}
		dial = g.tap.dial
	}
	connect := g.tape.connect(dial)
	to := wirelab.Dialing{
		Address: g.server.address, Connections: s.connections,
		Connect: func(ctx context.Context, network, address string) (net.Conn, error) {
			wait(ctx, s.dialing)
			return connect(ctx, network, address)
		},
		Packets: func() (net.PacketConn, error) {
			wait(context.Background(), s.dialing)
			return g.tape.packets()
		},
	}
	if c.binding.Protocol.Secure {
		to.Roots = c.identity.roots
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.patience)
	defer cancel()
	g.stub, g.closer, err = c.client.Dial(ctx, to)
	if err != nil {
		r.Errorf("dial: %v", err)
		g.server.stop()
		c.await(r, g.server)
		return nil
	}
	return g
}

// wait lets d pass, or ctx end.
func wait(ctx context.Context, d time.Duration) {
	if d == 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// lower closes the client, then stops the server and waits for it, unless the
// check has done so.
func (g *rig[S]) lower(r reporter) {
	r.Helper()
	closed := make(chan error, 1)
	go func() { closed <- g.closer.Close() }() // awaited below, or a leak that is reported
	if err, ok := within(closed, g.cell.patience); !ok {
		r.Errorf("closing the client has not ended in %v", g.cell.patience)
	} else if err != nil {
		r.Errorf("closing the client: %v", err)
	}
	if !g.server.told && len(g.server.done) > 0 {
		r.Errorf("the server ended by itself")
	}
	g.server.stop()
	if !g.server.awaited {
		g.cell.await(r, g.server)
	}
	if g.tap != nil {
		g.tap.close()
	}
}

// call returns a context for one call that is to succeed.
func (g *rig[S]) call() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), g.cell.patience)
}

// ask performs an exchange with this rig's stub.
func (g *rig[S]) ask(e wirelab.Exchange[S]) answer {
	ctx, cancel := g.call()
	defer cancel()
	g.cell.exchanges.Add(1)
	result := make(chan answer, 1)
	go func() { result <- ask(ctx, e, g.stub) }() // awaited below, or a leak that is reported
	got, ok := within(result, 2*g.cell.patience)
	if !ok {
		got.err = &wirelab.Error{
			Code:    wirelab.Internal,
			Message: "the call still runs, though its deadline has long passed",
		}
	}
	return got
}

// probeTLS returns what the server negotiates with a client that offers the
// given protocols and versions up to highest.
func (c *cell[S]) probeTLS(address string, highest uint16, offers []string) (tls.ConnectionState, error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.patience)
	defer cancel()
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: c.identity.roots, NextProtos: offers, MaxVersion: highest}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	state := conn.(*tls.Conn).ConnectionState()
	return state, conn.Close()
}
