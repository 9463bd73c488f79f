package bind

import (
	"wirelab"
	"wirelab/wire/httpbind"
	"wirelab/workload/routeguide"
)

// H2CJSON carries the route guide over HTTP/2 in the clear in JSON, streams as lines.
func H2CJSON() wirelab.Binding[routeguide.Service] {
	return restBinding(wirelab.Protocol{
		Name: "h2c-json", Transport: "HTTP/2", Framing: "HTTP", Encoding: "JSON", Network: "tcp", Multiplexed: true,
	}, httpbind.HTTP2(false), jsonStub, nil)
}

// H2CProto carries the route guide over HTTP/2 in the clear in protobuf.
func H2CProto() wirelab.Binding[routeguide.Service] {
	return restBinding(wirelab.Protocol{
		Name: "h2c-proto", Transport: "HTTP/2", Framing: "HTTP", Encoding: "Protocol Buffers", Network: "tcp", Multiplexed: true,
	}, httpbind.HTTP2(false), protoStub, protoHoles())
}

// HTTP2JSON carries the route guide over HTTP/2 with TLS in JSON, streams as lines.
func HTTP2JSON() wirelab.Binding[routeguide.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http2-json", Transport: "HTTP/2", Framing: "HTTP", Encoding: "JSON", Network: "tcp", Secure: true, Multiplexed: true,
	}, httpbind.HTTP2(true), jsonStub, nil)
}

// HTTP2Proto carries the route guide over HTTP/2 with TLS in protobuf.
func HTTP2Proto() wirelab.Binding[routeguide.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http2-proto", Transport: "HTTP/2", Framing: "HTTP", Encoding: "Protocol Buffers", Network: "tcp", Secure: true, Multiplexed: true,
	}, httpbind.HTTP2(true), protoStub, protoHoles())
}
