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

// The limits that every wire holds at both ends; see package endpoint.
const (
	DefaultDrain = endpoint.DefaultDrain
	MaxStreams   = endpoint.MaxStreams
	MessageLimit = endpoint.MessageLimit
)

// Server is one library's way to serve S over a binding's protocol.
type Server[S any] struct {
	Library string // "net/http", "grpc-go"
	// Serve answers calls until ctx ends, then stops taking new ones, waits
	// for those in flight as the endpoint allows, closes it, and returns nil.
	// Every goroutine it started has ended when it returns.
	Serve func(ctx context.Context, at Endpoint, service S) error
}

// Dialer is one library's way to call S over a binding's protocol.
type Dialer[S any] struct {
	Library string
	// Dial returns a stub. It need not connect before the first call. The
	// stub may be called by many goroutines; closing it closes its connections.
	Dial func(ctx context.Context, to Dialing) (stub S, closer io.Closer, err error)
}

// Style tells how a binding was written, since a report that mixed the two
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
	// Holes names the operations this protocol cannot carry here, with the
	// reason a reader needs. A stub answers them with [Unimplemented]. A hole
	// that starts to work fails the build (conformance).
	Holes   map[string]string
	Servers []Server[S]
	Clients []Dialer[S]
	// Raw is the raw driver's way to call; nil where there is none.
	Raw *Raw[S]
	// Null serves right replies with the least work a server can do, to show
	// what a client and the kernel cost by themselves (the floor). It learns a
	// reply by asking service once. nil where there is none.
	Null func(ctx context.Context, at Endpoint, service S) error
	// Missing, unless "", is why nothing carries the workload over the
	// protocol at all, and the fields above but Protocol are empty. See [Hole].
	Missing string
}

// Hole declares that a workload is not carried over a protocol, with the
// reason a reader needs. There is no stub to answer, so no operation of it is
// tried. Where some operations are carried, write a [Binding] with Holes.
func Hole[S any](p Protocol, why string) Binding[S] {
	return Binding[S]{Protocol: p, Missing: why}
}
