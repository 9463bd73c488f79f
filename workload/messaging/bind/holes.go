package bind

import (
	"wirelab"
	"wirelab/wire/connect"
	"wirelab/wire/graphql"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/httpbind"
	"wirelab/wire/netrpc"
	"wirelab/wire/rawtcp"
	"wirelab/wire/websocket"
	"wirelab/workload/messaging"
)

// Holes are the protocols of calls: messaging is carried by brokers.
func Holes() []wirelab.Binding[messaging.Service] {
	all := []wirelab.Protocol{
		connect.Protocol(), connect.ProtocolHTTP1(), graphql.Protocol(), graphql.Composed(),
		wiregrpc.Protocol(false), wiregrpc.Protocol(true), wiregrpc.ProtocolAvro(false), wiregrpc.ProtocolAvro(true),
		wiregrpc.ProtocolJSON(false), wiregrpc.ProtocolJSON(true), netrpc.Protocol(), rawtcp.Protocol(),
		websocket.Protocol(),
		httpbind.SSE().Protocol, httpbind.SSEH2C().Protocol,
	}
	for _, c := range httpbind.Carriages() {
		all = append(all, c.Protocol)
	}
	var holes []wirelab.Binding[messaging.Service]
	for _, p := range all {
		holes = append(holes, wirelab.Hole[messaging.Service](p,
			"messages go through a broker, which has its own protocols; hermes-grpc, hermes-rest and "+
				"hermes-graphql "+
				"are the nearest to this one"))
	}
	return holes
}
