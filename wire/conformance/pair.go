package conformance

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"

	"wirelab"
)

// Pair is a binding with a server and the client that it is called by, for
// tests of what the suite cannot know: the forms that one workload's schema or
// origin promises.
type Pair[S any] struct {
	wirelab.Binding[S]
	Server wirelab.Server[S]
	Client wirelab.Dialer[S]
}

// Open serves service on loopback and returns a stub of it, both until the test
// ends.
func (p Pair[S]) Open(t testing.TB, service S, connections int) S {
	t.Helper()
	address, roots := p.Serve(t, service)
	stub, closer, err := p.Client.Dial(t.Context(), wirelab.Dialing{
		Address: address, Roots: roots, Connections: connections,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closer.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return stub
}

// Serve serves service on loopback until the test ends. The roots are those
// that trust it; nil: the protocol is not secure.
func (p Pair[S]) Serve(t testing.TB, service S) (address string, roots *x509.CertPool) {
	t.Helper()
	var at wirelab.Endpoint
	var err error
	if p.Protocol.Network == "udp" {
		if at.Packets, err = net.ListenPacket("udp", "127.0.0.1:0"); err == nil {
			address = at.Packets.LocalAddr().String()
		}
	} else {
		if at.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
			address = at.Listener.Addr().String()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if p.Protocol.Secure {
		at.Certificate, roots = Certificate(t)
	}
	Until(t, func(ctx context.Context) error { return p.Server.Serve(ctx, at, service) })
	return address, roots
}

// Certificate returns a certificate for loopback and what trusts it.
func Certificate(t testing.TB) (*tls.Certificate, *x509.CertPool) {
	t.Helper()
	identity, err := newIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return &identity.certificate, identity.roots
}

// Until runs serve until the test ends. Not with the test's own context: that
// ends before its cleanups, and clients are to be closed first.
func Until(t testing.TB, serve func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx) }() // awaited by the cleanup
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve returned %v", err)
		}
	})
}

// Listening serves over TCP on loopback until the test ends, and returns the
// address.
func Listening(t testing.TB, serve func(context.Context, wirelab.Endpoint) error) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	Until(t, func(ctx context.Context) error { return serve(ctx, wirelab.Endpoint{Listener: listener}) })
	return listener.Addr().String()
}

// driving bounds the calls of one [Drive]; nothing passes by being quicker.
const driving = 5 * time.Minute

// Drive makes calls by a cell's raw driver, two at once, and returns the first
// error. Requests are drawn with seed 1; a cell that does not carry the
// operation says so by the error.
func Drive(t testing.TB, cell wirelab.Cell, address, operation, requests string, calls int) error {
	t.Helper()
	const slots = 2
	lines, err := cell.DialRaw(t.Context(), wirelab.Dialing{Address: address, Connections: slots}, slots, operation,
		requests, 1)
	if err != nil {
		return err
	}
	defer func() {
		if err := lines.Close(); err != nil {
			t.Error(err)
		}
	}()
	begun, over := 0, 0
	var first error
	begin := func(slot int) {
		if begun < calls {
			begun++
			lines.Begin(slot)
		}
	}
	for slot := range slots {
		begin(slot)
	}
	for limit := time.Now().Add(driving); over < begun; {
		err := lines.Turn(100*time.Millisecond, func(slot int, err error) {
			if over++; first == nil {
				first = err
			}
			begin(slot)
		})
		if err != nil || time.Now().After(limit) {
			t.Fatalf("%d of %d calls are over: %v", over, begun, err)
		}
	}
	return first
}
