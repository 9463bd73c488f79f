package null

import (
	"context"
	"sync"
	"sync/atomic"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// waitingLimit is how many bytes wait for a group's members, at most; a publish beyond that is refused.
const waitingLimit = 256 << 20

// group is what waits for its members.
type group struct {
	name string

	mu      sync.Mutex // guards all below
	waiting []byte     // messages that follow one another, as a run has them
	count   int
	offset  uint64 // of the first of them
	time    int64  // of the last
	gone    bool
	more    chan struct{} // holds one once waiting has grown or gone is set
}

// put lets messages wait.
func (g *group) put(offset uint64, messages []byte, count int, at int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting)+len(messages) > waitingLimit {
		return status.Errorf(status.ResourceExhausted, "no member of group %s takes the messages that wait for it",
			g.name)
	}
	if g.count == 0 {
		g.offset = offset
	}
	g.waiting = append(g.waiting, messages...)
	g.count += count
	g.time = at
	g.wake()
	return nil
}

func (g *group) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gone = true
	g.wake()
}

func (g *group) wake() {
	select {
	case g.more <- struct{}{}:
	default:
	}
}

// take takes away what there is room for, one message at least where any waits.
func (g *group) take(room broker.Room) (b broker.Batch, any bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.gone:
		g.wake() // for the other members
		return b, false, status.Errorf(status.NotFound, "group %s or its topic was deleted", g.name)
	case g.count == 0:
		return b, false, nil
	}
	b = broker.Batch{Offset: g.offset, Count: g.count, Time: g.time, Attempt: 1, Messages: g.waiting}
	b, rest := b.Cut(room)
	if rest.Count == 0 {
		g.waiting, g.count = make([]byte, 0, len(g.waiting)), 0 // as much is likely to wait next time
		return b, true, nil
	}
	g.waiting, g.count, g.offset = rest.Messages, rest.Count, rest.Offset
	g.wake() // for more
	return b, true, nil
}

// CreateGroup implements [broker.Groups].
func (b *Broker) CreateGroup(_ context.Context, want broker.Group, _ broker.Start) (broker.Group, error) {
	t, err := b.find(want.Topic)
	if err == nil {
		err = hermes.CheckGroup(want.Name)
	}
	if err != nil {
		return broker.Group{}, err
	}
	t.join(want.Name)
	return broker.Group{Topic: want.Topic, Name: want.Name}, nil
}

// join returns a topic's group, which it makes where it is not there.
func (t *topic) join(name string) *group {
	t.mu.Lock()
	defer t.mu.Unlock()
	g, there := t.groups[name]
	if !there {
		g = &group{name: name, more: make(chan struct{}, 1)}
		t.groups[name] = g
	}
	return g
}

// Group implements [broker.Groups].
func (b *Broker) Group(_ context.Context, topic, name string) (broker.Group, error) {
	t, err := b.find(topic)
	if err != nil {
		return broker.Group{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, there := t.groups[name]; !there {
		return broker.Group{}, status.Errorf(status.NotFound, "topic %q has no group %q", topic, name)
	}
	return broker.Group{Topic: topic, Name: name}, nil
}

// SeekGroup implements [broker.Groups].
func (*Broker) SeekGroup(context.Context, string, string, broker.Start) (broker.Group, error) {
	return broker.Group{}, errNot
}

// DeleteGroup implements [broker.Groups].
func (*Broker) DeleteGroup(context.Context, string, string) error { return errNot }

// ListGroups implements [broker.Groups].
func (*Broker) ListGroups(context.Context, string) ([]broker.Group, error) { return nil, errNot }

// Subscribe implements [broker.Broker], for members of groups.
func (b *Broker) Subscribe(ctx context.Context, start broker.Start) (broker.Feed, error) {
	if start.From != broker.FromGroup {
		return nil, errNot
	}
	t, err := b.find(start.Topic)
	if err == nil {
		err = hermes.CheckGroup(start.Group)
	}
	if err != nil {
		return nil, err
	}
	return &feed{group: t.join(start.Group), ctx: ctx}, nil
}

// feed is a member of a group.
type feed struct {
	group  *group
	ctx    context.Context //nolint:containedctx // the life of the subscription
	closed atomic.Bool
}

// Next implements [broker.Feed].
func (f *feed) Next(ctx context.Context, room broker.Room) (broker.Batch, error) {
	for {
		if f.closed.Load() {
			return broker.Batch{}, status.Errorf(status.Canceled, "the subscription was closed")
		}
		if b, any, err := f.group.take(room); any || err != nil {
			return b, err
		}
		select {
		case <-f.group.more:
		case <-ctx.Done():
			return broker.Batch{}, status.Public(ctx.Err())
		case <-f.ctx.Done():
			return broker.Batch{}, status.Public(f.ctx.Err())
		}
	}
}

// Ack implements [broker.Feed]: there is nothing to be remembered.
func (*feed) Ack(context.Context, []broker.Range) error { return nil }

// Nack implements [broker.Feed]: messages given back are gone.
func (*feed) Nack(context.Context, []broker.Range, string, int64) error { return nil }

// Return implements [broker.Feed]: messages given back are gone.
func (*feed) Return(int) {}

// Close implements [broker.Feed].
func (f *feed) Close() {
	f.closed.Store(true)
	f.group.wake()
}
