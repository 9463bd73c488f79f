package hermes

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"wirelab"
	"wirelab/broker"
)

// lookEvery is the interval of the checks for an unavailable cluster.
const lookEvery = 50 * time.Millisecond

// Close implements [broker.Broker]. Waiting calls fail with Unavailable.
func (b *Broker) Close() error {
	b.mu.Lock()
	again := b.closed
	b.closed = true
	b.tell()
	b.mu.Unlock()
	if again {
		return nil
	}
	b.stop()
	err := b.client.Close()
	b.watching.Wait()
	return err
}

// tell wakes all who wait for a change; b.mu is held.
func (b *Broker) tell() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// state reports whether the cluster can be reached, and a channel that is closed
// when that may have changed.
func (b *Broker) state() (up, closed bool, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.up, b.closed, b.changed
}

// connect opens a connection for the client and counts it: when the last one has ended, the cluster counts as
// unavailable.
func (b *Broker) connect(ctx context.Context, address string) (net.Conn, error) {
	c, err := b.plain(ctx, address)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open++
	return &counted{Conn: c, ended: sync.OnceFunc(b.left)}, nil
}

// counted is a connection that reports its end to the broker.
type counted struct {
	net.Conn
	ended func()
}

// Close implements [net.Conn].
func (c *counted) Close() error {
	c.ended()
	return c.Conn.Close()
}

func (b *Broker) left() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open--
	if b.open == 0 && b.up {
		b.up = false
		b.tell()
	}
}

// arrived records that a node has answered, unless its connection has ended since.
func (b *Broker) arrived() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open > 0 && !b.up {
		b.up = true
		b.tell()
	}
}

// watch tries to reach the cluster while it is unavailable, until ctx ends.
func (b *Broker) watch(ctx context.Context) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for ctx.Err() == nil {
		up, _, changed := b.state()
		if up {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		asking, cancel := context.WithTimeout(ctx, requestLimit)
		_, err := b.client.Status(asking)
		cancel()
		if err == nil {
			b.arrived()
		}
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
}

// coded returns the error for a caller with context ctx, given err from the client.
func (b *Broker) coded(ctx context.Context, err error) error {
	up, closed, _ := b.state()
	switch {
	case err == nil:
		return nil
	case closed:
		return broker.ErrClosed
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && !up:
		return errAway
	case ctx.Err() != nil:
		return wirelab.Public(ctx.Err())
	}
	told := wirelab.Public(err)
	switch told.Code {
	case wirelab.DeadlineExceeded, wirelab.Canceled: // of the client, not of the caller
		return wirelab.Errorf(wirelab.Unavailable, "Hermes: %s", told.Message)
	}
	return wirelab.Errorf(told.Code, "Hermes: %s", told.Message)
}

// errAway is the error while no node answers.
var errAway = wirelab.Errorf(wirelab.Unavailable, "the cluster of Hermes is away")
