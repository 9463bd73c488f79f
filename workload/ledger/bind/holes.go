package bind

import (
	"wirelab"
	"wirelab/wire/graphql"
	"wirelab/workload/ledger"
)

// Holes are the protocols that do not carry the ledger.
func Holes() []wirelab.Binding[ledger.Service] {
	return []wirelab.Binding[ledger.Service]{
		wirelab.Hole[ledger.Service](graphql.Composed(),
			"no operation of the ledger is made of several calls, so that one document could ask for them at once"),
	}
}
