package peer

import (
	"context"
	"errors"
	"net"
	"time"

	"wirelab/hermes/broker"
	"wirelab/wire/acceptloop"
	"wirelab/wire/status"
)

// connectionsLimit is on those that dialled: far more than a cluster has nodes. Those of whom it is not known
// yet who they are give way to new ones.
const connectionsLimit = 256

// limited is the listener with a bound, which it may have already.
func limited(l net.Listener) net.Listener {
	if bounded, ok := l.(*acceptloop.Limited); ok {
		return bounded
	}
	return acceptloop.Limit(l, acceptloop.Limits{Total: connectionsLimit, Vouched: true})
}

// accept takes those who dial.
func (t *Transport) accept() {
	defer context.AfterFunc(t.ctx, func() { _ = t.o.Listener.Close() })()
	for t.ctx.Err() == nil {
		socket, err := t.o.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files: it passes
			t.o.Logger.Warn("a peer could not be accepted", "err", err)
			t.rest(100 * time.Millisecond)
			continue
		}
		t.all.Go(func() { t.receive(socket) }) // bounded by the listener
	}
}

func (t *Transport) rest(pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.ctx.Done():
	}
}

// receive serves one who dialled.
func (t *Transport) receive(socket net.Conn) {
	c := newConnection(socket)
	stop := context.AfterFunc(t.ctx, func() { c.end(t.ctx.Err()) })
	defer stop()
	from, err := c.welcome(&t.o)
	if err != nil {
		c.end(err)
		t.o.Logger.Warn("one who dialled was refused", "address", socket.RemoteAddr(), "err", err)
		return
	}
	if from != 0 || t.o.Key != nil || t.o.TLS != nil {
		acceptloop.Vouch(socket)
	}
	c.identityCheck, c.peer = &t.o.IdentityCheck, from
	s := &session{c: c, from: from, id: t.o.ID, handler: t.handler, local: t.local, logger: t.o.Logger, ctx: t.ctx}
	t.enter(s)
	err = s.serve(t.o.Silence)
	t.mu.Lock()
	delete(t.sessions, s)
	t.mu.Unlock()
	t.o.Logger.Debug("a connection from a peer ended", "peer", from, "err", err)
}

// errNewer ends the connection of a node that has dialled again: the old one is dead
// and only this end has not heard of it.
var errNewer = errors.New("the node has dialled again")

// enter notes a session, in place of an older one of the same node.
func (t *Transport) enter(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.from != 0 {
		for old := range t.sessions {
			if old.from == s.from {
				old.c.end(errNewer)
			}
		}
		if l := t.links[s.from]; l != nil {
			select {
			case l.wake <- struct{}{}:
			default: // it is going to dial anyway
			}
		}
	}
	t.sessions[s] = struct{}{}
}

// Ask calls methods of a broker that no one has a transport to yet, such as Join for a node that knows no more
// than an address: over a separate connection, which is closed when do returns. o needs Cluster, ID, TLS and
// Dial.
func Ask(ctx context.Context, o Options, address string, do func(broker.Broker) error) error {
	o.fill()
	c, err := dial(ctx, &o, 0, 0, address)
	if err != nil {
		if status.CodeOf(err) == status.Internal {
			err = status.Errorf(status.Unavailable, "the node at %s cannot be reached: %v", address, err)
		}
		return err
	}
	asking := newCaller(c, &o)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := c.run(o.Silence, asking.handle, nil)
		asking.done(status.Errorf(status.Unavailable, "the connection to the node at %s broke: %v", address, err))
	}()
	err = do(remote{via: func(context.Context) (*caller, error) { return asking, nil }})
	c.end(context.Canceled)
	<-ended
	return err
}
