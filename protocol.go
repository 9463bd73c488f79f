package wirelab

import (
	"context"
	"io"

	"wirelab/wire/endpoint"
)

// Types that both ends of a wire need; see package endpoint.
type (
	// Protocol is transport, framing and encoding under one name. The library that implements it is a separate
	// dimension: see [Server] and [Dialer].
	Protocol = endpoint.Protocol
	// Endpoint is where a server serves.
	Endpoint = endpoint.Endpoint
	// Dialing is what a client needs to reach a server.
	Dialing = endpoint.Dialing
)

// Limits that every wire enforces at both ends; see package endpoint.
const (
	DefaultDrain = endpoint.DefaultDrain
	MaxStreams   = endpoint.MaxStreams
	MessageLimit = endpoint.MessageLimit
)

// Server serves S over the protocol of a binding with one library.
type Server[S any] struct {
	Library string // "net/http", "grpc-go"
	// Serve answers calls until ctx ends. Then it stops accepting calls, waits for those in flight as long as the
	// endpoint allows, closes the endpoint and returns nil. Every goroutine it started has ended when it returns.
	Serve func(ctx context.Context, at Endpoint, service S) error
}

// Dialer calls S over the protocol of a binding with one library.
type Dialer[S any] struct {
	Library string
	// Dial returns a stub. It need not connect before the first call. The stub may be called by many goroutines;
	// closing it closes its connections.
	Dial func(ctx context.Context, to Dialing) (stub S, closer io.Closer, err error)
}

// Style says how a binding was written. Reports keep the styles apart, because comparisons of idiomatic and of
// generic bindings are different claims.
type Style string

// The styles.
const (
	// Idiomatic is written for this workload as a competent user of the protocol would write it.
	Idiomatic Style = "idiomatic"
	// Generic carries any workload by one mechanism.
	Generic Style = "generic"
)

// Binding carries the workload whose service is S over one protocol. Every server can be called by every client;
// the first of each is the usual choice.
type Binding[S any] struct {
	Protocol Protocol
	Style    Style
	// Holes maps each operation that this protocol cannot carry here to a reason for the reader. A stub answers
	// such an operation with [Unimplemented]. The conformance suite fails if a declared hole works.
	Holes   map[string]string
	Servers []Server[S]
	Clients []Dialer[S]
	// Raw is the raw driver's way to call; nil if there is none.
	Raw *Raw[S]
	// Null serves right replies with the least possible work, which shows the cost of the client and the kernel
	// alone (the floor). It learns a reply by asking service once. nil if there is none.
	Null func(ctx context.Context, at Endpoint, service S) error
	// Missing, if not "", is the reason why the workload is not carried over the protocol at all. All other fields
	// except Protocol are then empty. See [Hole].
	Missing string
}

// Hole declares that a workload is not carried over a protocol, and gives the reason for the reader. There is no
// stub, so no operation of it is tried. If some operations are carried, write a [Binding] with Holes instead.
func Hole[S any](p Protocol, why string) Binding[S] {
	return Binding[S]{Protocol: p, Missing: why}
}
