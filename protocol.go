package wirelab

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"time"
)

// Protocol is transport, framing and encoding under one name. Which library
// speaks it is another dimension: see [Server] and [Dialer].
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

// Endpoint is where a server serves, opened by the caller so that the address
// is known, and can be recorded or wrapped, before the first byte.
type Endpoint struct {
	Listener net.Listener   // set when Protocol.Network is "tcp"
	Packets  net.PacketConn // set when Protocol.Network is "udp"
	// Certificate is presented by Secure protocols; nil for the others.
	Certificate *tls.Certificate
	// Drain is how long a stop waits for calls in flight before cutting them.
	// 0 means [DefaultDrain].
	Drain time.Duration
}

// DefaultDrain is how long a server that was told to stop waits for its calls.
const DefaultDrain = 5 * time.Second

// DrainTime returns Drain with its default.
func (e Endpoint) DrainTime() time.Duration {
	if e.Drain > 0 {
		return e.Drain
	}
	return DefaultDrain
}

// MaxStreams is the number of concurrent calls that every multiplexed wire
// allows on one connection, on both sides. Libraries differ silently in their
// defaults (250, 100, unlimited), which would make a run above the smallest
// queue in one client only (systems.md R4).
const MaxStreams = 1024

// MessageLimit is the size in bytes of the largest message that any wire takes
// or sends, at both ends and in every encoding: a limit of its own would make
// one protocol refuse what another carries.
const MessageLimit = 8 << 20

// Dialing is what a client needs to reach a server. Bindings must honour
// every field.
type Dialing struct {
	Address string // host:port, or unix:PATH of a socket in the file system
	// Next is the address that the next connection is opened to, where the host of
	// Address has several; nil: Address.
	Next  func() string
	Roots *x509.CertPool // authorities that Secure protocols trust; nil: the system's
	// Certificates are what a client shows to Secure servers that ask for one.
	Certificates []tls.Certificate
	// ServerName is the name that a server's certificate must have; "": Address's host.
	ServerName string
	// Insecure takes any certificate.
	Insecure bool
	// Foreign is that the server is not one of ours, and may speak TLS 1.2, which RFC 8996
	// allows. Ours speak TLS 1.3, so that arms stay comparable.
	Foreign bool
	// Secured is told what each connection over TLS negotiated; nil: nothing is.
	Secured func(tls.ConnectionState)
	// Met is told the address that each connection reached; nil: nothing is.
	Met func(net.Addr)
	// Connections bounds how many connections a client that is not
	// multiplexed may open; it keeps them all. A multiplexed client opens one.
	// 0 means 1.
	Connections int
	// Deadline is what the requests that a raw driver makes beforehand tell the
	// server that they have; 0: nothing. Clients tell what each call's context says.
	Deadline time.Duration
	// Connect opens a stream connection, and is where bytes are counted. nil: net.Dialer.
	Connect func(ctx context.Context, network, address string) (net.Conn, error)
	// Packets opens the local end of a datagram wire. nil: net.ListenPacket on a free port.
	Packets func() (net.PacketConn, error)
}

// TLS is the configuration that every client over TLS connects with.
func (d Dialing) TLS() *tls.Config {
	config := &tls.Config{
		RootCAs: d.Roots, Certificates: d.Certificates, ServerName: d.ServerName, MinVersion: tls.VersionTLS13,
		InsecureSkipVerify: d.Insecure, //nolint:gosec // asked for, and said in the report
	}
	if d.Foreign {
		config.MinVersion = tls.VersionTLS12
	}
	if d.Secured != nil {
		config.VerifyConnection = func(state tls.ConnectionState) error {
			d.Secured(state)
			return nil
		}
	}
	return config
}

// ConnectionCount returns Connections with its default.
func (d Dialing) ConnectionCount() int { return max(d.Connections, 1) }

// NextAddress is the address to open a connection to. The name that TLS checks is
// that of Address.
func (d Dialing) NextAddress() string {
	if d.Next != nil {
		return d.Next()
	}
	return d.Address
}

// Open opens a stream connection through Connect or, without it, net.Dialer.
func (d Dialing) Open(ctx context.Context) (net.Conn, error) {
	network, address := "tcp", d.NextAddress()
	if d.Connect != nil {
		return d.Connect(ctx, network, address)
	}
	if path, local := strings.CutPrefix(address, "unix:"); local {
		network, address = "unix", path
	}
	var plain net.Dialer
	conn, err := plain.DialContext(ctx, network, address)
	if err == nil {
		d.Tell(conn.RemoteAddr())
	}
	return conn, err
}

// Tell tells Met of an address that a connection reached. Open does; others must that connect without it.
func (d Dialing) Tell(at net.Addr) {
	if d.Met != nil {
		d.Met(at)
	}
}

// OpenPackets opens a datagram socket through Packets or, without it, on a free port.
func (d Dialing) OpenPackets() (net.PacketConn, error) {
	if d.Packets != nil {
		return d.Packets()
	}
	return net.ListenPacket("udp", ":0")
}

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

// Close closes what is open of the endpoint.
func (e Endpoint) Close() error {
	var err error
	if e.Listener != nil {
		err = e.Listener.Close()
	}
	if e.Packets != nil {
		err = errors.Join(err, e.Packets.Close())
	}
	return err
}
