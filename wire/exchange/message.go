package exchange

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"wirelab"
)

// MessageLimit is the size in bytes above which no message is sent or taken,
// envelope included.
const MessageLimit = wirelab.MessageLimit

// Headroom is how many bytes every message handed to [Conn.Send] has free in
// front, for the wire's own length prefix: it saves a copy or a second write.
const Headroom = 4

// bufferKept is the size in bytes up to which a buffer is kept for the next message.
const bufferKept = 64 << 10

// kind tells what a message is.
type kind byte

const (
	kindCall kind = iota + 1
	kindItem
	kindEnd
	kindLast
	kindFailure
)

// timeoutLimit is the longest timeout that is sent and taken, about 292 years:
// what a time.Duration holds, in microseconds.
const timeoutLimit = math.MaxInt64 / uint64(time.Microsecond)

// call is the content of a call message.
type call struct {
	operation byte
	timeout   time.Duration // 0: none
	payload   []byte        // shares the message's memory
}

// appendCall appends a call message up to its payload.
func appendCall(b []byte, operation byte, timeout time.Duration) []byte {
	return binary.AppendUvarint(append(b, byte(kindCall), operation), uint64(timeout/time.Microsecond))
}

// split takes a message apart. It refuses an unknown kind.
func split(message []byte) (kind, []byte, error) {
	if len(message) == 0 {
		return 0, nil, malformedf("empty message")
	}
	k := kind(message[0])
	if k < kindCall || k > kindFailure {
		return 0, nil, malformedf("message of kind %d", message[0])
	}
	if k == kindEnd && len(message) > 1 {
		return 0, nil, malformedf("end with %d bytes of content", len(message)-1)
	}
	return k, message[1:], nil
}

// parseCall reads the content of a call message.
func parseCall(content []byte) (call, error) {
	if len(content) == 0 {
		return call{}, malformedf("call without an operation")
	}
	micros, n := binary.Uvarint(content[1:])
	if n <= 0 || micros > timeoutLimit {
		return call{}, malformedf("call without a timeout that can be read")
	}
	return call{
		operation: content[0],
		timeout:   time.Duration(micros) * time.Microsecond,
		payload:   content[1+n:],
	}, nil
}

// Ends reports whether a message that begins with b ends an answer.
func Ends(b byte) bool {
	k := kind(b)
	return k == kindEnd || k == kindLast || k == kindFailure
}

// Retimed returns a call message with another timeout, 0: none, its operation
// and where its payload begins.
func Retimed(message []byte, timeout time.Duration) (same []byte, operation byte, payload int, err error) {
	k, content, err := split(message)
	if err != nil {
		return nil, 0, 0, err
	}
	if k != kindCall {
		return nil, 0, 0, malformedf("message of kind %d for a call", k)
	}
	c, err := parseCall(content)
	if err != nil {
		return nil, 0, 0, err
	}
	same = appendCall(nil, c.operation, timeout)
	return append(same, c.payload...), c.operation, len(same), nil
}

// malformed is the error for bytes that are not this protocol. The server tells
// its client InvalidArgument; to a client its server is at fault.
type malformed string

func (m malformed) Error() string { return "malformed exchange: " + string(m) }

func malformedf(format string, args ...any) error { return malformed(fmt.Sprintf(format, args...)) }

// remaining is the timeout to send for ctx: 0 if it has no deadline, at least
// a microsecond if it has one.
func remaining(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(time.Until(deadline), time.Microsecond)
}
