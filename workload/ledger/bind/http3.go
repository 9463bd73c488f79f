package bind

import (
	"wirelab"
	"wirelab/wire/httpbind"
	"wirelab/wire/httprpc"
	"wirelab/workload/ledger"
)

// HTTP3Proto carries the ledger over HTTP/3 in protobuf.
func HTTP3Proto() wirelab.Binding[ledger.Service] {
	return restBinding(wirelab.Protocol{
		Name: "http3-proto", Transport: "HTTP/3", Framing: "HTTP", Encoding: "Protocol Buffers", Network: "udp", Secure: true, Multiplexed: true,
	}, httpbind.HTTP3(), httprpc.Proto)
}
