package websocket

import "wirelab"

// Protocol is what this package speaks, with messages in protobuf.
func Protocol() wirelab.Protocol {
	return wirelab.Protocol{
		Name: "websocket", Transport: "HTTP/1.1", Framing: "WebSocket", Encoding: "Protocol Buffers", Network: "tcp",
	}
}
