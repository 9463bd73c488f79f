package netrpc

import "wirelab"

// Protocol is what this package speaks.
func Protocol() wirelab.Protocol {
	return wirelab.Protocol{
		Name: "netrpc", Transport: "TCP", Framing: "net/rpc", Encoding: "gob", Network: "tcp", Multiplexed: true,
	}
}
