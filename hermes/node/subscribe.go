package node

import (
	"context"
	"sync"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/recentlog"
	"wirelab/wire/status"
)

// Subscribe implements [broker.Broker]. What needs no leader is served here: any node
// has all messages. A group's members are the leader's.
func (n *Node) Subscribe(ctx context.Context, start broker.Start) (broker.Feed, error) {
	t, absent, err := n.topicHere(ctx, start)
	if err != nil {
		return nil, err
	}
	if absent && start.From == broker.FromTail {
		// What was published since the topic was made came after this subscription.
		start.From = broker.FromOldest
	}
	var b broker.Broker = local{n}
	if start.From == broker.FromGroup {
		if b, err = n.leading(ctx); err != nil {
			return nil, err
		}
	}
	f, err := b.Subscribe(ctx, start)
	if err != nil {
		return nil, err
	}
	t.subscribers.Add(1)
	return &countedFeed{Feed: f, left: sync.OnceFunc(func() { t.subscribers.Add(-1) })}, nil
}

// countedFeed is a feed that counts among its topic's subscribers.
type countedFeed struct {
	broker.Feed
	left func()
}

func (f *countedFeed) Close() {
	f.Feed.Close()
	f.left()
}

// topicHere is the topic as this node has it; made, or waited for, where it is not there.
// Absent says that the cluster did not have it when this began.
func (n *Node) topicHere(ctx context.Context, start broker.Start) (t *topic, absent bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, status.Public(err)
	}
	if n.lead.Load().stopping {
		return nil, false, errStopping
	}
	t, err = n.topics.find(start.Topic)
	if err == nil || status.CodeOf(err) != status.NotFound {
		return t, false, err
	}
	// This node may be behind the one where it was made.
	if caught := n.caughtUp(ctx); caught != nil {
		return nil, false, caught
	}
	if t, err = n.topics.find(start.Topic); err == nil || !start.Create {
		return t, false, err
	}
	if _, err := n.CreateTopic(ctx, broker.Topic{Name: start.Topic}); err != nil &&
		status.CodeOf(err) != status.Conflict {
		return nil, true, err // Conflict: it is there by now
	}
	if err := n.caughtUp(ctx); err != nil {
		return nil, true, err
	}
	t, err = n.topics.find(start.Topic)
	return t, true, err
}

// Subscribe serves from this node's own log, or, for a group, as the leader.
func (n local) Subscribe(ctx context.Context, start broker.Start) (broker.Feed, error) {
	if start.From == broker.FromGroup {
		return n.member(ctx, start)
	}
	t, _, err := n.topicHere(ctx, broker.Start{Topic: start.Topic})
	if err != nil {
		return nil, err
	}
	if t.open() != nil {
		// This node may be behind the one where the restore ended.
		if err := n.caughtUp(ctx); err != nil {
			return nil, err
		}
		if err := t.open(); err != nil {
			return nil, err
		}
	}
	next := t.next.Load()
	if start.From == broker.FromOffset && start.Offset > next {
		// This node may be behind the one where that offset was seen.
		if err := n.caughtUp(ctx); err != nil {
			return nil, err
		}
		next = t.next.Load()
	}
	offset, err := n.at(broker.Topic{Name: start.Topic, ID: t.id, First: t.first.Load(), Next: next}, start)
	if err != nil {
		return nil, err
	}
	r, err := n.recent.Open(t.id, offset, next, true)
	if err != nil {
		return nil, err
	}
	if start.From == broker.FromOffset {
		r.Missed(start.Offset)
	}
	f := &broadcast{r: r, ctx: ctx}
	f.detach = context.AfterFunc(ctx, r.Close)
	if n.topics.id(t.id) == nil { // deleted since: it would never be ended
		f.Close()
		return nil, status.Errorf(status.NotFound, "topic %q was deleted", start.Topic)
	}
	return f, nil
}

// broadcast is a subscription that is no group's.
type broadcast struct {
	r      *recentlog.Reader
	ctx    context.Context // of the subscription
	detach func() bool
}

// Next implements [broker.Feed].
func (f *broadcast) Next(ctx context.Context, room broker.Room) (broker.Batch, error) {
	b, err := f.r.Next(ctx, room)
	if err != nil && f.ctx.Err() != nil {
		err = status.Public(f.ctx.Err())
	}
	return b, err
}

// Return implements [broker.Feed].
func (*broadcast) Return(int) {}

var errNoGroup = status.Errorf(status.InvalidArgument, "only members of a group acknowledge")

// Ack implements [broker.Feed].
func (f *broadcast) Ack(context.Context, []broker.Range) error { return errNoGroup }

// Nack implements [broker.Feed].
func (f *broadcast) Nack(context.Context, []broker.Range, string, int64) error { return errNoGroup }

// Close implements [broker.Feed].
func (f *broadcast) Close() {
	f.detach()
	f.r.Close()
}

// member makes a feed a member of its group.
func (n local) member(ctx context.Context, start broker.Start) (broker.Feed, error) {
	if start.InFlight < 0 {
		return nil, status.Errorf(status.InvalidArgument, "%d messages in flight", start.InFlight)
	}
	if t, err := n.topics.find(start.Topic); err == nil && t.open() != nil {
		return nil, t.open() // making the group would be refused, with less to say
	}
	ref, err := n.find(ctx, start.Topic, start.Group)
	if err != nil && status.CodeOf(err) == status.NotFound {
		want := broker.Group{Topic: start.Topic, Name: start.Group}
		ref, err = n.ensureGroup(ctx, want, broker.Start{From: broker.FromOldest})
		if err != nil && status.CodeOf(err) == status.Conflict { // made by another call in the meantime
			ref, err = n.find(ctx, start.Topic, start.Group)
		}
	}
	if err != nil {
		return nil, err
	}
	inFlight := start.InFlight
	if inFlight == 0 {
		inFlight = hermes.InFlight
	}
	// On the loop, so that no end of leadership and no deletion falls between looking and joining.
	return look(ctx, n.Node, func(m *core.Machine) (broker.Feed, error) {
		if err := n.leads(ctx); err != nil {
			return nil, err
		}
		g, ok := m.GroupByID(ref.id)
		t := n.topics.id(ref.topic)
		if !ok || t == nil {
			return nil, status.Errorf(status.NotFound, "group %q was deleted", start.Group)
		}
		if err := t.open(); err != nil {
			return nil, err
		}
		return n.groups.join(ctx, t, ref.id, m.Generation(ref.id), g, inFlight, pastOf(m, ref.id)), nil
	})
}
