package relay_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab/internal/leaktest"
	"wirelab/lab/network"
	"wirelab/lab/network/relay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// begin runs a relay until the test ends.
func begin(t testing.TB, c relay.Config) *relay.Relay {
	t.Helper()
	r, err := relay.Listen("127.0.0.1:0", c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ran; err != nil {
			t.Errorf("the relay ended with %v", err)
		}
	})
	return r
}

func parse(t testing.TB, text string) network.Spec {
	t.Helper()
	s, err := network.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve accepts connections until the test ends, and calls handle with each.
func serve(t testing.TB, handle func(*net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				handle(conn.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

func echo(c *net.TCPConn) {
	_, _ = io.Copy(c, c)
	_ = c.CloseWrite()
}

func dial(t testing.TB, address string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

func tcp(t testing.TB, spec, to string) *relay.Relay {
	return begin(t, relay.Config{Spec: parse(t, spec), Network: "tcp", To: to, Seed: 1})
}

// trip sends a byte and waits for it to come back.
func trip(t testing.TB, c net.Conn) time.Duration {
	t.Helper()
	began := time.Now()
	if _, err := c.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

// No trip takes less than requested, and the first one also waits for the handshake. The upper limit is one that no
// machine exceeds.
func TestTripsTakeWhatWasAsked(t *testing.T) {
	t.Parallel()
	for spec, least := range map[string]time.Duration{
		"rtt=0":                        0,
		"rtt=3ms":                      3 * time.Millisecond,
		"rtt=20ms,jitter=4ms":          16 * time.Millisecond,
		"rtt=2ms,bandwidth=100kbit":    2*time.Millisecond + 2*41*8*10*time.Microsecond,
		"rtt=4ms,loss=10%":             4 * time.Millisecond,
		"lan":                          500 * time.Microsecond,
		"cloud,loss=0.1%,jitter=0.1ms": 900 * time.Microsecond,
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			r := tcp(t, spec, serve(t, echo))
			began := time.Now() // a kernel accepts before the relay does
			c := dial(t, r.Address())
			trip(t, c)
			if took := time.Since(began); took < least+parse(t, spec).RTT {
				t.Errorf("the first trip took %v, less than a handshake and a trip, %v", took, least+parse(t, spec).RTT)
			}
			for i := range 10 {
				if took := trip(t, c); took < least || took > least+2*time.Minute {
					t.Errorf("trip %d took %v, want at least %v", i, took, least)
				}
			}
		})
	}
}

// All data comes out unchanged, however it is divided, on paths of every kind and in both directions at the same time.
func TestBytesAreTheSame(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{
		"rtt=0", "rtt=1ms", "rtt=2ms,jitter=2ms", "rtt=1ms,loss=3%", "rtt=0,loss=1%", "bandwidth=200Mbit",
		"rtt=1ms,jitter=1ms,loss=0.5%,bandwidth=100Mbit",
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			r := tcp(t, spec, serve(t, echo))
			r2 := rand.New(rand.NewPCG(3, 4))
			sent := make([]byte, 300_000)
			for i := range sent {
				sent[i] = byte(r2.Uint32())
			}
			c := dial(t, r.Address())
			var writing sync.WaitGroup
			writing.Go(func() {
				for rest := sent; len(rest) > 0; {
					n := min(len(rest), 1+r2.IntN(1<<r2.IntN(17)))
					if _, err := c.Write(rest[:n]); err != nil {
						t.Error(err)
						return
					}
					rest = rest[n:]
				}
				_ = c.CloseWrite()
			})
			got, err := io.ReadAll(c)
			writing.Wait()
			if err != nil || !bytes.Equal(got, sent) {
				t.Fatalf("%d bytes and %v came back of %d", len(got), err, len(sent))
			}
		})
	}
}

// An end that has closed its sending side still receives.
func TestHalfClose(t *testing.T) {
	t.Parallel()
	r := tcp(t, "rtt=2ms", serve(t, func(c *net.TCPConn) {
		asked, err := io.ReadAll(c)
		if err != nil {
			t.Error(err)
		}
		_, _ = c.Write(append([]byte("heard "), asked...))
	}))
	c := dial(t, r.Address())
	_, _ = c.Write([]byte("all of it"))
	_ = c.CloseWrite()
	if answer, err := io.ReadAll(c); err != nil || string(answer) != "heard all of it" {
		t.Errorf("answer %q, %v", answer, err)
	}
}

// A reset at one end is a reset at the other end too, in both directions, even if the other end reads nothing and
// unread data is in the way.
func TestReset(t *testing.T) {
	t.Parallel()
	t.Run("by the server", func(t *testing.T) {
		t.Parallel()
		r := tcp(t, "rtt=2ms", serve(t, func(c *net.TCPConn) {
			_, _ = c.Read(make([]byte, 1))
			_ = c.SetLinger(0)
		}))
		c := dial(t, r.Address())
		_, _ = c.Write([]byte{1})
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the client saw %v, want a reset", err)
		}
	})
	t.Run("by the client", func(t *testing.T) {
		t.Parallel()
		saw := make(chan error, 1)
		begun := make(chan struct{})
		r := tcp(t, "rtt=2ms", serve(t, func(c *net.TCPConn) {
			close(begun)
			_, err := io.Copy(io.Discard, c)
			saw <- err
		}))
		c := dial(t, r.Address())
		_, _ = c.Write([]byte{1})
		<-begun
		_ = c.SetLinger(0)
		_ = c.Close()
		if err := <-saw; !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the server saw %v, want a reset", err)
		}
	})
}

// If no server listens, the client gets a reset, as it would be refused without a relay.
func TestServerGone(t *testing.T) {
	t.Parallel()
	r := tcp(t, "rtt=2ms", "127.0.0.1:1")
	c, err := net.Dial("tcp", r.Address())
	if err == nil { // otherwise the reset came before the client's dial returned
		defer c.Close()
		_, err = c.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client saw %v, want a reset", err)
	}
}
