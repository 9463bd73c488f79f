package brokertest

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// Relay forwards TCP connections to an address until it is cut. To the broker, a client behind a cut relay looks
// like one whose process was killed: its connection is gone without a goodbye, and it does not come back.
type Relay struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu   sync.Mutex // guards all below
	open map[net.Conn]struct{}
	cut  bool
}

// NewRelay starts a relay to target, host:port. Cut ends it.
func NewRelay(ctx context.Context, target string) (*Relay, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Relay{listener: listener, target: target, open: map[net.Conn]struct{}{}}
	r.running.Go(r.accept)
	return r, nil
}

// Address is where the relay listens, host:port.
func (r *Relay) Address() string { return r.listener.Addr().String() }

// Cut breaks every connection, accepts no more, and waits until all goroutines have ended.
func (r *Relay) Cut() {
	r.mu.Lock()
	r.cut = true
	for c := range r.open {
		_ = c.Close() // abrupt, without a closing handshake
	}
	r.mu.Unlock()
	_ = r.listener.Close() // a second Close has no effect
	r.running.Wait()
}

func (r *Relay) accept() {
	for {
		near, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.running.Go(func() { r.carry(near) })
	}
}

// hold registers a connection to be broken by Cut, unless Cut was called already.
func (r *Relay) hold(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.cut {
		r.open[c] = struct{}{}
	}
	return !r.cut
}

func (r *Relay) drop(c net.Conn) {
	r.mu.Lock()
	delete(r.open, c)
	r.mu.Unlock()
	_ = c.Close() // may be broken already
}

// carry copies bytes both ways until either end closes.
func (r *Relay) carry(near net.Conn) {
	defer r.drop(near)
	far, err := net.Dial("tcp", r.target)
	if err != nil {
		return // the server is down: the client sees its connection end
	}
	defer r.drop(far)
	if !r.hold(near) || !r.hold(far) {
		return
	}
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			_, err := io.Copy(way[0], way[1])
			// When one end closes, so does the other: no connection is left half open.
			_ = errors.Join(err, way[0].Close(), way[1].Close())
		})
	}
	both.Wait()
}
