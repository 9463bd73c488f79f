package bind

import (
	"wirelab"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/workload/ledger"
)

// GRPC carries the ledger over gRPC in plaintext, under the paths and the
// messages that clients of the published service know (grb-F01 to F04).
func GRPC() wirelab.Binding[ledger.Service] {
	return protoRPC().OverGRPC(wiregrpc.Protocol(false))
}

// GRPCTLS is [GRPC] over TLS 1.3.
func GRPCTLS() wirelab.Binding[ledger.Service] {
	return protoRPC().OverGRPC(wiregrpc.Protocol(true))
}
