// Package null is servers that speak a broker's protocol and do nothing: they
// acknowledge what is published at once, and hand it to the groups that read it, in
// the memory of one process. What a driver does before one is the driver's own, so
// that an experiment can tell when it is the driver that it measures. They know as
// much of their protocol as the clients in package broker say, and answer no other client.
//
// Nothing survives, nothing comes again, and what is not taken is refused beyond
// [waitingLimit]. The null of Hermes is in its own program: its doors are its own.
package null

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Server is a protocol's null. Make one with [NATS] or [AMQP].
type Server struct {
	speak   func(s *Server, in io.Reader, out *writer) error
	options Options
	late    *late

	mu     sync.RWMutex // guards topics
	topics map[string]*topic
}

// Options are what a null does that is known beforehand, to try a driver with. The zero
// value is nothing.
type Options struct {
	// Delay is how long after a message came it is acknowledged and delivered.
	Delay time.Duration
	// Double delivers one message in so many twice; 0: none.
	Double uint64
}

func newServer(o Options, speak func(*Server, io.Reader, *writer) error) *Server {
	return &Server{speak: speak, options: o, late: newLate(o.Delay), topics: map[string]*topic{}}
}

// Serve answers at a listener until ctx ends, and has closed it then.
func (s *Server) Serve(ctx context.Context, at net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var serving sync.WaitGroup
	defer serving.Wait()
	serving.Go(func() { s.late.run(ctx) })
	closed := context.AfterFunc(ctx, func() { _ = at.Close() }) // whoever waits in Accept is told
	defer closed()
	for {
		conn, err := at.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		serving.Go(func() { s.converse(ctx, conn) })
	}
}

// converse speaks with one client until it or ctx ends. A client that is not
// understood is left.
func (s *Server) converse(ctx context.Context, conn net.Conn) {
	out := newWriter()
	var writing sync.WaitGroup
	writing.Go(func() {
		out.writeTo(conn)
		_ = conn.Close() // nothing more is said
	})
	ended := context.AfterFunc(ctx, func() { _ = conn.Close() })
	_ = s.speak(s, conn, out) // why it ended is the client's own
	ended()
	out.close()
	writing.Wait()
}

// writer is what is to be written to a client: many say something, one writes, all
// there is at once.
type writer struct {
	mu     sync.Mutex // guards said and closed
	said   []byte
	closed bool
	more   chan struct{} // holds one once said has grown or closed is set
}

func newWriter() *writer { return &writer{more: make(chan struct{}, 1)} }

// say appends to what is written; nothing once the client is gone.
func (w *writer) say(what func(to []byte) []byte) {
	w.mu.Lock()
	if !w.closed {
		w.said = what(w.said)
	}
	w.mu.Unlock()
	w.signal()
}

func (w *writer) signal() {
	select {
	case w.more <- struct{}{}:
	default:
	}
}

func (w *writer) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.signal()
}

// writeTo writes what is said until the writer is closed and all is written, or the
// client is gone.
func (w *writer) writeTo(to io.Writer) {
	var spare []byte
	for range w.more {
		w.mu.Lock()
		said, closed := w.said, w.closed
		w.said = spare[:0]
		w.mu.Unlock()
		if _, err := to.Write(said); err != nil || closed {
			w.close()
			return
		}
		spare = said
	}
}

// errUnknown is the end of a conversation that is not understood.
var errUnknown = errors.New("not understood")
