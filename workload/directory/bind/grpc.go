package bind

import (
	"wirelab"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/grpcbind"
	"wirelab/workload/directory"
)

// GRPC carries the directory over gRPC in plaintext. Its servers answer to the
// published experiment's name of the service too.
func GRPC() wirelab.Binding[directory.Service] {
	return rpc().OverGRPC(wiregrpc.Protocol(false))
}

// GRPCTLS is [GRPC] over TLS 1.3.
func GRPCTLS() wirelab.Binding[directory.Service] {
	return rpc().OverGRPC(wiregrpc.Protocol(true))
}

// rpc is the directory on gRPC and Connect, in protobuf.
func rpc() grpcbind.Service[directory.Service] {
	s := protoRPC()
	s.Aliases = []wiregrpc.Alias{publishedAlias()}
	return s
}
