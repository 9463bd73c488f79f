package graphql

import (
	"context"

	"wirelab/hermes/api/graphql/gen"
	"wirelab/hermes/api/spelling"
	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// root answers the schema of Hermes.
type root struct{ *api }

var _ gen.ResolverRoot = root{}

// Query implements [gen.ResolverRoot].
func (r root) Query() gen.QueryResolver { return query(r) }

// Mutation implements [gen.ResolverRoot].
func (r root) Mutation() gen.MutationResolver { return mutation(r) }

// Subscription implements [gen.ResolverRoot].
func (r root) Subscription() gen.SubscriptionResolver { return subscription(r) }

// Topic implements [gen.ResolverRoot].
func (r root) Topic() gen.TopicResolver { return topic(r) }

type (
	query        struct{ *api }
	mutation     struct{ *api }
	subscription struct{ *api }
	topic        struct{ *api }
)

// How many topics one question lists, if it does not say, and at most.
const (
	listUsual = 100
	listLimit = 1000
)

func (r query) Topic(ctx context.Context, name string, linearizable bool) (*gen.Topic, error) {
	if err := names(name); err != nil {
		return nil, err
	}
	return ask(ctx, func(ctx context.Context) (broker.Topic, error) { return r.broker.Topic(ctx, name, linearizable) },
		showTopic)
}

func (r query) Topics(ctx context.Context, prefix, after string, limit int32) ([]*gen.Topic, error) {
	if limit < 0 || limit > listLimit {
		return nil, status.Errorf(status.InvalidArgument, "limit is %d; want 0, for %d, to %d", limit, listUsual,
			listLimit)
	}
	if limit == 0 {
		limit = listUsual
	}
	return ask(ctx, func(ctx context.Context) ([]broker.Topic, error) {
		return r.broker.ListTopics(ctx, prefix, after, int(limit))
	}, showTopics)
}

func (r query) Group(ctx context.Context, topic, name string) (*gen.Group, error) {
	if err := names(topic, name); err != nil {
		return nil, err
	}
	return ask(ctx, func(ctx context.Context) (broker.Group, error) { return r.broker.Group(ctx, topic, name) },
		showGroup)
}

func (r query) Cluster(ctx context.Context) (*gen.Cluster, error) {
	return ask(ctx, r.broker.Status, showCluster)
}

// Groups asks for a topic's groups where a query wants them.
func (r topic) Groups(ctx context.Context, of *gen.Topic) ([]*gen.Group, error) {
	return ask(ctx, func(ctx context.Context) ([]broker.Group, error) { return r.broker.ListGroups(ctx, of.Name) },
		showGroups)
}

func (r mutation) OpenProducer(ctx context.Context) (string, error) {
	return ask(ctx, r.broker.OpenProducer, idText)
}

// done is a call that has nothing to tell but that it is done.
func done(ctx context.Context, call func(context.Context) error) (bool, error) {
	return ask(ctx, func(ctx context.Context) (bool, error) { return true, call(ctx) },
		func(ok bool) bool { return ok })
}

// wanted is a topic as a mutation wants it.
func wanted(name, age string, bytes uint64) (t broker.Topic, err error) {
	if err := names(name); err != nil {
		return t, err
	}
	t = broker.Topic{Name: name, RetentionBytes: bytes}
	t.RetentionAge, err = spelling.Duration("retentionAge", age)
	return t, err
}

func (r mutation) CreateTopic(ctx context.Context, name, retentionAge string,
	retentionBytes uint64,
) (*gen.Topic, error) {
	t, err := wanted(name, retentionAge, retentionBytes)
	if err != nil {
		return nil, err
	}
	return ask(ctx, func(ctx context.Context) (broker.Topic, error) { return r.broker.CreateTopic(ctx, t) }, showTopic)
}

func (r mutation) ConfigureTopic(ctx context.Context, name, retentionAge string,
	retentionBytes uint64,
) (*gen.Topic, error) {
	t, err := wanted(name, retentionAge, retentionBytes)
	if err != nil {
		return nil, err
	}
	return ask(ctx, func(ctx context.Context) (broker.Topic, error) { return r.broker.ConfigureTopic(ctx, t) },
		showTopic)
}

func (r mutation) DeleteTopic(ctx context.Context, name string) (bool, error) {
	if err := names(name); err != nil {
		return false, err
	}
	return done(ctx, func(ctx context.Context) error { return r.broker.DeleteTopic(ctx, name) })
}

func (r mutation) CreateGroup(ctx context.Context, topic, name, from, ackTimeout string,
	maxAttempts int32,
) (*gen.Group, error) {
	if err := names(topic, name); err != nil {
		return nil, err
	}
	if maxAttempts < 0 {
		return nil, status.Errorf(status.InvalidArgument, "maxAttempts is %d; want 0, for the default, or more",
			maxAttempts)
	}
	g := broker.Group{Topic: topic, Name: name, MaxAttempts: uint32(maxAttempts)}
	var err error
	if g.AckTimeout, err = spelling.Duration("ackTimeout", ackTimeout); err != nil {
		return nil, err
	}
	start := broker.Start{Topic: topic, Group: name}
	if err := spelling.From(from, &start); err != nil {
		return nil, err
	}
	return ask(ctx, func(ctx context.Context) (broker.Group, error) { return r.broker.CreateGroup(ctx, g, start) },
		showGroup)
}

func (r mutation) SeekGroup(ctx context.Context, topic, name, from string) (*gen.Group, error) {
	if err := names(topic, name); err != nil {
		return nil, err
	}
	to := broker.Start{Topic: topic, Group: name}
	if err := spelling.From(from, &to); err != nil {
		return nil, err
	}
	return ask(ctx, func(ctx context.Context) (broker.Group, error) { return r.broker.SeekGroup(ctx, topic, name, to) },
		showGroup)
}

func (r mutation) DeleteGroup(ctx context.Context, topic, name string) (bool, error) {
	if err := names(topic, name); err != nil {
		return false, err
	}
	return done(ctx, func(ctx context.Context) error { return r.broker.DeleteGroup(ctx, topic, name) })
}

func (r mutation) Join(ctx context.Context, id, name, peer, grpc, http string) (*gen.Cluster, error) {
	number, err := spelling.ID("id", id)
	if err != nil {
		return nil, err
	}
	if peer == "" {
		return nil, status.Errorf(status.InvalidArgument,
			"peer is empty: give the address at which other nodes reach the new one")
	}
	m := broker.Member{ID: number, Name: name, Peer: peer, GRPC: grpc, HTTP: http}
	return ask(ctx, func(ctx context.Context) (broker.Status, error) { return r.broker.Join(ctx, m) }, showCluster)
}

// change asks for a change of the cluster about one member.
func change(ctx context.Context, id string, call func(context.Context, uint64) (broker.Status, error)) (*gen.Cluster,
	error,
) {
	number, err := spelling.ID("id", id)
	if err != nil {
		return nil, err
	}
	return ask(ctx, func(ctx context.Context) (broker.Status, error) { return call(ctx, number) }, showCluster)
}

func (r mutation) Promote(ctx context.Context, id string) (*gen.Cluster, error) {
	return change(ctx, id, r.broker.Promote)
}

func (r mutation) Remove(ctx context.Context, id string) (*gen.Cluster, error) {
	return change(ctx, id, r.broker.Remove)
}

func (r mutation) TransferLeadership(ctx context.Context, to string) (*gen.Cluster, error) {
	return change(ctx, to, r.broker.TransferLeadership)
}
