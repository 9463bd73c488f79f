package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"wirelab/hermes/peer/gen"
	"wirelab/wire/status"
)

// version is of frames and bodies. It is raised by what an older node cannot read.
const version = 1

// helloLimit is the bytes of a hello.
const helloLimit = 64 << 10

// bufferBytes is what one system call reads or writes of small frames.
const bufferBytes = 128 << 10

// errSilent ends a connection on which nothing was heard.
var errSilent = errors.New("nothing was heard for too long")

// connection is one TCP connection, either end, once it stands.
type connection struct {
	net.Conn
	reader reader
	out    *outbox
	heard  atomic.Bool // since the last tick
	watching
	knows uint32 // of the other end: see gen.Hello; only where it dialled

	mu    sync.Mutex
	cause error         // guarded by mu: why it ended
	done  chan struct{} // closed with cause
}

func newConnection(c net.Conn) *connection {
	conn := &connection{Conn: c, out: newOutbox(), done: make(chan struct{})}
	conn.reader.r = bufio.NewReaderSize(hearing{conn}, bufferBytes)
	return conn
}

// hearing notes each sign of life.
type hearing struct{ c *connection }

func (h hearing) Read(p []byte) (int, error) {
	n, err := h.c.Read(p)
	if n > 0 && !h.c.heard.Load() {
		h.c.heard.Store(true)
	}
	return n, err
}

// end closes the connection; the first reason counts.
func (c *connection) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return
	}
	c.cause = cause
	close(c.done)
	_ = c.Close() // what there was to say was said, or cannot be
}

// run reads frames until the connection ends, and returns why. handle must not block.
// It waits for all it started.
func (c *connection) run(silence time.Duration, handle func(kind, []byte) error, sent func(frame)) error {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		w := writer{w: bufio.NewWriterSize(c, bufferBytes), sent: sent}
		if err := w.run(c.out, c.done); err != nil {
			c.end(err)
		}
	})
	all.Go(func() { c.watch(silence) })
	for {
		k, body, err := c.reader.next()
		switch {
		case err != nil:
		case k == kindAlive:
			err = c.alive(body)
		default:
			err = handle(k, body)
		}
		if err != nil {
			c.end(err)
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.cause
		}
	}
}

// watch tells the other end that this one lives and ends the connection when nothing
// is heard: TCP by itself would wait for minutes after a cable was cut.
func (c *connection) watch(silence time.Duration) {
	const parts = 4
	tick := time.NewTicker(silence / parts)
	defer tick.Stop()
	for quiet := 0; ; {
		select {
		case <-c.done:
			return
		case <-tick.C:
		}
		if c.heard.Swap(false) {
			quiet = 0
		} else if quiet++; quiet >= parts {
			c.end(fmt.Errorf("%w: %v", errSilent, silence))
			return
		}
		c.tell(1)
	}
}

// tell gives a sign of life; limit is [outbox.put]'s.
func (c *connection) tell(limit int) {
	c.out.put(frame{kind: kindAlive, queue: queueControl, head: c.sign()}, limit)
}

// sendHello writes a hello and waits until it is written.
func (c *connection) sendHello(h *gen.Hello) error {
	data, err := proto.Marshal(h)
	if err != nil {
		return err
	}
	w := writer{w: bufio.NewWriter(c)}
	if err := w.begin(queueControl, frame{kind: kindHello, queue: queueControl, head: data}); err != nil {
		return err
	}
	if err := w.fragment(queueControl); err != nil {
		return err
	}
	return w.w.Flush()
}

func (c *connection) readHello() (*gen.Hello, error) {
	c.reader.most = helloLimit // nothing is known yet of who sends it
	defer func() { c.reader.most = 0 }()
	k, data, err := c.reader.next()
	if err != nil {
		return nil, err
	}
	h := new(gen.Hello)
	if k != kindHello || proto.Unmarshal(data, h) != nil {
		return nil, fmt.Errorf("it began with a frame of kind %d: it is no node of Hermes", k)
	}
	return h, nil
}

// greet is the dialling end's part of the handshake; to is 0 for any node that is there.
func (c *connection) greet(ctx context.Context, o *Options, from, to uint64) error {
	ctx, cancel := context.WithTimeout(ctx, o.Silence)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	mine := &gen.Hello{Version: version, Cluster: o.Cluster, From: from, To: to}
	o.IdentityCheck.introduce(mine)
	if from != 0 {
		o.IdentityCheck.stand(mine)
		c.clock, c.peer = &o.Clock, to
	}
	mine.Clock = c.now()
	if o.Key != nil {
		mine.Nonce = newNonce()
	}
	if err := c.sendHello(mine); err != nil {
		return err
	}
	h, err := c.readHello()
	if err == nil && o.Key != nil && h.GetError() == nil {
		h, err = c.respond(o, mine, h)
	}
	if err != nil {
		return err
	}
	if from == 0 {
		return readError(h.GetError())
	}
	c.compare(h.GetClock(), mine.GetClock(), 0)
	return o.IdentityCheck.greeted(to, h)
}

// welcome is the dialled end's part. from is 0 for one that is no node yet.
func (c *connection) welcome(o *Options) (from uint64, err error) {
	if err := c.SetDeadline(time.Now().Add(o.Silence)); err != nil {
		return 0, err
	}
	h, err := c.readHello()
	if err != nil {
		return 0, err
	}
	c.knows = h.GetKnows()
	answer := &gen.Hello{Version: version, From: o.ID, To: h.GetFrom()}
	var refused error
	if o.Key != nil {
		refused = c.challenge(o, h)
	}
	if refused == nil {
		answer.Cluster = o.Cluster
		o.IdentityCheck.introduce(answer)
		refused = o.judge(h)
	}
	if refused == nil {
		refused = o.IdentityCheck.meet(h)
	}
	if refused == nil && h.GetFrom() != 0 {
		refused = o.IdentityCheck.recall(h)
		answer.Forgotten = refused != nil
		c.clock, c.peer = &o.Clock, h.GetFrom()
	}
	answer.Error, answer.Clock = writeError(refused), c.now()
	if err := c.sendHello(answer); err != nil {
		return 0, err
	}
	if refused != nil {
		return 0, refused
	}
	if h.GetFrom() != 0 {
		o.IdentityCheck.know(h.GetFrom(), h)
	}
	return h.GetFrom(), c.SetDeadline(time.Time{})
}

// judge tells why a node that dialled is not welcome. The messages are read at the other end.
func (o *Options) judge(h *gen.Hello) error {
	switch {
	case h.GetVersion() != version:
		return status.Errorf(status.Unimplemented,
			"node %d speaks version %d of the protocol between nodes, not %d: bring "+
				"both to one release", o.ID, version, h.GetVersion())
	case h.GetCluster() != o.Cluster:
		return status.Errorf(status.PermissionDenied, "this is cluster %q, not %.60q: check the addresses of peers",
			o.Cluster, h.GetCluster())
	case h.GetTo() != 0 && h.GetTo() != o.ID:
		return status.Errorf(status.NotFound, "this is node %d, not %d: check the addresses of peers", o.ID, h.GetTo())
	case h.GetFrom() == o.ID:
		return status.Errorf(status.Conflict, "node %d is here already: give each node its own id", o.ID)
	}
	return nil
}
