package bind

import (
	"wirelab"
	"wirelab/workload/directory"
)

// SSE is a hole: nothing in the directory is a stream.
func SSE() wirelab.Binding[directory.Service] {
	return wirelab.Hole[directory.Service](wirelab.Protocol{
		Name: "sse", Transport: "HTTP/1.1", Framing: "SSE", Encoding: "JSON", Network: "tcp",
	}, "server-sent events are a stream of replies, and every call of the directory has one reply: that is plain HTTP, as in http1-json")
}
