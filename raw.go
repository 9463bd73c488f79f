package wirelab

import (
	"context"
	"io"
	"time"
)

// Lines are the connections of a raw driver: pre-built requests out, replies
// in and checked, many calls in flight without a goroutine for each. One
// goroutine drives them all, so the cost of a call is that of its bytes.
//
// A slot carries one call at a time. A connection that breaks ends its calls
// with an error and is opened again by the next Begin on it.
type Lines interface {
	io.Closer
	// Slots is how many calls can be in flight at once: slots 0 to Slots()-1,
	// dealt out over the connections in turn.
	Slots() int
	// Begin starts the next call of the series in a slot that carries none.
	// Its bytes are on their way when the next Turn returns, or the Turn that
	// is under way. It never blocks on the network, but for opening a broken
	// connection again.
	Begin(slot int)
	// Turn sends what was begun, waits until something arrives or wait has
	// passed (<= 0: only looks), and calls ended once for each call that is
	// over: nil for a right reply, a [*Mismatch], or the call's error. ended
	// may Begin the slot again. The error is the driver's own and final: no
	// call can be made any more.
	Turn(wait time.Duration, ended func(slot int, err error)) error
	// Cancel gives a call up; it ends with cause in the next Turn. Where the
	// wire cannot give up one call alone its connection is closed.
	Cancel(slot int, cause error)
	// Traffic tells what has passed through the sockets so far.
	Traffic() Traffic
	// Outside is how long the slot's last call that ended spent outside the driver: from when the kernel had all of
	// its request until it had the last byte of the reply. 0: nobody knows. It is asked for after the Turn in which the
	// call ended.
	Outside(slot int) time.Duration
	// Steps is how often the clock was set since the lines were opened. A call during which it was has no known
	// Outside, whatever Outside says.
	Steps() uint64
}

// Traffic is what passed through a client's sockets: bytes as the kernel sees
// them, so that headers, framing and TLS records are in them.
type Traffic struct {
	Sent, Received uint64 // bytes
	Opened         uint64 // connections since the start; a datagram socket is one
	Open           uint64 // connections open now
	// Payload is the bytes of Sent that are requests' own, without headers and
	// framing; 0 where that is not known.
	Payload uint64
}

// Raw is how the raw driver calls S over a binding's protocol: our own minimal
// client, which shows what the server costs where a library's client shows
// what a call costs both sides.
type Raw[S any] struct {
	// Holes names the operations that it does not carry, with the reason.
	Holes map[string]string
	// Dial opens to.Connections connections, also on a multiplexed protocol,
	// with slots calls in flight over them. The series of requests is learnt
	// by performing each check once against a stub that answers nothing, and
	// repeats after the last. Every reply is checked: by its bytes where they
	// are those of a reply that passed the check before, else by the check.
	// to.Connect and to.Packets are not used: see [Lines.Traffic].
	Dial func(ctx context.Context, to Dialing, slots int, series []Check[S]) (Lines, error)
}
