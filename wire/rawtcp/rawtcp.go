// Package rawtcp is no protocol at all: the messages of package exchange on a TCP connection, each behind its
// length. It is the line that every protocol is measured against, so it does what must be done and nothing
// else. It knows neither operations nor the content of a message.
//
// # The wire
//
// A message is its length in bytes (four bytes, big endian, without
// themselves) and its bytes. There is no handshake and no farewell: a
// connection is ready when it is open and over when it is closed.
//
// # Knobs that matter
//
// Nagle's algorithm is off and keep-alive is on, as Go sets them. Each message
// is one write; reads go through a buffer of [readBuffer] bytes. A length
// above exchange.MessageLimit ends the connection, and what it announces is
// allocated as it arrives, so that a length alone costs nothing.
package rawtcp

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"sync"

	"wirelab"
	"wirelab/wire/acceptloop"
	"wirelab/wire/exchange"
)

// readBuffer is the size in bytes of a connection's read buffer.
const readBuffer = 4 << 10

// step is how much of a long message is made room for at a time, in bytes.
const step = 64 << 10

// Serve answers calls by handlers. It follows the contract of
// [wirelab.Server].
func Serve(ctx context.Context, at wirelab.Endpoint, handlers ...exchange.Handler) error {
	if at.Listener == nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "raw TCP needs a listener")
	}
	server := exchange.NewServer(handlers...)
	var attending sync.WaitGroup
	err := acceptloop.Loop(ctx, at.Listener, func(accepted net.Conn) {
		attending.Go(func() { server.Attend(newConn(accepted)) })
	})
	server.Stop(at.DrainTime())
	attending.Wait()
	return err
}

// Dial returns a client. It connects when it is first used.
func Dial(to wirelab.Dialing) *exchange.Client {
	return exchange.NewClient(to.ConnectionCount(), func(ctx context.Context) (exchange.Conn, error) {
		opened, err := to.Open(ctx)
		if err != nil {
			return nil, err
		}
		return newConn(opened), nil
	})
}

// conn is an [exchange.Conn] over a TCP connection.
type conn struct {
	stream net.Conn
	in     *bufio.Reader
}

var _ exchange.Conn = (*conn)(nil)

func newConn(stream net.Conn) *conn {
	return &conn{stream: stream, in: bufio.NewReaderSize(stream, readBuffer)}
}

// Send implements [exchange.Conn].
func (c *conn) Send(frame []byte) error {
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-exchange.Headroom))
	_, err := c.stream.Write(frame)
	return err
}

// Receive implements [exchange.Conn].
func (c *conn) Receive(into []byte) ([]byte, error) { return receive(c.in, into) }

func receive(in *bufio.Reader, into []byte) ([]byte, error) {
	prefix, err := in.Peek(exchange.Headroom)
	if err != nil {
		if len(prefix) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	size := binary.BigEndian.Uint32(prefix)
	if size > exchange.MessageLimit {
		return nil, exchange.ErrTooLarge
	}
	if _, err := in.Discard(exchange.Headroom); err != nil {
		return nil, err
	}
	for missing := int(size); missing > 0; {
		part := min(missing, step)
		into = slices.Grow(into, part)
		at := len(into)
		into = into[:at+part]
		if _, err := io.ReadFull(in, into[at:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		missing -= part
	}
	return into, nil
}

// Close implements [exchange.Conn]. TCP's own farewell is all there is.
func (c *conn) Close() { _ = c.stream.Close() }

// Abort implements [exchange.Conn].
func (c *conn) Abort() { _ = c.stream.Close() }
