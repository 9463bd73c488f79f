package bind

import (
	"wirelab"
	"wirelab/wire/httpbind"
	"wirelab/workload/routeguide"
)

// HTTP3Proto carries the route guide over HTTP/3 in protobuf.
func HTTP3Proto() wirelab.Binding[routeguide.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http3-proto", Transport: "HTTP/3", Framing: "HTTP", Encoding: "Protocol Buffers", Network: "udp", Secure: true, Multiplexed: true,
	}, httpbind.HTTP3(), protoStub, protoHoles())
}
