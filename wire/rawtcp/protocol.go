package rawtcp

import "wirelab"

// Protocol is what this package speaks, with messages in protobuf.
func Protocol() wirelab.Protocol {
	return wirelab.Protocol{
		Name: "raw-tcp", Transport: "TCP", Framing: "length-prefixed", Encoding: "Protocol Buffers", Network: "tcp",
	}
}
