package endpoint

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"time"
)

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
	// Secured learns what each connection over TLS negotiated; nil: nothing is.
	Secured func(tls.ConnectionState)
	// Met receives the address that each connection reached; nil: nothing is.
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
