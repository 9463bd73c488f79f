package endpoint

import (
	"crypto/tls"
	"errors"
	"net"
	"time"
)

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

// Close closes the open parts of the endpoint.
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
