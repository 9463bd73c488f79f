package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"wirelab"
)

// Timeouts limit how long a client may take (ms-D15: the published server waits for ever). Zero fields mean the
// defaults.
type Timeouts struct {
	Header time.Duration // for a request's header; default 10 s
	Body   time.Duration // for a whole request; default 30 s
	Reply  time.Duration // from a request's header to its reply read; default 60 s; must exceed a path's deadline
	Idle   time.Duration // between two requests; default 2 min
	Drain  time.Duration // for requests in progress when the server stops; default 10 s
}

// headerLimit is the maximum length of a request header in bytes.
const headerLimit = 64 << 10

func (t Timeouts) complete() Timeouts {
	for _, one := range []struct {
		field    *time.Duration
		standard time.Duration
	}{
		{&t.Header, 10 * time.Second},
		{&t.Body, 30 * time.Second},
		{&t.Reply, time.Minute},
		{&t.Idle, 2 * time.Minute},
		{&t.Drain, 10 * time.Second},
	} {
		if *one.field <= 0 {
			*one.field = one.standard
		}
	}
	return t
}

// Serve answers HTTP/1.1 at a listener until ctx ends. Then it stops accepting requests and waits for those in
// progress. It returns when all connections are closed, and closes the listener.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, t Timeouts) error {
	t = t.complete()
	var connections sync.WaitGroup
	server := &http.Server{
		Handler: handler, Protocols: new(http.Protocols), MaxHeaderBytes: headerLimit,
		ReadHeaderTimeout: t.Header, ReadTimeout: t.Body, WriteTimeout: t.Reply, IdleTimeout: t.Idle,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // faults of callers are not logged
		// Requests outlive ctx: Shutdown waits for them.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				connections.Add(1)
			case http.StateClosed, http.StateHijacked:
				connections.Done()
			default: // the other states need no action
			}
		},
	}
	server.Protocols.SetHTTP1(true)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	var failed error
	select {
	case err := <-served:
		failed = fmt.Errorf("gateway: %w", wirelab.Errorf(wirelab.Unavailable, "the listener failed: %v", err))
	case <-ctx.Done():
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.Drain)
		_ = server.Shutdown(drain) // the only error is that time ran out
		cancel()
		<-served //nolint:errcheck // it says that it was stopped
	}
	_ = server.Close() // closes the rest; the error is that of closing a listener twice
	connections.Wait()
	return failed
}
