package bind

import (
	"wirelab"
	"wirelab/wire/httpbind"
	"wirelab/workload/routeguide"
)

// HTTP1JSON carries the route guide over HTTP/1.1 in JSON, streams as lines.
// RouteChat is a request and a reply under way at once on one connection:
// HTTP/1.1 allows it and net/http does it at both ends (the server when asked
// by EnableFullDuplex), though a proxy between them need not.
func HTTP1JSON() wirelab.Binding[routeguide.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http1-json", Transport: "HTTP/1.1", Framing: "HTTP", Encoding: "JSON", Network: "tcp",
	}, httpbind.HTTP1(false), jsonStub, nil)
}

// HTTP1Proto carries the route guide over HTTP/1.1 in protobuf.
func HTTP1Proto() wirelab.Binding[routeguide.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http1-proto", Transport: "HTTP/1.1", Framing: "HTTP", Encoding: "Protocol Buffers", Network: "tcp",
	}, httpbind.HTTP1(false), protoStub, protoHoles())
}

// HTTP1TLSJSON carries the route guide over HTTP/1.1 with TLS in JSON, streams as lines.
func HTTP1TLSJSON() wirelab.Binding[routeguide.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http1-tls-json", Transport: "HTTP/1.1", Framing: "HTTP", Encoding: "JSON", Network: "tcp", Secure: true,
	}, httpbind.HTTP1(true), jsonStub, nil)
}

// HTTP1TLSProto carries the route guide over HTTP/1.1 with TLS in protobuf.
func HTTP1TLSProto() wirelab.Binding[routeguide.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http1-tls-proto", Transport: "HTTP/1.1", Framing: "HTTP", Encoding: "Protocol Buffers", Network: "tcp", Secure: true,
	}, httpbind.HTTP1(true), protoStub, protoHoles())
}
