package grpc

import (
	"context"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	pb "wirelab/hermes/gen"
	"wirelab/wire/status"
)

// The bounds of a list of topics.
const (
	listNormal = 100
	listMost   = 1000
)

// adminMethods are the calls of service Admin.
var adminMethods = map[string]method{
	"CreateTopic":        whole((*api).createTopic),
	"ConfigureTopic":     whole((*api).configureTopic),
	"DeleteTopic":        whole((*api).deleteTopic),
	"GetTopic":           whole((*api).getTopic),
	"ListTopics":         whole((*api).listTopics),
	"CreateGroup":        whole((*api).createGroup),
	"SeekGroup":          whole((*api).seekGroup),
	"DeleteGroup":        whole((*api).deleteGroup),
	"GetGroup":           whole((*api).getGroup),
	"ListGroups":         whole((*api).listGroups),
	"GetCluster":         whole((*api).getCluster),
	"Join":               whole((*api).join),
	"Promote":            member(broker.Cluster.Promote),
	"Remove":             member(broker.Cluster.Remove),
	"TransferLeadership": member(broker.Cluster.TransferLeadership),
	"Restore":            whole((*api).restore),
}

func (d *api) createTopic(ctx context.Context, r *pb.TopicConfig) (*pb.Topic, error) {
	return configured(ctx, r, d.broker.CreateTopic)
}

func (d *api) configureTopic(ctx context.Context, r *pb.TopicConfig) (*pb.Topic, error) {
	return configured(ctx, r, d.broker.ConfigureTopic)
}

func configured(
	ctx context.Context, r *pb.TopicConfig, do func(context.Context, broker.Topic) (broker.Topic, error),
) (*pb.Topic, error) {
	if err := hermes.CheckTopic(r.GetName()); err != nil {
		return nil, err
	}
	if r.GetRetentionAge() < 0 {
		return nil, status.Errorf(status.InvalidArgument, "retention_age must not be negative")
	}
	t, err := do(ctx, broker.Topic{
		Name: r.GetName(), RetentionAge: r.GetRetentionAge(),
		RetentionBytes: r.GetRetentionBytes(), First: r.GetFirst(),
	})
	return topicReply(t, err)
}

func (d *api) deleteTopic(ctx context.Context, r *pb.DeleteTopicRequest) (*pb.DeleteTopicReply, error) {
	if err := hermes.CheckTopic(r.GetName()); err != nil {
		return nil, err
	}
	return &pb.DeleteTopicReply{}, d.broker.DeleteTopic(ctx, r.GetName())
}

func (d *api) getTopic(ctx context.Context, r *pb.GetTopicRequest) (*pb.Topic, error) {
	if err := hermes.CheckTopic(r.GetName()); err != nil {
		return nil, err
	}
	t, err := d.broker.Topic(ctx, r.GetName(), r.GetLinearizable())
	return topicReply(t, err)
}

func (d *api) listTopics(ctx context.Context, r *pb.ListTopicsRequest) (*pb.ListTopicsReply, error) {
	limit := int(r.GetLimit())
	switch {
	case limit == 0:
		limit = listNormal
	case limit > listMost:
		return nil, status.Errorf(status.InvalidArgument, "limit is %d; at most %d are allowed: go on from next", limit,
			listMost)
	}
	// One more than asked for tells whether there are more.
	topics, err := d.broker.ListTopics(ctx, r.GetPrefix(), r.GetAfter(), limit+1)
	if err != nil {
		return nil, err
	}
	reply := &pb.ListTopicsReply{}
	if len(topics) > limit {
		topics = topics[:limit]
		reply.Next = topics[limit-1].Name
	}
	for _, t := range topics {
		reply.Topics = append(reply.Topics, topic(t))
	}
	return reply, nil
}

// named is whether both names are such.
func named(topic, group string) error {
	if err := hermes.CheckTopic(topic); err != nil {
		return err
	}
	return hermes.CheckGroup(group)
}

func (d *api) createGroup(ctx context.Context, r *pb.GroupConfig) (*pb.Group, error) {
	if err := named(r.GetTopic(), r.GetName()); err != nil {
		return nil, err
	}
	if r.GetAckTimeout() < 0 {
		return nil, status.Errorf(status.InvalidArgument, "ack_timeout must not be negative")
	}
	start := broker.Start{Topic: r.GetTopic(), From: broker.FromOldest}
	switch from := r.GetFrom().(type) {
	case *pb.GroupConfig_Tail:
		start.From = broker.FromTail
	case *pb.GroupConfig_Offset:
		start.From, start.Offset = broker.FromOffset, from.Offset
	case *pb.GroupConfig_Time:
		start.From, start.Time = broker.FromTime, from.Time
	}
	g, err := d.broker.CreateGroup(ctx, broker.Group{
		Topic: r.GetTopic(), Name: r.GetName(), AckTimeout: r.GetAckTimeout(), MaxAttempts: r.GetMaxAttempts(),
	}, start)
	return groupReply(g, err)
}

func (d *api) seekGroup(ctx context.Context, r *pb.SeekGroupRequest) (*pb.Group, error) {
	if err := named(r.GetTopic(), r.GetName()); err != nil {
		return nil, err
	}
	start := broker.Start{Topic: r.GetTopic()}
	switch to := r.GetTo().(type) {
	case *pb.SeekGroupRequest_Tail:
		start.From = broker.FromTail
	case *pb.SeekGroupRequest_Offset:
		start.From, start.Offset = broker.FromOffset, to.Offset
	case *pb.SeekGroupRequest_Time:
		start.From, start.Time = broker.FromTime, to.Time
	case *pb.SeekGroupRequest_Oldest:
		start.From = broker.FromOldest
	default:
		return nil, status.Errorf(status.InvalidArgument, "say where to: tail, offset, time or oldest")
	}
	g, err := d.broker.SeekGroup(ctx, r.GetTopic(), r.GetName(), start)
	return groupReply(g, err)
}

func (d *api) deleteGroup(ctx context.Context, r *pb.DeleteGroupRequest) (*pb.DeleteGroupReply, error) {
	if err := named(r.GetTopic(), r.GetName()); err != nil {
		return nil, err
	}
	return &pb.DeleteGroupReply{}, d.broker.DeleteGroup(ctx, r.GetTopic(), r.GetName())
}

func (d *api) getGroup(ctx context.Context, r *pb.GetGroupRequest) (*pb.Group, error) {
	if err := named(r.GetTopic(), r.GetName()); err != nil {
		return nil, err
	}
	g, err := d.broker.Group(ctx, r.GetTopic(), r.GetName())
	return groupReply(g, err)
}

func (d *api) listGroups(ctx context.Context, r *pb.ListGroupsRequest) (*pb.ListGroupsReply, error) {
	if err := hermes.CheckTopic(r.GetTopic()); err != nil {
		return nil, err
	}
	groups, err := d.broker.ListGroups(ctx, r.GetTopic())
	if err != nil {
		return nil, err
	}
	reply := &pb.ListGroupsReply{}
	for _, g := range groups {
		reply.Groups = append(reply.Groups, group(g))
	}
	return reply, nil
}

func (d *api) getCluster(ctx context.Context, _ *pb.GetClusterRequest) (*pb.Cluster, error) {
	s, err := d.broker.Status(ctx)
	return clusterReply(s, err)
}

func (d *api) join(ctx context.Context, r *pb.JoinRequest) (*pb.Cluster, error) {
	m := r.GetMember()
	if m.GetId() == 0 || m.GetPeer() == "" {
		return nil, status.Errorf(status.InvalidArgument, "a member has an id and an address for its peers")
	}
	s, err := d.broker.Join(ctx, broker.Member{
		ID: m.GetId(), Name: m.GetName(), Peer: m.GetPeer(), GRPC: m.GetGrpc(), HTTP: m.GetHttp(),
	})
	return clusterReply(s, err)
}

// member answers a call about one member.
func member(do func(broker.Cluster, context.Context, uint64) (broker.Status, error)) method {
	return whole(func(d *api, ctx context.Context, r *pb.MemberRequest) (*pb.Cluster, error) {
		if r.GetId() == 0 {
			return nil, status.Errorf(status.InvalidArgument, "id is missing")
		}
		s, err := do(d.broker, ctx, r.GetId())
		return clusterReply(s, err)
	})
}
