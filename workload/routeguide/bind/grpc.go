package bind

import (
	"wirelab"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/grpcbind"
	"wirelab/workload/routeguide"
	"wirelab/workload/routeguide/gen/genconnect"
)

// GRPC carries the route guide over gRPC in plaintext, under the paths and the
// messages that existing clients know: those of routeguide.RouteGuide, and those
// of the published benchmark, which says v1.RouteGuide.
func GRPC() wirelab.Binding[routeguide.Service] {
	return rpc().OverGRPC(wiregrpc.Protocol(false))
}

// GRPCTLS is [GRPC] over TLS 1.3.
func GRPCTLS() wirelab.Binding[routeguide.Service] {
	return rpc().OverGRPC(wiregrpc.Protocol(true))
}

// rpc is the route guide on gRPC and Connect, in protobuf.
func rpc() grpcbind.Service[routeguide.Service] {
	s := protoRPC()
	// The published benchmark's checked-in stubs call this name, whatever its
	// .proto says; messages and methods are the same.
	s.Aliases = []wiregrpc.Alias{{Name: "v1.RouteGuide", Of: genconnect.RouteGuideName}}
	return s
}
