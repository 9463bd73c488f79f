package raw

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"sync"
	"time"

	"wirelab"
)

// Tape is where a stub's connections lead that are made to learn its requests
// and to judge replies: it writes a request down and answers nothing, or
// answers what it was given.
type Tape struct {
	frames Frames
	over   chan struct{} // closed with the driver, and all connections by it
	close  func()
	mu     sync.Mutex // guards all below
	asked  [][]byte
	reply  []byte // frames; nil: none, the call fails
}

func newTape(frames Frames) *Tape {
	over := make(chan struct{})
	return &Tape{frames: frames, over: over, close: sync.OnceFunc(func() { close(over) })}
}

// Open opens a connection.
func (t *Tape) Open(context.Context) *TapeConn {
	return &TapeConn{tape: t, answered: make(chan struct{}, 1), closed: make(chan struct{})}
}

// TapeConn is a connection to a [Tape]. Its methods are those of a connection
// that keeps message boundaries; see package exchange.
type TapeConn struct {
	tape     *Tape
	answered chan struct{} // has room for one: there is something to receive
	closed   chan struct{}
	once     sync.Once

	mu      sync.Mutex // guards pending
	pending []byte     // frames that have not been received
}

// Send writes a message down that begins behind the room for its length.
func (c *TapeConn) Send(frame []byte) error {
	t := c.tape
	t.mu.Lock()
	t.asked = append(t.asked, bytes.Clone(frame[frameLength:]))
	reply := t.reply
	t.mu.Unlock()
	if reply == nil {
		return errLearning
	}
	c.mu.Lock()
	c.pending = reply
	c.mu.Unlock()
	select {
	case c.answered <- struct{}{}:
	default:
	}
	return nil
}

// Receive returns the next message of a reply. Where there is none, it waits
// for one until the connection is closed, as a server lets its clients wait.
func (c *TapeConn) Receive(into []byte) ([]byte, error) {
	for {
		c.mu.Lock()
		if len(c.pending) > 0 {
			size := frameLength + int(binary.BigEndian.Uint32(c.pending))
			into = append(into, c.pending[frameLength:size]...)
			c.pending = c.pending[size:]
			c.mu.Unlock()
			return into, nil
		}
		c.mu.Unlock()
		select {
		case <-c.answered:
		case <-c.closed:
			return nil, io.EOF
		case <-c.tape.over:
			return nil, io.EOF
		}
	}
}

// Close closes the connection.
func (c *TapeConn) Close() { c.once.Do(func() { close(c.closed) }) }

// Abort is [TapeConn.Close].
func (c *TapeConn) Abort() { c.Close() }

// learn implements [learner].
func (t *Tape) learn(ctx context.Context, deadline time.Duration, check func(context.Context) error) (request, error) {
	t.mu.Lock()
	t.asked, t.reply = nil, nil
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, learnTime)
	defer cancel()
	answer := check(ctx) // fails, since nothing answers
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.asked) != 1 {
		return request{}, wirelab.Errorf(wirelab.Unimplemented,
			"the call sends %d messages, and a raw driver one: %v", len(t.asked), answer)
	}
	if deadline < tellable {
		deadline = 0
	}
	message, operation, payload, err := t.frames.Request(t.asked[0], deadline)
	if err != nil {
		return request{}, wirelab.Errorf(wirelab.Internal, "what the stub asks is no request: %v", err)
	}
	q := request{path: operation, body: message[payload:]}
	q.frame = append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
	return q, nil
}

// verify decides a whole reply: nil if it is right.
func (t *Tape) verify(x *exchange, a *answer) error {
	if !a.differs && a.matched == len(a.good.body) {
		return nil
	}
	body := a.whole() // becomes the accepted one
	t.mu.Lock()
	t.asked, t.reply = nil, body
	t.mu.Unlock()
	if err := x.check(context.Background()); err != nil {
		return err
	}
	x.good = &accepted{body: body}
	return nil
}
