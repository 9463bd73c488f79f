// Package relay makes a path between a driver and a server in user space: it
// stands between the two, for TCP and for UDP, and passes on what it is sent as
// late, as slowly and as incompletely as a [network.Spec] says. It knows bytes
// and datagrams, and not what they mean.
//
// Delay, jitter, bandwidth and the loss of datagrams are done to what passes.
// TCP the relay ends on both sides, so what loss, windows and handshakes cost
// there is a model, in model.go. For the rest see [network.Spec.Notes].
//
// Two goroutines serve each way of a connection, one that reads and one that
// writes what is due; all wait on one timer (alarm.go).
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

// The bounds of a relay.
const (
	// connectionsMax is the most connections, or UDP clients, at once by
	// default. Further ones wait in the listener's queue; datagrams of further
	// clients are dropped.
	connectionsMax = 16_384
	// flowMax is the most bytes that one way of one connection holds, which is
	// also the largest receive window of the model: Linux gives about that much.
	flowMax = 4 << 20
	// ringMin is what a way holds at first, and memoryMax what all ways may
	// grow to together.
	ringMin   = 4 << 10
	memoryMax = 256 << 20
	// dialTime is how long the server may take to accept.
	dialTime = 10 * time.Second
)

// Config says what a relay is to do.
type Config struct {
	Spec network.Spec
	// Network is "tcp" or "udp".
	Network string
	// To is the server's host:port.
	To string
	// Seed draws jitter and loss.
	Seed uint64
	// Connections is the most at once; 0 is 16,384.
	Connections int
}

// Relay is an open relay.
type Relay struct {
	config   Config
	listener *net.TCPListener // of TCP
	packets  *net.UDPConn     // of UDP
	clock    clock
	alarm    *alarm
	// there is the way from driver to server, back the other.
	there, back way
	memory      atomic.Int64 // bytes of all rings
	flows       atomic.Uint64
	stats       stats
}

// Listen opens a relay at an address, "127.0.0.1:0" for any free port. Its
// errors are InvalidArgument for a configuration that cannot be, Unavailable
// for an address that cannot be had.
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
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "network %q: a relay is of tcp or udp", c.Network)
	}
	if err != nil {
		return nil, fault.Listen(address, "--listen", err)
	}
	return r, nil
}

// Address is where the relay listens, host:port.
func (r *Relay) Address() string {
	if r.listener != nil {
		return r.listener.Addr().String()
	}
	return r.packets.LocalAddr().String()
}

// Run relays until ctx ends, then resets what is open and returns nil. Every
// goroutine it started has ended by then.
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

// ended is what a loop's error means: nothing, once it was told to end.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
		return nil //nolint:nilerr // it was told to
	}
	return err
}

// enlarge asks for room for bursts; what the kernel does not grant is lost
// there, as on a host that receives.
func enlarge(packets *net.UDPConn) {
	const bytes = 4 << 20
	_ = packets.SetReadBuffer(bytes)
	_ = packets.SetWriteBuffer(bytes)
}

// clock counts nanoseconds from the relay's start.
type clock struct{ epoch time.Time }

func (c clock) now() int64 { return int64(time.Since(c.epoch)) }
