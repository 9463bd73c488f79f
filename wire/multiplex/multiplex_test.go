package multiplex_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"wirelab/internal/leaktest"
	"wirelab/wire/multiplex"
	"wirelab/wire/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// served starts a server that takes so many calls at once.
func served(t *testing.T, streams int, handler http.HandlerFunc) (*multiplex.Transport, string) {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: streams}
	s.Start()
	var dialer net.Dialer
	at := s.Listener.Addr().String()
	over := multiplex.New(func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", at) }, at,
		nil)
	t.Cleanup(func() {
		_ = over.Close()
		s.Close()
	})
	return over, s.URL
}

func call(ctx context.Context, over *multiplex.Transport, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := over.RoundTrip(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// More calls than a server takes at once are made all the same, over one connection.
func TestMoreThanTheServerTakes(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	from := map[string]bool{}
	over, url := served(t, 10, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		from[r.RemoteAddr] = true
		mu.Unlock()
	})
	var all sync.WaitGroup
	for range 60 {
		all.Go(func() {
			for range 10 {
				if err := call(t.Context(), over, url); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if len(from) != 1 {
		t.Errorf("%d connections, want 1", len(from))
	}
}

// A call that ends while it waits for its turn says for what.
func TestWhatAFullConnectionSays(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	came := make(chan struct{}, 1)
	over, url := served(t, 1, func(http.ResponseWriter, *http.Request) {
		came <- struct{}{}
		<-let
	})
	first := make(chan error, 1)
	go func() { first <- call(t.Context(), over, url) }()
	<-came
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error, 1)
	go func() { second <- call(ctx, over, url) }()
	cancel()
	err := <-second
	var full *multiplex.Full
	if !errors.As(err, &full) || !errors.Is(err, context.Canceled) || full.Limit != 1 || !strings.Contains(err.Error(),
		"takes 1 calls at once") {
		t.Errorf("%v, want what it waited for", err)
	}
	close(let)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err := call(t.Context(), over, url); err != nil { // nothing of the one given up is left
		t.Error(err)
	}
	<-came
	_ = over.Close()
	if err := call(t.Context(), over, url); err == nil || status.CodeOf(err) != status.Canceled {
		t.Errorf("%v, want that the client is closed", err)
	}
}

// unwritable is a connection on which writing fails from a time on, as it does once the server has broken it off.
type unwritable struct {
	net.Conn
	now *atomic.Bool
}

func (u unwritable) Write(p []byte) (int, error) {
	if u.now.Load() {
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}
	}
	return u.Conn.Write(p)
}

// Calls that are under way when another cannot be written say that the server ended the connection. The library says
// to them only that it closed it.
func TestWhatEndedTheConnectionOfOthers(t *testing.T) {
	t.Parallel()
	let, came := make(chan struct{}), make(chan struct{}, 2)
	listed, url := served(t, 10, func(http.ResponseWriter, *http.Request) {
		came <- struct{}{}
		<-let
	})
	_ = listed.Close() // this test has its own transport
	t.Cleanup(func() { close(let) })
	var broken atomic.Bool
	var dialer net.Dialer
	at := strings.TrimPrefix(url, "http://")
	over := multiplex.New(func(ctx context.Context) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, "tcp", at)
		return unwritable{c, &broken}, err
	}, at, nil)
	t.Cleanup(func() { _ = over.Close() })
	first := make(chan error, 1)
	go func() { first <- call(t.Context(), over, url) }()
	<-came
	broken.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan struct{})
	go func() {
		defer close(second)
		_ = call(ctx, over, url) // which the library tries again
	}()
	err := <-first
	cancel()
	<-second
	if cause := status.CauseOf(err); cause != status.Reset {
		t.Errorf("%q is a cause %q, want that the connection was broken off", err, cause)
	}
	if !errors.Is(err, syscall.EPIPE) {
		t.Errorf("%q, want what ended the connection", err)
	}
}
