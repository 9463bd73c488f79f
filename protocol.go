package wirelab

import (
	"context"
	"io"

	"wirelab/wire/endpoint"
)

// What both ends of a wire need; see package endpoint.
type (
	// Protocol is transport, framing and encoding under one name. Which library
	// speaks it is another dimension: see [Server] and [Dialer].
	Protocol = endpoint.Protocol
	// Endpoint is where a server serves.
	Endpoint = endpoint.Endpoint
	// Dialing is what a client needs to reach a server.
	Dialing = endpoint.Dialing
)

// The limits that every wire enforces at both ends; see package endpoint.
const (
	DefaultDrain = endpoint.DefaultDrain
	MaxStreams   = endpoint.MaxStreams
	MessageLimit = endpoint.MessageLimit
)

// Server is one library's way to serve S over a binding's protocol.
type Server[S any] struct {
	Library string // "net/http", "grpc-go"
	// Serve answers calls until ctx ends. Then it accepts no new calls, waits
	// for calls in flight as long as the endpoint allows, closes it, and returns nil.
	// All goroutines that it started have ended when it returns.
	Serve func(ctx context.Context, at Endpoint, service S) error
}

// Dialer is one library's way to call S over a binding's protocol.
type Dialer[S any] struct {
	Library string
	// Dial returns a stub. It need not connect before the first call. The
	// stub may be called by many goroutines; closing it closes its connections.
	Dial func(ctx context.Context, to Dialing) (stub S, closer io.Closer, err error)
}

// Style says how a binding was written, because a report that mixed styles
// would compare different claims.
type Style string

// The styles.
const (
	// Idiomatic is written for this workload as a competent user of the protocol would.
	Idiomatic Style = "idiomatic"
	// Generic carries any workload by one mechanism.
	Generic Style = "generic"
)

// Binding carries the workload whose service is S over one protocol. Every
// server can be called by every client; the first of each is the usual choice.
type Binding[S any] struct {
	Protocol Protocol
	Style    Style
	// Holes names the operations that this protocol cannot carry here, each with the
	// reason, for readers. A stub answers them with [Unimplemented]. If a hole
	// starts to work, the conformance tests fail.
	Holes   map[string]string
	Servers []Server[S]
	Clients []Dialer[S]
	// Raw is the raw driver; nil if there is none.
	Raw *Raw[S]
	// Null serves correct replies with the least possible work, to show
	// the cost of the client and the kernel alone (the floor). It learns a
	// reply by asking service once. nil if there is none.
	Null func(ctx context.Context, at Endpoint, service S) error
	// Missing, unless "", says why the workload is not carried over the
	// protocol at all; only Protocol is then set. See [Hole].
	Missing string
}

// Hole declares that a workload is not carried over a protocol, with the
// reason, for readers. There is no stub, so none of its operations is
// tested. If some operations are carried, write a [Binding] with Holes instead.
func Hole[S any](p Protocol, why string) Binding[S] {
	return Binding[S]{Protocol: p, Missing: why}
}
