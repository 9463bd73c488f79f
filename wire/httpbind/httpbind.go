// Package httpbind carries any service over plain HTTP: it joins a version of
// HTTP, a handler and a stub to a binding, with the raw driver and the null
// responder. It knows no workload, and leaves what calls look like on HTTP to
// package httprpc and the bindings.
package httpbind

import (
	"context"
	"io"
	"net/http"

	"wirelab"
	"wirelab/wire/http1"
	"wirelab/wire/http2"
	"wirelab/wire/http3"
	"wirelab/wire/httprpc"
	"wirelab/wire/raw"
)

// Wire is one version of HTTP by one library, plain or secure.
type Wire struct {
	Library string
	Serve   func(context.Context, wirelab.Endpoint, http.Handler) error
	Dial    func(wirelab.Dialing) (*httprpc.Client, error)
	Raw     raw.Over // the zero value: there is no raw driver of it

	version, network    string // as in [wirelab.Protocol]
	secure, multiplexed bool
}

// HTTP1 is HTTP/1.1 by net/http.
func HTTP1(secure bool) Wire {
	return Wire{
		Library: "net/http",
		Serve: func(ctx context.Context, at wirelab.Endpoint, handler http.Handler) error {
			return http1.Serve(ctx, at, handler, secure)
		},
		Dial: func(to wirelab.Dialing) (*httprpc.Client, error) { return http1.Dial(to, secure), nil },
		Raw:  raw.Over{Version: raw.HTTP1, Secure: secure},

		version: "HTTP/1.1", network: "tcp", secure: secure,
	}
}

// HTTP2 is HTTP/2 by net/http, in the clear unless secure.
func HTTP2(secure bool) Wire {
	return Wire{
		Library: "net/http",
		Serve: func(ctx context.Context, at wirelab.Endpoint, handler http.Handler) error {
			return http2.Serve(ctx, at, handler, secure)
		},
		Dial: func(to wirelab.Dialing) (*httprpc.Client, error) { return http2.Dial(to, secure), nil },
		Raw:  raw.Over{Version: raw.HTTP2, Secure: secure},

		version: "HTTP/2", network: "tcp", secure: secure, multiplexed: true,
	}
}

// HTTP3 is HTTP/3 by quic-go.
func HTTP3() Wire {
	return Wire{
		Library: "quic-go", Serve: http3.Serve, Dial: http3.Dial,
		version: "HTTP/3", network: "udp", secure: true, multiplexed: true,
	}
}

// Service is how S lies on plain HTTP, on any version of it.
type Service[S any] struct {
	Handler func(S) http.Handler
	// RawHoles are the operations that the raw driver does not carry, and
	// Fresh the paths that [raw.Null] leaves to the handler.
	RawHoles map[string]string
	Fresh    []string
}

// Over returns the binding of the service over a protocol of plain HTTP. stub
// makes the client's end.
func (s Service[S]) Over(c Carriage, stub func(*httprpc.Client) S) wirelab.Binding[S] {
	wire := c.Wire
	b := wirelab.Binding[S]{
		Protocol: c.Protocol,
		Style:    wirelab.Idiomatic,
		Servers: []wirelab.Server[S]{{
			Library: wire.Library,
			Serve: func(ctx context.Context, at wirelab.Endpoint, service S) error {
				return wire.Serve(ctx, at, s.Handler(service))
			},
		}},
		Clients: []wirelab.Dialer[S]{{
			Library: wire.Library,
			Dial: func(_ context.Context, to wirelab.Dialing) (none S, _ io.Closer, _ error) {
				client, err := wire.Dial(to)
				if err != nil {
					return none, nil, err
				}
				return stub(client), client, nil
			},
		}},
	}
	if wire.Raw.Version == 0 {
		return b
	}
	b.Raw = raw.Driver(wire.Raw, s.RawHoles, func(t *raw.Transport, scheme, address string) S {
		return stub(httprpc.NewClient(t, scheme, address, int(wire.Raw.Version), func() error { return nil }))
	})
	b.Null = raw.Null(wire.Raw, s.Handler, s.Fresh...)
	return b
}
