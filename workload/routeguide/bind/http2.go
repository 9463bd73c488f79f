package bind

import (
	"context"
	"net/http"

	"wirelab"
	"wirelab/wire/http2"
	"wirelab/wire/httprpc"
	"wirelab/wire/raw"
	"wirelab/workload/routeguide"
)

// H2CJSON carries the route guide over HTTP/2 in the clear in JSON, streams as lines.
func H2CJSON() wirelab.Binding[routeguide.Service] {
	return withRaw(restBinding(wirelab.Protocol{
		Name: "h2c-json", Transport: "HTTP/2", Framing: "HTTP", Encoding: "JSON", Network: "tcp", Multiplexed: true,
	}, http2Wire(false), jsonStub, nil), raw.Over{Version: raw.HTTP2}, jsonStub)
}

// H2CProto carries the route guide over HTTP/2 in the clear in protobuf.
func H2CProto() wirelab.Binding[routeguide.Service] {
	return withRaw(restBinding(wirelab.Protocol{
		Name: "h2c-proto", Transport: "HTTP/2", Framing: "HTTP", Encoding: "Protocol Buffers", Network: "tcp", Multiplexed: true,
	}, http2Wire(false), protoStub, protoHoles()), raw.Over{Version: raw.HTTP2}, protoStub)
}

// HTTP2JSON carries the route guide over HTTP/2 with TLS in JSON, streams as lines.
func HTTP2JSON() wirelab.Binding[routeguide.Service] {
	return withRaw(restBinding(wirelab.Protocol{
		Name: "http2-json", Transport: "HTTP/2", Framing: "HTTP", Encoding: "JSON", Network: "tcp", Secure: true, Multiplexed: true,
	}, http2Wire(true), jsonStub, nil), raw.Over{Version: raw.HTTP2, Secure: true}, jsonStub)
}

// HTTP2Proto carries the route guide over HTTP/2 with TLS in protobuf.
func HTTP2Proto() wirelab.Binding[routeguide.Service] {
	return withRaw(restBinding(wirelab.Protocol{
		Name: "http2-proto", Transport: "HTTP/2", Framing: "HTTP", Encoding: "Protocol Buffers", Network: "tcp", Secure: true, Multiplexed: true,
	}, http2Wire(true), protoStub, protoHoles()), raw.Over{Version: raw.HTTP2, Secure: true}, protoStub)
}

func http2Wire(secure bool) restWire {
	return restWire{
		library: "net/http",
		serve: func(ctx context.Context, at wirelab.Endpoint, handler http.Handler) error {
			return http2.Serve(ctx, at, handler, secure)
		},
		dial: func(to wirelab.Dialing) (*httprpc.Client, error) { return http2.Dial(to, secure), nil },
	}
}
