package bind

import (
	"wirelab"
	"wirelab/wire/exchange"
	"wirelab/wire/websocket"
	"wirelab/workload/ledger"
)

// WebSocket carries the ledger in binary WebSocket messages, one call or one
// stream at a time on a connection, as WebSocket itself has no calls.
func WebSocket() wirelab.Binding[ledger.Service] {
	return wirelab.Binding[ledger.Service]{
		Protocol: websocket.Protocol(),
		Style:    wirelab.Idiomatic,
		Servers: []wirelab.Server[ledger.Service]{
			exchange.ServerOf("coder/websocket", websocket.Serve, exchangeHandlers),
		},
		Clients: []wirelab.Dialer[ledger.Service]{
			exchange.DialerOf("coder/websocket", websocket.Dial, newExchangeStub),
		},
	}
}
