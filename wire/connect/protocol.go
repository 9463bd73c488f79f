package connect

import "wirelab"

// Protocol is the Connect protocol over HTTP/2 in plaintext.
func Protocol() wirelab.Protocol {
	return wirelab.Protocol{
		Name: "connect", Transport: "HTTP/2", Framing: "Connect", Encoding: "Protocol Buffers", Network: "tcp",
		Multiplexed: true,
	}
}

// ProtocolHTTP1 is the Connect protocol over HTTP/1.1.
func ProtocolHTTP1() wirelab.Protocol {
	return wirelab.Protocol{
		Name: "connect-http1", Transport: "HTTP/1.1", Framing: "Connect", Encoding: "Protocol Buffers", Network: "tcp",
	}
}
