package rabbitmq

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab"
	"wirelab/broker"
)

// Time limits of a connection. A server that is silent for two or three heartbeats is given up: a service is
// patient, and a load has to be told.
const (
	dialLimit        = 5 * time.Second // to connect, with the handshake
	patientDialLimit = 10 * time.Second
	heartbeat        = 2 * time.Second
	patientHeartbeat = 10 * time.Second
	writeLimit       = 10 * time.Second // one write; a server that reads nothing for so long is gone
	closeLimit       = 2 * time.Second
)

// The pauses before an unavailable server is tried again: the first pause, which doubles up to the last. Each is
// drawn at random from its upper half, so that many clients do not return at the same moment.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// rest waits before the next try, or until ctx ends, and returns the pause after it.
func rest(ctx context.Context, pause time.Duration) time.Duration {
	wait(ctx, pause/2+rand.N(pause/2))
	return min(2*pause, lastPause)
}

// wait waits for a duration, or until ctx ends.
func wait(ctx context.Context, long time.Duration) {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// bounded is a connection whose writes take no longer than [writeLimit]. The writes of the library take as long as
// the server likes, and hold locks all that time.
//
// The library writes each message and each acknowledgement separately, and the system call costs more than either.
// A caller with several to write holds the connection meantime: writes are buffered, and sent at once when it is
// released.
type bounded struct {
	net.Conn

	mu   sync.Mutex // guards all below; held during a write, which keeps the order of the calls
	held int        // the number of holders
	kept []byte     // written during a hold; at most keptLimit
}

// keptLimit is the maximum number of buffered bytes; more are sent at once.
const keptLimit = 64 << 10

// Write implements net.Conn. During a hold it only buffers: release then reports an error, and closes the
// connection.
func (c *bounded) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held > 0 && len(c.kept)+len(p) <= keptLimit {
		c.kept = append(c.kept, p...)
		return len(p), nil
	}
	if err := c.flush(); err != nil {
		return 0, err
	}
	return c.through(p)
}

// hold begins a group of writes; release ends it.
func (c *bounded) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held++
}

// release returns when everything written so far is on its way.
func (c *bounded) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held--
	return c.flush() // even if another caller holds it: release promises that the writes were sent
}

func (c *bounded) flush() error {
	if len(c.kept) == 0 {
		return nil
	}
	_, err := c.through(c.kept)
	c.kept = c.kept[:0]
	if err != nil {
		_ = c.Close() // the library believes the data written, so its reader has to see that the connection ended
	}
	return err
}

func (c *bounded) through(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// wire is an AMQP connection with the layers below it.
type wire struct {
	*amqp.Connection
	out *bounded
	at  int // index into the broker's URLs
}

// dial connects to the first server that accepts, starting with the one that did last.
func (b *Broker) dial(ctx context.Context, name string) (conn *wire, err error) {
	for range b.urls {
		at := b.at.Load()
		i := int(at) % len(b.urls)
		if conn, err = b.dialOne(ctx, b.urls[i], name); err == nil {
			conn.at = i
			return conn, nil
		}
		b.at.CompareAndSwap(at, at+1)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// dialOne makes a connection. Its name is shown in the server's list of connections.
func (b *Broker) dialOne(ctx context.Context, url, name string) (*wire, error) {
	limit, beat := dialLimit, heartbeat
	if b.config.Patient {
		limit, beat = patientDialLimit, patientHeartbeat
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		wirelab.Errorf(wirelab.Unavailable, "RabbitMQ at %s does not answer", b.address))
	defer cancel()
	defer context.AfterFunc(b.life, cancel)()
	properties := amqp.NewConnectionProperties()
	properties.SetClientConnectionName("wirelab " + name)
	var forget func() bool
	var out *bounded
	conn, err := amqp.DialConfig(url, amqp.Config{
		Heartbeat: beat, Properties: properties,
		Dial: func(network, address string) (net.Conn, error) {
			conn, err := b.config.Connect(ctx, network, address)
			if err != nil {
				return nil, err
			}
			// The handshake ends with the context, too.
			forget = context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
			out = &bounded{Conn: conn}
			return out, nil
		},
	})
	if forget != nil && !forget() && err == nil {
		// ctx ended just after the handshake, and the deadline has made the connection unusable.
		err = errors.Join(context.Cause(ctx), conn.CloseDeadline(time.Now()))
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, over(ctx, true, "RabbitMQ at %s is away", b.address)
		}
		return nil, b.coded(err)
	}
	return &wire{Connection: conn, out: out}, nil
}

// link is a connection shared by several users. It is made when needed, and again after it broke.
type link struct {
	broker *Broker
	name   string
	turn   chan struct{} // held while the connection is made

	mu      sync.Mutex // guards all below
	conn    *wire
	blocked bool          // the server said that it takes no messages
	free    chan struct{} // closed when it takes messages again, or is gone
	watch   sync.WaitGroup
}

func newLink(b *Broker, name string) *link {
	return &link{broker: b, name: name, turn: make(chan struct{}, 1)}
}

// get returns the connection.
func (l *link) get(ctx context.Context) (*wire, error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, over(ctx, true, "RabbitMQ at %s is away", l.broker.address)
	}
	defer func() { <-l.turn }()
	l.mu.Lock()
	conn := l.conn
	l.mu.Unlock()
	if conn != nil && !conn.IsClosed() {
		return conn, nil
	}
	if l.broker.life.Err() != nil {
		return nil, broker.ErrClosed
	}
	conn, err := l.broker.dial(ctx, l.name)
	if err != nil {
		return nil, err
	}
	blocks := conn.NotifyBlocked(make(chan amqp.Blocking))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = conn
	l.watch.Go(func() { l.listen(blocks) })
	return conn, nil
}

// prefer makes the connection one to the first server, if that accepts.
func (l *link) prefer() {
	l.broker.at.Store(0)
	l.mu.Lock()
	conn := l.conn
	l.mu.Unlock()
	if conn != nil && conn.at != 0 {
		hang(conn)
	}
}

// listen records whether the server takes messages, until its connection ends.
func (l *link) listen(blocks <-chan amqp.Blocking) {
	for blocking := range blocks {
		l.note(blocking.Active)
	}
	l.note(false)
}

func (l *link) note(blocked bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case blocked && !l.blocked:
		l.free = make(chan struct{})
	case !blocked && l.blocked:
		close(l.free)
	}
	l.blocked = blocked
}

// held returns a channel that is closed when the server takes messages again; nil if it does now.
func (l *link) held() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.blocked {
		return nil
	}
	return l.free
}

// close closes the connection; the life of the broker has ended by then.
func (l *link) close() {
	l.turn <- struct{}{} // a dial in progress ends with the broker's life
	defer func() { <-l.turn }()
	l.mu.Lock()
	conn := l.conn
	l.mu.Unlock()
	if conn != nil {
		hang(conn)
	}
	l.watch.Wait()
}

// drop closes the link of one publisher.
func (l *link) drop() {
	l.mu.Lock()
	conn := l.conn
	l.mu.Unlock()
	if conn != nil {
		hang(conn)
	}
	l.watch.Wait()
}

// hang ends a connection, with a handshake if the server answers. If it does not, that is no error for the caller.
// The deadline of the library is not enough: heartbeats of a server that takes no messages extend it.
func hang(conn *wire) {
	late := time.AfterFunc(closeLimit, func() { _ = conn.out.Close() })
	defer late.Stop()
	_ = conn.CloseDeadline(time.Now().Add(closeLimit))
}
