// Package null is a broker without a log: it acknowledges messages at once and delivers them to the existing groups,
// on one node, without a disk. The cost of a call to it is the cost of the caller and the APIs,
// so a benchmark can find out how much of its figure is Hermes. It keeps no guarantee of package broker except
// that calls return: nothing is durable, nothing is redelivered, and messages without a reader are refused.
package null

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// Broker is such a broker. Make one with [New].
type Broker struct {
	self     broker.Member
	producer atomic.Uint64 // the last given

	mu     sync.RWMutex // guards topics
	topics map[string]*topic
}

var _ broker.Broker = (*Broker)(nil)

// New returns a broker that tells callers that it is this node.
func New(self broker.Member) *Broker {
	self.ID, self.Leader, self.Reached = 1, true, true
	return &Broker{self: self, topics: map[string]*topic{}}
}

// errNot is why something cannot be done.
var errNot = status.Errorf(status.Unimplemented, "this node is for measuring what callers cost: it has no log, and "+
	"does nothing but take messages and hand them on")

// topic is where messages are counted.
type topic struct {
	mu     sync.Mutex // guards all below
	next   uint64     // the offset of the next message
	groups map[string]*group
}

func (b *Broker) find(name string) (*topic, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	t, there := b.topics[name]
	if !there {
		return nil, status.Errorf(status.NotFound, "topic %q is not there", name)
	}
	return t, nil
}

// Publish implements [broker.Broker]. It answers before it returns.
func (b *Broker) Publish(_ context.Context, run broker.Run, done func(broker.Verdict)) {
	t, err := b.find(run.Topic)
	if err != nil {
		done(broker.Verdict{Err: err})
		return
	}
	now := time.Now().UnixNano()
	t.mu.Lock()
	offset := t.next
	for _, g := range t.groups {
		if err = g.put(offset, run.Messages, run.Count, now); err != nil {
			break
		}
	}
	if err == nil {
		t.next += uint64(run.Count)
	}
	t.mu.Unlock()
	if err != nil {
		done(broker.Verdict{Err: err})
		return
	}
	done(broker.Verdict{
		Offset: offset, Count: run.Count, Time: now, Provisional: run.Mode != hermes.Consistent,
		Term:  1,
		Index: offset + 1,
	})
}

// OpenProducer implements [broker.Broker]. Nothing that a producer sends is known again.
func (b *Broker) OpenProducer(context.Context) (uint64, error) { return b.producer.Add(1), nil }

// CreateTopic implements [broker.Topics].
func (b *Broker) CreateTopic(_ context.Context, want broker.Topic) (broker.Topic, error) {
	if err := hermes.CheckTopic(want.Name); err != nil {
		return broker.Topic{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, there := b.topics[want.Name]; !there {
		b.topics[want.Name] = &topic{groups: map[string]*group{}}
	}
	return broker.Topic{Name: want.Name}, nil
}

// DeleteTopic implements [broker.Topics].
func (b *Broker) DeleteTopic(_ context.Context, name string) error {
	t, err := b.find(name)
	if err != nil {
		return err
	}
	b.mu.Lock()
	delete(b.topics, name)
	b.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.groups {
		g.end()
	}
	return nil
}

// Topic implements [broker.Topics].
func (b *Broker) Topic(_ context.Context, name string, _ bool) (broker.Topic, error) {
	t, err := b.find(name)
	if err != nil {
		return broker.Topic{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return broker.Topic{Name: name, Next: t.next}, nil
}

// ConfigureTopic implements [broker.Topics].
func (*Broker) ConfigureTopic(context.Context, broker.Topic) (broker.Topic, error) {
	return broker.Topic{}, errNot
}

// ListTopics implements [broker.Topics].
func (*Broker) ListTopics(context.Context, string, string, int) ([]broker.Topic, error) {
	return nil, errNot
}

// Leader implements [broker.Cluster].
func (b *Broker) Leader() (broker.Member, bool) { return b.self, true }

// Status implements [broker.Cluster].
func (b *Broker) Status(context.Context) (broker.Status, error) {
	return broker.Status{Node: b.self.ID, Leader: b.self.ID, Term: 1, Members: []broker.Member{b.self}}, nil
}

// Join implements [broker.Cluster].
func (*Broker) Join(context.Context, broker.Member) (broker.Status, error) {
	return broker.Status{}, errNot
}

// Promote implements [broker.Cluster].
func (*Broker) Promote(context.Context, uint64) (broker.Status, error) {
	return broker.Status{}, errNot
}

// Remove implements [broker.Cluster].
func (*Broker) Remove(context.Context, uint64) (broker.Status, error) {
	return broker.Status{}, errNot
}

// TransferLeadership implements [broker.Cluster].
func (*Broker) TransferLeadership(context.Context, uint64) (broker.Status, error) {
	return broker.Status{}, errNot
}

// Cut implements [broker.Archive].
func (*Broker) Cut(context.Context, []string) (broker.Cut, error) { return nil, errNot }

// Restore implements [broker.Archive].
func (*Broker) Restore(context.Context, broker.Restore) (broker.Restored, error) {
	return broker.Restored{}, errNot
}
