package wirelab

import (
	"context"
	"io"
	"time"
)

// Lines are the connections of a raw driver. They send prepared requests, and
// read and check replies, with many calls in flight and no goroutine for each. One
// goroutine drives all of them, so the cost of a call is the cost of its bytes.
//
// A slot carries one call at a time. If a connection breaks, its calls end
// with an error, and the next Begin on it opens it again.
type Lines interface {
	io.Closer
	// Slots returns the number of calls that can be in flight: slots 0 to Slots()-1,
	// distributed over the connections in turn.
	Slots() int
	// Begin starts the next call of the series in a free slot.
	// The bytes of the call are sent when the next Turn returns, or the current
	// one if Begin is called from it. Begin never blocks on the network, except to
	// open a broken connection again.
	Begin(slot int)
	// Turn sends the calls that were begun, waits until something arrives or wait has
	// passed (<= 0: it does not wait), and calls ended once for each finished call,
	// with nil for a correct reply, a [*Mismatch], or the call's error. ended
	// may Begin the slot again. An error that Turn returns is one of the driver
	// and final: no more calls can be made.
	Turn(wait time.Duration, ended func(slot int, err error)) error
	// Cancel gives up a call, which ends with cause in the next Turn. If the
	// wire cannot cancel a single call, the connection is closed.
	Cancel(slot int, cause error)
	// Traffic returns what has passed through the sockets so far.
	Traffic() Traffic
	// Outside returns how long the slot's last finished call was outside the driver: from when the kernel had the
	// whole request until it had the last byte of the reply. 0: not known. Call it after the Turn in which the
	// call ended.
	Outside(slot int) time.Duration
	// Steps returns how often the clock was set since the lines were opened. For a call during which the clock was
	// set, the value of Outside is not valid.
	Steps() uint64
}

// Traffic counts what passed through a client's sockets. Bytes are counted as the
// kernel sees them, including headers, framing and TLS records.
type Traffic struct {
	Sent, Received uint64 // bytes
	Opened         uint64 // connections since the start; a datagram socket is one
	Open           uint64 // connections open now
	// Payload is the part of Sent that is the requests themselves, without headers
	// and framing; 0 if it is not known.
	Payload uint64
}

// Raw is the raw driver of S over a binding's protocol: our minimal client. It
// shows the cost of the server, while the client of a library shows
// the cost of a call on both sides.
type Raw[S any] struct {
	// Holes names the operations that it does not carry, with the reasons.
	Holes map[string]string
	// Dial opens to.Connections connections, also on a multiplexed protocol,
	// with slots calls in flight over them. To learn the series of requests, it
	// performs each check once against a stub that returns nothing. The series
	// repeats after its end. Every reply is checked: a reply with the same bytes as
	// one that passed the check before is correct; otherwise the check decides.
	// to.Connect and to.Packets are not used: see [Lines.Traffic].
	Dial func(ctx context.Context, to Dialing, slots int, series []Check[S]) (Lines, error)
}
