package bind

import (
	"wirelab"
	"wirelab/wire/httpbind"
	"wirelab/workload/directory"
)

// oneReply is why server-sent events do not carry the directory.
const oneReply = "server-sent events are a stream of replies, and every call of the directory has one reply: that " +
	"is plain HTTP, as in "

// SSE is a hole: nothing in the directory is a stream.
func SSE() wirelab.Binding[directory.Service] {
	return wirelab.Hole[directory.Service](httpbind.SSE().Protocol, oneReply+"http1-json")
}

// SSEH2C is a hole: nothing in the directory is a stream.
func SSEH2C() wirelab.Binding[directory.Service] {
	return wirelab.Hole[directory.Service](httpbind.SSEH2C().Protocol, oneReply+"h2c-json")
}
