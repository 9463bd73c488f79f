package bind

import (
	"wirelab"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/workload/logging"
)

// GRPC carries the logger over gRPC in plaintext; LogService is the published one.
func GRPC() wirelab.Binding[logging.Service] {
	return protoRPC().OverGRPC(wiregrpc.Protocol(false))
}

// GRPCTLS is [GRPC] over TLS 1.3.
func GRPCTLS() wirelab.Binding[logging.Service] {
	return protoRPC().OverGRPC(wiregrpc.Protocol(true))
}
