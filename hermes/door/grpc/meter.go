package grpc

import (
	"context"
	"encoding/binary"
	"net"
	"sync"

	"google.golang.org/grpc/credentials"

	"wirelab/hermes/door/intake"
)

// grpc-go reads a request whole before any of our code hears of it, and tells nobody how much of
// it is there. So its connections are read through a meter that knows just enough of HTTP/2 to say how many
// bytes of unfinished messages each has brought. It counts them in the node's intake, and does not read
// on where there is no room: then the client cannot send either. What is whole the handlers count.

const (
	// freeBytes of unfinished messages a connection may have whatever others have: one that brings
	// acknowledgements is not to wait for one that brings megabytes.
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

	mu      sync.Mutex // guards reading and closed: the last of both gives all back
	reading bool
	closed  bool

	// The rest is Read's.
	preface int // bytes that come before the first frame
	head    [frameHead]byte
	headed  int // bytes of head that have come
	left    int // bytes of the frame's payload that are to come
	skip    int // of them at the end, which are padding
	padded  bool
	calls   map[uint32]*unfinished
	held    int // bytes counted for calls
	begun   bool
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

// count takes note of bytes that came, and waits where there is no room for them.
func (m *meter) count(p []byte) error {
	before := m.held
	m.scan(p)
	more := m.held - before
	if m.begun != (m.held > 0) {
		if m.begun = m.held > 0; m.begun {
			m.upload.Again()
		} else {
			m.upload.Whole()
		}
	}
	switch {
	case more < 0:
		m.upload.Give(-more)
	case more > 0 && m.held > freeBytes:
		return m.upload.Take(m.done.Done(), more)
	case more > 0:
		m.upload.Force(more)
	}
	return nil
}

// scan follows the frames.
func (m *meter) scan(p []byte) {
	if m.preface > 0 {
		n := min(m.preface, len(p))
		m.preface -= n
		p = p[n:]
	}
	for len(p) > 0 {
		if m.headed < frameHead {
			n := copy(m.head[m.headed:], p)
			m.headed += n
			p = p[n:]
			if m.headed < frameHead {
				return
			}
			m.left = int(m.head[0])<<16 | int(m.head[1])<<8 | int(m.head[2])
			m.skip, m.padded = 0, m.head[3] == frameData && m.head[4]&flagPadded != 0
			m.frame()
			continue
		}
		n := min(m.left, len(p))
		m.payload(p[:n])
		p = p[n:]
		if m.left -= n; m.left == 0 {
			m.over()
		}
	}
}

// id is the stream of the frame.
func (m *meter) id() uint32 { return binary.BigEndian.Uint32(m.head[5:]) &^ (1 << 31) }

// frame begins a frame whose head is there.
func (m *meter) frame() {
	if m.head[3] == frameHeaders && m.head[4]&flagEnd == 0 && m.calls[m.id()] == nil {
		m.calls[m.id()] = &unfinished{held: callBytes}
		m.held += callBytes
	}
	if m.left == 0 {
		m.over()
	}
}

// over ends a frame.
func (m *meter) over() {
	m.headed = 0
	k, end := m.head[3], m.head[4]&flagEnd != 0
	if k == frameReset || end && (k == frameData || k == frameHeaders) {
		m.drop(m.id())
	}
}

// drop forgets a call of which no more comes.
func (m *meter) drop(id uint32) {
	if u := m.calls[id]; u != nil {
		m.held -= u.held
		delete(m.calls, id)
	}
}

// payload takes bytes of a frame; m.left has them still.
func (m *meter) payload(p []byte) {
	if m.head[3] != frameData {
		return
	}
	left := m.left
	if m.padded && len(p) > 0 {
		m.skip, m.padded = int(p[0]), false
		p, left = p[1:], left-1
	}
	p = p[:max(0, min(len(p), left-m.skip))]
	u := m.calls[m.id()]
	if u == nil {
		if len(p) == 0 {
			return
		}
		u = new(unfinished) // of a stream after its first message
		m.calls[m.id()] = u
	}
	m.held -= u.held
	for len(p) > 0 {
		if u.headed < len(u.head) {
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
			*u = unfinished{} // it is whole: its handler counts it
		}
	}
	m.held += u.held
	if u.held == 0 {
		delete(m.calls, m.id())
	}
}
