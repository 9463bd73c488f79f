package access

import (
	"context"
	"slices"
	"strings"

	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// guarded is a broker whose callers are held to a policy.
type guarded struct {
	inner  broker.Broker
	policy *Policy
}

var _ broker.Broker = (*guarded)(nil)

// Wrap holds the callers of a broker to a policy: each is who its context names
// ([With]). Without a policy it is the broker itself.
//
// Without a principal everything is Unauthenticated but for Leader, and for Status, which then tells who this
// node is and who leads, and no addresses: APIs ask it for themselves.
func Wrap(b broker.Broker, p *Policy) broker.Broker {
	if p == nil {
		return b
	}
	return &guarded{b, p}
}

// on is the guard of everything that is about a topic: the caller has one of the
// rights on it.
func (b *guarded) on(ctx context.Context, topic string, any ...right) error {
	_, g, err := b.policy.caller(ctx)
	if err != nil {
		return err
	}
	return g.may(topic, any...)
}

// Publish implements [broker.Broker].
func (b *guarded) Publish(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
	_, g, err := b.policy.caller(ctx)
	if err == nil {
		err = g.may(run.Topic, publish)
	}
	if err == nil {
		err = g.usage.publish(b.policy.now(), run.Count, len(run.Messages))
	}
	if err != nil {
		done(broker.Verdict{Err: err})
		return
	}
	share := b.policy.share.Load()
	if share == 0 {
		b.inner.Publish(ctx, run, done)
		return
	}
	taken, err := g.usage.enter(ctx, len(run.Messages), share)
	if err != nil {
		done(broker.Verdict{Err: err})
		return
	}
	b.inner.Publish(ctx, run, func(v broker.Verdict) {
		g.usage.inFlight.Release(taken)
		done(v)
	})
}

// OpenProducer implements [broker.Broker].
func (b *guarded) OpenProducer(ctx context.Context) (uint64, error) {
	_, g, err := b.policy.caller(ctx)
	if err != nil {
		return 0, err
	}
	if len(g.topics[publish]) == 0 {
		return 0, status.Errorf(status.PermissionDenied, "%s has no right to publish", g.name)
	}
	if g.quota.producers == 0 {
		return 0, status.Errorf(status.PermissionDenied, "%s has no right to producers: its quota of them is 0", g.name)
	}
	return b.inner.OpenProducer(g.owning(ctx))
}

// owning is a context in which each new object is the principal's.
func (g *grant) owning(ctx context.Context) context.Context {
	return broker.WithOwner(ctx, broker.Owner{
		Name: g.name, Groups: uint32(g.quota.groups),
		Producers: uint32(g.quota.producers),
	})
}

// groups refuses who may make no groups.
func (g *grant) groups() error {
	if g.quota.groups > 0 {
		return nil
	}
	return status.Errorf(status.PermissionDenied, "%s has no right to make groups: its quota of them is 0", g.name)
}

// CreateTopic implements [broker.Topics].
func (b *guarded) CreateTopic(ctx context.Context, t broker.Topic) (broker.Topic, error) {
	if err := b.on(ctx, t.Name, admin); err != nil {
		return broker.Topic{}, err
	}
	return b.inner.CreateTopic(ctx, t)
}

// ConfigureTopic implements [broker.Topics].
func (b *guarded) ConfigureTopic(ctx context.Context, t broker.Topic) (broker.Topic, error) {
	if err := b.on(ctx, t.Name, admin); err != nil {
		return broker.Topic{}, err
	}
	return b.inner.ConfigureTopic(ctx, t)
}

// DeleteTopic implements [broker.Topics].
func (b *guarded) DeleteTopic(ctx context.Context, name string) error {
	if err := b.on(ctx, name, admin); err != nil {
		return err
	}
	return b.inner.DeleteTopic(ctx, name)
}

// Topic implements [broker.Topics].
func (b *guarded) Topic(ctx context.Context, name string, linearizable bool) (broker.Topic, error) {
	if err := b.on(ctx, name, subscribe, publish, admin); err != nil {
		return broker.Topic{}, err
	}
	return b.inner.Topic(ctx, name, linearizable)
}

// ListTopics implements [broker.Topics]. It asks for what the caller's patterns can
// have, and not for all: one topic among 100,000 must not cost a look at each.
func (b *guarded) ListTopics(ctx context.Context, prefix, after string, limit int) ([]broker.Topic, error) {
	_, g, err := b.policy.caller(ctx)
	if err != nil {
		return nil, err
	}
	var all []broker.Topic
	for _, p := range g.seen {
		some, err := b.listed(ctx, p, prefix, after, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	// Each pattern gave its own first, so the first of all are among them.
	slices.SortFunc(all, func(a, b broker.Topic) int { return strings.Compare(a.Name, b.Name) })
	all = slices.CompactFunc(all, func(a, b broker.Topic) bool { return a.Name == b.Name })
	return all[:min(len(all), max(limit, 0))], nil
}

// listed lists the topics of one pattern.
func (b *guarded) listed(ctx context.Context, p pattern, prefix, after string, limit int) ([]broker.Topic, error) {
	switch {
	case strings.HasPrefix(p.text, prefix):
		prefix = p.text
	case !p.prefix || !strings.HasPrefix(prefix, p.text):
		return nil, nil
	}
	if !p.prefix {
		limit = min(limit, 1) // a name sorts before all others that it begins
	}
	var all []broker.Topic
	for len(all) < limit {
		page, err := b.inner.ListTopics(ctx, prefix, after, limit)
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			if p.covers(t.Name) {
				all = append(all, t)
			}
		}
		if len(page) < limit || !p.prefix {
			break
		}
		after = page[len(page)-1].Name
	}
	return all, nil
}

// CreateGroup implements [broker.Groups].
func (b *guarded) CreateGroup(ctx context.Context, g broker.Group, start broker.Start) (broker.Group, error) {
	_, who, err := b.policy.caller(ctx)
	if err == nil {
		err = who.may(g.Topic, admin)
	}
	if err == nil {
		err = who.groups()
	}
	if err != nil {
		return broker.Group{}, err
	}
	return b.inner.CreateGroup(who.owning(ctx), g, start)
}

// SeekGroup implements [broker.Groups].
func (b *guarded) SeekGroup(ctx context.Context, topic, name string, to broker.Start) (broker.Group, error) {
	if err := b.on(ctx, topic, admin); err != nil {
		return broker.Group{}, err
	}
	return b.inner.SeekGroup(ctx, topic, name, to)
}

// DeleteGroup implements [broker.Groups].
func (b *guarded) DeleteGroup(ctx context.Context, topic, name string) error {
	if err := b.on(ctx, topic, admin); err != nil {
		return err
	}
	return b.inner.DeleteGroup(ctx, topic, name)
}

// Group implements [broker.Groups].
func (b *guarded) Group(ctx context.Context, topic, name string) (broker.Group, error) {
	if err := b.on(ctx, topic, subscribe, admin); err != nil {
		return broker.Group{}, err
	}
	return b.inner.Group(ctx, topic, name)
}

// ListGroups implements [broker.Groups].
func (b *guarded) ListGroups(ctx context.Context, topic string) ([]broker.Group, error) {
	if err := b.on(ctx, topic, subscribe, admin); err != nil {
		return nil, err
	}
	return b.inner.ListGroups(ctx, topic)
}

// Status implements [broker.Cluster].
func (b *guarded) Status(ctx context.Context) (broker.Status, error) {
	if _, ok := From(ctx); !ok {
		s, err := b.inner.Status(ctx)
		return broker.Status{Node: s.Node, Leader: s.Leader, Term: s.Term}, err
	}
	if _, _, err := b.policy.caller(ctx); err != nil {
		return broker.Status{}, err
	}
	return b.inner.Status(ctx)
}

// Leader implements [broker.Cluster].
func (b *guarded) Leader() (broker.Member, bool) { return b.inner.Leader() }

// changes is the guard of the cluster.
func (b *guarded) changes(ctx context.Context) error {
	_, g, err := b.policy.caller(ctx)
	if err != nil {
		return err
	}
	return g.leads()
}

// Join implements [broker.Cluster].
func (b *guarded) Join(ctx context.Context, m broker.Member) (broker.Status, error) {
	if err := b.changes(ctx); err != nil {
		return broker.Status{}, err
	}
	return b.inner.Join(ctx, m)
}

// Promote implements [broker.Cluster].
func (b *guarded) Promote(ctx context.Context, id uint64) (broker.Status, error) {
	if err := b.changes(ctx); err != nil {
		return broker.Status{}, err
	}
	return b.inner.Promote(ctx, id)
}

// Remove implements [broker.Cluster].
func (b *guarded) Remove(ctx context.Context, id uint64) (broker.Status, error) {
	if err := b.changes(ctx); err != nil {
		return broker.Status{}, err
	}
	return b.inner.Remove(ctx, id)
}

// TransferLeadership implements [broker.Cluster].
func (b *guarded) TransferLeadership(ctx context.Context, to uint64) (broker.Status, error) {
	if err := b.changes(ctx); err != nil {
		return broker.Status{}, err
	}
	return b.inner.TransferLeadership(ctx, to)
}
