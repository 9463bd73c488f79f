package wirelab

import (
	"context"
	"io"
	"time"
)

// Lines are the connections of a raw driver. It sends prepared requests, receives and checks replies, and keeps
// many calls in flight without a goroutine for each. One goroutine drives all connections, so the cost of a call is
// the cost of its bytes.
//
// A slot carries one call at a time. A connection that breaks ends its calls with an error, and the next Begin on
// it opens it again.
type Lines interface {
	io.Closer
	// Slots is how many calls can be in flight at once: slots 0 to Slots()-1, distributed over the connections in
	// turn.
	Slots() int
	// Begin starts the next call of the series in a slot that carries none. Its bytes are sent by the current or
	// the next Turn. It blocks on the network only to reopen a broken connection.
	Begin(slot int)
	// Turn sends the calls that were begun, waits until something arrives or wait has passed (<= 0: does not wait),
	// and calls ended once for each call that has ended: with nil for a right reply, a [*Mismatch], or the error of
	// the call. ended may call Begin for the slot again. An error from Turn itself is final: no more calls can be
	// made.
	Turn(wait time.Duration, ended func(slot int, err error)) error
	// Cancel abandons a call; it ends with cause in the next Turn. If the wire cannot abandon one call alone, its
	// connection is closed.
	Cancel(slot int, cause error)
	// Traffic returns what has passed through the sockets so far.
	Traffic() Traffic
	// Outside is how long the slot's last ended call spent outside the driver: from when the kernel had all of its
	// request until it had the last byte of the reply. 0: unknown. Call it after the Turn in which the call ended.
	Outside(slot int) time.Duration
	// Steps is how often the system clock was set since the lines were opened. If it was set during a call, the
	// Outside of that call is unknown, whatever Outside returns.
	Steps() uint64
}

// Traffic counts what passed through a client's sockets: bytes as the kernel sees them, including headers, framing
// and TLS records.
type Traffic struct {
	Sent, Received uint64 // bytes
	Opened         uint64 // connections since the start; a datagram socket counts as one
	Open           uint64 // connections open now
	// Payload is how many bytes of Sent belong to the requests themselves, without headers and framing; 0 if
	// unknown.
	Payload uint64
}

// Raw is the raw driver's way to call S over the protocol of a binding. The driver is our own minimal client. It
// shows the cost of the server, where the client of a library shows the cost of both sides.
type Raw[S any] struct {
	// Holes maps each operation that it does not carry to the reason.
	Holes map[string]string
	// Dial opens to.Connections connections, also on a multiplexed protocol, with slots calls in flight over them.
	// It learns the series of requests by performing each check once against a stub that answers nothing, and
	// repeats the series after its end. Every reply is checked: if its bytes equal those of a reply that passed the
	// check before, it passes; else the check decides. to.Connect and to.Packets are not used: see [Lines.Traffic].
	Dial func(ctx context.Context, to Dialing, slots int, series []Check[S]) (Lines, error)
}
