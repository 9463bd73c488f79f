package bind

import (
	"wirelab"
	"wirelab/wire/netrpc"
	"wirelab/workload/ledger"
)

// netrpcName is the name of the service, as net/rpc's clients say it.
const netrpcName = "Ledger"

// NetRPC carries the ledger over net/rpc, in gob of the domain's own types,
// which is how net/rpc is used: their fields' names are on the wire.
func NetRPC() wirelab.Binding[ledger.Service] {
	return netrpc.BindingOf(netrpcName, newNetRPCServer, newNetRPCStub, netrpcHoles())
}
