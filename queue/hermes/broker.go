// Package hermes keeps queues in Hermes, our own replicated broker: a queue is a
// topic with one group, whose members are all who consume; its dead letters are a
// second topic. It knows the cluster by the addresses of its nodes, and not who
// runs them.
//
// # What differs from other brokers
//
//   - There is one kind, [queue.Quorum]: every message is published in mode
//     consistent, and so is on disk, fsync included, on a majority of nodes before
//     it is confirmed. Persistent adds nothing, and leaving it off takes nothing away.
//   - What was written when the connection broke is published again with its number
//     and stored once: nothing comes twice because of a publisher.
//   - Written is when the client had the message, whose own goroutine sends it at
//     once, together with whatever else waits.
//   - Deliveries are counted by the leader, so that one whose consumer died or
//     ended is an attempt, too. It counts in memory: under a new leader a message
//     begins at its first attempt again.
//   - Hermes's own dead letters, topic hermes.dlq, are not used: they are everybody's,
//     and the end of a consumer would make one of a message that may not fail once.
//     The group's attempts are without end, and whoever consumes counts. A letter is
//     put aside before its message is acknowledged: who dies between leaves it twice.
//   - A consumer that died is noticed by its connection, one that hangs by gRPC's
//     keepalive, after half a minute. The acknowledgement's own time is a day.
//   - A log keeps what was acknowledged until the topic's retention takes it, and
//     there is none by what groups have dealt with. A topic that is made here has
//     none; one whose retention somebody set keeps that. A node whose disk is nearly
//     full refuses to publish.
package hermes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"wirelab"
	"wirelab/hermes/client"
	"wirelab/queue"
)

// Settings are what this broker alone has.
type Settings struct {
	// Dial opens connections to nodes, also to those that others told of; nil: net.Dialer.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

// Scheme begins the address of a cluster.
const Scheme = "hermes://"

const (
	openLimit    = 5 * time.Second
	requestLimit = 2 * time.Second // of what is asked to see whether anybody is there
	lookEvery    = 50 * time.Millisecond
	// tryFor is how long the client tries anything again: whoever waits has a context
	// that ends, and what nobody waits for was promised to be tried.
	tryFor = 365 * 24 * time.Hour
	// patience has a node asked for a sign of life that it may take 2 s to give, as
	// long as NATS's pings. With the client's own, half a second, a busy machine makes
	// a consumer look for another node, and what it has in hand come twice.
	patience = 20 * time.Second
)

// Broker is a connection to a cluster of Hermes.
type Broker struct {
	client *client.Client
	about  string
	dial   func(ctx context.Context, address string) (net.Conn, error)

	watching sync.WaitGroup
	stop     context.CancelFunc // ends watching

	mu      sync.Mutex // guards all below
	open    int        // connections to nodes
	up      bool       // a node answered, and a connection has stood since
	closed  bool
	changed chan struct{} // closed, and made anew, when one of the two above changes
	members map[string]map[*client.Subscription]struct{}
}

var _ queue.Broker = (*Broker)(nil)

// Parse reads the address of a cluster, hermes://[TOKEN@]HOST:PORT[,HOST:PORT…].
func Parse(address string) (nodes []string, token string, err error) {
	rest, ok := strings.CutPrefix(address, Scheme)
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		token, rest = rest[:at], rest[at+1:]
	}
	nodes = strings.Split(strings.TrimSuffix(rest, "/"), ",")
	for _, node := range nodes {
		host, port, failed := net.SplitHostPort(node)
		ok = ok && failed == nil && host != "" && port != ""
	}
	if !ok {
		// The address may hold a token, and stays out of the message.
		return nil, "", wirelab.Errorf(wirelab.InvalidArgument, "the address of Hermes is like hermes://token@host:9090,other:9090, the gRPC doors of one node or more")
	}
	return nodes, token, nil
}

// Open connects to a cluster by the gRPC doors of its nodes; see [Parse]. One is
// enough, the others are learnt. It takes at most until ctx's end or 5 s.
func Open(ctx context.Context, address string, s Settings) (*Broker, error) {
	nodes, token, err := Parse(address)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, wirelab.Public(err)
	}
	b := &Broker{dial: s.Dial, changed: make(chan struct{}), members: map[string]map[*client.Subscription]struct{}{}}
	if b.dial == nil {
		b.dial = func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
	}
	b.client, err = client.New(client.Options{Addresses: nodes, Token: token, Connect: b.connect, RetryFor: tryFor, Patience: patience})
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	status, err := b.client.Status(limited)
	if err != nil {
		if code := wirelab.CodeOf(err); ctx.Err() == nil && (code == wirelab.DeadlineExceeded || code == wirelab.Canceled) {
			err = wirelab.Errorf(wirelab.Unavailable, "%s", wirelab.Public(err).Message)
		} else if ctx.Err() != nil {
			err = wirelab.Public(ctx.Err())
		}
		return nil, errors.Join(fmt.Errorf("connect to Hermes: %w", err), b.client.Close())
	}
	b.about = fmt.Sprintf("Hermes, %d nodes", len(status.Members))
	if len(status.Members) == 1 {
		b.about = "Hermes, one node"
	}
	var life context.Context
	life, b.stop = context.WithCancel(context.WithoutCancel(ctx))
	b.arrived()
	b.watching.Go(func() { b.watch(life) })
	return b, nil
}

// About tells how many nodes there were when the connection was made: their
// version they do not tell.
func (b *Broker) About() string { return b.about }

// Close ends the connection. Calls that wait fail with Unavailable.
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

// tell wakes all who wait for a change; the lock is held.
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

// connect opens a connection for the client, and counts it: when the last one has
// ended the cluster is away.
func (b *Broker) connect(ctx context.Context, address string) (net.Conn, error) {
	c, err := b.dial(ctx, address)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open++
	return &counted{Conn: c, ended: sync.OnceFunc(b.left)}, nil
}

// counted is a connection that tells of its end.
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

// arrived notes that a node has answered, unless its connection has ended since.
func (b *Broker) arrived() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open > 0 && !b.up {
		b.up = true
		b.tell()
	}
}

// watch looks for the cluster while it is away, until ctx ends.
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

func errClosed() error { return wirelab.Errorf(wirelab.Unavailable, "the connection was closed") }

// coded returns what a caller whose context is ctx is told of err.
func (b *Broker) coded(ctx context.Context, err error) error {
	up, closed, _ := b.state()
	switch {
	case err == nil:
		return nil
	case closed:
		return errClosed()
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && !up:
		return wirelab.Errorf(wirelab.Unavailable, "the cluster is away")
	case ctx.Err() != nil:
		return wirelab.Public(ctx.Err())
	}
	told := wirelab.Public(err)
	switch told.Code {
	case wirelab.DeadlineExceeded, wirelab.Canceled: // the client's own, which is not the caller's
		return wirelab.Errorf(wirelab.Unavailable, "Hermes: %s", told.Message)
	case wirelab.NotFound:
		return wirelab.Errorf(wirelab.NotFound, "no such queue")
	}
	return wirelab.Errorf(told.Code, "Hermes: %s", told.Message)
}
