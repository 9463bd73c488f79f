package graphql

import (
	"context"

	"wirelab"
	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/door/graphql/gen"
	"wirelab/hermes/door/register"
	"wirelab/hermes/door/spelling"
	"wirelab/wire/graphql"
)

// root answers the schema of Hermes.
type root struct{ *door }

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
	query        struct{ *door }
	mutation     struct{ *door }
	subscription struct{ *door }
	topic        struct{ *door }
)

// listLimit is how many topics one question lists at most.
const listLimit = 1000

func (r query) Topic(ctx context.Context, name string, linearizable bool) (*gen.Topic, error) {
	if err := names(name); err != nil {
		return nil, err
	}
	return ask(ctx, func(ctx context.Context) (broker.Topic, error) { return r.broker.Topic(ctx, name, linearizable) }, showTopic)
}

func (r query) Topics(ctx context.Context, prefix, after string, limit int32) ([]*gen.Topic, error) {
	if limit < 1 || limit > listLimit {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "limit is %d; want 1 to %d", limit, listLimit)
	}
	return ask(ctx, func(ctx context.Context) ([]broker.Topic, error) {
		return r.broker.ListTopics(ctx, prefix, after, int(limit))
	}, showTopics)
}

func (r query) Group(ctx context.Context, topic, name string) (*gen.Group, error) {
	if err := names(topic, name); err != nil {
		return nil, err
	}
	return ask(ctx, func(ctx context.Context) (broker.Group, error) { return r.broker.Group(ctx, topic, name) }, showGroup)
}

func (r query) Cluster(ctx context.Context) (*gen.Cluster, error) {
	return ask(ctx, r.broker.Status, showCluster)
}

// Groups asks for a topic's groups where a query wants them.
func (r topic) Groups(ctx context.Context, of *gen.Topic) ([]*gen.Group, error) {
	return ask(ctx, func(ctx context.Context) ([]broker.Group, error) { return r.broker.ListGroups(ctx, of.Name) }, showGroups)
}

func (r mutation) Publish(ctx context.Context, topic string, messages []*gen.MessageInput, mode gen.Mode, producer *string, sequence *uint64) (*gen.Verdict, error) {
	run := broker.Run{Topic: topic}
	switch mode {
	case gen.ModeConsistent:
		run.Mode = hermes.Consistent
	case gen.ModeEventual:
		run.Mode = hermes.Eventual
	case gen.ModePerformance:
		run.Mode = hermes.Performance
	default:
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "mode is %.40q, which is none", mode)
	}
	if (producer == nil) != (sequence == nil) || sequence != nil && *sequence == 0 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "producer and sequence come together: both from 1, or neither")
	}
	var err error
	if producer != nil {
		run.Sequence = *sequence
		if run.Producer, err = spelling.ID("producer", *producer); err != nil {
			return nil, err
		}
	}
	if len(messages) > hermes.RunMessages {
		return nil, wirelab.Errorf(wirelab.ResourceExhausted, "%d messages in one run; at most %d are allowed", len(messages), hermes.RunMessages)
	}
	all := make([]hermes.Message, len(messages))
	for i, in := range messages {
		if all[i], err = message(in); err != nil {
			return nil, wirelab.Errorf(wirelab.CodeOf(err), "message %d: %s", i, wirelab.Public(err).Message)
		}
	}
	if run, err = checked(run, all); err != nil {
		return nil, err
	}
	v := r.publish(ctx, run)
	if v.Err != nil {
		return nil, graphql.Told(v.Err)
	}
	return showVerdict(v), nil
}

func (r mutation) OpenProducer(ctx context.Context) (string, error) {
	return ask(ctx, r.broker.OpenProducer, idText)
}

// rangesLimit is how many ranges one acknowledgement may have.
const rangesLimit = 1000

// settling finds the feed of an acknowledgement. Only the node that delivers has it.
func (d *door) settling(id string, in []*gen.RangeInput) (broker.Feed, []broker.Range, error) {
	if len(in) == 0 || len(in) > rangesLimit {
		return nil, nil, wirelab.Errorf(wirelab.InvalidArgument, "%d ranges; want 1 to %d", len(in), rangesLimit)
	}
	var ranges []broker.Range
	for _, r := range in {
		if r.First > r.Last {
			return nil, nil, wirelab.Errorf(wirelab.InvalidArgument, "a range from %d to %d is none: both are inclusive", r.First, r.Last)
		}
		ranges = append(ranges, broker.Range{First: r.First, Last: r.Last})
	}
	feed, group, ok := d.open.Find(id)
	switch {
	case !ok:
		return nil, nil, wirelab.Errorf(wirelab.NotFound, "there is no such subscription on this node, or it is over: what was not acknowledged comes again")
	case !group:
		return nil, nil, wirelab.Errorf(wirelab.InvalidArgument, "the subscription has no group: there is nothing to acknowledge")
	}
	return feed, ranges, nil
}

// done is a call that has nothing to tell but that it is done.
func done(ctx context.Context, call func(context.Context) error) (bool, error) {
	return ask(ctx, func(ctx context.Context) (bool, error) { return true, call(ctx) }, func(ok bool) bool { return ok })
}

func (r mutation) Ack(ctx context.Context, subscription string, in []*gen.RangeInput) (bool, error) {
	feed, ranges, err := r.settling(subscription, in)
	if err != nil {
		return false, err
	}
	return done(ctx, func(ctx context.Context) error { return register.Over(ctx, feed.Ack(ctx, ranges)) })
}

func (r mutation) Nack(ctx context.Context, subscription string, in []*gen.RangeInput, reason, delay string) (bool, error) {
	feed, ranges, err := r.settling(subscription, in)
	if err != nil {
		return false, err
	}
	after, err := spelling.Duration("delay", delay)
	if err != nil {
		return false, err
	}
	return done(ctx, func(ctx context.Context) error { return register.Over(ctx, feed.Nack(ctx, ranges, reason, after)) })
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

func (r mutation) CreateTopic(ctx context.Context, name, retentionAge string, retentionBytes uint64) (*gen.Topic, error) {
	t, err := wanted(name, retentionAge, retentionBytes)
	if err != nil {
		return nil, err
	}
	return ask(ctx, func(ctx context.Context) (broker.Topic, error) { return r.broker.CreateTopic(ctx, t) }, showTopic)
}

func (r mutation) ConfigureTopic(ctx context.Context, name, retentionAge string, retentionBytes uint64) (*gen.Topic, error) {
	t, err := wanted(name, retentionAge, retentionBytes)
	if err != nil {
		return nil, err
	}
	return ask(ctx, func(ctx context.Context) (broker.Topic, error) { return r.broker.ConfigureTopic(ctx, t) }, showTopic)
}

func (r mutation) DeleteTopic(ctx context.Context, name string) (bool, error) {
	if err := names(name); err != nil {
		return false, err
	}
	return done(ctx, func(ctx context.Context) error { return r.broker.DeleteTopic(ctx, name) })
}

func (r mutation) CreateGroup(ctx context.Context, topic, name, from, ackTimeout string, maxAttempts int32) (*gen.Group, error) {
	if err := names(topic, name); err != nil {
		return nil, err
	}
	if maxAttempts < 0 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "maxAttempts is %d; want 0, for the default, or more", maxAttempts)
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
	return ask(ctx, func(ctx context.Context) (broker.Group, error) { return r.broker.CreateGroup(ctx, g, start) }, showGroup)
}

func (r mutation) SeekGroup(ctx context.Context, topic, name, from string) (*gen.Group, error) {
	if err := names(topic, name); err != nil {
		return nil, err
	}
	to := broker.Start{Topic: topic, Group: name}
	if err := spelling.From(from, &to); err != nil {
		return nil, err
	}
	return ask(ctx, func(ctx context.Context) (broker.Group, error) { return r.broker.SeekGroup(ctx, topic, name, to) }, showGroup)
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
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "peer is empty: give the address at which other nodes reach the new one")
	}
	m := broker.Member{ID: number, Name: name, Peer: peer, GRPC: grpc, HTTP: http}
	return ask(ctx, func(ctx context.Context) (broker.Status, error) { return r.broker.Join(ctx, m) }, showCluster)
}

// change asks for a change of the cluster about one member.
func change(ctx context.Context, id string, call func(context.Context, uint64) (broker.Status, error)) (*gen.Cluster, error) {
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
