package bind

import (
	"wirelab"
	"wirelab/wire/netrpc"
	"wirelab/workload/logging"
)

// netrpcName is the name of the service, as net/rpc's clients say it.
const netrpcName = "Logging"

// NetRPC carries the logger over net/rpc, in gob of the domain's types, which is how net/rpc is used: the names of
// their fields are on the wire. The published service, RPCServer, is served by the same server.
func NetRPC() wirelab.Binding[logging.Service] {
	return netrpc.BindingOf(netrpcName, newNetRPCServer, newNetRPCStub, netrpcHoles(), publishedRPC)
}
