package http3_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/certs"
	"wirelab/internal/leaktest"
	"wirelab/wire/http3"
	"wirelab/wire/httprpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// start serves a unary call over HTTP/3 and returns a client of it, what stops
// the server, and how many sockets the client opened.
func start(
	t *testing.T, drain time.Duration, call func(context.Context, string) (string, error),
) (stub func(context.Context, string) (string, error), stop func(), sockets *int) {
	t.Helper()
	text := httprpc.JSONOf(func(s string) string { return s }, func(s string) string { return s })
	forms := httprpc.Forms[string]{JSON: text}
	client, stop, sockets := serve(t, drain,
		httprpc.NewHandler(map[string]httprpc.Route{"/call": httprpc.Unary(forms, forms, call)}))
	return httprpc.CallUnary(client, "/call", text, text), stop, sockets
}

// A server is reached at the address that was given, whatever host requests are for.
func TestReachedWhereToldTo(t *testing.T) {
	t.Parallel()
	client, _, _ := serve(t, time.Second, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.Host)) // the client sees a short reply
	}))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://shop.invalid:1/", nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := client.Transport().RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }() // read whole, or the test has failed
	if body, err := io.ReadAll(reply.Body); err != nil || string(body) != "shop.invalid:1" {
		t.Errorf("%q, %v", body, err)
	}
}

// serve is start for any handler.
func serve(
	t *testing.T, drain time.Duration, handler http.Handler,
) (client *httprpc.Client, stop func(), sockets *int) {
	t.Helper()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	certificate, pem, err := certs.Issue("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	roots, err := certs.Trust(pem)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- http3.Serve(ctx, wirelab.Endpoint{Packets: packets, Certificate: &certificate, Drain: drain}, handler)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(stop)
	sockets = new(int)
	client, err = http3.Dial(wirelab.Dialing{
		Address: packets.LocalAddr().String(), Roots: roots, ServerName: "127.0.0.1",
		Packets: func() (net.PacketConn, error) {
			*sockets++
			return net.ListenPacket("udp", "127.0.0.1:0")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return client, stop, sockets
}

// TestManyAtOnce has more calls in flight than quic-go allows by default (100),
// over one socket.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	const callers = 200
	var inside sync.WaitGroup
	inside.Add(callers)
	stub, _, sockets := start(t, 0, func(_ context.Context, s string) (string, error) {
		inside.Done()
		inside.Wait() // until all are here
		return s, nil
	})
	var calls sync.WaitGroup
	for range callers {
		calls.Go(func() {
			if got, err := stub(t.Context(), "hej"); got != "hej" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	calls.Wait()
	if *sockets != 1 {
		t.Errorf("%d sockets", *sockets)
	}
}

// TestStop stops with a call in flight, which may finish or is cut.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, drain := range []time.Duration{time.Hour, time.Millisecond} {
		entered, goOn := make(chan struct{}), make(chan struct{})
		stub, stop, _ := start(t, drain, func(ctx context.Context, s string) (string, error) {
			close(entered)
			select {
			case <-goOn:
				return s, nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
		result := make(chan error, 1)
		go func() {
			_, err := stub(t.Context(), "")
			result <- err
		}()
		<-entered
		stopped := make(chan struct{})
		go func() {
			stop()
			close(stopped)
		}()
		if drain == time.Hour {
			close(goOn)
		}
		err := <-result
		<-stopped
		if drain == time.Hour && err != nil {
			t.Errorf("a stop that waits: %v", err)
		}
		if drain != time.Hour && (err == nil || wirelab.CodeOf(err) != wirelab.Unavailable) {
			t.Errorf("a stop that cuts: %v", err)
		}
		// QUIC learns of an absent server only by waiting for it, 5 s long.
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if _, err := stub(short, ""); err == nil || wirelab.CodeOf(err) != wirelab.Unavailable &&
			wirelab.CodeOf(err) != wirelab.DeadlineExceeded {
			t.Errorf("without a server: %v", err)
		}
		cancel()
	}
}

// TestStopRefuses has a caller come while a stop waits for another's call: it gets an answer, and is not left
// to wait for a server that will never take it.
func TestStopRefuses(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	entered, goOn := make(chan struct{}), make(chan struct{})
	stub, stop, _ := start(t, time.Hour, func(_ context.Context, s string) (string, error) {
		if s == "stay" {
			close(entered)
			<-goOn
		}
		return s, nil
	})
	result := make(chan error, 1)
	go func() {
		_, err := stub(t.Context(), "stay")
		result <- err
	}()
	<-entered
	stopped := make(chan struct{})
	go func() {
		stop()
		close(stopped)
	}()
	// Far more than QUIC waits for a handshake.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var err error
	for err == nil { // the stop may not have begun yet
		_, err = stub(ctx, "pass")
	}
	if wirelab.CodeOf(err) != wirelab.Unavailable {
		t.Errorf("who comes during a stop gets %v", err)
	}
	close(goOn)
	if err := <-result; err != nil {
		t.Errorf("who was there before: %v", err)
	}
	<-stopped
}

// TestResource asks for a resource by GET, which says nothing of a body's
// length over HTTP/3.
func TestResource(t *testing.T) {
	t.Parallel()
	text := httprpc.JSONOf(func(s string) string { return s }, func(s string) string { return s })
	id := []httprpc.Parameter[string]{httprpc.Text("id", func(s *string) *string { return s })}
	client, _, _ := serve(t, 0, httprpc.NewREST(map[string][]httprpc.Route{
		"/thing/{id}": {httprpc.Get(id, httprpc.Forms[string]{JSON: text},
			func(_ context.Context, s string) (string, error) {
				return s, nil
			})},
	}))
	if got, err := httprpc.CallGet(client, "/thing/{id}", id, text)(t.Context(), "ö/5"); got != "ö/5" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestIncompleteEndpoints are refused before anything is opened.
func TestIncompleteEndpoints(t *testing.T) {
	t.Parallel()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	for why, at := range map[string]wirelab.Endpoint{"no socket": {}, "no certificate": {Packets: packets}} {
		if err := http3.Serve(t.Context(), at, nil); err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument {
			t.Errorf("%s: %v", why, err)
		}
	}
	full := errors.New("no more sockets")
	_, err = http3.Dial(wirelab.Dialing{Packets: func() (net.PacketConn, error) { return nil, full }})
	if !errors.Is(err, full) {
		t.Errorf("Dial: %v", err)
	}
}
