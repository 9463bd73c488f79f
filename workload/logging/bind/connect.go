package bind

import (
	"wirelab"
	wireconnect "wirelab/wire/connect"
	"wirelab/workload/logging"
)

// Connect carries the logger over the Connect protocol on HTTP/2 in plaintext.
func Connect() wirelab.Binding[logging.Service] {
	return protoRPC().OverConnect(wireconnect.Protocol())
}

// ConnectHTTP1 carries the logger over the Connect protocol on HTTP/1.1.
func ConnectHTTP1() wirelab.Binding[logging.Service] {
	return protoRPC().OverConnect(wireconnect.ProtocolHTTP1())
}
