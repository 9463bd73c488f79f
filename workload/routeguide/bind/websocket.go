package bind

import (
	"wirelab"
	"wirelab/wire/exchange"
	"wirelab/wire/websocket"
	"wirelab/workload/routeguide"
)

// WebSocket carries the route guide in binary WebSocket messages. One call at
// a time on a connection: WebSocket itself has no calls, and what multiplexes
// them would be a protocol of our own, measured as if it were WebSocket's.
func WebSocket() wirelab.Binding[routeguide.Service] {
	return wirelab.Binding[routeguide.Service]{
		Protocol: websocket.Protocol(),
		Style:    wirelab.Idiomatic,
		Servers: []wirelab.Server[routeguide.Service]{
			exchange.ServerOf("coder/websocket", websocket.Serve, exchangeHandlers),
		},
		Clients: []wirelab.Dialer[routeguide.Service]{
			exchange.DialerOf("coder/websocket", websocket.Dial, newExchangeStub),
		},
	}
}
