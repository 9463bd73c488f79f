package bind

import (
	"wirelab"
	"wirelab/wire/netrpc"
	"wirelab/workload/routeguide"
)

// netrpcName is the name of the service, as net/rpc's clients say it.
const netrpcName = "RouteGuide"

// NetRPC carries the route guide over net/rpc, in gob of the domain's own types,
// which is how net/rpc is used: their fields' names are on the wire.
func NetRPC() wirelab.Binding[routeguide.Service] {
	return netrpc.BindingOf(netrpcName, newNetRPCServer, newNetRPCStub, netrpcHoles())
}
