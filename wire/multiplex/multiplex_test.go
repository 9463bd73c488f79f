package multiplex_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/wire/multiplex"
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
	over := multiplex.New(func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", at) }, at, nil)
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
	if !errors.As(err, &full) || !errors.Is(err, context.Canceled) || full.Limit != 1 || !strings.Contains(err.Error(), "takes 1 calls at once") {
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
	if err := call(t.Context(), over, url); err == nil || wirelab.CodeOf(err) != wirelab.Canceled {
		t.Errorf("%v, want that the client is closed", err)
	}
}
