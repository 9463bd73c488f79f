// Package relay makes a path between a driver and a server in user space. It is a proxy for TCP and UDP that passes
// data on as late, as slowly and as incompletely as a [network.Spec] says. It knows bytes and datagrams, and not what
// they mean.
//
// Delay, jitter, bandwidth and the loss of datagrams are applied to the data itself. TCP ends at the relay on both
// sides, so the cost of loss, windows and handshakes is a model there, in model.go. For other limits see
// [network.Spec.Notes].
//
// Two goroutines serve each direction of a connection: one reads, and one writes data when it is due. All wait for one
// timer (alarm.go).
package relay

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/lab/network"
)

// The limits of a relay.
const (
	// connectionsMax is the default for the most connections, or UDP clients, at the same time. Further connections
	// wait in the listener's queue; datagrams of further clients are dropped.
	connectionsMax = 16_384
	// flowMax is the most bytes that one direction of one connection holds. It is also the largest receive window of
	// the model, and about Linux's.
	flowMax = 4 << 20
	// ringMin is the first size of a ring, and memoryMax limits all rings together.
	ringMin   = 4 << 10
	memoryMax = 256 << 20
	// dialTime limits how long the server may take to accept.
	dialTime = 10 * time.Second
)

// Config describes a relay.
type Config struct {
	Spec network.Spec
	// Network is "tcp" or "udp".
	Network string
	// To is the server's host:port.
	To string
	// Seed seeds jitter and loss.
	Seed uint64
	// Connections is the most at the same time; 0 is 16,384.
	Connections int
}

// Relay is an open relay.
type Relay struct {
	config   Config
	listener *net.TCPListener // of TCP
	packets  *net.UDPConn     // of UDP
	clock    clock
	alarm    *alarm
	// there is the direction from driver to server, back the other one.
	there, back way
	memory      atomic.Int64 // bytes of all rings
	flows       atomic.Uint64
	stats       stats
}

// Listen opens a relay at an address; "127.0.0.1:0" means any free port. The error has code InvalidArgument for an
// invalid configuration, and Unavailable for an address that cannot be used.
func Listen(address string, c Config) (*Relay, error) {
	if err := c.Spec.Check(); err != nil {
		return nil, err
	}
	if c.Spec.Via != network.Relay {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "a relay makes no network via %s", c.Spec.Via)
	}
	if _, _, err := net.SplitHostPort(c.To); err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "server %q: want HOST:PORT, such as 127.0.0.1:8080", c.To)
	}
	if c.Connections <= 0 {
		c.Connections = connectionsMax
	}
	r := &Relay{config: c, clock: clock{time.Now()}}
	r.there.open(c.Spec)
	r.back.open(c.Spec)
	var err error
	switch c.Network {
	case "tcp":
		var listener net.Listener
		if listener, err = net.Listen("tcp", address); err == nil {
			r.listener = listener.(*net.TCPListener)
		}
	case "udp":
		var packets net.PacketConn
		if packets, err = net.ListenPacket("udp", address); err == nil {
			r.packets = packets.(*net.UDPConn)
			enlarge(r.packets)
		}
	default:
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "network %q: a relay is for tcp or udp", c.Network)
	}
	if err != nil {
		return nil, fault.Listen(address, "--listen", err)
	}
	return r, nil
}

// Address returns where the relay listens, as host:port.
func (r *Relay) Address() string {
	if r.listener != nil {
		return r.listener.Addr().String()
	}
	return r.packets.LocalAddr().String()
}

// Run relays until ctx is done, then resets open connections and returns nil. It returns after every goroutine that it
// started has ended.
func (r *Relay) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.alarm = newAlarm(r.clock)
	var ringing sync.WaitGroup
	ringing.Go(r.alarm.run)
	defer ringing.Wait()
	defer r.alarm.close()
	if r.listener != nil {
		return r.runTCP(ctx)
	}
	return r.runUDP(ctx)
}

// ended returns the error of a loop, or nil if the loop was stopped.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
		return nil //nolint:nilerr // it was stopped
	}
	return err
}

// enlarge asks for larger buffers for bursts. Datagrams that still do not fit are lost there, as on a receiving host.
func enlarge(packets *net.UDPConn) {
	const bytes = 4 << 20
	_ = packets.SetReadBuffer(bytes)
	_ = packets.SetWriteBuffer(bytes)
}

// clock counts nanoseconds since the relay's start.
type clock struct{ epoch time.Time }

func (c clock) now() int64 { return int64(time.Since(c.epoch)) }
