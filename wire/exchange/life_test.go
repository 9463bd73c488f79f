package exchange_test

import (
	"context"
	"encoding/binary"
	"iter"
	"net"
	"testing"
	"time"

	socket "github.com/coder/websocket"

	"wirelab"
	"wirelab/internal/porttest"
	"wirelab/wire/exchange"
	"wirelab/wire/websocket"
)

// kinds makes a call of each kind that is held in the service until its
// context ends.
func kinds() map[string]func(ctx context.Context, c *exchange.Client) error {
	return map[string]func(ctx context.Context, c *exchange.Client) error{
		"unary": func(ctx context.Context, c *exchange.Client) error { _, err := echo().Call(ctx, c, ""); return err },
		"server stream": func(ctx context.Context, c *exchange.Client) error {
			_, err := collect(count().CallServerStream(ctx, c, ""))
			return err
		},
		"client stream": func(ctx context.Context, c *exchange.Client) error {
			_, err := sum().CallClientStream(ctx, c, list("1", "2", "3"))
			return err
		},
		"chat": func(ctx context.Context, c *exchange.Client) error {
			_, err := collect(chat().CallBidiStream(ctx, c, list("1", "2", "3")))
			return err
		},
	}
}

// held is a service whose calls wait in it, without reading, until their
// contexts end or they are let go.
type held struct {
	entered chan context.Context
	ended   chan error
	release chan struct{}
}

func newHeld() *held {
	return &held{make(chan context.Context, 8), make(chan error, 8), make(chan struct{})}
}

func (h *held) wait(ctx context.Context) error {
	h.entered <- ctx
	select {
	case <-ctx.Done():
		h.ended <- ctx.Err()
		return ctx.Err()
	case <-h.release:
		return nil
	}
}

func (h *held) service() service {
	return service{
		echo: func(ctx context.Context, req string) (string, error) { return req, h.wait(ctx) },
		count: func(ctx context.Context, _ string) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				if yield("item", nil) {
					// Stops without a word: the wire must not take it for the end.
					_ = h.wait(ctx)
				}
			}
		},
		sum: func(ctx context.Context, _ iter.Seq2[string, error]) (string, error) { return "", h.wait(ctx) },
		chat: func(ctx context.Context, _ iter.Seq2[string, error]) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				if err := h.wait(ctx); err != nil {
					yield("", err)
				}
			}
		},
	}
}

func TestDeadlineReachesTheServer(t *testing.T) {
	t.Parallel()
	eachWire(t, func(t *testing.T, w wire) {
		for name, call := range kinds() {
			t.Run(name, func(t *testing.T) {
				h := newHeld()
				_, c := w.pair(t, h.service())
				var ctx, inside context.Context
				// A slow machine may use a deadline up before the service is
				// reached, so each attempt allows more.
				for after := 150 * time.Millisecond; inside == nil && after < patience; after *= 4 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(t.Context(), after)
					defer cancel()
					wantCode(t, "the caller", call(ctx, c), wirelab.DeadlineExceeded)
					select {
					case inside = <-h.entered:
					default:
					}
				}
				if inside == nil {
					t.Fatal("no call reached the service")
				}
				want, _ := ctx.Deadline()
				if got, ok := inside.Deadline(); !ok || got.Sub(want).Abs() > 10*time.Second {
					t.Errorf("the service's deadline is %v (%v), the caller's %v", got, ok, want)
				}
				await(t, "the end of the service's context", h.ended)
				close(h.release)
				if _, err := echo().Call(bounded(t), c, "next"); err != nil {
					t.Errorf("next call: %v", err)
				}
			})
		}
	})
}

// A caller that keeps its connection open past the deadline that it told, and neither sends nor leaves, gets the
// deadline honoured all the same. The caller is made by hand, so that none of our clients can end the call.
func TestServerHonoursADeadlineAlone(t *testing.T) {
	t.Parallel()
	eachWire(t, func(t *testing.T, w wire) {
		for name, number := range map[string]byte{"chat": chat().Number, "client stream": sum().Number} {
			t.Run(name, func(t *testing.T) {
				waiting := make(chan error, 1)
				r := w.start(t, "127.0.0.1:0", service{
					chat: func(_ context.Context, reqs iter.Seq2[string, error]) iter.Seq2[string, error] {
						return func(func(string, error) bool) {
							_, err := collect(reqs) // heeds no context, only what it reads
							waiting <- err
						}
					},
					sum: func(_ context.Context, reqs iter.Seq2[string, error]) (string, error) {
						_, err := collect(reqs)
						waiting <- err
						return "", err
					},
				}, time.Minute)
				// A call message: its kind, its operation, its timeout in microseconds.
				call := binary.AppendUvarint([]byte{1, number}, uint64((20 * time.Millisecond).Microseconds()))
				heard := w.silent(t, r.address, call)
				if err := await(t, "the service's read", waiting); err == nil {
					t.Error("a call that ran out of time looks like one that ended")
				}
				if err := await(t, "the end of the connection", heard); err == nil {
					t.Error("the caller hears an answer")
				}
			})
		}
	})
}

// silent sends one message over a connection that it then leaves open and says nothing on. What it tells is how the
// first read of it ended.
func (w wire) silent(t *testing.T, address string, message []byte) (heard <-chan error) {
	t.Helper()
	read := make(chan error, 1)
	if w.name == "websocket" {
		conn, _, err := socket.Dial(bounded(t), "ws://"+address+"/",
			&socket.DialOptions{Subprotocols: []string{websocket.Subprotocol}})
		if err == nil {
			err = conn.Write(bounded(t), socket.MessageBinary, message)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.CloseNow() })
		go func() { _, _, err := conn.Read(context.Background()); read <- err }()
		return read
	}
	conn, err := net.Dial("tcp", address)
	if err == nil {
		_, err = conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() { _, err := conn.Read(make([]byte, 1)); read <- err }()
	return read
}

func TestCancelReachesTheServer(t *testing.T) {
	t.Parallel()
	eachWire(t, func(t *testing.T, w wire) {
		for name, call := range kinds() {
			t.Run(name, func(t *testing.T) {
				h := newHeld()
				_, c := w.pair(t, h.service())
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				result := make(chan error, 1)
				go func() { result <- call(ctx, c) }()
				await(t, "the service", h.entered)
				cancel()
				wantCode(t, "the caller", await(t, "the caller", result), wirelab.Canceled)
				await(t, "the end of the service's context", h.ended)
				close(h.release)
				wantCode(t, "a call under an ended context", call(ctx, c), wirelab.Canceled)
			})
		}
	})
}

// noticed waits until a client that rests has found its connections gone.
func noticed(t *testing.T, c *exchange.Client) {
	t.Helper()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for ctx := bounded(t); !exchange.Noticed(c); {
		select {
		case <-poll.C:
		case <-ctx.Done():
			t.Fatal("no end notices that an idle connection is gone")
		}
	}
}

func TestStopDrains(t *testing.T) {
	t.Parallel()
	eachWire(t, func(t *testing.T, w wire) {
		for name, call := range kinds() {
			t.Run(name, func(t *testing.T) {
				h := newHeld()
				r := w.start(t, porttest.Held(t), h.service(), time.Hour)
				busy, idle := w.client(t, r.address, 1), w.client(t, r.address, 1)
				go func() { <-h.entered; h.release <- struct{}{} }()
				if err := call(bounded(t), idle); err != nil {
					t.Fatalf("before the stop: %v", err)
				}
				result := make(chan error, 1)
				go func() { result <- call(bounded(t), busy) }()
				await(t, "the service", h.entered)
				r.cancel()
				noticed(t, idle) // so the stop has begun
				close(h.release)
				if err := await(t, "the call in flight", result); err != nil {
					t.Errorf("a call in flight is cut by a stop: %v", err)
				}
				if err := r.stop(); err != nil {
					t.Errorf("Serve returned %v", err)
				}
				wantCode(t, "after the stop", call(bounded(t), idle), wirelab.Unavailable)
				wantCode(t, "after the stop", call(bounded(t), busy), wirelab.Unavailable)
			})
		}
	})
}

func TestStopCutsWhatOutlivesTheDrain(t *testing.T) {
	t.Parallel()
	eachWire(t, func(t *testing.T, w wire) {
		for name, call := range kinds() {
			t.Run(name, func(t *testing.T) {
				h := newHeld()
				r := w.start(t, "127.0.0.1:0", h.service(), 50*time.Millisecond)
				c := w.client(t, r.address, 1)
				result := make(chan error, 1)
				go func() { result <- call(bounded(t), c) }()
				await(t, "the service", h.entered)
				if err := r.stop(); err != nil {
					t.Errorf("Serve returned %v", err)
				}
				err := await(t, "the caller", result)
				if err == nil || wirelab.CodeOf(err) != wirelab.Unavailable && wirelab.CodeOf(err) != wirelab.Canceled {
					t.Errorf("the caller hears %v", err)
				}
			})
		}
	})
}

// The connection that the server closed while it was idle is replaced without
// a failed call.
func TestReconnectAfterARestart(t *testing.T) {
	t.Parallel()
	eachWire(t, func(t *testing.T, w wire) {
		r := w.start(t, porttest.Held(t), service{}, 0)
		c := w.client(t, r.address, 2)
		wantEcho(t, "before", c)
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		_, err := echo().Call(bounded(t), c, "")
		wantCode(t, "while away", err, wirelab.Unavailable)
		w.start(t, r.address, service{}, 0)
		noticed(t, c)
		for range 4 { // both places
			wantEcho(t, "after", c)
		}
	})
}

func TestClosedClient(t *testing.T) {
	t.Parallel()
	eachWire(t, func(t *testing.T, w wire) {
		h := newHeld()
		_, c := w.pair(t, h.service())
		result := make(chan error, 1)
		go func() { _, err := echo().Call(bounded(t), c, ""); result <- err }()
		await(t, "the service", h.entered)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		wantCode(t, "in flight", await(t, "the call in flight", result), wirelab.Unavailable)
		_, err := echo().Call(bounded(t), c, "")
		wantCode(t, "after", err, wirelab.Unavailable)
	})
}

// A client that is not read from stops its server's stream: nothing piles up
// but what the sockets hold.
func TestSlowReaderIsBounded(t *testing.T) {
	t.Parallel()
	const limit = 64 << 20
	item := string(make([]byte, 64<<10))
	eachWire(t, func(t *testing.T, w wire) {
		made := make(chan int, 1)
		_, c := w.pair(t, service{count: func(ctx context.Context, _ string) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				n := 0
				defer func() { made <- n }()
				for n*len(item) < limit && yield(item, nil) {
					n++
				}
			}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		for range count().CallServerStream(ctx, c, "") {
			timer := time.NewTimer(200 * time.Millisecond) // too short a wait could only miss a fault
			select {
			case n := <-made:
				t.Errorf("the server made all %d items for a reader that stopped", n)
				made <- n
			case <-timer.C:
			}
			cancel()
			break
		}
		cancel()
		if n := await(t, "the end of the stream", made); n*len(item) >= limit {
			t.Errorf("%d items of %d bytes", n, len(item))
		}
	})
}
