package raw

import (
	"encoding/binary"
	"strings"
)

// The receiver's windows. One stream's is as large as the largest body, so
// that it is never topped up; the connection's is, rarely.
const (
	windowStream  = bodyMax + 1
	windowShared  = 1 << 30
	windowTopUp   = 1 << 28
	chatterMax    = 1 << 20 // bytes of answers to a peer that does not read them
	blockPartsMax = 64      // frames of one header block
)

// role is what an end of HTTP/2 does with what concerns its streams. An error
// ends the connection.
type role interface {
	headers(stream uint32, b *block, end bool) error
	data(stream uint32, data []byte, end bool) error
	reset(stream, reason uint32) error
	goAway(last, reason uint32) error
	// widened tells that a stream may send more, or with 0 all of them.
	widened(stream, by uint32) error
	// rewound tells that the peer's first window of every stream changed.
	rewound(by int64) error
}

// session is what both ends of HTTP/2 have in common: frames, headers,
// settings, pings and the connection's windows.
type session struct {
	out    []byte
	role   role
	reader *headerReader
	writer *headerWriter

	prologue string // what the peer must still send before its first frame
	settled  bool   // the peer's settings have come

	// What the peer allows.
	streams uint32
	initial int64 // window of a new stream
	frame   int   // bytes of a frame
	window  int64 // of the connection

	behind  bool // the last frame ended no call
	taken   int  // bytes of DATA since our window was last topped up
	chatter int  // bytes of answers in out

	// A header block whose end has not come.
	open    uint32 // its stream; 0: none
	openEnd bool
	block   []byte
	parts   int
}

func newSession(r role) session {
	return session{
		role: r, reader: newHeaderReader(), writer: newHeaderWriter(),
		streams: streamMax, initial: windowDefault, frame: frameDefault, window: windowDefault,
	}
}

func (s *session) output() *[]byte { return &s.out }

// greet sends our settings and opens our window.
func (s *session) greet(settings ...setting) {
	s.out = appendSettings(s.out, settings...)
	s.out = appendWindow(s.out, 0, windowShared-windowDefault)
}

func (s *session) receive(data []byte) (int, error) {
	if len(s.out) == 0 {
		s.chatter = 0
	}
	n := 0
	if s.prologue != "" {
		n = min(len(s.prologue), len(data))
		if !strings.HasPrefix(s.prologue, string(data[:n])) {
			return 0, breach(reasonProtocol, "the first bytes are not HTTP/2's")
		}
		s.prologue = s.prologue[n:]
	}
	var f frame
	for {
		size, err := nextFrame(data[n:], &f)
		if err != nil || size == 0 {
			return n, err
		}
		n += size
		s.behind = true
		if err := s.take(&f); err != nil {
			return n, err
		}
	}
}

// take does what a frame says.
func (s *session) take(f *frame) error {
	if s.open != 0 && (f.kind != frameContinuation || f.stream != s.open) {
		return breach(reasonProtocol, "frame %d inside a header block", f.kind)
	}
	if !s.settled && f.kind != frameSettings {
		return breach(reasonProtocol, "frame %d before SETTINGS", f.kind)
	}
	switch f.kind {
	case frameData:
		return s.takeData(f)
	case frameHeaders:
		return s.takeHeaders(f)
	case frameContinuation:
		if s.open == 0 {
			return breach(reasonProtocol, "CONTINUATION of nothing")
		}
		return s.more(f.payload, f.has(flagEndHeaders))
	case frameWindow:
		return s.takeWindow(f)
	case frameReset:
		if len(f.payload) != 4 || f.stream == 0 {
			return breach(reasonProtocol, "RST_STREAM of %d bytes on stream %d", len(f.payload), f.stream)
		}
		return s.role.reset(f.stream, binary.BigEndian.Uint32(f.payload))
	case frameSettings, framePing, frameGoAway:
		return s.control(f)
	case framePush:
		return breach(reasonProtocol, "PUSH_PROMISE, which is not allowed")
	}
	return nil // PRIORITY means nothing, unknown ones are passed over
}

func (s *session) takeData(f *frame) error {
	part, err := f.body()
	if err != nil {
		return err
	}
	if f.stream == 0 {
		return breach(reasonProtocol, "DATA on stream 0")
	}
	if s.taken += len(f.payload); s.taken >= windowTopUp {
		s.out = appendWindow(s.out, 0, uint32(s.taken))
		s.taken = 0
	}
	return s.role.data(f.stream, part, f.has(flagEndStream))
}

func (s *session) takeHeaders(f *frame) error {
	part, err := f.body()
	if err != nil {
		return err
	}
	if f.stream == 0 {
		return breach(reasonProtocol, "HEADERS on stream 0")
	}
	if f.has(flagEndHeaders) {
		return s.whole(f.stream, part, f.has(flagEndStream))
	}
	s.open, s.openEnd, s.block, s.parts = f.stream, f.has(flagEndStream), s.block[:0], 0
	return s.more(part, false)
}

// more takes a part of a header block.
func (s *session) more(part []byte, last bool) error {
	s.parts++
	if len(s.block)+len(part) > headerMax || s.parts > blockPartsMax {
		return breach(reasonCalm, "header of more than %d bytes or %d frames", headerMax, blockPartsMax)
	}
	s.block = append(s.block, part...)
	if !last {
		return nil
	}
	stream := s.open
	s.open = 0
	return s.whole(stream, s.block, s.openEnd)
}

func (s *session) whole(stream uint32, data []byte, end bool) error {
	b, err := s.reader.read(data)
	if err != nil {
		return err
	}
	return s.role.headers(stream, b, end)
}

func (s *session) takeWindow(f *frame) error {
	if len(f.payload) != 4 {
		return breach(reasonFrameSize, "WINDOW_UPDATE of %d bytes", len(f.payload))
	}
	by := binary.BigEndian.Uint32(f.payload) & windowMax
	if by == 0 {
		return breach(reasonProtocol, "WINDOW_UPDATE by nothing")
	}
	if f.stream == 0 {
		if s.window += int64(by); s.window > windowMax {
			return breach(reasonFlow, "window of %d bytes", s.window)
		}
	}
	return s.role.widened(f.stream, by)
}

// control takes a frame about the connection as a whole.
func (s *session) control(f *frame) error {
	if f.stream != 0 {
		return breach(reasonProtocol, "frame %d on stream %d", f.kind, f.stream)
	}
	before := len(s.out)
	var err error
	switch f.kind {
	case frameSettings:
		err = s.settings(f)
	case framePing:
		if len(f.payload) != 8 {
			return breach(reasonFrameSize, "PING of %d bytes", len(f.payload))
		}
		if !f.has(flagAck) {
			s.out = append(appendFrame(s.out, 8, framePing, flagAck, 0), f.payload...)
		}
	case frameGoAway:
		if len(f.payload) < 8 {
			return breach(reasonFrameSize, "GOAWAY of %d bytes", len(f.payload))
		}
		last := binary.BigEndian.Uint32(f.payload) & streamMax
		return s.role.goAway(last, binary.BigEndian.Uint32(f.payload[4:]))
	}
	if err != nil {
		return err
	}
	return s.spend(len(s.out) - before)
}

// spend counts bytes that a peer makes us say, so that one which does not read
// them cannot make memory grow.
func (s *session) spend(n int) error {
	if s.chatter += n; s.chatter > chatterMax {
		return breach(reasonCalm, "too many frames that ask for an answer")
	}
	return nil
}

func (s *session) settings(f *frame) error {
	if f.has(flagAck) {
		if len(f.payload) != 0 {
			return breach(reasonFrameSize, "SETTINGS ack of %d bytes", len(f.payload))
		}
		return nil
	}
	if len(f.payload)%6 != 0 {
		return breach(reasonFrameSize, "SETTINGS of %d bytes", len(f.payload))
	}
	s.settled = true
	// Before what a new window lets out, so that the peer knows why.
	s.out = appendFrame(s.out, 0, frameSettings, flagAck, 0)
	for p := f.payload; len(p) > 0; p = p[6:] {
		value := binary.BigEndian.Uint32(p[2:])
		switch binary.BigEndian.Uint16(p) {
		case settingTable:
			s.writer.resize(value)
		case settingStreams:
			s.streams = value
		case settingFrame:
			if value < frameDefault || value > frameMax {
				return breach(reasonProtocol, "frames of %d bytes", value)
			}
			s.frame = int(value)
		case settingWindow:
			if value > windowMax {
				return breach(reasonFlow, "window of %d bytes", value)
			}
			by := int64(value) - s.initial
			s.initial = int64(value)
			if err := s.role.rewound(by); err != nil {
				return err
			}
		}
	}
	return s.role.widened(0, 0)
}

// goodbye tells the peer why the connection ends.
func (s *session) goodbye(last uint32, err error) {
	if e, ok := err.(*wireError); ok { //nolint:errorlint // receive returns it unchanged
		s.out = appendGoAway(s.out, last, e.reason)
	}
}
