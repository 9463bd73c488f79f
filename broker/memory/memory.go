// Package memory is a message broker in the memory of this process: the reference implementation of the contract of
// package broker, for tests. It knows no network and no process. It keeps messages until they are removed, and no
// longer than the process lives. A test can kill the server, and cut off a connection.
package memory

import (
	"context"
	"slices"
	"sync"
	"time"

	"wirelab"
	"wirelab/broker"
)

// Server keeps topics in memory. Create one with [NewServer].
type Server struct {
	mu      sync.Mutex // guards all below, and all state of brokers and groups
	killed  bool
	changed chan struct{} // closed and replaced at every change
	topics  map[string]*topic
}

// NewServer returns an empty server.
func NewServer() *Server {
	return &Server{changed: make(chan struct{}), topics: map[string]*topic{}}
}

// New returns a broker with a new server.
func New() *Broker { return NewServer().Connect() }

// Connect returns a connection to the server.
func (s *Server) Connect() *Broker { return &Broker{server: s} }

// tell wakes all who wait; s.mu is held.
func (s *Server) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Kill ends the server: it answers no call, and messages that subscribers had are returned to their groups.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed = true
	s.release(func(*subscriber) bool { return true })
}

// Revive starts it again with the topics it kept.
func (s *Server) Revive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed = false
	s.tell()
}

// release returns the messages that those subscribers hold; s.mu is held.
func (s *Server) release(whose func(*subscriber) bool) {
	for _, t := range s.topics {
		for _, g := range t.groups {
			for it, holder := range g.held {
				if whose(holder) {
					delete(g.held, it)
					g.put(it)
				}
			}
		}
	}
	s.tell()
}

// topic is the state of a topic.
type topic struct {
	of     broker.Topic
	groups map[string]*group
	next   uint64 // the position of the next message
}

// group holds the messages that a group has not dealt with.
type group struct {
	ready []*item // by position
	held  map[*item]*subscriber
	later int // waiting for their next attempt
}

// item is a message in a group.
type item struct {
	broker.Message
	place              uint64
	attempts, failures int
}

// put inserts a message into the ready ones at its position.
func (g *group) put(it *item) {
	at, _ := slices.BinarySearchFunc(g.ready, it.place, func(other *item, place uint64) int {
		return int(other.place) - int(place)
	})
	g.ready = slices.Insert(g.ready, at, it)
}

// Broker is a connection to a server.
type Broker struct {
	server          *Server
	severed, closed bool // guarded by the server's mu
}

var _ broker.Broker = (*Broker)(nil)

// Sever cuts the connection, as if this process had been killed.
func (b *Broker) Sever() {
	s := b.server
	s.mu.Lock()
	defer s.mu.Unlock()
	b.severed = true
	s.release(func(holder *subscriber) bool { return holder.broker == b })
}

// Close implements [broker.Broker].
func (b *Broker) Close() error {
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	b.closed = true
	b.server.tell()
	return nil
}

// Name implements [broker.Broker].
func (*Broker) Name() string { return "memory" }

// away reports whether the server cannot be reached; the lock is held.
func (b *Broker) away() bool { return b.server.killed || b.severed }

func errAway() error { return wirelab.Errorf(wirelab.Unavailable, "the broker is away") }

// reach waits until the server can be reached. If it returns nil, the caller holds the server's lock.
func (b *Broker) reach(ctx context.Context) error {
	s := b.server
	for {
		s.mu.Lock()
		away, closed, changed := b.away(), b.closed, s.changed
		switch {
		case closed:
			s.mu.Unlock()
			return broker.ErrClosed
		case ctx.Err() != nil:
			s.mu.Unlock()
			if away && wirelab.CodeOf(ctx.Err()) == wirelab.DeadlineExceeded {
				return errAway()
			}
			return wirelab.Public(ctx.Err())
		case !away:
			return nil
		}
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// find is reach, then looks up the topic. If it returns nil, the caller holds the server's lock.
func (b *Broker) find(ctx context.Context, name string) (*topic, error) {
	if err := b.reach(ctx); err != nil {
		return nil, err
	}
	t, there := b.server.topics[name]
	if !there {
		b.server.mu.Unlock()
		return nil, errNoTopic(name)
	}
	return t, nil
}

func errNoTopic(name string) error { return wirelab.Errorf(wirelab.NotFound, "no topic %s", name) }

// CreateTopic implements [broker.Broker].
func (b *Broker) CreateTopic(ctx context.Context, t broker.Topic) error {
	if err := t.Validate(); err != nil {
		return err
	}
	if t.Kind != "" && t.Kind != broker.Stream {
		return wirelab.Errorf(wirelab.Unimplemented, "memory keeps streams only, and no %s", t.Kind)
	}
	if err := b.reach(ctx); err != nil {
		return err
	}
	defer b.server.mu.Unlock()
	if there := b.server.topics[t.Name]; there != nil {
		if t.IfAbsent && there.of.Transient == t.Transient {
			return nil
		}
		return wirelab.Errorf(wirelab.Conflict, "topic %s is there", t.Name)
	}
	made := &topic{of: t, groups: map[string]*group{}, next: 1}
	for _, name := range t.Groups {
		made.groups[name] = &group{held: map[*item]*subscriber{}}
	}
	b.server.topics[t.Name] = made
	return nil
}

// DeleteTopic implements [broker.Broker].
func (b *Broker) DeleteTopic(ctx context.Context, t broker.Topic) error {
	if err := b.reach(ctx); err != nil {
		return err
	}
	defer b.server.mu.Unlock()
	delete(b.server.topics, t.Name)
	b.server.tell()
	return nil
}

// Depth implements [broker.Broker].
func (b *Broker) Depth(ctx context.Context, name, group string) (int, error) {
	t, err := b.find(ctx, name)
	if err != nil {
		return 0, err
	}
	defer b.server.mu.Unlock()
	g := t.groups[group]
	if g == nil {
		return 0, errNoGroup(name, group)
	}
	return len(g.ready) + len(g.held) + g.later, nil
}

func errNoGroup(topic, group string) error {
	return wirelab.Errorf(wirelab.NotFound, "no group %s of topic %s", group, topic)
}

// Publisher implements [broker.Broker].
func (b *Broker) Publisher(ctx context.Context, c broker.PublisherConfig) (broker.Publisher, error) {
	if c.Topic != "" {
		if _, err := b.find(ctx, c.Topic); err != nil {
			return nil, err
		}
		b.server.mu.Unlock()
	}
	return &publisher{broker: b, config: c}, nil
}

type publisher struct {
	broker *Broker
	config broker.PublisherConfig
	closed bool // guarded by the server's mu
}

// Close implements [broker.Publisher].
func (p *publisher) Close() error {
	p.broker.server.mu.Lock()
	defer p.broker.server.mu.Unlock()
	p.closed = true
	return nil
}

// Calls implements [broker.Publisher].
func (*publisher) Calls() bool { return false }

// Away implements [broker.Publisher].
func (p *publisher) Away() (<-chan struct{}, error) {
	s := p.broker.server
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case p.closed || p.broker.closed:
		return s.changed, broker.ErrClosed
	case p.broker.away():
		return s.changed, errAway()
	}
	return s.changed, nil
}

// Send implements [broker.Publisher].
func (p *publisher) Send(ctx context.Context, name string, batch []broker.Message, done func(broker.Receipt, error)) {
	r := broker.Receipt{Written: time.Now()}
	err := p.take(ctx, name, batch)
	switch {
	case err != nil:
		r = broker.Receipt{}
	case !p.config.Unconfirmed:
		r.Confirmed = time.Now()
	}
	done(r, err)
}

func (p *publisher) take(ctx context.Context, name string, batch []broker.Message) error {
	s := p.broker.server
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[name]
	switch {
	case p.closed || p.broker.closed:
		return broker.ErrClosed
	case ctx.Err() != nil:
		return wirelab.Public(ctx.Err())
	case p.broker.away():
		return broker.ErrLost
	case t == nil:
		return errNoTopic(name)
	}
	for _, m := range batch {
		for _, g := range t.groups {
			g.ready = append(g.ready, &item{Message: m, place: t.next})
		}
		t.next++
	}
	s.tell()
	return nil
}
