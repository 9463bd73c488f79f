package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"wirelab/wire/status"
)

// How long to wait after attempts to connect that failed. The cap is low since one
// attempt costs little and a node that comes back is wanted back; a node that dials us is dialled at once.
const (
	pauseLeast = 10 * time.Millisecond
	pauseMost  = 500 * time.Millisecond
)

// link is the way to one peer: it dials, again and again, and holds the connection.
type link struct {
	t      *Transport
	id     uint64
	ctx    context.Context
	cancel context.CancelFunc
	wake   chan struct{} // of capacity 1: the peer is there, do not pause
	told   atomic.Bool   // that messages are lost

	mu        sync.Mutex // guards all below
	addresses []string   // where it may be; the first is where it should be
	at        int        // which of them was dialled last

	current *caller       // nil: not connected
	attempt chan struct{} // closed when the attempt under way ended; nil: none is
	why     error         // the last attempt failed
}

func newLink(t *Transport, id uint64, addresses []string) *link {
	ctx, cancel := context.WithCancel(t.ctx)
	return &link{
		t: t, id: id, addresses: addresses, ctx: ctx, cancel: cancel,
		wake: make(chan struct{}, 1), attempt: make(chan struct{}),
	}
}

// run connects until the link's context ends.
func (l *link) run() {
	defer l.settle(nil, l.gone("this node is stopping, or no longer knows it as a member"))
	var pause time.Duration
	for l.ctx.Err() == nil {
		c, err := l.dial()
		if isReset(err) { // the process there may be ending, its listener last
			c, err = l.dial()
		}
		if err == nil {
			began := time.Now()
			l.t.o.Logger.Info("connected to a peer", "peer", l.id, "address", l.address())
			err = l.hold(c)
			l.t.o.Logger.Info("the connection to a peer ended", "peer", l.id, "err", err)
			if pause = 0; time.Since(began) < pauseMost {
				l.rest(pauseLeast) // one that ends as soon as it stands is not to be made in a loop
			}
			continue
		}
		l.settle(nil, l.gone(err.Error()))
		if errors.Is(err, syscall.ECONNREFUSED) || isReset(err) {
			l.t.handler.Broken(l.id)
		}
		next := min(max(2*pause, pauseLeast), pauseMost)
		if next == pauseMost && pause < next && l.ctx.Err() == nil { // at first it may only not be up yet
			l.t.o.Logger.Warn("a peer cannot be reached", "peer", l.id, "address", l.address(), "err", err)
		}
		pause = next
		l.rest(pause)
		l.begin()
	}
}

// isReset: the other end's kernel closed the connection before the other end was heard.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (l *link) gone(why string) error {
	return status.Errorf(status.Unavailable, "node %d at %s cannot be reached: %s", l.id, l.address(), why)
}

// rest waits, by a random part more or less so that nodes do not dial in step.
func (l *link) rest(pause time.Duration) {
	timer := time.NewTimer(pause/2 + rand.N(pause))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.wake:
	case <-l.ctx.Done():
	}
}

// address is where it was dialled last, or is going to be.
func (l *link) address() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.addresses[l.at]
}

// moves takes other addresses over, unless the node has to be dialled anew for it.
func (l *link) moves(addresses []string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(addresses, l.addresses[l.at])
	if at < 0 || l.current == nil && !slices.Equal(addresses, l.addresses) {
		return false
	}
	l.addresses, l.at = addresses, at
	return true
}

// dial makes a connection over which both ends know each other, at the first address where that can be done. Only
// where it was refused or reset at all of them the error is such a one.
func (l *link) dial() (*connection, error) {
	var failed error
	for n := 1; ; n++ {
		address := l.address()
		c, err := dial(l.ctx, &l.t.o, l.t.o.ID, l.id, address)
		if err == nil {
			return c, nil
		}
		if failed == nil || !errors.Is(err, syscall.ECONNREFUSED) && !isReset(err) {
			failed = err
		}
		l.mu.Lock()
		l.at = (l.at + 1) % len(l.addresses)
		last := n >= len(l.addresses) || l.ctx.Err() != nil
		l.mu.Unlock()
		if last {
			return nil, failed
		}
	}
}

func dial(ctx context.Context, o *Options, from, to uint64, address string) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Silence)
	defer cancel()
	socket, err := o.Dial(ctx, to, address)
	if err != nil {
		return nil, err
	}
	if o.TLS != nil {
		config, err := o.dialling()
		if err != nil {
			_ = socket.Close() // the first error is the one that says why
			return nil, err
		}
		if config.ServerName == "" {
			config.ServerName, _, _ = net.SplitHostPort(address)
		}
		socket = tls.Client(socket, config)
	}
	c := newConnection(socket)
	if err := c.greet(ctx, o, from, to); err != nil {
		_ = socket.Close() // the first error is the one that says why
		return nil, err
	}
	return c, nil
}

// hold is the connection's life.
func (l *link) hold(c *connection) error {
	stop := context.AfterFunc(l.ctx, func() { c.end(l.ctx.Err()) })
	defer stop()
	c.identityCheck, c.peer = &l.t.o.IdentityCheck, l.id
	caller := newCaller(c, &l.t.o)
	l.settle(caller, nil)
	err := c.run(l.t.o.Silence, caller.handle, l.sent)
	l.begin()
	for _, f := range c.out.close() {
		if f.raft != nil {
			l.lost(f.raft)
		}
	}
	l.lost(nil) // what the kernel had is lost as well
	caller.done(l.gone(fmt.Sprintf("the connection broke: %v", err)))
	return err
}

// begin says that an attempt to connect is under way.
func (l *link) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = nil
	if l.attempt == nil {
		l.attempt = make(chan struct{})
	}
}

// settle says how the attempt ended.
func (l *link) settle(c *caller, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current, l.why = c, why
	if l.attempt != nil {
		close(l.attempt)
		l.attempt = nil
	}
}

// caller is the connection to make requests on.
func (l *link) caller(ctx context.Context) (*caller, error) {
	for {
		l.mu.Lock()
		c, attempt, why := l.current, l.attempt, l.why
		l.mu.Unlock()
		switch {
		case c != nil:
			return c, nil
		case attempt == nil:
			return nil, why
		}
		select {
		case <-attempt:
		case <-ctx.Done():
			return nil, status.Public(ctx.Err())
		}
	}
}

func (l *link) reached() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current != nil
}

func (l *link) abandon(err error) {
	l.mu.Lock()
	c := l.current
	l.mu.Unlock()
	if c != nil {
		c.abandon(err)
	}
}

// send queues a Raft message, or loses it.
func (l *link) send(m *raftpb.Message) {
	l.mu.Lock()
	c := l.current
	l.mu.Unlock()
	f := frame{kind: kindRaft, queue: queueRaft, raft: m, size: proto.Size(m)}
	if m.GetType() == raftpb.MsgSnap {
		f.queue = queueSnapshot
	}
	if c == nil || !c.c.out.put(f, l.t.o.QueueBytes) {
		l.lost(m)
	}
}

// sent is notified of each frame once it is written.
func (l *link) sent(f frame) {
	if f.raft == nil {
		return
	}
	if l.told.Load() {
		l.told.Store(false)
	}
	if f.raft.GetType() == raftpb.MsgSnap {
		l.t.news.snapshot(l.id, true)
	}
}

// lost notes that a message did not get out; nil: that some may not have.
func (l *link) lost(m *raftpb.Message) {
	if m != nil && m.GetType() == raftpb.MsgSnap {
		l.t.news.snapshot(l.id, false)
	}
	if !l.told.Swap(true) {
		l.t.news.unreachable(l.id)
	}
}

// reports are the outcomes of the node's messages, for the node. They are reported by a separate
// goroutine: Send is called by the node, which must not be called back.
type reports struct {
	mu    sync.Mutex
	waits []report      // guarded by mu; no two alike, so bounded by the number of peers
	wake  chan struct{} // of capacity 1
}

type report struct {
	peer     uint64
	snapshot bool
	ok       bool
}

func (r *reports) snapshot(peer uint64, ok bool) { r.add(report{peer, true, ok}) }
func (r *reports) unreachable(peer uint64)       { r.add(report{peer: peer}) }

func (r *reports) add(one report) {
	r.mu.Lock()
	r.waits = append(slices.DeleteFunc(r.waits, func(other report) bool { return other == one }), one)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default: // run is going to look anyway
	}
}

func (r *reports) run(ctx context.Context, h Handler) {
	for {
		select {
		case <-r.wake:
		case <-ctx.Done():
			return
		}
		r.mu.Lock()
		all := r.waits
		r.waits = nil
		r.mu.Unlock()
		for _, one := range all {
			if one.snapshot {
				h.SnapshotSent(one.peer, one.ok)
			} else {
				h.Unreachable(one.peer)
			}
		}
	}
}
