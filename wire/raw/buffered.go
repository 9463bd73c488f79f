package raw

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// bufferedConn is what crypto/tls takes for a connection: at first the connection, for
// the handshake, then two buffers that a loop fills and empties. With nothing
// to read it fails for the moment, over which crypto/tls keeps its state.
type bufferedConn struct {
	conn net.Conn // nil once detached
	in   []byte   // of the buffer that the socket was read into
	out  []byte
	eof  bool
	*traffic
}

var _ net.Conn = (*bufferedConn)(nil)

// traffic counts what passed through sockets.
type traffic struct {
	sent, received, opened, open, payload atomic.Uint64
}

// momentary is the error of a read with nothing to read.
type momentary struct{}

var _ net.Error = momentary{}

// Error implements error.
func (momentary) Error() string { return "nothing to read yet" }

// Timeout implements [net.Error].
func (momentary) Timeout() bool { return false }

// Temporary implements [net.Error]; crypto/tls asks for it.
func (momentary) Temporary() bool { return true }

// Read implements [net.Conn].
func (l *bufferedConn) Read(p []byte) (int, error) {
	if l.conn != nil {
		n, err := l.conn.Read(p)
		l.received.Add(uint64(n))
		return n, err
	}
	if len(l.in) > 0 {
		n := copy(p, l.in)
		l.in = l.in[n:]
		return n, nil
	}
	if l.eof {
		return 0, io.EOF
	}
	return 0, momentary{}
}

// Write implements [net.Conn].
func (l *bufferedConn) Write(p []byte) (int, error) {
	if l.conn != nil {
		n, err := l.conn.Write(p)
		l.sent.Add(uint64(n))
		return n, err
	}
	l.out = append(l.out, p...)
	return len(p), nil
}

// Close implements [net.Conn]: crypto/tls breaks a handshake off by it. Once
// detached, the socket is its owner's to close.
func (l *bufferedConn) Close() error {
	if l.conn == nil {
		return nil
	}
	return l.conn.Close()
}

// LocalAddr implements [net.Conn].
func (l *bufferedConn) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements [net.Conn].
func (l *bufferedConn) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// SetDeadline implements [net.Conn].
func (l *bufferedConn) SetDeadline(t time.Time) error {
	if l.conn == nil {
		return os.ErrNoDeadline
	}
	return l.conn.SetDeadline(t)
}

// SetReadDeadline implements [net.Conn].
func (l *bufferedConn) SetReadDeadline(t time.Time) error { return l.SetDeadline(t) }

// SetWriteDeadline implements [net.Conn].
func (l *bufferedConn) SetWriteDeadline(t time.Time) error { return l.SetDeadline(t) }

// channel carries a protocol's bytes, under TLS or bare. It belongs to one
// goroutine.
type channel struct {
	end      protocol
	secure   *tls.Conn     // nil: bare
	buffered *bufferedConn // of secure
	rest     []byte        // received, but not whole yet
	dead     bool
}

// buffers are what reads go through, shared by all connections of a loop.
type buffers struct{ plain, cipher []byte }

// The sizes of buffers, in bytes.
const (
	readSize = 64 << 10
	restMax  = 32 << 10 // of what a protocol leaves for later: a header or a frame
)

func newBuffers(secure bool) *buffers {
	b := &buffers{plain: make([]byte, restMax+readSize)}
	if secure {
		b.cipher = make([]byte, readSize)
	}
	return b
}

// pull takes what read gives at once to the protocol. It returns io.EOF at the
// peer's proper end.
func (c *channel) pull(b *buffers, read func([]byte) (int, error)) error {
	if c.secure == nil {
		n := copy(b.plain, c.rest)
		m, err := read(b.plain[n : n+readSize])
		if err != nil {
			return err
		}
		return c.deliver(b.plain[:n+m])
	}
	m, err := read(b.cipher)
	if errors.Is(err, io.EOF) {
		c.buffered.eof = true
	} else if err != nil {
		return err
	}
	c.buffered.in = b.cipher[:m]
	for !c.dead {
		n := copy(b.plain, c.rest)
		m, err := c.secure.Read(b.plain[n : n+readSize])
		if m > 0 {
			if err := c.deliver(b.plain[:n+m]); err != nil {
				return err
			}
		}
		if err == (momentary{}) { //nolint:errorlint // it is passed on unchanged
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *channel) deliver(data []byte) error {
	n, err := c.end.receive(data)
	if err != nil {
		return err
	}
	if left := data[n:]; len(left) > restMax && !c.paused() {
		return breach(reasonProtocol, "%d bytes that are no message", len(left))
	} else if len(left) > 0 || len(c.rest) > 0 {
		c.rest = append(c.rest[:0], left...)
	}
	return nil
}

// paused reports whether the protocol takes no more for now: see server.
func (c *channel) paused() bool {
	s, ok := c.end.(server)
	return ok && s.paused()
}

// again gives the protocol what it left when it paused.
func (c *channel) again(b *buffers) error {
	return c.deliver(b.plain[:copy(b.plain, c.rest)])
}

// push gives whatever is to be sent to write, which may take a part of it, and reports whether that was all.
func (c *channel) push(write func([]byte) (int, error)) (all bool, err error) {
	out := c.end.output()
	if c.secure != nil {
		// While records wait, bytes behind them stay unchanged: the protocol counts it.
		if len(c.buffered.out) == 0 && len(*out) > 0 {
			if _, err := c.secure.Write(*out); err != nil {
				return false, err
			}
			*out = emptied(*out)
		}
		out = &c.buffered.out
	}
	if len(*out) == 0 {
		return true, nil
	}
	n, err := write(*out)
	if err != nil {
		return false, err
	}
	if n < len(*out) {
		*out = (*out)[:copy(*out, (*out)[n:])]
		return false, nil
	}
	*out = emptied(*out)
	return true, nil
}

// emptied keeps a buffer's room, unless one large message made it.
func emptied(b []byte) []byte {
	if cap(b) > 1<<20 {
		return nil
	}
	return b[:0]
}
