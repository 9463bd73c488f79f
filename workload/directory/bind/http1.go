package bind

import (
	"context"
	"net/http"

	"wirelab"
	"wirelab/wire/http1"
	"wirelab/wire/httprpc"
	"wirelab/wire/raw"
	"wirelab/workload/directory"
)

// HTTP1JSON carries the directory over HTTP/1.1 in JSON, as published.
func HTTP1JSON() wirelab.Binding[directory.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http1-json", Transport: "HTTP/1.1", Framing: "HTTP", Encoding: "JSON", Network: "tcp",
	}, http1Wire(false), httprpc.JSON)
}

// HTTP1Proto carries the directory over HTTP/1.1 in protobuf.
func HTTP1Proto() wirelab.Binding[directory.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http1-proto", Transport: "HTTP/1.1", Framing: "HTTP", Encoding: "Protocol Buffers", Network: "tcp",
	}, http1Wire(false), httprpc.Proto)
}

// HTTP1TLSJSON carries the directory over HTTP/1.1 with TLS in JSON.
func HTTP1TLSJSON() wirelab.Binding[directory.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http1-tls-json", Transport: "HTTP/1.1", Framing: "HTTP", Encoding: "JSON", Network: "tcp", Secure: true,
	}, http1Wire(true), httprpc.JSON)
}

// HTTP1TLSProto carries the directory over HTTP/1.1 with TLS in protobuf.
func HTTP1TLSProto() wirelab.Binding[directory.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http1-tls-proto", Transport: "HTTP/1.1", Framing: "HTTP", Encoding: "Protocol Buffers", Network: "tcp", Secure: true,
	}, http1Wire(true), httprpc.Proto)
}

func http1Wire(secure bool) restWire {
	return restWire{
		library: "net/http",
		serve: func(ctx context.Context, at wirelab.Endpoint, handler http.Handler) error {
			return http1.Serve(ctx, at, handler, secure)
		},
		dial: func(to wirelab.Dialing) (*httprpc.Client, error) { return http1.Dial(to, secure), nil },
		over: raw.Over{Version: raw.HTTP1, Secure: secure},
	}
}
