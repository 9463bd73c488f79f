package bind

import (
	"wirelab"
	"wirelab/wire/httpbind"
	"wirelab/wire/httprpc"
	"wirelab/workload/ledger"
)

// HTTP1JSON carries the ledger over HTTP/1.1 in JSON, streams as lines; of the
// published service it is all but the stream, which is sse.go.
func HTTP1JSON() wirelab.Binding[ledger.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http1-json", Transport: "HTTP/1.1", Framing: "HTTP", Encoding: "JSON", Network: "tcp",
	}, httpbind.HTTP1(false), httprpc.JSON)
}

// HTTP1Proto carries the ledger over HTTP/1.1 in protobuf.
func HTTP1Proto() wirelab.Binding[ledger.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http1-proto", Transport: "HTTP/1.1", Framing: "HTTP", Encoding: "Protocol Buffers", Network: "tcp",
	}, httpbind.HTTP1(false), httprpc.Proto)
}

// HTTP1TLSJSON carries the ledger over HTTP/1.1 with TLS in JSON, streams as lines.
func HTTP1TLSJSON() wirelab.Binding[ledger.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http1-tls-json", Transport: "HTTP/1.1", Framing: "HTTP", Encoding: "JSON", Network: "tcp", Secure: true,
	}, httpbind.HTTP1(true), httprpc.JSON)
}

// HTTP1TLSProto carries the ledger over HTTP/1.1 with TLS in protobuf.
func HTTP1TLSProto() wirelab.Binding[ledger.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http1-tls-proto", Transport: "HTTP/1.1", Framing: "HTTP", Encoding: "Protocol Buffers", Network: "tcp", Secure: true,
	}, httpbind.HTTP1(true), httprpc.Proto)
}
