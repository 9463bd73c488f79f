package bind

import (
	"wirelab"
	"wirelab/wire/netrpc"
	"wirelab/workload/logging"
)

// netrpcName is the name of the service, as net/rpc's clients say it.
const netrpcName = "Logging"

// NetRPC carries the logger over net/rpc, in gob of the domain's own types,
// which is how net/rpc is used: their fields' names are on the wire. The
// published service, RPCServer, stands beside ours on the same server.
func NetRPC() wirelab.Binding[logging.Service] {
	return netrpc.BindingOf(netrpcName, newNetRPCServer, newNetRPCStub, netrpcHoles(), publishedRPC)
}
