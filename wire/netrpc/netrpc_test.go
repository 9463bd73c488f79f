package netrpc_test

import (
	"context"
	"encoding/gob"
	"errors"
	"log/slog"
	"net"
	"net/rpc"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/internal/porttest"
	"wirelab/wire/netrpc"
)

func TestMain(m *testing.M) {
	// Injected panics would fill the output with their stacks.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(leaktest.Patient(m))
}

// patience bounds every wait for something that must happen; nothing passes by being quicker.
const patience = time.Minute

type (
	ask    struct{ Text string }
	answer struct{ Text string }
)

// Echo is a receiver whose answers a test decides.
type Echo struct {
	do func(context.Context, ask) (answer, error)
}

// Say is the method Echo.Say.
func (e *Echo) Say(req *netrpc.Request[ask], rep *netrpc.Reply[answer]) error {
	return netrpc.Answer(req, rep, e.do)
}

func say(ctx context.Context, c *netrpc.Client, text string) (string, error) {
	got, err := netrpc.Call[ask, answer](ctx, c, "Echo.Say", ask{text})
	return got.Text, err
}

func plain(_ context.Context, a ask) (answer, error) { return answer(a), nil }

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

// running is a server that a test started.
type running struct {
	address string
	opened  *atomic.Int64
	cancel  context.CancelFunc
	stop    func() error
}

func start(t *testing.T, address string, drain time.Duration, do func(context.Context, ask) (answer, error)) running {
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
		at := wirelab.Endpoint{Listener: countingListener{listener, r.opened}, Drain: drain}
		ended <- netrpc.Serve(ctx, at, "Echo", &Echo{do})
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

func dial(t *testing.T, address string) *netrpc.Client {
	t.Helper()
	c := netrpc.Dial(wirelab.Dialing{Address: address})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func wantCode(t *testing.T, what string, err error, want wirelab.Code) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: success, want %v", what, want)
	} else if got := wirelab.CodeOf(err); got != want {
		t.Errorf("%s: %v, want code %v", what, err, want)
	}
}

func await[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("%s: nothing in %v", what, patience)
	}
	return v
}

// held is a service whose calls wait in it until their contexts end or they are let go.
type held struct {
	entered chan context.Context
	ended   chan error
	release chan struct{}
}

func newHeld() *held {
	return &held{make(chan context.Context, 2048), make(chan error, 2048), make(chan struct{})}
}

func (h *held) do(ctx context.Context, a ask) (answer, error) {
	if a.Text == "free" {
		return answer(a), nil
	}
	h.entered <- ctx
	select {
	case <-ctx.Done():
		h.ended <- ctx.Err()
		return answer{}, ctx.Err()
	case <-h.release:
		return answer(a), nil
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	r := start(t, "127.0.0.1:0", 0, plain)
	c := dial(t, r.address)
	for _, text := range []string{"", "x", "NUL \x00, bytes \xff\xfe", strings.Repeat("long ", 100_000)} {
		if got, err := say(bounded(t), c, text); err != nil || got != text {
			t.Errorf("%d bytes give %d bytes, %v", len(text), len(got), err)
		}
	}
}

func TestFailuresCrossWhole(t *testing.T) {
	t.Parallel()
	var next atomic.Pointer[wirelab.Error]
	r := start(t, "127.0.0.1:0", 0, func(context.Context, ask) (answer, error) { return answer{}, next.Load() })
	c := dial(t, r.address)
	for _, code := range wirelab.Codes() {
		for _, message := range []string{"", "plain", "Ärger: mit 100 %s \x00 \xff", strings.Repeat("long ", 20_000)} {
			want := &wirelab.Error{Code: code, Message: message}
			next.Store(want)
			_, err := say(bounded(t), c, "")
			var got *wirelab.Error
			if !errors.As(err, &got) || *got != *want {
				t.Errorf("%.80v, want %.80v", err, want)
			}
		}
	}
}

func TestFailuresOfTheCall(t *testing.T) {
	t.Parallel()
	r := start(t, "127.0.0.1:0", 0, func(_ context.Context, a ask) (answer, error) {
		switch a.Text {
		case "panic":
			panic("injected")
		case "unclassified":
			return answer{}, errors.New("a secret")
		}
		return answer(a), nil
	})
	c := dial(t, r.address)
	cases := []struct {
		why, method, text string
		want              wirelab.Code
	}{
		{"a panic costs its call", "Echo.Say", "panic", wirelab.Internal},
		{"an unclassified error tells nothing", "Echo.Say", "unclassified", wirelab.Internal},
		{"an unknown method", "Echo.Shout", "", wirelab.Unimplemented},
		{"a service that is unknown", "Other.Say", "", wirelab.Unimplemented},
		{"a method that is no method", "Echo", "", wirelab.Unimplemented},
	}
	for _, k := range cases {
		_, err := netrpc.Call[ask, answer](bounded(t), c, k.method, ask{k.text})
		wantCode(t, k.why, err, k.want)
		if err != nil && (strings.Contains(err.Error(), "injected") || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: the caller is shown %v", k.why, err)
		}
		if got, err := say(bounded(t), c, "next"); err != nil || got != "next" {
			t.Errorf("after %s: %q, %v", k.why, got, err)
		}
	}
	if got := r.opened.Load(); got != 1 {
		t.Errorf("%d connections, want 1: a failure does not cost one", got)
	}
	_, err := say(bounded(t), c, strings.Repeat("x", netrpc.MessageLimit))
	wantCode(t, "a request above the limit", err, wirelab.ResourceExhausted)
	if got, err := say(bounded(t), c, "next"); err != nil || got != "next" {
		t.Errorf("after a request above the limit: %q, %v", got, err)
	}
}

func TestManyCallsShareAConnection(t *testing.T) {
	t.Parallel()
	h := newHeld()
	r := start(t, "127.0.0.1:0", 0, h.do)
	c := dial(t, r.address)
	var wg sync.WaitGroup
	const more = 8
	for range wirelab.MaxStreams + more {
		wg.Go(func() {
			if got, err := say(bounded(t), c, "x"); err != nil || got != "x" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	for range wirelab.MaxStreams {
		await(t, "as many calls as there may be at once", h.entered)
	}
	// The rest wait in the client; a caller who does may leave.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := say(ctx, c, "waits")
	wantCode(t, "a call given up while it waits", err, wirelab.Canceled)
	select {
	case <-h.entered:
		t.Errorf("more than %d calls at once", wirelab.MaxStreams)
	default:
	}
	close(h.release)
	wg.Wait()
	if got := r.opened.Load(); got != 1 {
		t.Errorf("%d connections, want 1", got)
	}
}

func TestDeadlineAndCancelReachTheServer(t *testing.T) {
	t.Parallel()
	h := newHeld()
	r := start(t, "127.0.0.1:0", 0, h.do)
	c := dial(t, r.address)
	if _, err := say(bounded(t), c, "free"); err != nil { // which connects
		t.Fatal(err)
	}
	var ctx, inside context.Context
	var cancel context.CancelFunc
	// A slow machine may use a deadline up before the service is reached, so each
	// attempt allows more.
	for after := 300 * time.Millisecond; inside == nil && after < patience; after *= 4 {
		ctx, cancel = context.WithTimeout(t.Context(), after)
		defer cancel()
		_, err := say(ctx, c, "late")
		wantCode(t, "past the deadline", err, wirelab.DeadlineExceeded)
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

	ctx, cancel = context.WithCancel(t.Context())
	result := make(chan error, 2)
	go func() { _, err := say(ctx, c, "given up"); result <- err }()
	go func() { _, err := say(bounded(t), c, "another's"); result <- err }()
	await(t, "the service", h.entered)
	await(t, "the service", h.entered)
	cancel()
	wantCode(t, "given up", await(t, "the caller", result), wirelab.Canceled)
	await(t, "the end of the service's context", h.ended)
	close(h.release)
	if err := await(t, "the other call", result); err != nil {
		t.Errorf("a cancel harms another call: %v", err)
	}
	if len(h.ended) != 0 || r.opened.Load() != 1 {
		t.Errorf("a cancel ended %d other calls and cost %d connections", len(h.ended), r.opened.Load()-1)
	}
}

func TestAClientThatLeavesEndsItsCalls(t *testing.T) {
	t.Parallel()
	h := newHeld()
	r := start(t, "127.0.0.1:0", 0, h.do)
	c := dial(t, r.address)
	result := make(chan error, 1)
	go func() { _, err := say(bounded(t), c, "x"); result <- err }()
	await(t, "the service", h.entered)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	wantCode(t, "in flight at close", await(t, "the caller", result), wirelab.Unavailable)
	await(t, "the end of the service's context", h.ended)
	_, err := say(bounded(t), c, "x")
	wantCode(t, "after close", err, wirelab.Unavailable)
}

func TestStopDrains(t *testing.T) {
	t.Parallel()
	h := newHeld()
	r := start(t, "127.0.0.1:0", time.Hour, h.do)
	c, idle := dial(t, r.address), dial(t, r.address)
	if _, err := say(bounded(t), idle, "free"); err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() { _, err := say(bounded(t), c, "x"); result <- err }()
	await(t, "the service", h.entered)
	silent, err := net.Dial("tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	// A connection made after it is served, so it has been accepted.
	if _, err := say(bounded(t), dial(t, r.address), "free"); err != nil {
		t.Fatal(err)
	}
	r.cancel()
	if _, err := silent.Read(make([]byte, 1)); err == nil { // which ends when the stop begins
		t.Error("the server speaks first")
	}
	close(h.release)
	if err := await(t, "the caller", result); err != nil {
		t.Errorf("a call in flight is cut by a stop: %v", err)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	_, err = say(bounded(t), idle, "free")
	wantCode(t, "after the stop", err, wirelab.Unavailable)
}

func TestStopCutsWhatOutlivesTheDrain(t *testing.T) {
	t.Parallel()
	h := newHeld()
	r := start(t, "127.0.0.1:0", 50*time.Millisecond, h.do)
	c := dial(t, r.address)
	result := make(chan error, 1)
	go func() { _, err := say(bounded(t), c, "x"); result <- err }()
	await(t, "the service", h.entered)
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	err := await(t, "the caller", result)
	if err == nil || wirelab.CodeOf(err) != wirelab.Unavailable && wirelab.CodeOf(err) != wirelab.Canceled {
		t.Errorf("the caller hears %v", err)
	}
}

func TestReconnectAfterARestart(t *testing.T) {
	t.Parallel()
	r := start(t, porttest.Held(t), 0, plain)
	c := dial(t, r.address)
	if _, err := say(bounded(t), c, "x"); err != nil {
		t.Fatal(err)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	_, err := say(bounded(t), c, "x")
	wantCode(t, "while away", err, wirelab.Unavailable)
	start(t, r.address, 0, plain)
	if got, err := say(bounded(t), c, "x"); err != nil || got != "x" {
		t.Errorf("after: %q, %v", got, err)
	}
}

// A plain client of the library, which knows nothing of this package but the
// shape of its messages, is served too; what it leaves out reads as zero.
func TestPlainClient(t *testing.T) {
	t.Parallel()
	r := start(t, "127.0.0.1:0", 0, plain)
	c, err := rpc.Dial("tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var reply netrpc.Reply[answer]
	if err := c.Call("Echo.Say", struct{ Body ask }{ask{"hello"}}, &reply); err != nil || reply.Body.Text != "hello" {
		t.Errorf("%+v, %v", reply, err)
	}
	if err := c.Call("Echo.Say", struct{ Unrelated int }{1}, &reply); err == nil {
		t.Error("arguments of which nothing matches are taken")
	}
}

// serveBytes sends raw bytes to a server and waits until it hangs up.
func serveBytes(t *testing.T, address string, data []byte) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(data); err != nil {
		return // it has hung up already
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		return
	}
	var buffer [4096]byte
	for {
		if _, err := conn.Read(buffer[:]); err != nil {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				t.Fatal("the server does not hang up")
			}
			return
		}
	}
}

// request is the bytes of one request.
func request(t testing.TB, header rpc.Request, body any) []byte {
	t.Helper()
	var b strings.Builder
	enc := gob.NewEncoder(&b)
	if err := errors.Join(enc.Encode(header), enc.Encode(body)); err != nil {
		t.Fatal(err)
	}
	return []byte(b.String())
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	r := start(t, "127.0.0.1:0", 0, plain)
	good := request(t, rpc.Request{ServiceMethod: "Echo.Say", Seq: 1}, netrpc.Request[ask]{Body: ask{"x"}})
	cases := map[string][]byte{
		"nothing":                   nil,
		"another protocol":          []byte("GET / HTTP/1.1\r\n\r\n"),
		"a length beyond all":       {0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"a length beyond the limit": {0xfc, 0x00, 0x50, 0x00, 0x00, 1, 2, 3},
		"half a request":            good[:len(good)-3],
		"the same number twice":     append(good, good...),
		"a body of another shape":   request(t, rpc.Request{ServiceMethod: "Echo.Say"}, struct{ Body int }{7}),
		"a cancel of nothing": request(t, rpc.Request{ServiceMethod: "Control.Cancel"},
			netrpc.CancelRequest{Seq: 9}),
	}
	for name, data := range cases {
		t.Run(name, func(t *testing.T) { serveBytes(t, r.address, data) })
	}
	if got, err := say(bounded(t), dial(t, r.address), "x"); err != nil || got != "x" {
		t.Errorf("after: %q, %v", got, err)
	}
}
