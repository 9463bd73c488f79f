package bind

import (
	"wirelab"
	wireconnect "wirelab/wire/connect"
	"wirelab/workload/ledger"
)

// Connect carries the ledger over the Connect protocol on HTTP/2 in plaintext.
func Connect() wirelab.Binding[ledger.Service] {
	return protoRPC().OverConnect(wireconnect.Protocol())
}

// ConnectHTTP1 carries the ledger over the Connect protocol on HTTP/1.1.
func ConnectHTTP1() wirelab.Binding[ledger.Service] {
	return protoRPC().OverConnect(wireconnect.ProtocolHTTP1())
}
