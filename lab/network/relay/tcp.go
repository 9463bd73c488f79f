package relay

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"
)

// runTCP accepts connections until ctx is done.
func (r *Relay) runTCP(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = r.listener.Close() })() // it only listens
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, r.config.Connections)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		near, err := r.listener.AcceptTCP()
		if err != nil {
			<-slots
			if passing(err) {
				r.sleep(ctx, r.clock.now()+int64(10*time.Millisecond))
				continue
			}
			return ended(ctx, err)
		}
		r.stats.connections.Add(1)
		all.Go(func() {
			r.carry(ctx, near)
			<-slots
		})
	}
}

// passing reports whether accepting failed for a temporary reason: no descriptor is free, or the client has already
// gone.
func passing(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED)
}

// sleep waits until a time, or until ctx is done.
func (r *Relay) sleep(ctx context.Context, until int64) {
	f := &flow{relay: r, wake: newBell()}
	for r.clock.now() < until {
		r.alarm.at(until, f)
		if !f.await(ctx) {
			return
		}
	}
}

// connection is a client's connection and the relay's connection to the server.
type connection struct {
	near, far *net.TCPConn
	aborting  sync.Once
}

// abort resets both ends.
func (c *connection) abort() {
	c.aborting.Do(func() {
		for _, end := range []*net.TCPConn{c.near, c.far} {
			_ = end.SetLinger(0) // errors mean that the end has gone
			_ = end.Close()
		}
	})
}

// carry serves a client's connection until both directions have ended.
func (r *Relay) carry(ctx context.Context, near *net.TCPConn) {
	c := &connection{near: near}
	draw := rand.New(rand.NewPCG(r.config.Seed, r.flows.Add(1)))
	opens := r.clock.now() + int64(handshake(r.config.Spec, draw))
	// The server is dialled at once, so that its own handshake, over the loopback or elsewhere, runs at the same time
	// as the modelled one.
	dialer := net.Dialer{Timeout: dialTime}
	far, err := dialer.DialContext(ctx, "tcp", r.config.To)
	if err != nil {
		r.sleep(ctx, opens) // the client learns of a refusal after a round trip
		_ = near.SetLinger(0)
		_ = near.Close()
		return
	}
	c.far = far.(*net.TCPConn)
	defer func() { _, _ = c.near.Close(), c.far.Close() }() // closing again does no harm
	defer context.AfterFunc(ctx, c.abort)()
	there, back := r.newFlow(&r.there), r.newFlow(&r.back)
	there.sender = newSender(&r.there, opens)
	back.sender = newSender(&r.back, opens+there.sender.rtt/2) // the server learns half a trip later that it is open
	var all sync.WaitGroup
	all.Go(func() { there.read(ctx, c.near, c.far) })
	all.Go(func() { back.read(ctx, c.far, c.near) })
	all.Go(func() { there.write(ctx, c, c.far, c.near, back) })
	all.Go(func() { back.write(ctx, c, c.near, c.far, there) })
	all.Wait()
	there.ring.free(&r.memory)
	back.ring.free(&r.memory)
}

// read reads from one end until it ends, or nothing is passed on any more.
func (f *flow) read(ctx context.Context, from, to *net.TCPConn) {
	for {
		f.mu.Lock()
		if f.dead {
			f.mu.Unlock()
			return
		}
		space := f.ring.space(&f.relay.memory)
		f.mu.Unlock()
		if space == nil {
			select {
			case <-f.room:
				continue
			case <-ctx.Done():
				return
			}
		}
		n, err := from.Read(space)
		now := f.relay.clock.now()
		f.mu.Lock()
		f.ring.used += n
		f.unsent += n
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			f.end(finished)
		default:
			f.end(reset)
		}
		f.look(now)
		if f.ending == reset {
			f.hurry(now, to)
		}
		f.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// end sets what follows the data that was read, unless it is set. f.mu must be held.
func (f *flow) end(how ending) {
	if f.ending == going {
		f.ending = how
	}
}

// hurry lets a reset through to an end that reads no more data: a blocked write fails when the reset is due. f.mu must
// be held.
func (f *flow) hurry(now int64, to *net.TCPConn) {
	due := now
	for i := range f.entries.len() {
		due = max(due, f.entries.at(i).due)
	}
	_ = to.SetWriteDeadline(time.Now().Add(time.Duration(due - now))) // an error means that the end has gone
}

// write writes data to one end when it is due, until the other end has ended or this one accepts no more. other is the
// opposite direction.
func (f *flow) write(ctx context.Context, c *connection, to, from *net.TCPConn, other *flow) {
	defer f.die()
	free := int64(0) // when the last was written
	for {
		f.mu.Lock()
		now := f.relay.clock.now()
		entries, bytes, again := f.due(now)
		if entries == 0 {
			f.rearm(now, again)
			f.mu.Unlock()
			if !f.await(ctx) {
				return
			}
			continue
		}
		how := f.entries.at(0).ending
		timedOut := f.count(now, free, entries)
		f.drop(entries)
		first, second := f.ring.front(bytes)
		f.mu.Unlock()
		switch how {
		case finished:
			_ = to.CloseWrite() // an error means that the end has gone
			return
		case reset:
			c.abort()
			return
		}
		if err := writeBoth(to, first, second); err != nil {
			f.refused(ctx, c, from, other)
			return
		}
		free = f.relay.clock.now()
		f.mu.Lock()
		f.ring.take(bytes)
		f.sender.delivered(free, bytes, timedOut)
		f.mu.Unlock()
		f.room.notify()
	}
}

func writeBoth(to *net.TCPConn, first, second []byte) error {
	if _, err := to.Write(first); err != nil {
		return err
	}
	if len(second) == 0 {
		return nil
	}
	_, err := to.Write(second)
	return err
}

// refused sends a reset in the opposite direction to the end whose data the other end did not accept.
func (f *flow) refused(ctx context.Context, c *connection, from *net.TCPConn, other *flow) {
	now := f.relay.clock.now()
	f.mu.Lock()
	resetting := f.ending == reset
	f.mu.Unlock()
	if resetting { // that end has sent a reset itself
		c.abort()
		return
	}
	other.mu.Lock()
	running := !other.dead && !other.ended
	if running {
		other.end(reset)
		other.look(now)
		other.hurry(now, from)
	}
	other.mu.Unlock()
	if !running {
		f.relay.sleep(ctx, now+int64(f.way.spec.RTT/2))
		c.abort()
	}
}

// die ends a flow. Its reader stops when it next checks.
func (f *flow) die() {
	f.mu.Lock()
	f.dead = true
	f.mu.Unlock()
	f.room.notify()
}
