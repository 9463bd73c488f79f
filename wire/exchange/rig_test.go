package exchange_test

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/wire/exchange"
	"wirelab/wire/rawtcp"
	"wirelab/wire/websocket"
)

func TestMain(m *testing.M) {
	// Injected panics would fill the output with their stacks.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(leaktest.Patient(m))
}

// patience bounds every wait for something that must happen; nothing passes by being quicker.
const patience = time.Minute

// wire is one of the wires that speak the protocol: each test here must hold on each.
type wire struct {
	name  string
	serve func(context.Context, wirelab.Endpoint, ...exchange.Handler) error
	dial  func(wirelab.Dialing) *exchange.Client
}

func wires() []wire {
	return []wire{
		{"rawtcp", rawtcp.Serve, rawtcp.Dial},
		{"websocket", websocket.Serve, websocket.Dial},
	}
}

func eachWire(t *testing.T, test func(t *testing.T, w wire)) {
	t.Helper()
	for _, w := range wires() {
		t.Run(w.name, func(t *testing.T) { test(t, w) })
	}
}

// text is the payload of every operation here.
func text() exchange.Codec[string] {
	return exchange.Codec[string]{
		Append: func(b []byte, s string) ([]byte, error) {
			if s == unencodable {
				return b, wirelab.Errorf(wirelab.InvalidArgument, "cannot be encoded")
			}
			return append(b, s...), nil
		},
		Parse: func(b []byte) (string, error) {
			if string(b) == "unreadable" {
				return "", io.ErrUnexpectedEOF
			}
			return string(b), nil
		},
	}
}

const unencodable = "unencodable"

type op = exchange.Operation[string, string]

func echo() op    { return op{Number: 1, Request: text(), Reply: text()} }
func count() op   { return op{Number: 2, Request: text(), Reply: text()} }
func sum() op     { return op{Number: 3, Request: text(), Reply: text()} }
func chat() op    { return op{Number: 4, Request: text(), Reply: text()} }
func missing() op { return op{Number: 9, Request: text(), Reply: text()} }

// service answers the operations; nil fields are the plain answers.
type service struct {
	echo  func(context.Context, string) (string, error)
	count func(context.Context, string) iter.Seq2[string, error]
	sum   func(context.Context, iter.Seq2[string, error]) (string, error)
	chat  func(context.Context, iter.Seq2[string, error]) iter.Seq2[string, error]
}

func (s service) handlers() []exchange.Handler {
	if s.echo == nil {
		s.echo = func(_ context.Context, req string) (string, error) { return req, nil }
	}
	if s.count == nil {
		s.count = func(_ context.Context, req string) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				n, err := strconv.Atoi(req)
				if err != nil {
					yield("", wirelab.Errorf(wirelab.InvalidArgument, "not a number"))
					return
				}
				for i := range n {
					if !yield(strconv.Itoa(i), nil) {
						return
					}
				}
			}
		}
	}
	if s.sum == nil {
		s.sum = func(_ context.Context, reqs iter.Seq2[string, error]) (string, error) {
			total := 0
			for req, err := range reqs {
				if err != nil {
					return "", err
				}
				n, err := strconv.Atoi(req)
				if err != nil {
					return "", wirelab.Errorf(wirelab.InvalidArgument, "not a number: %s", req)
				}
				total += n
			}
			return strconv.Itoa(total), nil
		}
	}
	if s.chat == nil {
		s.chat = func(_ context.Context, reqs iter.Seq2[string, error]) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				for req, err := range reqs {
					if err == nil && req == "fail" {
						err = wirelab.Errorf(wirelab.Conflict, "as asked")
					}
					if err != nil {
						yield("", err)
						return
					}
					if !yield("re: "+req, nil) {
						return
					}
				}
			}
		}
	}
	return []exchange.Handler{
		echo().Unary(s.echo), count().ServerStream(s.count), sum().ClientStream(s.sum), chat().BidiStream(s.chat),
	}
}

// running is a server that a test started.
type running struct {
	address string
	opened  *atomic.Int64 // connections it accepted
	cancel  context.CancelFunc
	stop    func() error // ends it and returns what Serve returned; may be called twice
}

type countingListener struct {
	net.Listener
	opened *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.opened.Add(1)
	}
	return conn, err
}

func (w wire) start(t *testing.T, address string, s service, drain time.Duration) running {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	r := running{address: listener.Addr().String(), opened: &atomic.Int64{}}
	// Not t.Context(): that ends before cleanups run, and a test wants to say when.
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	ended := make(chan error, 1)
	go func() {
		ended <- w.serve(ctx, wirelab.Endpoint{Listener: countingListener{listener, r.opened}, Drain: drain},
			s.handlers()...)
	}()
	r.stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(patience):
			panic("server does not stop")
		}
	})
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("Serve returned %v, want nil", err)
		}
	})
	return r
}

func (w wire) client(t *testing.T, address string, connections int) *exchange.Client {
	t.Helper()
	c := w.dial(wirelab.Dialing{Address: address, Connections: connections})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// pair is a server and a client of one connection.
func (w wire) pair(t *testing.T, s service) (running, *exchange.Client) {
	t.Helper()
	r := w.start(t, "127.0.0.1:0", s, time.Minute)
	return r, w.client(t, r.address, 1)
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// collect reads a stream to its end or error.
func collect(s iter.Seq2[string, error]) (all []string, err error) {
	for item, err := range s {
		if err != nil {
			return all, err
		}
		all = append(all, item)
	}
	return all, nil
}

func list(all ...string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, item := range all {
			if !yield(item, nil) {
				return
			}
		}
	}
}

func wantCode(t *testing.T, what string, err error, want wirelab.Code) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: success, want %v", what, want)
	} else if got := wirelab.CodeOf(err); got != want {
		t.Errorf("%s: %v, want code %v", what, err, want)
	}
}

// wantEcho checks that the client works.
func wantEcho(t *testing.T, what string, c *exchange.Client) {
	t.Helper()
	if got, err := echo().Call(bounded(t), c, "hello"); err != nil || got != "hello" {
		t.Errorf("%s: echo gives %q, %v", what, got, err)
	}
}

// await waits for an event that must happen.
func await[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("%s: nothing in %v", what, patience)
	}
	return v
}
