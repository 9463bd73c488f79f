package bind

import (
	"wirelab"
	"wirelab/wire/exchange"
	"wirelab/wire/websocket"
	"wirelab/workload/logging"
)

// WebSocket carries the logger in binary WebSocket messages, one call at a time
// on a connection, as WebSocket itself has no calls.
func WebSocket() wirelab.Binding[logging.Service] {
	return wirelab.Binding[logging.Service]{
		Protocol: websocket.Protocol(),
		Style:    wirelab.Idiomatic,
		Servers: []wirelab.Server[logging.Service]{
			exchange.ServerOf("coder/websocket", websocket.Serve, exchangeHandlers),
		},
		Clients: []wirelab.Dialer[logging.Service]{
			exchange.DialerOf("coder/websocket", websocket.Dial, newExchangeStub),
		},
	}
}
