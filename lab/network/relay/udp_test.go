package relay_test

import (
	"encoding/binary"
	"errors"
	"math"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wirelab/lab/network/relay"
)

// echoPackets sends datagrams back until the test ends.
func echoPackets(t testing.TB) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		buffer := make([]byte, 1<<16)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(buffer[:n], from)
		}
	})
	t.Cleanup(func() {
		conn.Close()
		serving.Wait()
	})
	return conn.LocalAddr().String()
}

func udp(t testing.TB, spec, to string) *relay.Relay {
	return begin(t, relay.Config{Spec: parse(t, spec), Network: "udp", To: to, Seed: 1})
}

func dialUDP(t testing.TB, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Datagrams of every size come back whole, each to the client that sent it, not too early, and in the order in which
// they were sent, with or without jitter. Only one client sends the largest: on a busy machine a kernel with small
// buffers may drop part of a burst.
func TestDatagrams(t *testing.T) {
	t.Parallel()
	r := udp(t, "rtt=10ms,jitter=8ms", echoPackets(t))
	var clients sync.WaitGroup
	for client := range byte(3) {
		clients.Go(func() {
			c := dialUDP(t, r.Address())
			sizes := []int{1, 100, 1200, 1452, 2048, 2049, 9000}
			if client == 0 {
				sizes = append(sizes, 60_000)
			}
			began := time.Now()
			for i, size := range sizes {
				data := make([]byte, size)
				data[0] = client<<4 | byte(i)
				data[size-1] = data[0]
				if _, err := c.Write(data); err != nil {
					t.Error(err)
				}
			}
			buffer := make([]byte, 1<<16)
			_ = c.SetReadDeadline(time.Now().Add(2 * time.Minute))
			for i, size := range sizes {
				n, err := c.Read(buffer)
				if err != nil || n != size || buffer[0] != client<<4|byte(i) || buffer[n-1] != buffer[0] {
					t.Errorf("client %d: datagram %d has %d bytes and begins with %x, %v; want %d", client, i, n,
						buffer[0], err, size)
					return
				}
				if i == 0 && time.Since(began) < 2*time.Millisecond {
					t.Errorf("the first datagram was back after %v", time.Since(began))
				}
			}
		})
	}
	clients.Wait()
	if did := r.Stats(); did.Connections != 3 || did.Dropped != 0 || did.Forwarded != 2*(3*7+1) {
		t.Errorf("the relay did %+v", did)
	}
}

// The share of lost datagrams is the requested one, within chance: it exceeds five standard deviations once in two
// million runs.
func TestLossShare(t *testing.T) {
	t.Parallel()
	const n, p = 4000, 0.1
	got := &atomic.Int64{}
	sink, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := udp(t, "loss=10%", sink.LocalAddr().String())
	c := dialUDP(t, r.Address())
	// The test waits for each in the relay's counts, so that no queue is full and every loss is a drawn one.
	buffer := make([]byte, 100)
	lost := uint64(0)
	for i := range uint32(n) {
		if _, err := c.Write(binary.BigEndian.AppendUint32(nil, i)); err != nil {
			t.Fatal(err)
		}
		for {
			did := r.Stats()
			if did.Dropped > lost {
				lost = did.Dropped
				break
			}
			if int64(did.Forwarded) > got.Load() {
				_ = sink.SetReadDeadline(time.Now().Add(2 * time.Minute))
				if _, _, err := sink.ReadFrom(buffer); err != nil || binary.BigEndian.Uint32(buffer) != i {
					t.Fatalf("datagram %d: %v came, %v", i, buffer[:4], err)
				}
				got.Add(1)
				break
			}
		}
	}
	sink.Close()
	sd := math.Sqrt(n * p * (1 - p))
	if off := math.Abs(float64(lost) - n*p); off > 5*sd || got.Load()+int64(lost) != n {
		t.Errorf("%d of %d were lost and %d came, want %v ± %.0f lost", lost, n, got.Load(), n*p, 5*sd)
	}
}

// The same seed loses the same datagrams, and another seed loses others.
func TestSeedDrawsTheLoss(t *testing.T) {
	t.Parallel()
	lost := func(seed uint64) (which [200]bool) {
		to := echoPackets(t)
		r := begin(t, relay.Config{Spec: parse(t, "loss=20%"), Network: "udp", To: to, Seed: seed})
		c := dialUDP(t, r.Address())
		buffer := make([]byte, 4)
		for i := range which {
			before := r.Stats().Dropped
			_, _ = c.Write([]byte{byte(i)})
			for !which[i] {
				_ = c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
				if _, err := c.Read(buffer); err == nil && buffer[0] == byte(i) {
					break
				}
				which[i] = r.Stats().Dropped > before
			}
		}
		return which
	}
	first, second, other := lost(7), lost(7), lost(8)
	if first != second || first == other {
		t.Errorf("lost with one seed\n%v\nand\n%v\nwith another\n%v", first, second, other)
	}
}

// A burst that does not fit into the link's queue loses its end.
func TestDropTail(t *testing.T) {
	t.Parallel()
	to := echoPackets(t)
	r := udp(t, "bandwidth=1Mbit", to)
	c := dialUDP(t, r.Address())
	const n = 300
	for i := range n {
		if _, err := c.Write(append([]byte{byte(i >> 8), byte(i)}, make([]byte, 998)...)); err != nil {
			t.Fatal(err)
		}
		for r.Stats().Forwarded == 0 && i == 0 {
			time.Sleep(time.Millisecond) // until the session exists; datagrams before that are in one queue
		}
	}
	for did := r.Stats(); did.Dropped == 0; did = r.Stats() {
		time.Sleep(time.Millisecond)
	}
	last := -1
	buffer := make([]byte, 2000)
	for {
		_ = c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
		if _, err := c.Read(buffer); errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		at := int(buffer[0])<<8 | int(buffer[1])
		if at <= last {
			t.Fatalf("datagram %d came after %d", at, last)
		}
		last = at
	}
	if last >= n-1 {
		t.Errorf("the last of %d datagrams came through a queue of 128 KiB", n)
	}
}

// A server that is gone looks silent to UDP, and does not stop the relay.
func TestDatagramsToNobody(t *testing.T) {
	t.Parallel()
	var c net.Conn
	var back net.PacketConn
	for back == nil { // another process may have the port by then; try again with another
		gone, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		to := gone.LocalAddr().String()
		gone.Close()
		r := udp(t, "rtt=0", to)
		c = dialUDP(t, r.Address())
		for range 3 {
			_, _ = c.Write([]byte{1})
		}
		if back, err = net.ListenPacket("udp", to); err != nil {
			back = nil // not an interface that holds nil
		}
	}
	defer back.Close()
	buffer := make([]byte, 10)
	for {
		_, _ = c.Write([]byte{2})
		_ = back.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if _, _, err := back.ReadFrom(buffer); err == nil && buffer[0] == 2 {
			return // once a server listens, datagrams arrive
		}
		if t.Context().Err() != nil {
			t.Fatal("nothing arrives")
		}
	}
}
