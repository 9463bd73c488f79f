package connect

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"wirelab"
)

// headerTime is how long a client may take to send a request's header.
const headerTime = 10 * time.Second

// uploadWindow is how much a client may send to a call beyond what its handler has read, in bytes: what grpc-go
// starts with, and not net/http's 1 MiB. Data under way when a handler ends is refused frame by frame, and
// net/http closes a connection, with all its calls, when 10,000 such refusals wait to be written. A mebibyte of
// points is 60,000 frames, so that one upload refused in its middle failed its neighbours; 64 KiB of them are
// 4,000.
const uploadWindow = 64 << 10

// Serve serves handler by net/http as the package comment says. It follows the
// contract of [wirelab.Server]; when the drain time is over it ends the
// contexts of the calls that are left and waits for their handlers, which must
// heed that.
func Serve(ctx context.Context, at wirelab.Endpoint, over Carrier, handler http.Handler) error {
	if at.Listener == nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "%s needs a listener", over)
	}
	// The context of every call comes from here, not only from its connection:
	// net/http does not notice that an HTTP/1.1 connection has closed, even by
	// its own Close, while a handler has not read its request to the end.
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var calls sync.WaitGroup
	watch := watch{open: map[net.Conn]bool{}}
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			defer calls.Done()
			handler.ServeHTTP(w, r)
		}),
		BaseContext: func(net.Listener) context.Context { return base },
		Protocols:   over.protocols(),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:      wirelab.MaxStreams,
			MaxReceiveBufferPerStream: uploadWindow,
		},
		ReadHeaderTimeout: headerTime,
		ConnState:         watch.changed,
		// What net/http would log are its clients' faults, such as handshakes that they broke off; a call that fails
		// is instructed to its caller.
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	serve := func() error { return server.Serve(at.Listener) }
	if over == H2TLS {
		if at.Certificate == nil {
			return wirelab.Errorf(wirelab.InvalidArgument, "%s needs a certificate", over)
		}
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*at.Certificate}, MinVersion: tls.VersionTLS13}
		serve = func() error { return server.ServeTLS(at.Listener, "", "") }
	}
	served := make(chan error, 1) // bounded by the one send
	go func() { served <- serve() }()

	var failure error
	select {
	case err := <-served: // the listener broke
		if ctx.Err() == nil {
			failure = wirelab.Errorf(wirelab.Unavailable, "%s server stopped: %v", over, err)
		}
	case <-ctx.Done():
		watch.dropSilent()
		draining, stop := context.WithTimeout(base, at.DrainTime())
		_ = server.Shutdown(draining)
		stop()
		<-served //nolint:errcheck // says that it was stopped
	}
	// The order is what makes the waiting sound: after Serve there are no new
	// connections, after those there are no new calls.
	cut()
	_ = server.Close()
	watch.connections.Wait()
	calls.Wait()
	return failure
}

// watch follows a server's connections, so that its stop can wait for them and
// need not wait for those that never said anything.
type watch struct {
	connections sync.WaitGroup

	mu       sync.Mutex        // guards all below
	open     map[net.Conn]bool // whether the client has sent something yet
	draining bool              // a connection that comes now is closed
}

// changed is the server's ConnState hook.
func (w *watch) changed(c net.Conn, state http.ConnState) {
	w.mu.Lock()
	late := false
	switch state {
	case http.StateNew:
		w.open[c] = false
		w.connections.Add(1)
		late = w.draining
	case http.StateClosed, http.StateHijacked:
		// HTTP/2 says so twice.
		if _, ok := w.open[c]; ok {
			delete(w.open, c)
			w.connections.Done()
		}
	default:
		if _, ok := w.open[c]; ok {
			w.open[c] = true
		}
	}
	w.mu.Unlock()
	if late {
		_ = c.Close()
	}
}

// dropSilent closes the connections on which no request was begun: Shutdown
// would wait five seconds for each.
func (w *watch) dropSilent() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.draining = true
	for c, heard := range w.open {
		if !heard {
			_ = c.Close()
		}
	}
}
