// Package http1 is the transport of HTTP/1.1, plain or over TLS 1.3, by
// net/http: it opens, serves and ends connections. It knows nothing of what
// they carry, which is package httprpc's, nor of any workload.
//
// # Knobs that matter
//
// A connection carries one call at a time. A client opens at most
// [endpoint.Dialing].Connections of them, each when a call first finds none
// free, and keeps all: net/http's own default keeps two, by which every run
// with more callers would reconnect all the time. A call that finds none free
// and may open no more waits its turn. Nagle's algorithm is off (Go's
// default), so a flushed message leaves at once. Only HTTP/1.1 is offered in
// the TLS handshake and taken in replies; reading and writing go through
// buffers of 4 KiB (net/http's default).
package http1

import (
	"context"
	"net/http"

	"wirelab/wire/endpoint"
	"wirelab/wire/httprpc"
)

// Serve serves handler; see package endpoint for ctx and at.
func Serve(ctx context.Context, at endpoint.Endpoint, handler http.Handler, secure bool) error {
	return httprpc.Serve(ctx, at, handler, only(), secure)
}

// Dial returns a client. It connects with its first calls.
func Dial(to endpoint.Dialing, secure bool) *httprpc.Client {
	return httprpc.Dial(to, only(), secure, to.ConnectionCount())
}

// only is the one version this package speaks: left open, a run could silently negotiate another.
func only() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	return p
}
