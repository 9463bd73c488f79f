package raw

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	"wirelab"
)

// Frames is a wire whose messages have their length in front, in four bytes,
// big endian and without themselves, with one call at a time on a connection.
type Frames struct {
	// Limit is the size in bytes above which no message is taken.
	Limit int
	// Ends reports whether the message that begins with b ends a reply.
	Ends func(b byte) bool
	// Request describes a request message: its operation, and where its
	// payload begins. It may alter the message's deadline to deadline, 0: none,
	// so that requests which differ in nothing else are the same.
	Request func(message []byte, deadline time.Duration) (same []byte, operation string, payload int, err error)
}

// Framed is [Driver] for a wire of frames: stub returns the binding's client of
// a server that t's connections lead to.
func Framed[S any](frames Frames, holes map[string]string, stub func(t *Tape) S) *wirelab.Raw[S] {
	return &wirelab.Raw[S]{
		Holes: holes,
		Dial: func(ctx context.Context, to wirelab.Dialing, slots int,
			series []wirelab.Check[S],
		) (wirelab.Lines, error) {
			tape := newTape(frames)
			p := &plan{to: to, slots: slots, connections: to.ConnectionCount(), tape: tape}
			if err := p.learn(ctx, tape, checksOf(series, stub(tape))); err != nil {
				tape.close()
				return nil, err
			}
			lines, err := openLines(ctx, p)
			if err != nil {
				tape.close()
			}
			return lines, err
		},
	}
}

// frameLength is how many bytes a message's length takes.
const frameLength = 4

// connFramed is the client's end of a connection of frames: one call at a time.
type connFramed struct {
	out   []byte
	tape  *Tape
	ended func(*call, error)

	call  *call // under way; nil: none
	left  int   // bytes of the frame under way that have not come
	final bool  // it ends the reply
	began bool  // a frame of the reply has come
}

var _ client = (*connFramed)(nil)

func (h *connFramed) output() *[]byte { return &h.out }

func (h *connFramed) spent() bool { return false }

// last: there is one call, and what comes behind it is a breach.
func (h *connFramed) last() bool { return h.call == nil || !h.began }

func (h *connFramed) closed() {}

func (h *connFramed) begin(c *call) {
	h.call, h.began = c, false
	h.out = append(h.out, c.exchange.text...)
}

func (h *connFramed) untouched(c *call) (never, unanswered bool) {
	return false, h.call == c && !h.began
}

func (h *connFramed) cancel(*call) bool {
	h.call = nil
	return false // the reply would be taken for the next call's
}

func (h *connFramed) receive(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, nil
	}
	c := h.call
	if c == nil {
		return 0, breach(0, "%d bytes without a request", len(data))
	}
	// The usual case: all of the reply, byte for byte as before.
	if good := c.exchange.good; !h.began && good != nil && bytes.Equal(data, good.body) {
		h.call = nil
		h.ended(c, nil)
		return len(data), nil
	}
	for n := 0; ; {
		taken, over, err := h.step(c, data[n:])
		n += taken
		switch {
		case err != nil:
			return n, err
		case over && n < len(data):
			err = breach(0, "%d bytes without a request", len(data)-n)
			fallthrough
		case over:
			h.call = nil
			h.ended(c, h.tape.verify(c.exchange, &c.answer))
			return n, err
		case taken == 0:
			return n, nil
		}
	}
}

// step takes a part of a frame, and tells whether the reply is over with it.
func (h *connFramed) step(c *call, data []byte) (n int, over bool, err error) {
	if h.left == 0 {
		if len(data) < frameLength {
			return 0, false, nil
		}
		size := binary.BigEndian.Uint32(data)
		if size == 0 || uint64(size) > uint64(h.tape.frames.Limit) {
			return 0, false, breach(0, "frame of %d bytes", size)
		}
		if len(data) == frameLength { // what it is says the byte behind
			return 0, false, nil
		}
		h.began, h.left, h.final = true, frameLength+int(size), h.tape.frames.Ends(data[frameLength])
	}
	part := data[:min(h.left, len(data))]
	if !c.answer.add(part) {
		return 0, false, breach(0, "reply of more than %d bytes", bodyMax)
	}
	h.left -= len(part)
	return len(part), h.left == 0 && h.final, nil
}
