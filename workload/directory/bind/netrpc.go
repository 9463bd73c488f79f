package bind

import (
	"wirelab"
	"wirelab/wire/netrpc"
	"wirelab/workload/directory"
)

// netrpcName is the name of the service, as net/rpc's clients say it.
const netrpcName = "Directory"

// NetRPC carries the directory over net/rpc, in gob of the domain's own types,
// which is how net/rpc is used: their fields' names are on the wire.
func NetRPC() wirelab.Binding[directory.Service] {
	return netrpc.BindingOf(netrpcName, newNetRPCServer, newNetRPCStub, netrpcHoles())
}
