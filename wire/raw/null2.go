package raw

import (
	"slices"

	"wirelab"
)

// pendingMax bounds the bodies of unfinished requests on one connection, in bytes.
const pendingMax = 64 << 20

// ask is a request that is coming in, or a reply that the windows hold back.
type ask struct {
	stream uint32
	head   *askHead
	body   []byte // of the request, where it came in several frames
	reply  *reply // nil: the request is not whole
	unsent []byte // of the reply's body
	window int64  // of the stream; until there is a reply, what the client has added to it
}

// null2 is the server's end of a connection of HTTP/2.
type null2 struct {
	session
	responder *responder

	last    *ask            // the newest request, which the next frame is likely on
	asks    map[uint32]*ask // all others
	spare   []*ask
	highest uint32 // stream
	pending int    // bytes of bodies
	blocked []*ask // replies held back
	stuffed bool   // by our own output, and not by the windows alone
	said    map[*form]encoded
	quits   bool
}

// encoded is a form as a connection says it, while edition is the writer's.
type encoded struct {
	text    []byte
	edition int
}

var (
	_ server = (*null2)(nil)
	_ role   = (*null2)(nil)
)

func newNull2(r *responder) *null2 {
	s := &null2{responder: r, asks: map[uint32]*ask{}, said: map[*form]encoded{}}
	s.session = newSession(s)
	s.prologue = preface
	s.greet(
		setting{settingStreams, wirelab.MaxStreams},
		setting{settingWindow, windowStream},
		setting{settingHeaderList, listMax},
	)
	return s
}

func (s *null2) quitting() bool { return s.quits && len(s.blocked) == 0 }

func (s *null2) paused() bool { return s.stuffed }

func (s *null2) receive(data []byte) (int, error) {
	if s.stuffed {
		s.pump()
	}
	return s.session.receive(data)
}

func (s *null2) stop() {
	s.quits = true
	s.out = appendGoAway(s.out, s.highest, reasonNone)
}

func (s *null2) find(stream uint32) *ask {
	if s.last != nil && s.last.stream == stream {
		return s.last
	}
	return s.asks[stream]
}

func (s *null2) headers(stream uint32, b *block, end bool) error {
	if a := s.find(stream); a != nil { // trailers, which say nothing here
		if !end || a.reply != nil {
			return breach(reasonProtocol, "a second header on stream %d", stream)
		}
		s.answer(a, a.body)
		return nil
	}
	if stream%2 == 0 || stream <= s.highest {
		return breach(reasonProtocol, "HEADERS on stream %d after %d", stream, s.highest)
	}
	s.highest = stream
	head, err := s.responder.readHead(b)
	if err != nil {
		return err
	}
	if len(s.asks) >= wirelab.MaxStreams {
		s.out = appendReset(s.out, stream, reasonRefused)
		return s.spend(13)
	}
	var a *ask
	if n := len(s.spare); n > 0 {
		a, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		a = new(ask)
	}
	*a = ask{stream: stream, head: head, body: a.body[:0]}
	if end {
		s.answer(a, nil)
		return nil
	}
	if s.last != nil {
		s.asks[s.last.stream] = s.last
	}
	s.last = a
	return nil
}

func (s *null2) data(stream uint32, data []byte, end bool) error {
	a := s.find(stream)
	if a == nil || a.reply != nil {
		if stream > s.highest || stream%2 == 0 {
			return breach(reasonProtocol, "DATA on stream %d, which was not opened", stream)
		}
		return nil // of a stream that was reset
	}
	if end && len(a.body) == 0 {
		s.answer(a, data)
		return nil
	}
	if s.pending += len(data); s.pending > pendingMax || len(a.body)+len(data) > bodyMax {
		return breach(reasonCalm, "requests of more than %d bytes", pendingMax)
	}
	a.body = append(a.body, data...)
	if end {
		s.answer(a, a.body)
	}
	return nil
}

// forget ends a stream.
func (s *null2) forget(a *ask) {
	if s.last == a {
		s.last = nil
	} else {
		delete(s.asks, a.stream)
	}
	s.pending -= len(a.body)
	if cap(a.body) > bodyKept {
		a.body = nil
	}
	a.head, a.reply, a.unsent = nil, nil, nil
	s.spare = append(s.spare, a)
}

// bodyKept is the size in bytes up to which the room of a body is kept.
const bodyKept = 4 << 10

// answer replies to a whole request.
func (s *null2) answer(a *ask, body []byte) {
	r := s.responder.answer(a.head.route, body)
	if r.cut {
		s.out = appendReset(s.out, a.stream, reasonCancel)
		s.forget(a)
		return
	}
	size := len(r.body)
	bare := size == 0 && r.tail == nil
	s.header(a.stream, r.head, size, r.length, bare)
	a.window += s.initial
	if !bare && (int64(size) > min(s.window, a.window) || size > s.frame || len(s.out) > outMax) {
		a.reply, a.unsent = r, r.body
		if s.last == a { // it may stay a while
			s.last = nil
			s.asks[a.stream] = a
		} else if s.find(a.stream) == nil {
			s.asks[a.stream] = a
		}
		s.blocked = append(s.blocked, a)
		s.pump()
		return
	}
	if size > 0 {
		var flags byte
		if r.tail == nil {
			flags = flagEndStream
		}
		s.out = append(appendFrame(s.out, size, frameData, flags, a.stream), r.body...)
		s.window -= int64(size)
	}
	if r.tail != nil {
		s.header(a.stream, r.tail, 0, false, true)
	}
	s.forget(a)
}

// header appends a header or trailers.
func (s *null2) header(stream uint32, f *form, size int, length, end bool) {
	known, ok := s.said[f]
	if !ok || known.edition != s.writer.edition {
		known = s.encode(f)
	}
	if len(known.text) > frameDefault/2 {
		block := slices.Clone(known.text)
		if length {
			block = appendLength(block, size)
		}
		s.out = appendHeaders(s.out, stream, block, end, frameDefault)
		return
	}
	flags := byte(flagEndHeaders)
	if end {
		flags |= flagEndStream
	}
	at := len(s.out)
	s.out = append(appendFrame(s.out, 0, frameHeaders, flags, stream), known.text...)
	if length {
		s.out = appendLength(s.out, size)
	}
	n := len(s.out) - at - frameHead
	s.out[at+1], s.out[at+2] = byte(n>>8), byte(n)
}

// formsMax bounds the forms that a connection remembers.
const formsMax = 256

func (s *null2) encode(f *form) encoded {
	before := s.writer.edition
	text := s.writer.begin(nil)
	for _, f := range f.fields {
		text = s.writer.append(text, f)
	}
	e := encoded{text, before}
	if s.writer.edition == before && len(s.said) < formsMax {
		s.said[f] = e
	}
	return e
}

// pump sends what the windows allow of the replies held back, oldest first.
func (s *null2) pump() {
	left := s.blocked[:0]
	s.stuffed = false
	for _, a := range s.blocked {
		for len(a.unsent) > 0 {
			n := min(int64(len(a.unsent)), s.window, a.window, int64(s.frame))
			if s.stuffed = s.stuffed || len(s.out) > outMax; n <= 0 || s.stuffed {
				break
			}
			var flags byte
			if int(n) == len(a.unsent) && a.reply.tail == nil {
				flags = flagEndStream
			}
			s.out = append(appendFrame(s.out, int(n), frameData, flags, a.stream), a.unsent[:n]...)
			a.unsent = a.unsent[n:]
			a.window -= n
			s.window -= n
		}
		if len(a.unsent) > 0 {
			left = append(left, a)
			continue
		}
		if a.reply.tail != nil {
			s.header(a.stream, a.reply.tail, 0, false, true)
		}
		s.forget(a)
	}
	clear(s.blocked[len(left):])
	s.blocked = left
}

func (s *null2) reset(stream, _ uint32) error {
	a := s.find(stream)
	if a == nil {
		if stream > s.highest || stream%2 == 0 {
			return breach(reasonProtocol, "RST_STREAM on stream %d, which was not opened", stream)
		}
		return nil
	}
	if a.reply != nil {
		s.blocked = slices.DeleteFunc(s.blocked, func(b *ask) bool { return b == a })
	}
	s.forget(a)
	return nil
}

func (s *null2) goAway(uint32, uint32) error {
	s.quits = true
	return nil
}

func (s *null2) widened(stream, by uint32) error {
	if stream != 0 {
		a := s.find(stream)
		if a == nil {
			if stream > s.highest || stream%2 == 0 {
				return breach(reasonProtocol, "WINDOW_UPDATE on stream %d, which was not opened", stream)
			}
			return nil
		}
		if a.window += int64(by); a.window > windowMax {
			return breach(reasonFlow, "window of %d bytes on stream %d", a.window, stream)
		}
	}
	if len(s.blocked) > 0 {
		s.pump()
	}
	return nil
}

func (s *null2) rewound(by int64) error {
	for _, a := range s.blocked {
		if a.window += by; a.window > windowMax {
			return breach(reasonFlow, "window of %d bytes on stream %d", a.window, a.stream)
		}
	}
	return nil
}
