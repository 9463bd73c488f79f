// Package null has servers that speak a broker's protocol and do nothing else: they acknowledge published messages
// at once, and pass them to the groups that read them, in the memory of one process. Costs measured against one are
// those of the driver, which shows an experiment when it measures the driver rather than the broker. A null
// supports the part of the protocol that the clients in package broker use, and no other clients.
//
// Nothing is stored and nothing is redelivered. Messages beyond [waitingLimit] that are not taken are refused. The
// null of Hermes is in Hermes's own program, because its APIs are its own.
package null

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Server is the null of a protocol. Create one with [NATS] or [AMQP].
type Server struct {
	speak   func(s *Server, in io.Reader, out *writer) error
	options Options
	late    *late

	mu     sync.RWMutex // guards topics
	topics map[string]*topic
}

// Options make a null behave in a known way, to test a driver against it. The zero value adds nothing.
type Options struct {
	// Delay is how long after its arrival a message is acknowledged and delivered.
	Delay time.Duration
	// Double delivers every Double-th message twice; 0: none.
	Double uint64
}

func newServer(o Options, speak func(*Server, io.Reader, *writer) error) *Server {
	return &Server{speak: speak, options: o, late: newLate(o.Delay), topics: map[string]*topic{}}
}

// Serve answers at a listener until ctx ends. It closes the listener.
func (s *Server) Serve(ctx context.Context, at net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var serving sync.WaitGroup
	defer serving.Wait()
	serving.Go(func() { s.late.run(ctx) })
	closed := context.AfterFunc(ctx, func() { _ = at.Close() }) // ends Accept
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

// converse serves one client until it leaves or ctx ends. A client that sends something unsupported is
// disconnected.
func (s *Server) converse(ctx context.Context, conn net.Conn) {
	out := newWriter()
	var writing sync.WaitGroup
	writing.Go(func() {
		out.writeTo(conn)
		_ = conn.Close() // the conversation has ended
	})
	ended := context.AfterFunc(ctx, func() { _ = conn.Close() })
	_ = s.speak(s, conn, out) // the error concerns this client only
	ended()
	out.close()
	writing.Wait()
}

// writer collects output for a client: many goroutines add to it, and one writes everything collected so far at
// once.
type writer struct {
	mu     sync.Mutex // guards said and closed
	said   []byte
	closed bool
	more   chan struct{} // holds one element once said has grown or closed is set
}

func newWriter() *writer { return &writer{more: make(chan struct{}, 1)} }

// say appends output; it does nothing once the client is gone.
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

// writeTo writes output until the writer is closed and everything is written, or the client is gone.
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

// errUnknown ends a conversation with unsupported input.
var errUnknown = errors.New("not understood")
