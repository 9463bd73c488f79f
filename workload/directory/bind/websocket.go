package bind

import (
	"wirelab"
	"wirelab/wire/exchange"
	"wirelab/wire/websocket"
	"wirelab/workload/directory"
)

// WebSocket carries the directory in binary WebSocket messages, one call at a
// time on a connection, as WebSocket itself has no calls.
func WebSocket() wirelab.Binding[directory.Service] {
	return wirelab.Binding[directory.Service]{
		Protocol: websocket.Protocol(),
		Style:    wirelab.Idiomatic,
		Servers: []wirelab.Server[directory.Service]{
			exchange.ServerOf("coder/websocket", websocket.Serve, exchangeHandlers),
		},
		Clients: []wirelab.Dialer[directory.Service]{
			exchange.DialerOf("coder/websocket", websocket.Dial, newExchangeStub),
		},
	}
}
