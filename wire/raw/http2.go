package raw

import (
	"net/http"
	"slices"

	"wirelab"
)

// headerText is an encoding of the fields that all exchanges have, to which
// each adds its own: pseudo fields first, then the others.
type headerText struct{ pseudo, regular []byte }

// script is what all connections of a driver over HTTP/2 say.
type script struct {
	pseudo, regular []field
	texts           map[string]*headerText // of every connection; they are the same
}

// textsMax bounds the encodings kept; one is usual.
const textsMax = 16

// newScript takes apart what the exchanges have in common.
func newScript(all []*exchange, scheme, authority string) *script {
	s := &script{texts: map[string]*headerText{}}
	s.pseudo = []field{{":method", all[0].method}, {":scheme", scheme}, {":authority", authority}}
	samePath := !slices.ContainsFunc(all, func(x *exchange) bool { return x.path != all[0].path })
	if samePath {
		s.pseudo = append(s.pseudo, field{":path", all[0].path})
	}
	s.regular = common(all)
	for _, x := range all {
		x.ownPath = nil
		if !samePath {
			x.ownPath = appendLiteral(nil, field{":path", x.path})
		}
		x.own = nil
		for _, f := range x.fields {
			if !slices.Contains(s.regular, f) {
				x.own = appendLiteral(x.own, f)
			}
		}
		if x.length {
			x.own = appendLength(x.own, len(x.body))
		}
	}
	return s
}

// conn2 is the client's end of a connection of HTTP/2.
type conn2 struct {
	session
	judge  *judge
	script *script
	ended  func(*call, error)
	// again is notified of a call that the server has not processed, for that reason, and whether it refused that
	// call alone.
	again func(c *call, reason error, refused bool)

	ring    []*call          // by stream; a power of two of places
	far     map[uint32]*call // those whose place was taken
	next    uint32           // stream
	active  int
	waiting []*call // for the peer to allow another stream
	blocked []*call // with a body that the windows hold back
	going   bool    // the peer takes no more calls

	text    *headerText // fixed, if edition is the writer's
	edition int
}

var (
	_ client = (*conn2)(nil)
	_ role   = (*conn2)(nil)
)

func newConn2(j *judge, s *script, calls int, ended func(*call, error), again func(*call, error, bool)) *conn2 {
	places := 16
	for places < 4*calls {
		places *= 2
	}
	h := &conn2{
		judge: j, script: s, ended: ended, again: again, ring: make([]*call, places), far: map[uint32]*call{}, next: 1,
	}
	h.session = newSession(h)
	h.out = append(h.out, preface...)
	h.greet(
		setting{settingPush, 0},
		setting{settingWindow, windowStream},
		setting{settingHeaderList, listMax},
	)
	return h
}

func (h *conn2) spent() bool { return h.going || h.next > streamMax }

func (h *conn2) closed() { h.going = true }

// What has been sent may have been processed, unless the server says which was not.
func (h *conn2) untouched(c *call) (never, unanswered bool) {
	return slices.Contains(h.waiting, c), false
}

func (h *conn2) begin(c *call) {
	if h.active >= int(min(h.streams, streamMax)) || len(h.waiting) > 0 {
		h.waiting = append(h.waiting, c)
		return
	}
	h.start(c)
}

// start opens a stream for a call and sends what the windows allow.
func (h *conn2) start(c *call) {
	c.stream, c.unsent, c.queued = h.next, nil, false
	h.next += 2
	h.active++
	place := &h.ring[c.stream>>1&uint32(len(h.ring)-1)]
	if *place == nil {
		*place = c
	} else {
		h.far[c.stream] = c
	}
	x := c.exchange
	text, fixed := h.header()
	size := int64(len(x.body))
	if !fixed || size > h.window || size > h.initial || len(x.body) > frameDefault {
		h.startSlowly(c, text)
		return
	}
	if x.framesOf != text {
		h.frames(x, text)
	}
	at := len(h.out)
	h.out = append(h.out, x.frames...)
	setStream(h.out[at:], c.stream)
	if x.dataAt > 0 {
		setStream(h.out[at+x.dataAt:], c.stream)
	}
	h.window -= size
}

// header returns the fields that all exchanges have, and whether the encoding
// is that of all later calls too: the first call fills the peer's table.
func (h *conn2) header() (text *headerText, fixed bool) {
	if h.text != nil && h.edition == h.writer.edition {
		return h.text, true
	}
	before := h.writer.edition
	text = &headerText{pseudo: h.writer.begin(nil)}
	for _, f := range h.script.pseudo {
		text.pseudo = h.writer.append(text.pseudo, f)
	}
	for _, f := range h.script.regular {
		text.regular = h.writer.append(text.regular, f)
	}
	if h.writer.edition != before {
		return text, false
	}
	key := string(text.pseudo) + string(text.regular)
	if known, ok := h.script.texts[key]; ok && len(known.pseudo) == len(text.pseudo) {
		text = known
	} else if len(h.script.texts) < textsMax {
		h.script.texts[key] = text
	}
	h.text, h.edition = text, before
	return text, true
}

func (x *exchange) headerBlock(dst []byte, text *headerText) []byte {
	return append(append(append(append(dst, text.pseudo...), x.ownPath...), text.regular...), x.own...)
}

// frames makes all of a request but for its stream.
func (h *conn2) frames(x *exchange, text *headerText) {
	block := x.headerBlock(nil, text)
	x.frames = appendHeaders(nil, 0, block, len(x.body) == 0, frameDefault)
	x.dataAt, x.framesOf = 0, text
	if len(x.body) > 0 {
		x.dataAt = len(x.frames)
		x.frames = appendFrame(x.frames, len(x.body), frameData, flagEndStream, 0)
		x.frames = append(x.frames, x.body...)
	}
}

func (h *conn2) startSlowly(c *call, text *headerText) {
	x := c.exchange
	h.out = appendHeaders(h.out, c.stream, x.headerBlock(nil, text), len(x.body) == 0, frameDefault)
	c.unsent, c.window = x.body, h.initial
	if len(c.unsent) > 0 {
		c.queued = true
		h.blocked = append(h.blocked, c)
		h.pump()
	}
}

// pump sends what the windows allow of the bodies held back, oldest first.
func (h *conn2) pump() {
	left := h.blocked[:0]
	for _, c := range h.blocked {
		for len(c.unsent) > 0 {
			n := min(int64(len(c.unsent)), h.window, c.window, int64(h.frame))
			if n <= 0 {
				break
			}
			var flags byte
			if int(n) == len(c.unsent) {
				flags = flagEndStream
			}
			h.out = append(appendFrame(h.out, int(n), frameData, flags, c.stream), c.unsent[:n]...)
			c.unsent = c.unsent[n:]
			c.window -= n
			h.window -= n
		}
		if len(c.unsent) > 0 {
			left = append(left, c)
		} else {
			c.queued = false
		}
	}
	clear(h.blocked[len(left):])
	h.blocked = left
}

func (h *conn2) find(stream uint32) *call {
	if c := h.ring[stream>>1&uint32(len(h.ring)-1)]; c != nil && c.stream == stream {
		return c
	}
	if len(h.far) > 0 {
		return h.far[stream]
	}
	return nil
}

// lookup finds the call of a stream that a frame is on: nil if it is over.
func (h *conn2) lookup(stream uint32) (*call, error) {
	if c := h.find(stream); c != nil {
		return c, nil
	}
	if stream >= h.next || stream%2 == 0 {
		return nil, breach(reasonProtocol, "frame on stream %d, which was not opened", stream)
	}
	return nil, nil //nolint:nilnil // an ended stream is neither a call nor a fault
}

// drop forgets a call's stream.
func (h *conn2) drop(c *call) {
	place := &h.ring[c.stream>>1&uint32(len(h.ring)-1)]
	if *place == c {
		*place = nil
	} else {
		delete(h.far, c.stream)
	}
	h.active--
	if c.queued { // the reply came before the request's end
		c.queued, c.unsent = false, nil
		h.blocked = slices.DeleteFunc(h.blocked, func(b *call) bool { return b == c })
		h.out = appendReset(h.out, c.stream, reasonCancel)
	}
}

// finish ends a call and begins one that waited for its stream.
func (h *conn2) finish(c *call, err error) {
	h.drop(c)
	h.admit()
	h.behind = false
	h.ended(c, err)
}

func (h *conn2) last() bool { return !h.behind }

// admit begins the calls that waited for the peer to allow another stream.
func (h *conn2) admit() {
	for len(h.waiting) > 0 && h.active < int(min(h.streams, streamMax)) && !h.spent() {
		next := h.waiting[0]
		h.waiting = slices.Delete(h.waiting, 0, 1)
		h.start(next)
	}
}

func (h *conn2) cancel(c *call) bool {
	if i := slices.Index(h.waiting, c); i >= 0 {
		h.waiting = slices.Delete(h.waiting, i, i+1)
		return true
	}
	queued := c.queued // then drop says so itself
	h.drop(c)
	if !queued {
		h.out = appendReset(h.out, c.stream, reasonCancel)
	}
	h.admit()
	return true
}

func (h *conn2) headers(stream uint32, b *block, end bool) error {
	c, err := h.lookup(stream)
	if c == nil {
		return err
	}
	said, err := h.judge.readHead(b)
	if err != nil {
		return err
	}
	switch {
	case c.answer.head != nil:
		if !end {
			return breach(reasonProtocol, "a second header that does not end stream %d", stream)
		}
		c.answer.tail = b
	case said.status >= 200:
		c.answer.head = b
	case said.status == 0 || end:
		return breach(reasonProtocol, "a reply with status %d", said.status)
	}
	if end {
		h.complete(c)
	}
	return nil
}

func (h *conn2) data(stream uint32, data []byte, end bool) error {
	c, err := h.lookup(stream)
	if c == nil {
		return err
	}
	if c.answer.head == nil {
		return breach(reasonProtocol, "DATA before a header on stream %d", stream)
	}
	if !c.answer.add(data) {
		h.out = appendReset(h.out, stream, reasonCancel)
		h.finish(c, wirelab.Errorf(wirelab.ResourceExhausted, "reply of more than %d bytes", bodyMax))
		return nil
	}
	if end {
		h.complete(c)
	}
	return nil
}

// complete judges a whole reply.
func (h *conn2) complete(c *call) {
	// That has none.
	if want := c.answer.head.reply.length; want >= 0 && want != int64(c.answer.size()) &&
		c.exchange.method != http.MethodHead {
		h.finish(c, wirelab.Caused(wirelab.BadProtocol, wirelab.Unavailable, "reply of %d bytes, announced as %d",
			c.answer.size(), want))
		return
	}
	h.finish(c, h.judge.verify(c.exchange, &c.answer))
}

// resetCode is what a call receives whose stream the server reset.
func resetCode(reason uint32) wirelab.Code {
	switch reason {
	case reasonRefused, reasonNone:
		return wirelab.Unavailable
	case reasonCancel:
		return wirelab.Canceled
	case reasonCalm:
		return wirelab.ResourceExhausted
	}
	return wirelab.Internal
}

func (h *conn2) reset(stream, reason uint32) error {
	c, err := h.lookup(stream)
	if c == nil {
		return err
	}
	if c.queued { // there is none to tell
		c.queued = false
		h.blocked = slices.DeleteFunc(h.blocked, func(b *call) bool { return b == c })
	}
	err = wirelab.Caused(wirelab.Reset, resetCode(reason), "the server reset the stream: %s", reasonName(reason))
	if reason == reasonRefused && c.answer.head == nil { // RFC 9113, 8.7: it has done nothing
		h.drop(c)
		h.admit()
		h.again(c, err, true)
		return nil
	}
	h.finish(c, err)
	return nil
}

func (h *conn2) goAway(last, reason uint32) error {
	h.going = true
	var lost []*call
	for _, c := range h.ring {
		if c != nil && c.stream > last {
			lost = append(lost, c)
		}
	}
	for _, c := range h.far {
		if c.stream > last {
			lost = append(lost, c)
		}
	}
	for _, c := range lost {
		h.drop(c)
	}
	lost = append(lost, h.waiting...)
	h.waiting = nil
	slices.SortFunc(lost, func(a, b *call) int { return a.slot - b.slot })
	for _, c := range lost { // RFC 9113, 6.8: none of them was or will be processed
		h.again(c, wirelab.Caused(wirelab.Closed, wirelab.Unavailable, "the server goes away: %s", reasonName(reason)),
			false)
	}
	return nil
}

func (h *conn2) widened(stream, by uint32) error {
	if stream != 0 {
		c, err := h.lookup(stream)
		if c == nil {
			return err
		}
		if c.window += int64(by); c.queued && c.window > windowMax {
			return breach(reasonFlow, "window of %d bytes on stream %d", c.window, stream)
		}
	}
	if len(h.blocked) > 0 {
		h.pump()
	}
	h.admit() // the peer may have raised the number of streams
	return nil
}

func (h *conn2) rewound(by int64) error {
	for _, c := range h.blocked {
		if c.window += by; c.window > windowMax {
			return breach(reasonFlow, "window of %d bytes on stream %d", c.window, c.stream)
		}
	}
	return nil
}
