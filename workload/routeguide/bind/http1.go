package bind

import (
	"context"
	"net/http"

	"wirelab"
	"wirelab/wire/http1"
	"wirelab/wire/httprpc"
	"wirelab/wire/raw"
	"wirelab/workload/routeguide"
)

// HTTP1JSON carries the route guide over HTTP/1.1 in JSON, streams as lines.
// RouteChat is a request and a reply under way at once on one connection:
// HTTP/1.1 allows it and net/http does it at both ends (the server when asked
// by EnableFullDuplex), though a proxy between them need not.
func HTTP1JSON() wirelab.Binding[routeguide.Service] {
	return withRaw(restBinding(wirelab.Protocol{
		Name: "http1-json", Transport: "HTTP/1.1", Framing: "HTTP", Encoding: "JSON", Network: "tcp",
	}, http1Wire(false), jsonStub, nil), raw.Over{Version: raw.HTTP1}, jsonStub)
}

// HTTP1Proto carries the route guide over HTTP/1.1 in protobuf.
func HTTP1Proto() wirelab.Binding[routeguide.Service] {
	return withRaw(restBinding(wirelab.Protocol{
		Name: "http1-proto", Transport: "HTTP/1.1", Framing: "HTTP", Encoding: "Protocol Buffers", Network: "tcp",
	}, http1Wire(false), protoStub, protoHoles()), raw.Over{Version: raw.HTTP1}, protoStub)
}

// HTTP1TLSJSON carries the route guide over HTTP/1.1 with TLS in JSON, streams as lines.
func HTTP1TLSJSON() wirelab.Binding[routeguide.Service] {
	return withRaw(restBinding(wirelab.Protocol{
		Name: "http1-tls-json", Transport: "HTTP/1.1", Framing: "HTTP", Encoding: "JSON", Network: "tcp", Secure: true,
	}, http1Wire(true), jsonStub, nil), raw.Over{Version: raw.HTTP1, Secure: true}, jsonStub)
}

// HTTP1TLSProto carries the route guide over HTTP/1.1 with TLS in protobuf.
func HTTP1TLSProto() wirelab.Binding[routeguide.Service] {
	return withRaw(restBinding(wirelab.Protocol{
		Name: "http1-tls-proto", Transport: "HTTP/1.1", Framing: "HTTP", Encoding: "Protocol Buffers", Network: "tcp", Secure: true,
	}, http1Wire(true), protoStub, protoHoles()), raw.Over{Version: raw.HTTP1, Secure: true}, protoStub)
}

func http1Wire(secure bool) restWire {
	return restWire{
		library: "net/http",
		serve: func(ctx context.Context, at wirelab.Endpoint, handler http.Handler) error {
			return http1.Serve(ctx, at, handler, secure)
		},
		dial: func(to wirelab.Dialing) (*httprpc.Client, error) { return http1.Dial(to, secure), nil },
	}
}
