package peer

import (
	"context"

	"wirelab/hermes/broker"
	"wirelab/hermes/peer/gen"
	"wirelab/wire/status"
)

// remote is another node as a broker. via finds the connection to it.
type remote struct {
	via func(ctx context.Context) (*caller, error)
}

var _ broker.Broker = remote{}

func (r remote) Publish(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
	c, err := r.via(ctx)
	if err != nil {
		done(broker.Verdict{Err: err})
		return
	}
	c.publish(ctx, &run, done)
}

func (r remote) Subscribe(ctx context.Context, start broker.Start) (broker.Feed, error) {
	c, err := r.via(ctx)
	if err != nil {
		return nil, err
	}
	return c.subscribe(ctx, &start)
}

// Leader: a peer is asked for it by Status; without waiting, nothing is known of it.
func (r remote) Leader() (broker.Member, bool) { return broker.Member{}, false }

func (r remote) call(ctx context.Context, request *gen.Call) (*gen.Reply, error) {
	c, err := r.via(ctx)
	if err != nil {
		return nil, err
	}
	return c.call(ctx, request)
}

func (r remote) OpenProducer(ctx context.Context) (uint64, error) {
	reply, err := r.call(ctx, &gen.Call{
		Method: gen.Method_METHOD_OPEN_PRODUCER,
		Owner:  writeOwner(broker.OwnerOf(ctx)),
	})
	return reply.GetProducer(), err
}

// topic makes a request whose reply is one topic.
func (r remote) topic(ctx context.Context, request *gen.Call) (broker.Topic, error) {
	reply, err := r.call(ctx, request)
	if err != nil {
		return broker.Topic{}, err
	}
	if len(reply.GetTopics()) != 1 {
		return broker.Topic{}, malformed(request)
	}
	return readTopic(reply.GetTopics()[0]), nil
}

// malformed is a reply without what was asked for: the other end is of another version, or wrong.
func malformed(request *gen.Call) error {
	return status.Errorf(status.Internal, "the other node's reply to %v does not hold what was asked for",
		request.GetMethod())
}

func (r remote) CreateTopic(ctx context.Context, t broker.Topic) (broker.Topic, error) {
	return r.topic(ctx, &gen.Call{Method: gen.Method_METHOD_CREATE_TOPIC, Topic: writeTopic(t)})
}

func (r remote) ConfigureTopic(ctx context.Context, t broker.Topic) (broker.Topic, error) {
	return r.topic(ctx, &gen.Call{Method: gen.Method_METHOD_CONFIGURE_TOPIC, Topic: writeTopic(t)})
}

func (r remote) DeleteTopic(ctx context.Context, name string) error {
	_, err := r.call(ctx, &gen.Call{Method: gen.Method_METHOD_DELETE_TOPIC, Topic: &gen.Topic{Name: name}})
	return err
}

func (r remote) Topic(ctx context.Context, name string, linearizable bool) (broker.Topic, error) {
	return r.topic(ctx, &gen.Call{
		Method: gen.Method_METHOD_TOPIC, Topic: &gen.Topic{Name: name},
		Linearizable: linearizable,
	})
}

func (r remote) ListTopics(ctx context.Context, prefix, after string, limit int) ([]broker.Topic, error) {
	reply, err := r.call(ctx, &gen.Call{
		Method: gen.Method_METHOD_LIST_TOPICS, Prefix: prefix, After: after,
		Limit: int64(limit),
	})
	return each(reply.GetTopics(), readTopic), err
}

// group makes a request whose reply is one group.
func (r remote) group(ctx context.Context, request *gen.Call) (broker.Group, error) {
	reply, err := r.call(ctx, request)
	if err != nil {
		return broker.Group{}, err
	}
	if len(reply.GetGroups()) != 1 {
		return broker.Group{}, malformed(request)
	}
	return readGroup(reply.GetGroups()[0]), nil
}

func (r remote) CreateGroup(ctx context.Context, g broker.Group, start broker.Start) (broker.Group, error) {
	return r.group(ctx, &gen.Call{
		Method: gen.Method_METHOD_CREATE_GROUP, Group: writeGroup(g),
		Start: writeStart(&start),
		Owner: writeOwner(broker.OwnerOf(ctx)),
	})
}

func (r remote) SeekGroup(ctx context.Context, topic, name string, to broker.Start) (broker.Group, error) {
	return r.group(ctx, &gen.Call{
		Method: gen.Method_METHOD_SEEK_GROUP, Group: &gen.Group{Topic: topic, Name: name},
		Start: writeStart(&to),
	})
}

func (r remote) DeleteGroup(ctx context.Context, topic, name string) error {
	_, err := r.call(ctx, &gen.Call{
		Method: gen.Method_METHOD_DELETE_GROUP,
		Group:  &gen.Group{Topic: topic, Name: name},
	})
	return err
}

func (r remote) Group(ctx context.Context, topic, name string) (broker.Group, error) {
	return r.group(ctx, &gen.Call{Method: gen.Method_METHOD_GROUP, Group: &gen.Group{Topic: topic, Name: name}})
}

func (r remote) ListGroups(ctx context.Context, topic string) ([]broker.Group, error) {
	reply, err := r.call(ctx, &gen.Call{Method: gen.Method_METHOD_LIST_GROUPS, Topic: &gen.Topic{Name: topic}})
	return each(reply.GetGroups(), readGroup), err
}

// status makes a request whose reply is the cluster's state.
func (r remote) status(ctx context.Context, request *gen.Call) (broker.Status, error) {
	reply, err := r.call(ctx, request)
	if err != nil {
		return broker.Status{}, err
	}
	if reply.GetStatus() == nil {
		return broker.Status{}, malformed(request)
	}
	return readStatus(reply.GetStatus()), nil
}

func (r remote) Status(ctx context.Context) (broker.Status, error) {
	return r.status(ctx, &gen.Call{Method: gen.Method_METHOD_STATUS})
}

func (r remote) Join(ctx context.Context, m broker.Member) (broker.Status, error) {
	return r.status(ctx, &gen.Call{Method: gen.Method_METHOD_JOIN, Member: writeMember(m)})
}

func (r remote) Promote(ctx context.Context, id uint64) (broker.Status, error) {
	return r.status(ctx, &gen.Call{Method: gen.Method_METHOD_PROMOTE, Node: id})
}

func (r remote) Remove(ctx context.Context, id uint64) (broker.Status, error) {
	return r.status(ctx, &gen.Call{Method: gen.Method_METHOD_REMOVE, Node: id})
}

func (r remote) TransferLeadership(ctx context.Context, to uint64) (broker.Status, error) {
	return r.status(ctx, &gen.Call{Method: gen.Method_METHOD_TRANSFER_LEADERSHIP, Node: to})
}
