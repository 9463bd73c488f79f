package exchange

import (
	"errors"
	"sync"
	"time"

	"wirelab"
)

// Conn is a connection that keeps message boundaries. Send may be called while
// Receive is, but neither while itself is. Close and Abort may be called at
// any time, by many, and more than once.
type Conn interface {
	// Send sends the message in frame[Headroom:]; the bytes before are the
	// wire's to overwrite. It keeps no part of frame.
	Send(frame []byte) error
	// Receive appends the next message to into, which is empty, and returns
	// it. A message above [MessageLimit] is [ErrTooLarge].
	Receive(into []byte) ([]byte, error)
	// Close ends the connection as the wire's manners ask, within a second or so, and makes Send and Receive fail.
	// It has no error: the connection is over either way, and there is none to tell.
	Close()
	// Abort ends the connection at once, and makes Send and Receive fail.
	Abort()
}

// ErrTooLarge is what [Conn.Receive] returns, wrapped or not, for a message
// above [MessageLimit], whichever side found out.
var ErrTooLarge = errors.New("message too large")

const (
	// watchDelay is how long no one need be reading a connection before its end is watched for. Most calls and
	// pauses are shorter, so that the watch, which costs a goroutine and a switch, is not part of them.
	watchDelay = 10 * time.Millisecond
	// aheadMessages and aheadBytes bound what a watch may take in.
	aheadMessages = 64
	aheadBytes    = 256 << 10
)

// inbox is the receiving side of a connection. Its owner alternates between
// receive and watch; whichever it did last is in force.
//
// The obvious design, a goroutine that always reads, costs a switch for each
// message (a third of a unary call on the plainest wire). Interrupting a read
// by a deadline would avoid the queue, but a WebSocket does not survive it.
type inbox struct {
	conn Conn
	gone func() // called once when a watch finds that the peer went away

	mu      sync.Mutex // guards all below
	change  sync.Cond  // of queue, err and reading
	queue   [][]byte   // read ahead, oldest first
	held    int        // bytes in queue
	err     error      // why there is nothing after queue
	armed   bool       // timer is to start a watch
	reading bool       // a watch is in conn.Receive
	wanted  bool       // the owner waits in receive
	closed  bool       // no watch may start
	timer   *time.Timer
	watches sync.WaitGroup
}

func newInbox(conn Conn, gone func()) *inbox {
	b := &inbox{conn: conn, gone: gone}
	b.change.L = &b.mu
	return b
}

// receive returns the next message, appended to into or in its own memory.
func (b *inbox) receive(into []byte) ([]byte, error) {
	b.mu.Lock()
	b.disarm()
	for {
		if len(b.queue) > 0 {
			message := b.queue[0]
			b.queue = b.queue[1:]
			b.held -= len(message)
			if len(b.queue) == 0 {
				b.queue = nil // lets go of what was delivered
			}
			b.mu.Unlock()
			return message, nil
		}
		if b.err != nil {
			defer b.mu.Unlock()
			return nil, b.err
		}
		if !b.reading {
			b.mu.Unlock()
			return b.conn.Receive(into)
		}
		b.wanted = true
		b.change.Wait()
		b.wanted = false
	}
}

// watch says that the owner is not going to receive for a while.
func (b *inbox) watch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.reading || b.err != nil {
		return
	}
	b.armed = true
	if b.timer == nil {
		b.timer = time.AfterFunc(watchDelay, b.readAhead)
	} else {
		b.timer.Reset(watchDelay)
	}
}

// disarm is called with mu held. A timer that fires all the same finds armed unset.
func (b *inbox) disarm() {
	if b.armed {
		b.armed = false
		b.timer.Stop()
	}
}

// readAhead is the watch: it takes messages in until the peer goes away, the
// owner wants one, or the bounds are reached.
func (b *inbox) readAhead() {
	b.mu.Lock()
	if !b.armed || b.reading {
		b.mu.Unlock()
		return
	}
	b.armed, b.reading = false, true
	b.watches.Add(1)
	b.mu.Unlock()
	defer b.watches.Done()
	for b.takeIn() {
	}
}

// takeIn takes one message in and reports whether to go on.
func (b *inbox) takeIn() bool {
	message, err := b.conn.Receive(nil)
	b.mu.Lock()
	if err != nil {
		b.err = err
	} else {
		b.queue = append(b.queue, message)
		b.held += len(message)
	}
	b.reading = err == nil && !b.wanted && !b.closed && len(b.queue) < aheadMessages && b.held < aheadBytes
	more := b.reading
	b.change.Signal()
	b.mu.Unlock()
	if err != nil {
		b.gone()
	}
	return more
}

// arrived reports whether receive would return at once because of what a
// watch took in.
func (b *inbox) arrived() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) > 0 || b.err != nil
}

// close waits for the watch to end. The connection is closed before.
func (b *inbox) close() {
	b.mu.Lock()
	b.closed = true
	b.disarm()
	b.mu.Unlock()
	b.watches.Wait()
}

// lost is the error of a connection that can carry nothing more.
type lost struct{ cause error }

func (l *lost) Error() string { return "connection lost: " + l.cause.Error() }

// Unwrap gives what the connection said.
func (l *lost) Unwrap() error { return l.cause }

func isLost(err error) bool {
	var l *lost
	return errors.As(err, &l)
}

// link is a connection with the buffers of its one call at a time. The sending
// side and the receiving side may be used by a goroutine each.
type link struct {
	conn  Conn
	inbox *inbox
	out   []byte // the sending side's
	in    []byte // the receiving side's
}

func newLink(conn Conn, gone func()) *link {
	return &link{conn: conn, inbox: newInbox(conn, gone), out: make([]byte, Headroom, 512)}
}

// frame returns an empty frame to append a message to.
func (l *link) frame() []byte { return l.out[:Headroom] }

// send sends a frame that was begun by frame.
func (l *link) send(frame []byte) error {
	if cap(frame) <= bufferKept {
		l.out = frame
	} else if cap(l.out) > bufferKept {
		l.out = make([]byte, Headroom, 512)
	}
	if size := len(frame) - Headroom; size > MessageLimit {
		return wirelab.Errorf(wirelab.ResourceExhausted, "message of %d bytes; at most %d", size, MessageLimit)
	}
	if err := l.conn.Send(frame); err != nil {
		return &lost{err}
	}
	return nil
}

// receive returns the next message, which is valid until the one after it.
func (l *link) receive() (kind, []byte, error) {
	message, err := l.inbox.receive(l.in[:0])
	if err != nil {
		return 0, nil, &lost{err}
	}
	if cap(message) <= bufferKept {
		l.in = message
	}
	return split(message)
}
