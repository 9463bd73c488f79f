package bind

import (
	"wirelab"
	"wirelab/wire/httpbind"
	"wirelab/wire/httprpc"
	"wirelab/workload/ledger"
)

// H2CJSON carries the ledger over HTTP/2 in the clear in JSON, streams as lines.
func H2CJSON() wirelab.Binding[ledger.Service] {
	return restBinding(wirelab.Protocol{
		Name: "h2c-json", Transport: "HTTP/2", Framing: "HTTP", Encoding: "JSON", Network: "tcp", Multiplexed: true,
	}, httpbind.HTTP2(false), httprpc.JSON)
}

// H2CProto carries the ledger over HTTP/2 in the clear in protobuf.
func H2CProto() wirelab.Binding[ledger.Service] {
	return restBinding(wirelab.Protocol{
		Name: "h2c-proto", Transport: "HTTP/2", Framing: "HTTP", Encoding: "Protocol Buffers", Network: "tcp", Multiplexed: true,
	}, httpbind.HTTP2(false), httprpc.Proto)
}

// HTTP2JSON carries the ledger over HTTP/2 with TLS in JSON, streams as lines.
func HTTP2JSON() wirelab.Binding[ledger.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http2-json", Transport: "HTTP/2", Framing: "HTTP", Encoding: "JSON", Network: "tcp", Secure: true, Multiplexed: true,
	}, httpbind.HTTP2(true), httprpc.JSON)
}

// HTTP2Proto carries the ledger over HTTP/2 with TLS in protobuf.
func HTTP2Proto() wirelab.Binding[ledger.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http2-proto", Transport: "HTTP/2", Framing: "HTTP", Encoding: "Protocol Buffers", Network: "tcp", Secure: true, Multiplexed: true,
	}, httpbind.HTTP2(true), httprpc.Proto)
}
