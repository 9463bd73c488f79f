package bind

import (
	"wirelab"
	"wirelab/wire/graphql"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/workload/routeguide"
)

// Holes returns the protocols that do not carry the route guide, other than those of plain HTTP.
func Holes() []wirelab.Binding[routeguide.Service] {
	const (
		notJSON = "the published route guide speaks gRPC in Protocol Buffers; gRPC in JSON is compared with it on " +
			"the directory"
		notMany = "no operation of the route guide is made of several calls, so that one document could ask for them " +
			"at once"
	)
	return []wirelab.Binding[routeguide.Service]{
		wirelab.Hole[routeguide.Service](wiregrpc.ProtocolAvro(false), notAvro),
		wirelab.Hole[routeguide.Service](wiregrpc.ProtocolAvro(true), notAvro),
		wirelab.Hole[routeguide.Service](wiregrpc.ProtocolJSON(false), notJSON),
		wirelab.Hole[routeguide.Service](wiregrpc.ProtocolJSON(true), notJSON),
		wirelab.Hole[routeguide.Service](graphql.Composed(), notMany),
	}
}
