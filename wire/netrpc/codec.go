package netrpc

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"fmt"
	"io"
	"net"
	"time"

	"wirelab"
)

const (
	// readBuffer is the size in bytes of a connection's read buffer.
	readBuffer = 4 << 10
	// bufferKept is the size in bytes up to which a write buffer is kept.
	bufferKept = 64 << 10
	// writeStall is how long a write may make no progress.
	writeStall = 5 * time.Second
)

// stream is a gob stream each way over a connection. net/rpc's own codec,
// which it does not export, neither bounds what it reads nor survives a value
// that panics in decoding.
type stream struct {
	conn net.Conn
	in   meter
	dec  *gob.Decoder
	out  bytes.Buffer
	enc  *gob.Encoder
}

func newStream(conn net.Conn) *stream {
	s := &stream{conn: conn, in: meter{from: bufio.NewReaderSize(conn, readBuffer)}}
	s.dec = gob.NewDecoder(&s.in)
	s.enc = gob.NewEncoder(&s.out)
	return s
}

// meter is a reader of at most left bytes. That it is an io.ByteReader keeps
// gob from buffering, and so from reading past what was granted.
type meter struct {
	from *bufio.Reader
	left int
}

// Read implements [io.Reader].
func (m *meter) Read(p []byte) (int, error) {
	if m.left == 0 && len(p) > 0 {
		return 0, errTooLarge()
	}
	n, err := m.from.Read(p[:min(len(p), m.left)])
	m.left -= n
	return n, err
}

// ReadByte implements [io.ByteReader].
func (m *meter) ReadByte() (byte, error) {
	if m.left == 0 {
		return 0, errTooLarge()
	}
	b, err := m.from.ReadByte()
	if err == nil {
		m.left--
	}
	return b, err
}

func errTooLarge() error {
	return wirelab.Errorf(wirelab.ResourceExhausted, "message of more than %d bytes", MessageLimit)
}

// header reads the first half of a message, which grants the second's bytes too.
func (s *stream) header(into any) error {
	s.in.left = MessageLimit
	return s.decode(into)
}

// decode reads into a value; nil skips one. gob turns its own panics into errors; the panics caught here are
// those of a type's methods.
func (s *stream) decode(into any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("gob: panic: %v", p)
		}
	}()
	return s.dec.Decode(into)
}

// write sends a header and a body in one write. After an error the connection
// is of no use; begun is whether the peer may have seen some of it.
func (s *stream) write(header, body any) (begun bool, err error) {
	s.out.Reset()
	if err := s.enc.Encode(header); err != nil {
		return false, err
	}
	if err := s.enc.Encode(body); err != nil {
		return false, err
	}
	if s.out.Len() > MessageLimit {
		// The encoder takes the types in it for sent, so nothing that follows on
		// this connection could be read: it is an error of the connection too.
		return false, errTooLarge()
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeStall)); err != nil {
		return false, err
	}
	_, err = s.out.WriteTo(s.conn)
	if s.out.Cap() > bufferKept {
		s.out = bytes.Buffer{}
	}
	return true, err
}

var (
	_ io.Reader     = (*meter)(nil)
	_ io.ByteReader = (*meter)(nil)
)
