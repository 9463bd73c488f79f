package httprpc

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"wirelab/wire/endpoint"
	"wirelab/wire/status"
)

// The limits of every server; see the package comment.
const (
	HeaderTimeout = 10 * time.Second
	bodyTimeout   = time.Minute
	IdleTimeout   = 5 * time.Minute
	HeaderLimit   = 128 << 10 // bytes of a request's header, whose URL may hold the request: 1,000 ids are 67,000
)

// ServerTLS is the TLS configuration of a server at an endpoint.
func ServerTLS(at endpoint.Endpoint) (*tls.Config, error) {
	if at.Certificate == nil {
		return nil, status.Errorf(status.InvalidArgument, "the endpoint has no certificate")
	}
	return &tls.Config{Certificates: []tls.Certificate{*at.Certificate}, MinVersion: tls.VersionTLS13}, nil
}

// Serve serves handler with net/http as package endpoint wants it, over the
// one HTTP version that is set in protocols, with TLS if secure.
func Serve(
	ctx context.Context, at endpoint.Endpoint, handler http.Handler, protocols *http.Protocols, secure bool,
) error {
	if !secure {
		return ServeWith(ctx, at, handler, protocols, nil)
	}
	config, err := ServerTLS(at)
	if err != nil {
		return err
	}
	return ServeWith(ctx, at, handler, protocols, config)
}

// ServeWith is [Serve] with a TLS configuration of the caller's, instead of the
// endpoint's certificate; nil: in the clear.
func ServeWith(
	ctx context.Context, at endpoint.Endpoint, handler http.Handler, protocols *http.Protocols, config *tls.Config,
) error {
	if at.Listener == nil {
		return status.Errorf(status.InvalidArgument, "the endpoint has no listener")
	}
	gate := &gate{next: handler}
	var connections sync.WaitGroup
	server := &http.Server{
		Handler:           gate,
		Protocols:         protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: endpoint.MaxStreams},
		ReadHeaderTimeout: HeaderTimeout,
		ReadTimeout:       bodyTimeout,
		IdleTimeout:       IdleTimeout,
		MaxHeaderBytes:    HeaderLimit,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // callers' mistakes
		// Calls outlive ctx: they are waited for when it ends.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				connections.Add(1)
			case http.StateClosed, http.StateHijacked:
				connections.Done()
			default: // the states between
			}
		},
	}
	serve := func() error { return server.Serve(at.Listener) }
	if config != nil {
		server.TLSConfig = config
		serve = func() error { return server.ServeTLS(at.Listener, "", "") }
	}

	served := make(chan error, 1)
	go func() { served <- serve() }()
	var failed error
	select {
	case failed = <-served:
		failed = fmt.Errorf("serve: %w", failed)
	case <-ctx.Done():
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), at.DrainTime())
		_ = server.Shutdown(drain) // its only error is that time ran out
		cancel()
		<-served //nolint:errcheck // it says that it was stopped
	}
	_ = server.Close() // cuts the rest; its error is that of a listener closed twice
	connections.Wait()
	gate.shut()
	return failed
}

// gate lets a stopping server wait for its handlers: net/http runs those of
// HTTP/2 in goroutines that may outlive their connection.
type gate struct {
	next    http.Handler
	running sync.RWMutex // read-locked by each running handler
	stopped bool         // guarded by running
}

// ServeHTTP implements http.Handler.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.running.RLock()
	defer g.running.RUnlock()
	if !g.stopped { // else the connection is gone already
		g.next.ServeHTTP(w, r)
	}
}

// shut waits for the running handlers and keeps late ones out.
func (g *gate) shut() {
	g.running.Lock()
	g.stopped = true
	g.running.Unlock()
}
