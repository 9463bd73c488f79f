package bind

import (
	"wirelab"
	"wirelab/workload/ledger"
)

// Holes are the protocols that do not carry the ledger.
func Holes() []wirelab.Binding[ledger.Service] {
	return []wirelab.Binding[ledger.Service]{
		wirelab.Hole[ledger.Service](wirelab.Protocol{
			Name: "graphql-composed", Transport: "HTTP/1.1", Framing: "GraphQL", Encoding: "JSON", Network: "tcp",
		}, "no operation of the ledger is made of several calls, so that one document could ask for them at once"),
	}
}
