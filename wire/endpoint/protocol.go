package endpoint

// Protocol is transport, framing and encoding under one name. Which library
// speaks it is another dimension.
type Protocol struct {
	Name      string // "http1-proto"; lower case, as typed on the command line
	Transport string // "HTTP/1.1", "HTTP/2", "HTTP/3", "TCP"
	Framing   string // how calls lie on the transport: "HTTP", "gRPC", "Connect", "GraphQL"
	Encoding  string // "JSON", "Protocol Buffers", "gob"
	Network   string // "tcp" or "udp": what a server listens on
	Secure    bool   // over TLS; our servers speak 1.3
	// Multiplexed wires carry many calls at once over one connection. The
	// others carry one call at a time and so need a connection per call in flight.
	Multiplexed bool
	// Pipeline is a way through several processes that are started together, of
	// which the protocol is the first hop. No server of a cell can be it, and no
	// other workload owes it.
	Pipeline bool
}

// MaxStreams is the number of concurrent calls that every multiplexed wire
// allows on one connection, on both sides. Libraries differ silently in their
// defaults (250, 100, unlimited), which would make a run above the smallest
// queue in one client only (docs/origins.md R4).
const MaxStreams = 1024

// MessageLimit is the size in bytes of the largest message that any wire takes or sends, at both ends and in
// every encoding: a separate limit would make one protocol refuse what another carries.
const MessageLimit = 8 << 20
