package raw

import (
	"bytes"
	"net/http"
)

// conn1 is the client's end of a connection of HTTP/1.1: one call at a time.
type conn1 struct {
	out   []byte
	judge *judge
	heads heads
	ended func(*call, error)

	call   *call // under way; nil: none
	began  bool  // its header has come
	body   body1
	skips  int  // interim replies before it
	closes bool // the server closes after the reply under way, or has
}

var _ client = (*conn1)(nil)

// skipsMax bounds the interim replies (1xx) to one request.
const skipsMax = 16

// wireKept is the size in bytes up to which a whole reply is remembered.
const wireKept = 64 << 10

func (h *conn1) output() *[]byte { return &h.out }

func (h *conn1) spent() bool { return h.closes }

// last: there is one call, and what comes behind it is a breach.
func (h *conn1) last() bool { return h.call == nil || !h.began }

func (h *conn1) begin(c *call) {
	h.call, h.began, h.skips = c, false, 0
	h.out = append(h.out, c.exchange.text...)
}

func (h *conn1) untouched(c *call) (never, unanswered bool) {
	return false, h.call == c && !h.began && h.skips == 0
}

func (h *conn1) cancel(*call) bool {
	h.call = nil
	return false // the reply would be taken for the next call's
}

func (h *conn1) receive(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, nil
	}
	c := h.call
	if c == nil {
		return 0, breach(0, "%d bytes without a request", len(data))
	}
	// The usual case: all of the reply, byte for byte as before.
	if wire := c.exchange.wire; !h.began && len(data) == len(wire) && bytes.Equal(data, wire) {
		h.call = nil
		h.ended(c, nil)
		return len(data), nil
	}
	whole := !h.began && h.skips == 0
	n := 0
	for {
		taken, err := h.step(c, data[n:])
		n += taken
		switch {
		case err != nil:
			return n, err
		case h.began && h.body.stage == bodyOver:
			if n < len(data) {
				err = breach(0, "%d bytes without a request", len(data)-n)
			}
			h.finish(c, data[:n], whole)
			return n, err
		case taken == 0:
			return n, nil
		}
	}
}

// step takes a header or a part of a body.
func (h *conn1) step(c *call, data []byte) (int, error) {
	if h.began {
		part, n, err := h.body.next(data)
		if len(part) > 0 && !c.answer.add(part) {
			err = breach(0, "reply of more than %d bytes", bodyMax)
		}
		return n, err
	}
	head, n, err := h.heads.read(data, statusLine)
	if err != nil || n == 0 {
		return n, err
	}
	said, err := h.judge.readHead(&head.block)
	if err != nil {
		return 0, err
	}
	if said.status < 200 {
		if h.skips++; h.skips > skipsMax || said.status == http.StatusSwitchingProtocols {
			return 0, breach(0, "status %d", said.status)
		}
		return n, nil
	}
	h.began = true
	h.closes = head.closes
	c.answer.head = &head.block
	h.body.begin(head, bodyClosed)
	if said.status == http.StatusNoContent || said.status == http.StatusNotModified ||
		c.exchange.method == http.MethodHead {
		h.body = body1{}
	}
	h.closes = h.closes || h.body.stage == bodyClosed
	return n, nil
}

// finish judges a whole reply. wire is what it travelled as, if that was in one piece.
func (h *conn1) finish(c *call, wire []byte, whole bool) {
	h.call = nil
	err := h.judge.verify(c.exchange, &c.answer)
	if x := c.exchange; err == nil && whole && !h.closes && len(wire) <= wireKept &&
		h.judge.room(len(wire)-len(x.wire)) {
		x.wire = append(x.wire[:0], wire...)
	}
	h.ended(c, err)
}

func (h *conn1) closed() {
	h.closes = true
	if c := h.call; c != nil && h.began && h.body.stage == bodyClosed {
		h.finish(c, nil, false)
	}
}
