// Package memory is a message broker in the memory of this process: the reference for
// what package broker says, in tests; it knows no network and no process. It keeps what is
// sent until it is removed, and no longer than it lives.
package memory

import (
	"context"
	"sync"

	"wirelab"
	"wirelab/broker"
)

// Broker keeps topics in memory. Make one with [New].
type Broker struct {
	mu     sync.Mutex // guards topics
	topics map[string]*topic
}

var _ broker.Broker = (*Broker)(nil)

// New returns an empty broker.
func New() *Broker { return &Broker{topics: map[string]*topic{}} }

// Close implements [broker.Broker].
func (*Broker) Close() error { return nil }

// About implements [broker.Broker].
func (*Broker) About() string { return "memory" }

// topic is what is kept of a topic.
type topic struct {
	groups map[string]*group
}

// group is what a group has not dealt with.
type group struct {
	mu      sync.Mutex // guards waiting
	waiting [][]byte
	more    chan struct{} // holds one once waiting has grown
}

func (g *group) put(bodies ...[]byte) {
	g.mu.Lock()
	g.waiting = append(g.waiting, bodies...)
	g.mu.Unlock()
	select {
	case g.more <- struct{}{}:
	default:
	}
}

// take takes what waits away; putBack puts it in front again.
func (g *group) take() [][]byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := g.waiting
	g.waiting = nil
	return all
}

func (g *group) putBack(bodies [][]byte) {
	if len(bodies) == 0 {
		return
	}
	g.mu.Lock()
	g.waiting = append(append([][]byte(nil), bodies...), g.waiting...)
	g.mu.Unlock()
	g.put() // for the next reader to look
}

// Make implements [broker.Broker].
func (b *Broker) Make(_ context.Context, t broker.Topic) error {
	if err := t.Validate(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, there := b.topics[t.Name]; there {
		return wirelab.Errorf(wirelab.Conflict, "topic %s is there", t.Name)
	}
	made := &topic{groups: map[string]*group{}}
	for _, name := range t.Groups {
		made.groups[name] = &group{more: make(chan struct{}, 1)}
	}
	b.topics[t.Name] = made
	return nil
}

// Remove implements [broker.Broker].
func (b *Broker) Remove(_ context.Context, t broker.Topic) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.topics, t.Name)
	return nil
}

func (b *Broker) find(name string) (*topic, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, there := b.topics[name]
	if !there {
		return nil, wirelab.Errorf(wirelab.NotFound, "no topic %s", name)
	}
	return t, nil
}

// Publisher implements [broker.Broker].
func (b *Broker) Publisher(context.Context, int) (broker.Publisher, error) { return publisher{b}, nil }

type publisher struct{ broker *Broker }

func (publisher) Close() error { return nil }

func (publisher) Calls() bool { return false }

func (p publisher) Send(ctx context.Context, name string, bodies [][]byte, done func(error)) {
	t, err := p.broker.find(name)
	if ctx.Err() != nil {
		err = wirelab.Public(ctx.Err())
	}
	if err == nil {
		for _, g := range t.groups {
			g.put(bodies...)
		}
	}
	done(err)
}

// Subscribe implements [broker.Broker].
func (b *Broker) Subscribe(_ context.Context, s broker.Subscription, handle func([]byte) bool) (broker.Subscriber, error) {
	t, err := b.find(s.Topic)
	if err != nil {
		return nil, err
	}
	g, there := t.groups[s.Group]
	if !there {
		return nil, wirelab.Errorf(wirelab.NotFound, "no group %s of topic %s", s.Group, s.Topic)
	}
	sub := &subscriber{stop: make(chan struct{})}
	sub.reading.Go(func() { sub.read(g, handle) })
	return sub, nil
}

type subscriber struct {
	stop    chan struct{} // closed by Close
	once    sync.Once
	reading sync.WaitGroup
}

func (s *subscriber) read(g *group, handle func([]byte) bool) {
	for {
		select {
		case <-s.stop:
			return
		case <-g.more:
		}
		all := g.take()
		for i, body := range all {
			select {
			case <-s.stop:
				g.putBack(all[i:])
				return
			default:
			}
			if !handle(body) {
				g.putBack(all[i:])
				return
			}
		}
	}
}

// Close implements [broker.Subscriber]. It waits for the handler, at most until ctx ends.
func (s *subscriber) Close(ctx context.Context) error {
	s.once.Do(func() { close(s.stop) })
	ended := make(chan struct{})
	go func() { // ends with the handler, which its owner ends
		s.reading.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return broker.ErrStuck()
	}
}

// Failed implements [broker.Subscriber].
func (*subscriber) Failed() error { return nil }
