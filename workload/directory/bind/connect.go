package bind

import (
	"wirelab"
	wireconnect "wirelab/wire/connect"
	"wirelab/workload/directory"
)

// Connect carries the directory over the Connect protocol on HTTP/2 in plaintext.
func Connect() wirelab.Binding[directory.Service] {
	return rpc().OverConnect(wireconnect.Protocol())
}

// ConnectHTTP1 carries the directory over the Connect protocol on HTTP/1.1.
func ConnectHTTP1() wirelab.Binding[directory.Service] {
	return rpc().OverConnect(wireconnect.ProtocolHTTP1())
}
