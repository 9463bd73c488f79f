package bind

import (
	"context"
	"net/http"

	"wirelab"
	"wirelab/wire/http2"
	"wirelab/wire/httprpc"
	"wirelab/wire/raw"
	"wirelab/workload/directory"
)

// H2CJSON carries the directory over HTTP/2 in the clear in JSON.
func H2CJSON() wirelab.Binding[directory.Service] {
	return restBinding(wirelab.Protocol{
		Name: "h2c-json", Transport: "HTTP/2", Framing: "HTTP", Encoding: "JSON", Network: "tcp", Multiplexed: true,
	}, http2Wire(false), httprpc.JSON)
}

// H2CProto carries the directory over HTTP/2 in the clear in protobuf.
func H2CProto() wirelab.Binding[directory.Service] {
	return restBinding(wirelab.Protocol{
		Name: "h2c-proto", Transport: "HTTP/2", Framing: "HTTP", Encoding: "Protocol Buffers", Network: "tcp", Multiplexed: true,
	}, http2Wire(false), httprpc.Proto)
}

// HTTP2JSON carries the directory over HTTP/2 with TLS in JSON.
func HTTP2JSON() wirelab.Binding[directory.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http2-json", Transport: "HTTP/2", Framing: "HTTP", Encoding: "JSON", Network: "tcp", Secure: true, Multiplexed: true,
	}, http2Wire(true), httprpc.JSON)
}

// HTTP2Proto carries the directory over HTTP/2 with TLS in protobuf.
func HTTP2Proto() wirelab.Binding[directory.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http2-proto", Transport: "HTTP/2", Framing: "HTTP", Encoding: "Protocol Buffers", Network: "tcp", Secure: true, Multiplexed: true,
	}, http2Wire(true), httprpc.Proto)
}

func http2Wire(secure bool) restWire {
	return restWire{
		library: "net/http",
		serve: func(ctx context.Context, at wirelab.Endpoint, handler http.Handler) error {
			return http2.Serve(ctx, at, handler, secure)
		},
		dial: func(to wirelab.Dialing) (*httprpc.Client, error) { return http2.Dial(to, secure), nil },
		over: raw.Over{Version: raw.HTTP2, Secure: secure},
	}
}
