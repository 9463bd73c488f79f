package relay_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"wirelab/lab/network/relay"
)

// A transfer never takes less time than the link needs, headers included.
func TestBandwidthIsNeverExceeded(t *testing.T) {
	t.Parallel()
	const bytes, connections = 200_000, 3
	r := tcp(t, "bandwidth=10Mbit", serve(t, func(c *net.TCPConn) {
		_, _ = c.Write(make([]byte, bytes))
	}))
	began := time.Now()
	var all sync.WaitGroup
	for range connections {
		c := dial(t, r.Address())
		all.Go(func() {
			if n, err := io.Copy(io.Discard, c); n != bytes || err != nil {
				t.Errorf("%d bytes came, %v", n, err)
			}
		})
	}
	all.Wait()
	segments := (bytes + 1459) / 1460
	least := time.Duration(connections*(bytes+40*segments)*8) * time.Second / 10_000_000
	if took := time.Since(began); took < least {
		t.Errorf("%d bytes took %v, the link %v", connections*bytes, took, least)
	}
}

// A large message takes as many flights as its windows need: 1 MB on a path without limit or loss takes 7, the last of
// them half a trip, after the handshake.
func TestWindows(t *testing.T) {
	t.Parallel()
	r := tcp(t, "rtt=10ms", serve(t, func(c *net.TCPConn) {
		_, _ = c.Write(make([]byte, 1_000_000))
	}))
	began := time.Now() // not at the first byte, which a busy machine may read late
	if _, err := io.Copy(io.Discard, dial(t, r.Address())); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 76*time.Millisecond {
		t.Errorf("a megabyte took %v: more was on the way at first than 10 segments", took)
	}
}

// A receiver that reads nothing stops the sender: the relay holds a bounded number of bytes, and all of them arrive
// when the receiver reads after all.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	begun, take := make(chan struct{}), make(chan struct{})
	total := make(chan int64, 1)
	r := tcp(t, "rtt=1ms", serve(t, func(c *net.TCPConn) {
		_ = c.SetReadBuffer(64 << 10)
		close(begun)
		<-take
		n, _ := io.Copy(io.Discard, c)
		total <- n
	}))
	c := dial(t, r.Address())
	_ = c.SetWriteBuffer(64 << 10)
	<-begun
	chunk := make([]byte, 1<<20)
	sent := int64(0)
	for sent < 256<<20 {
		_ = c.SetWriteDeadline(time.Now().Add(2 * time.Second))
		n, err := c.Write(chunk)
		sent += int64(n)
		if err != nil {
			break
		}
	}
	// 4 MiB in the relay, and the kernel's buffers of four sockets.
	if sent > 64<<20 {
		t.Errorf("%d MiB were taken for an end that takes nothing", sent>>20)
	}
	if held := relay.Held(r); held > 8<<20 {
		t.Errorf("the relay holds %d bytes", held)
	}
	close(take)
	_ = c.SetWriteDeadline(time.Time{})
	_ = c.CloseWrite()
	if got := <-total; got != sent {
		t.Errorf("%d bytes were sent and %d came", sent, got)
	}
}

// A reset overtakes data that is not read. A client sees a reset from a server that had closed its side and then gets
// more data.
func TestResetPastData(t *testing.T) {
	t.Parallel()
	t.Run("to an end that takes nothing", func(t *testing.T) {
		t.Parallel()
		begun, gone := make(chan struct{}), make(chan struct{})
		saw := make(chan error, 1)
		r := tcp(t, "rtt=1ms", serve(t, func(c *net.TCPConn) {
			_ = c.SetReadBuffer(16 << 10)
			close(begun)
			<-gone
			_, err := io.Copy(io.Discard, c)
			saw <- err
		}))
		c := dial(t, r.Address())
		<-begun
		// Less than the relay holds, and more than the server's socket does.
		_, _ = c.Write(make([]byte, 2<<20))
		_ = c.SetLinger(0)
		_ = c.Close()
		for relay.Held(r) > 0 {
			time.Sleep(time.Millisecond) // until the relay has closed the connection
		}
		close(gone)
		if err := <-saw; !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the server saw %v, want a reset", err)
		}
	})
	t.Run("after goodbye", func(t *testing.T) {
		t.Parallel()
		r := tcp(t, "rtt=1ms", serve(t, func(*net.TCPConn) {})) // the server closes at once
		c := dial(t, r.Address())
		if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
			t.Fatalf("%q, %v", rest, err)
		}
		for {
			if _, err := c.Write([]byte("are you there?")); err != nil {
				if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
					t.Errorf("the client saw %v, want a reset", err)
				}
				return
			}
		}
	})
}

// A relay that is stopped resets open connections, also while it waits for a server's data, a slow link and a lost
// segment.
func TestStopWhileBusy(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"rtt=0", "rtt=10s", "bandwidth=8kbit", "rtt=1s,loss=50%"} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			to := serve(t, echo)
			r, err := relay.Listen("127.0.0.1:0", relay.Config{Spec: parse(t, spec), Network: "tcp", To: to})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ran := make(chan error, 1)
			go func() { ran <- r.Run(ctx) }()
			c := dial(t, r.Address())
			_, _ = c.Write(make([]byte, 50_000))
			for relay.Held(r) == 0 {
				time.Sleep(time.Millisecond)
			}
			cancel()
			if err := <-ran; err != nil {
				t.Errorf("the relay ended with %v", err)
			}
			if _, err := io.Copy(io.Discard, c); err == nil {
				t.Error("the client was not told")
			}
			if relay.Held(r) != 0 {
				t.Errorf("%d bytes are still held", relay.Held(r))
			}
		})
	}
}

// At most the allowed number of connections is served at the same time; the next one when a connection ends.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	r := begin(t, relay.Config{Spec: parse(t, "rtt=0"), Network: "tcp", To: serve(t, echo), Connections: 2})
	first, second := dial(t, r.Address()), dial(t, r.Address())
	trip(t, first)
	trip(t, second)
	// The kernel accepts a third, but the relay does not while both are held.
	third := dial(t, r.Address())
	if _, err := third.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if err := third.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := third.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a third got %d bytes, %v", n, err)
	}
	first.Close()
	if err := third.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(third, make([]byte, 1)); err != nil {
		t.Error(err)
	}
}

func TestListenRefuses(t *testing.T) {
	t.Parallel()
	good := relay.Config{Spec: parse(t, "rtt=0"), Network: "tcp", To: "127.0.0.1:1"}
	for name, change := range map[string]func(*relay.Config) string{
		"netem":       func(c *relay.Config) string { c.Spec.Via = "netem"; return "127.0.0.1:0" },
		"bad path":    func(c *relay.Config) string { c.Spec.Loss = 2; return "127.0.0.1:0" },
		"no port":     func(c *relay.Config) string { c.To = "localhost"; return "127.0.0.1:0" },
		"network":     func(c *relay.Config) string { c.Network = "sctp"; return "127.0.0.1:0" },
		"bad address": func(*relay.Config) string { return "256.0.0.1:0" },
	} {
		c := good
		if _, err := relay.Listen(change(&c), c); err == nil {
			t.Errorf("%s: is taken", name)
		}
	}
}

// FuzzBytes: all data comes back unchanged, however it is divided, on any path.
func FuzzBytes(f *testing.F) {
	f.Add([]byte("hello"), uint16(1), uint8(0), uint8(0))
	f.Add(bytes.Repeat([]byte{1, 2, 3}, 5000), uint16(1460), uint8(1), uint8(20))
	f.Add(bytes.Repeat([]byte{7}, 20_000), uint16(333), uint8(2), uint8(255))
	f.Fuzz(func(t *testing.T, data []byte, cut uint16, rtt, jitter uint8) {
		spec := parse(t, "rtt=0")
		spec.RTT = time.Duration(rtt%4) * time.Millisecond
		spec.Jitter = spec.RTT * time.Duration(jitter) / 255
		data = data[:min(len(data), 1<<16)]
		r := begin(t, relay.Config{Spec: spec, Network: "tcp", To: serve(t, echo), Seed: uint64(cut)})
		c := dial(t, r.Address())
		var writing sync.WaitGroup
		writing.Go(func() {
			for rest := data; len(rest) > 0; {
				n := min(len(rest), int(cut)+1)
				if _, err := c.Write(rest[:n]); err != nil {
					return
				}
				rest = rest[n:]
			}
			_ = c.CloseWrite()
		})
		got, err := io.ReadAll(c)
		writing.Wait()
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes and %v came back of %d", len(got), err, len(data))
		}
	})
}
