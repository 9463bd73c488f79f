package raw_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wirelab"
	"wirelab/internal/porttest"
)

// relay forwards connections to a server and passes what comes back through
// edit, which may end the connection.
func relay(t *testing.T, address string, edit func(reply []byte) (pass []byte, more bool)) string {
	t.Helper()
	return accepting(t, func(near net.Conn, all *sync.WaitGroup) {
		far, err := net.Dial("tcp", address)
		if err != nil {
			_ = near.Close()
			return
		}
		all.Go(func() {
			_, _ = io.Copy(far, near)
			_ = far.Close()
		})
		all.Go(func() {
			defer func() { _, _ = near.Close(), far.Close() }()
			buffer := make([]byte, 64<<10)
			for {
				n, err := far.Read(buffer)
				if err != nil {
					return
				}
				pass, more := edit(buffer[:n])
				if _, err := near.Write(pass); err != nil || !more {
					return
				}
			}
		})
	})
}

// accepting listens until the test ends, and gives each connection to take, which waits for nothing: what
// happens concurrently is in the group, which is waited for.
func accepting(t *testing.T, take func(near net.Conn, all *sync.WaitGroup)) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			take(near, &all)
		}
	})
	return listener.Addr().String()
}

// inPlace is a relay's edit that lets everything pass.
func inPlace(edit func(reply []byte)) func([]byte) ([]byte, bool) {
	return func(reply []byte) ([]byte, bool) {
		edit(reply)
		return reply, true
	}
}

// One byte of the payload in 10,000 replies is flipped: that reply is a
// mismatch, or its call fails, and no other does.
func TestFlippedByte(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, protocol := range []string{"http1-json", "http1-proto", "h2c-json", "grpc", "connect", "raw-tcp"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			cell := one(t, protocol, least(protocol))
			server := start(t, false, "", cell.Serve)
			// A name of the data set is in about every second reply; the
			// connection is one, so that replies come in the order of calls.
			const calls, wrong = 10_000, 1
			marker := []byte("Berkshire Valley") // in about one of 150
			var seen, flipped atomic.Int64
			address := relay(t, server.address, inPlace(func(data []byte) {
				for {
					at := strings.Index(string(data), string(marker))
					if at < 0 {
						return
					}
					if n := seen.Add(1); n == 20 {
						data[at+3] ^= 0x20
						flipped.Add(1)
					}
					data = data[at+len(marker):]
				}
			}))
			lines := dial(t, cell, wirelab.Dialing{Address: address, Connections: 1}, 1, "GetFeature")
			o := loop(t, lines, calls)
			if flipped.Load() != wrong {
				t.Fatalf("%d bytes were flipped in %d replies with the marker", flipped.Load(), seen.Load())
			}
			if o.mismatched+o.failed != wrong || o.right != calls-wrong {
				t.Errorf("%+v, want %d that are not right", o, wrong)
			}
		})
	}
}

// A flipped byte outside the payload never passes for a right reply with
// another meaning: the call is right, or it fails, and the lines go on.
func TestFlippedAnywhere(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, protocol := range []string{"http1-proto", "http1-tls-proto", "h2c-json", "http2-proto", "grpc", "raw-tcp"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			cell := one(t, protocol, least(protocol))
			server := start(t, cell.Protocol.Secure, "", cell.Serve)
			var passed atomic.Int64
			address := relay(t, server.address, inPlace(func(data []byte) {
				for i := range data {
					if n := passed.Add(1); n > 5000 && n%9973 == 0 {
						data[i] ^= 1 << (n % 8)
					}
				}
			}))
			to := server.dialing(2)
			to.Address = address
			slots := 2
			if cell.Protocol.Multiplexed {
				slots = 10
			}
			lines := dial(t, cell, to, slots, "GetFeature")
			const calls = 3000
			right := 0
			// A slow machine may make right calls look like those that never end, so each
			// attempt allows more.
			for long := 300 * time.Millisecond; right < calls/3 && long < 5*time.Second; long *= 4 {
				right = watched(t, lines, calls, long)
			}
			if right < calls/3 {
				t.Errorf("only %d of %d calls are right", right, calls)
			}
		})
	}
}

// watched makes so many calls, gives up those that take long, and returns how many
// were right. It stops where it had to give up one in 30.
func watched(t *testing.T, lines wirelab.Lines, calls int, long time.Duration) (right int) {
	t.Helper()
	canceller := &watchdog{lines: lines, long: long, since: make([]time.Time, lines.Slots())}
	begun, over := 0, 0
	for slot := range lines.Slots() {
		lines.Begin(slot)
		canceller.began(slot)
		begun++
	}
	for over < begun {
		err := lines.Turn(10*time.Millisecond, func(slot int, err error) {
			over++
			if err == nil {
				right++
			}
			canceller.ended(slot)
			if begun < calls && canceller.given < calls/30 {
				begun++
				lines.Begin(slot)
				canceller.began(slot)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		canceller.bite()
	}
	return right
}

// watchdog gives up calls that take long: a length that was flipped can make
// the client wait for bytes that never come.
type watchdog struct {
	lines wirelab.Lines
	long  time.Duration
	since []time.Time // zero: idle
	given int         // up
}

func (w *watchdog) began(slot int) { w.since[slot] = time.Now() }

func (w *watchdog) ended(slot int) { w.since[slot] = time.Time{} }

func (w *watchdog) bite() {
	for slot, since := range w.since {
		if !since.IsZero() && time.Since(since) > w.long {
			w.given++
			w.lines.Cancel(slot, context.DeadlineExceeded)
		}
	}
}

// A server that closes in the middle of a reply fails that call, and the next
// one finds a new connection.
func TestClosedMidReply(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"http1-json", "h2c-json", "grpc"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			cell := one(t, protocol, least(protocol))
			server := start(t, false, "", cell.Serve)
			near, far := newCutter(t, server.address)
			lines := dial(t, cell, wirelab.Dialing{Address: near, Connections: 1}, 1, "ListFeatures")
			if o := loop(t, lines, 5); o.right != 5 {
				t.Fatalf("%+v", o)
			}
			far.after.Store(10) // bytes of the next reply
			o := loop(t, lines, 1)
			if o.failed != 1 || wirelab.CodeOf(o.first) != wirelab.Unavailable {
				t.Errorf("%+v: a cut reply", o)
			}
			if o := loop(t, lines, 5); o.right != 5 {
				t.Errorf("%+v after the cut", o)
			}
			if got := lines.Traffic(); got.Opened != 2 || got.Open != 1 {
				t.Errorf("%+v, want a second connection", got)
			}
		})
	}
}

// cutter closes a relayed connection after so many bytes of replies.
type cutter struct{ after atomic.Int64 }

func newCutter(t *testing.T, address string) (string, *cutter) {
	t.Helper()
	c := new(cutter)
	return relay(t, address, func(reply []byte) ([]byte, bool) {
		if left := c.after.Swap(0); left > 0 {
			return reply[:min(int(left), len(reply))], false
		}
		return reply, true
	}), c
}

// A server that is killed and comes back: calls fail in the meantime, each once, and then go on.
func TestServerComesBack(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"http1-proto net/http", "http1-tls-proto null", "h2c-proto net/http", "grpc grpc-go", "grpc-tls null",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			protocol, library, _ := strings.Cut(name, " ")
			cell := one(t, protocol, library)
			server := start(t, cell.Protocol.Secure, porttest.Held(t), cell.Serve)
			slots := 3
			if cell.Protocol.Multiplexed {
				slots = 9
			}
			lines := dial(t, cell, server.dialing(3), slots, "GetFeature")
			if o := loop(t, lines, 100); o.right != 100 {
				t.Fatalf("%+v", o)
			}
			if err := server.stop(); err != nil {
				t.Fatal(err)
			}
			o := loop(t, lines, 30)
			if o.failed != 30 || wirelab.CodeOf(o.first) != wirelab.Unavailable {
				t.Errorf("%+v without a server", o)
			}
			if cell.Protocol.Secure {
				return // another certificate would be another server
			}
			start(t, false, server.address, cell.Serve)
			if o := loop(t, lines, 100); o.right != 100 {
				t.Errorf("%+v with the server back", o)
			}
			if got := lines.Traffic(); got.Open != 3 || got.Opened != 6 {
				t.Errorf("%+v, want three connections opened twice", got)
			}
		})
	}
}

// A call that is given up ends with the cause it was given, at once; the slot
// and the other calls go on.
func TestCancel(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"http1-proto", "grpc", "http2-proto"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			cell := one(t, protocol, least(protocol))
			server := start(t, cell.Protocol.Secure, "", cell.Serve)
			var held sync.Mutex // while the server is slow
			to := server.dialing(2)
			to.Address = relay(t, server.address, inPlace(func([]byte) {
				held.Lock()
				held.Unlock() //nolint:staticcheck // it only waits
			}))
			lines := dial(t, cell, to, 2, "GetFeature")
			if o := loop(t, lines, 20); o.right != 20 {
				t.Fatalf("%+v", o)
			}
			held.Lock()
			lines.Begin(0)
			lines.Begin(1)
			none := func(slot int, err error) { t.Errorf("slot %d ends with %v", slot, err) }
			if err := lines.Turn(time.Millisecond, none); err != nil {
				t.Fatal(err)
			}
			cause := errors.New("it takes too long")
			lines.Cancel(0, cause)
			lines.Cancel(0, errors.New("a second cause"))
			given := 0
			if err := lines.Turn(time.Hour, func(slot int, err error) {
				given++
				if slot != 0 || !errors.Is(err, cause) {
					t.Errorf("slot %d ends with %v", slot, err)
				}
			}); err != nil || given != 1 {
				t.Fatalf("%d calls ended, %v", given, err)
			}
			held.Unlock()
			other := 0
			for other == 0 {
				if err := lines.Turn(time.Second, func(slot int, err error) {
					other++
					if slot != 1 || err != nil {
						t.Errorf("slot %d ends with %v", slot, err)
					}
				}); err != nil {
					t.Fatal(err)
				}
			}
			if o := loop(t, lines, 100); o.right != 100 {
				t.Errorf("%+v afterwards", o)
			}
			opened := uint64(2)
			if !cell.Protocol.Multiplexed {
				opened = 3 // the reply would be taken for the next call's
			}
			if got := lines.Traffic(); got.Opened != opened || got.Open != 2 {
				t.Errorf("%+v, want %d connections opened", got, opened)
			}
		})
	}
}

// Dial tells what is wrong with what it is asked for.
func TestDialRefuses(t *testing.T) {
	t.Parallel()
	cell := one(t, "http1-json", "null")
	server := start(t, false, "", cell.Serve)
	for _, c := range []struct {
		why       string
		to        wirelab.Dialing
		slots     int
		operation string
		code      wirelab.Code
	}{
		{"HTTP/1.1 carries one call at a time", server.dialing(2), 3, "GetFeature", wirelab.InvalidArgument},
		{"no call can be in flight", server.dialing(1), 0, "GetFeature", wirelab.InvalidArgument},
		{"a chat's requests cannot be made beforehand", server.dialing(1), 1, "RouteChat", wirelab.Unimplemented},
		{"no server has the operation", server.dialing(1), 1, "Guess", wirelab.InvalidArgument},
		{"no server listens", wirelab.Dialing{Address: "127.0.0.1:1"}, 1, "GetFeature", wirelab.Unavailable},
	} {
		lines, err := cell.DialRaw(t.Context(), c.to, c.slots, c.operation, "", 1)
		if err == nil {
			_ = lines.Close()
		}
		if err == nil || wirelab.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", c.why, err, c.code)
		}
	}
	proto := one(t, "http1-proto", "null") // a hole makes no request at all
	if _, err := proto.DialRaw(t.Context(), server.dialing(1), 1, "ListFeatures", "", 1); err == nil ||
		wirelab.CodeOf(err) != wirelab.Unimplemented {
		t.Errorf("a hole: %v", err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never speaks
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	for _, protocol := range []string{"grpc", "grpc-tls"} {
		if _, err := one(t, protocol, "null").DialRaw(ctx, wirelab.Dialing{Address: silent.Addr().String()}, 1,
			"GetFeature",
			"", 1); err == nil {
			t.Errorf("%s: a silent server was dialled", protocol)
		}
	}
}
