// Package http2 is the transport of HTTP/2, over TLS 1.3 or in the clear with prior knowledge (h2c), by
// net/http: it opens, serves and ends connections. It knows nothing of what they carry, which is package
// httprpc's, nor of any workload. grpc-go has its own HTTP/2, about twice as fast: the one measured here is
// net/http's.
//
// # Knobs that matter
//
// A client opens one connection and calls share it. The server allows [wirelab.MaxStreams] of them at once
// (net/http's default is 250) and the client obeys it by waiting, where by default it would open a second
// connection: see package multiplex, which waits for the server's settings too. Windows are net/http's: a
// client takes 4 MiB of a stream that is not read, a server 1 MiB, and then the sender waits. Header tables are
// 4 KiB both ways, so the repeated headers of a call cost a byte each.
package http2

import (
	"context"
	"net/http"

	"wirelab"
	"wirelab/wire/httprpc"
)

// Serve serves handler; see [wirelab.Server] for ctx and at.
func Serve(ctx context.Context, at wirelab.Endpoint, handler http.Handler, secure bool) error {
	return httprpc.Serve(ctx, at, handler, only(secure), secure)
}

// Dial returns a client. It connects with its first call.
func Dial(to wirelab.Dialing, secure bool) *httprpc.Client {
	return httprpc.Dial(to, only(secure), secure, 1)
}

// only is the one version this package speaks: left open, a run could silently negotiate another.
func only(secure bool) *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP2(secure)
	p.SetUnencryptedHTTP2(!secure)
	return p
}
