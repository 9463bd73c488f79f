package bind

import (
	"wirelab"
	"wirelab/wire/websocket"
	"wirelab/workload/ledger"
)

// WebSocket carries the ledger in binary WebSocket messages, one call or one
// stream at a time on a connection, as WebSocket itself has no calls.
func WebSocket() wirelab.Binding[ledger.Service] {
	return wirelab.Binding[ledger.Service]{
		Protocol: websocket.Protocol(),
		Style:    wirelab.Idiomatic,
		Servers:  []wirelab.Server[ledger.Service]{exchangeServer("coder/websocket", websocket.Serve)},
		Clients:  []wirelab.Dialer[ledger.Service]{exchangeDialer("coder/websocket", websocket.Dial)},
	}
}
