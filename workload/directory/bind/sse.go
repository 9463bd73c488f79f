package bind

import (
	"wirelab"
	"wirelab/workload/directory"
)

// oneReply is why server-sent events do not carry the directory.
const oneReply = "server-sent events are a stream of replies, and every call of the directory has one reply: that is plain HTTP, as in "

// SSE is a hole: nothing in the directory is a stream.
func SSE() wirelab.Binding[directory.Service] {
	return wirelab.Hole[directory.Service](wirelab.Protocol{
		Name: "sse", Transport: "HTTP/1.1", Framing: "SSE", Encoding: "JSON", Network: "tcp",
	}, oneReply+"http1-json")
}

// SSEH2C is a hole: nothing in the directory is a stream.
func SSEH2C() wirelab.Binding[directory.Service] {
	return wirelab.Hole[directory.Service](wirelab.Protocol{
		Name: "sse-h2c", Transport: "HTTP/2", Framing: "SSE", Encoding: "JSON", Network: "tcp", Multiplexed: true,
	}, oneReply+"h2c-json")
}
