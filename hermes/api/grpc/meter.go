package grpc

import (
	"context"
	"encoding/binary"
	"net"
	"sync"

	"google.golang.org/grpc/credentials"

	"wirelab/hermes/api/intake"
	"wirelab/hermes/frame"
)

// grpc-go gives us a message when it is whole, and does not tell how much of one that is not whole it has. So
// its connections are read through a meter that knows just enough of HTTP/2 to say how many bytes of unfinished
// messages each has brought. It counts them in the node's intake, and does not read on where there is no room:
// then the client cannot send either. Whole messages are counted by the handlers.
//
// A message beyond all bounds grpc-go refuses by itself, with ResourceExhausted, which says "later". It never
// gets better, so its caller is to be told InvalidArgument. Only a handler can say that, and a handler is given
// only the part within grpc-go's bound. So the meter writes a smaller length where a message announces too
// much: the handler gets its beginning, one byte more than is allowed, and ends the call.

const (
	// freeBytes of unfinished messages a connection may have without waiting for its turn, while there is any room:
	// one that brings acknowledgements is not to wait for one that brings megabytes.
	freeBytes = 32 << 10
	// callBytes is what a call costs of which no message has come yet.
	callBytes = 4 << 10
)

// metered is credentials whose connections are metered.
type metered struct {
	credentials.TransportCredentials
	intake *intake.Intake
}

// ServerHandshake implements [credentials.TransportCredentials].
func (m metered) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c, info, err := m.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return c, info, err
	}
	return newMeter(c, raw, m.intake), info, nil
}

// Clone implements [credentials.TransportCredentials].
func (m metered) Clone() credentials.TransportCredentials {
	return metered{m.TransportCredentials.Clone(), m.intake}
}

// meter is a connection whose unfinished messages are counted. Read is for one goroutine, as grpc-go has it.
type meter struct {
	net.Conn
	upload *intake.Upload
	done   context.Context //nolint:containedctx // the connection's life: who waits in Read is woken by its end
	end    context.CancelFunc

	mu      sync.Mutex // guards all below
	reading bool       // the last of reading and closed gives all back
	closed  bool
	calls   map[uint32]*unfinished // that neither end has ended
	last    uint32                 // the highest id of a call
	held    int                    // bytes counted for calls
	begun   bool                   // held was not 0

	in, out frames // guarded by the one who reads and the one who writes, as grpc-go has it
	preface int    // bytes that come before the first frame; as in
	skip    int    // of the frame that comes, padding at its end; as in
	padded  bool   // likewise
}

// frames are where in a frame one direction is.
type frames struct {
	head   [frameHead]byte
	headed int // bytes of head that are there
	left   int // bytes of the payload that are not
}

// begin takes bytes of a frame's head, and tells how many, and whether it is there.
func (f *frames) begin(p []byte) (n int, whole bool) {
	n = copy(f.head[f.headed:], p)
	if f.headed += n; f.headed < frameHead {
		return n, false
	}
	f.left = int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2])
	return n, true
}

// id is the stream of the frame.
func (f *frames) id() uint32 { return binary.BigEndian.Uint32(f.head[5:]) &^ (1 << 31) }

// last reports whether the sender of the frame sends no more on its stream.
func (f *frames) last() bool {
	k, end := f.head[3], f.head[4]&flagEnd != 0
	return k == frameReset || end && (k == frameData || k == frameHeaders)
}

// HTTP/2's frames, as far as they matter here (RFC 9113).
const (
	prefaceBytes = 24
	frameHead    = 9

	frameData    = 0
	frameHeaders = 1
	frameReset   = 3

	flagEnd    = 1
	flagPadded = 8
)

// unfinished is a call of which more is to come.
type unfinished struct {
	head   [5]byte // of the message: whether it is compressed, and its length
	headed int
	left   int // bytes of the message that are to come
	held   int
	large  bool // the message is beyond all bounds: no other one of the call will be read
}

// The most that a message may announce, in the second byte of its length; the others are 0.
const largest = frame.Limit >> 16

// It does not compile for a limit that has other bytes.
var _ = [1]struct{}{}[frame.Limit-largest<<16+largest>>8]

// clamp makes the length of a message that is beyond all bounds one more than the limit, byte by byte as they come:
// what of it went through before was equal. p is what came of the message's head.
func (u *unfinished) clamp(p []byte) {
	for i := range p {
		switch u.headed + i {
		case 1:
			u.large = p[i] > 0
			p[i] = 0
		case 2:
			if u.large = u.large || p[i] > largest; u.large {
				p[i] = largest
			}
		case 3, 4:
			if u.large {
				p[i] = byte(u.headed + i - 3)
			}
		}
	}
}

func newMeter(c, raw net.Conn, in *intake.Intake) *meter {
	m := &meter{Conn: c, preface: prefaceBytes, calls: map[uint32]*unfinished{}}
	m.done, m.end = context.WithCancel(context.Background())
	m.upload = in.Begin(func() { _ = raw.Close() }) // TLS would say so first, and wait for that
	m.upload.Whole()
	return m
}

// Read implements [net.Conn].
func (m *meter) Read(p []byte) (int, error) {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return 0, net.ErrClosed
	}
	m.reading = true
	m.mu.Unlock()
	n, err := m.Conn.Read(p)
	if n > 0 {
		if full := m.count(p[:n]); full != nil {
			_ = m.Close()
			n, err = 0, full
		}
	}
	m.mu.Lock()
	m.reading = false
	if m.closed {
		m.upload.Release()
	}
	m.mu.Unlock()
	return n, err
}

// Close implements [net.Conn].
func (m *meter) Close() error {
	m.mu.Lock()
	if !m.closed {
		m.closed = true
		m.end()
		if !m.reading {
			m.upload.Release()
		}
	}
	m.mu.Unlock()
	return m.Conn.Close()
}

// Write implements [net.Conn]. What the server ends it does not read on, so that nothing of it is held.
func (m *meter) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	f := &m.out
	for p := p[:n]; len(p) > 0; {
		if f.headed < frameHead {
			n, whole := f.begin(p)
			p = p[n:]
			if !whole {
				break
			}
			if f.last() {
				m.mu.Lock()
				before := m.held
				m.drop(f.id())
				m.given(before)
				m.mu.Unlock()
			}
		}
		n := min(f.left, len(p))
		p = p[n:]
		if f.left -= n; f.left == 0 {
			f.headed = 0
		}
	}
	return n, err
}

// given takes whatever is not held any more off the count, of so many bytes before. m.mu is held.
func (m *meter) given(before int) (more int) {
	more = m.held - before
	if m.begun != (m.held > 0) {
		if m.begun = m.held > 0; m.begun {
			m.upload.Again()
		} else {
			m.upload.Whole()
		}
	}
	if more < 0 {
		m.upload.Give(-more)
	}
	return more
}

// count takes note of bytes that came, and waits where there is no room for them.
func (m *meter) count(p []byte) error {
	m.mu.Lock()
	before := m.held
	m.scan(p)
	more, held := m.given(before), m.held
	m.mu.Unlock()
	if more <= 0 || held <= freeBytes && m.upload.Try(more) {
		return nil
	}
	return m.upload.Take(m.done.Done(), more)
}

// scan follows the frames.
func (m *meter) scan(p []byte) {
	if m.preface > 0 {
		n := min(m.preface, len(p))
		m.preface -= n
		p = p[n:]
	}
	for len(p) > 0 {
		if m.in.headed < frameHead {
			n, whole := m.in.begin(p)
			p = p[n:]
			if !whole {
				return
			}
			m.frame()
			continue
		}
		n := min(m.in.left, len(p))
		m.payload(p[:n])
		p = p[n:]
		if m.in.left -= n; m.in.left == 0 {
			m.over()
		}
	}
}

// frame begins a frame whose head is there.
func (m *meter) frame() {
	m.skip, m.padded = 0, m.in.head[3] == frameData && m.in.head[4]&flagPadded != 0
	if id := m.in.id(); m.in.head[3] == frameHeaders && id > m.last {
		m.last = id
		m.calls[id] = &unfinished{held: callBytes}
		m.held += callBytes
	}
	if m.in.left == 0 {
		m.over()
	}
}

// over ends a frame.
func (m *meter) over() {
	m.in.headed = 0
	if m.in.last() {
		m.drop(m.in.id())
	}
}

// drop forgets a call of which no more is read.
func (m *meter) drop(id uint32) {
	if u := m.calls[id]; u != nil {
		m.held -= u.held
		delete(m.calls, id)
	}
}

// payload takes bytes of a frame; m.in.left has them still. Whatever is not of a call grpc-go throws away.
func (m *meter) payload(p []byte) {
	u := m.calls[m.in.id()]
	if m.in.head[3] != frameData || u == nil || u.large && u.headed == 0 {
		return
	}
	left := m.in.left
	if m.padded && len(p) > 0 {
		m.skip, m.padded = int(p[0]), false
		p, left = p[1:], left-1
	}
	p = p[:max(0, min(len(p), left-m.skip))]
	m.held -= u.held
	for len(p) > 0 {
		if u.headed < len(u.head) {
			u.clamp(p[:min(len(p), len(u.head)-u.headed)])
			n := copy(u.head[u.headed:], p)
			u.headed += n
			u.held += n
			p = p[n:]
			if u.headed < len(u.head) {
				break
			}
			u.left = int(binary.BigEndian.Uint32(u.head[1:]))
		}
		n := min(u.left, len(p))
		u.left -= n
		u.held += n
		p = p[n:]
		if u.left == 0 {
			*u = unfinished{large: u.large} // it is whole: its handler counts it
			if u.large {
				break
			}
		}
	}
	m.held += u.held
}
