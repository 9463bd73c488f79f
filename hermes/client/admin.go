package client

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	pb "wirelab/hermes/gen"
	"wirelab/wire/status"
)

// What follows asks any node. A call that fails with Unavailable is tried again at the
// others until ctx ends or RetryFor is over, so that DeleteTopic may say NotFound of a
// topic that it deleted at its first try.
var (
	_ broker.Topics = (*Client)(nil)
	_ broker.Groups = (*Client)(nil)
)

// call asks nodes in turn until one answers.
func call[Request, Reply any](
	ctx context.Context, c *Client, request Request,
	do func(pb.AdminClient, context.Context, Request, ...grpc.CallOption) (Reply, error),
) (reply Reply, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.RetryFor)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	var p pause
	var asked tried
	last := errClosed
	for p.wait(ctx) {
		for _, address := range c.nodes.order(true) {
			conn, err := c.nodes.conn(address)
			if err != nil {
				return reply, err
			}
			asking, answered := context.WithCancelCause(ctx)
			guarded := make(chan struct{})
			go func() {
				defer close(guarded)
				c.nodes.guard(asking, address, func(time.Duration) bool { return true }, answered)
			}()
			var header metadata.MD
			reply, err = do(pb.NewAdminClient(conn), asking, request, grpc.Header(&header))
			answered(nil)
			<-guarded
			if err == nil {
				c.nodes.hinted(address, hintOf(header))
				return reply, nil
			}
			last = decode(err)
			if hangs := context.Cause(asking); ctx.Err() == nil && status.CodeOf(hangs) == status.Unavailable {
				last = hangs
			}
			switch code := status.CodeOf(last); {
			case late(last), code == status.DeadlineExceeded && ctx.Err() != nil:
				return reply, asked.failed(last) // what was said before tells more than that time is over
			case code != status.Unavailable:
				return reply, last
			}
			c.nodes.lost(address)
			if ctx.Err() == nil {
				asked.note(address, last)
			}
		}
	}
	if c.ctx.Err() != nil {
		return reply, errClosed
	}
	return reply, asked.failed(last)
}

// CreateTopic and the following are broker.Topics'.
func (c *Client) CreateTopic(ctx context.Context, t broker.Topic) (broker.Topic, error) {
	r, err := call(ctx, c, topicConfig(t), pb.AdminClient.CreateTopic)
	return topic(r), err
}

// ConfigureTopic gives a topic another retention.
func (c *Client) ConfigureTopic(ctx context.Context, t broker.Topic) (broker.Topic, error) {
	r, err := call(ctx, c, topicConfig(t), pb.AdminClient.ConfigureTopic)
	return topic(r), err
}

// DeleteTopic deletes a topic, its messages and its groups.
func (c *Client) DeleteTopic(ctx context.Context, name string) error {
	_, err := call(ctx, c, &pb.DeleteTopicRequest{Name: name}, pb.AdminClient.DeleteTopic)
	return err
}

// Topic reads a topic's state.
func (c *Client) Topic(ctx context.Context, name string, linearizable bool) (broker.Topic, error) {
	r, err := call(ctx, c, &pb.GetTopicRequest{Name: name, Linearizable: linearizable}, pb.AdminClient.GetTopic)
	return topic(r), err
}

// ListTopics lists topics in order of name; of a limit of 0 or above 1000 it asks in pieces.
func (c *Client) ListTopics(ctx context.Context, prefix, after string, limit int) ([]broker.Topic, error) {
	if limit <= 0 {
		limit = hermes.TopicsLimit
	}
	var all []broker.Topic
	for len(all) < limit {
		r, err := call(ctx, c, &pb.ListTopicsRequest{
			Prefix: prefix, After: after, Limit: uint32(min(limit-len(all), listMost)),
		}, pb.AdminClient.ListTopics)
		if err != nil {
			return nil, err
		}
		for _, t := range r.GetTopics() {
			all = append(all, topic(t))
		}
		if after = r.GetNext(); after == "" {
			break
		}
	}
	return all, nil
}

// listMost is how many topics a node lists at once.
const listMost = 1000

// CreateGroup and the following are broker.Groups'.
func (c *Client) CreateGroup(ctx context.Context, g broker.Group, start broker.Start) (broker.Group, error) {
	r := &pb.GroupConfig{Topic: g.Topic, Name: g.Name, AckTimeout: g.AckTimeout, MaxAttempts: g.MaxAttempts}
	switch start.From {
	case broker.FromTail:
		r.From = &pb.GroupConfig_Tail{Tail: true}
	case broker.FromOffset:
		r.From = &pb.GroupConfig_Offset{Offset: start.Offset}
	case broker.FromTime:
		r.From = &pb.GroupConfig_Time{Time: start.Time}
	case broker.FromOldest:
		r.From = &pb.GroupConfig_Oldest{Oldest: true}
	default:
		return broker.Group{}, nowhere(start.From)
	}
	reply, err := call(ctx, c, r, pb.AdminClient.CreateGroup)
	return group(reply), err
}

// SeekGroup moves a group; what its members hold is forgotten.
func (c *Client) SeekGroup(ctx context.Context, topic, name string, to broker.Start) (broker.Group, error) {
	r := &pb.SeekGroupRequest{Topic: topic, Name: name}
	switch to.From {
	case broker.FromTail:
		r.To = &pb.SeekGroupRequest_Tail{Tail: true}
	case broker.FromOffset:
		r.To = &pb.SeekGroupRequest_Offset{Offset: to.Offset}
	case broker.FromTime:
		r.To = &pb.SeekGroupRequest_Time{Time: to.Time}
	case broker.FromOldest:
		r.To = &pb.SeekGroupRequest_Oldest{Oldest: true}
	default:
		return broker.Group{}, nowhere(to.From)
	}
	reply, err := call(ctx, c, r, pb.AdminClient.SeekGroup)
	return group(reply), err
}

func nowhere(from broker.From) error {
	return status.Errorf(status.InvalidArgument, "a group cannot be put at beginning %d", from)
}

// DeleteGroup deletes a group and its cursor.
func (c *Client) DeleteGroup(ctx context.Context, topic, name string) error {
	_, err := call(ctx, c, &pb.DeleteGroupRequest{Topic: topic, Name: name}, pb.AdminClient.DeleteGroup)
	return err
}

// Group reads a group's state.
func (c *Client) Group(ctx context.Context, topic, name string) (broker.Group, error) {
	r, err := call(ctx, c, &pb.GetGroupRequest{Topic: topic, Name: name}, pb.AdminClient.GetGroup)
	return group(r), err
}

// ListGroups reads the state of all groups of a topic.
func (c *Client) ListGroups(ctx context.Context, topic string) ([]broker.Group, error) {
	r, err := call(ctx, c, &pb.ListGroupsRequest{Topic: topic}, pb.AdminClient.ListGroups)
	if err != nil {
		return nil, err
	}
	var all []broker.Group
	for _, g := range r.GetGroups() {
		all = append(all, group(g))
	}
	return all, nil
}

// Status and the following are broker.Cluster's, of the node that answers.
func (c *Client) Status(ctx context.Context) (broker.Status, error) {
	r, err := call(ctx, c, &pb.GetClusterRequest{}, pb.AdminClient.GetCluster)
	return clusterStatus(r), err
}

// Join adds a node to the cluster.
func (c *Client) Join(ctx context.Context, m broker.Member) (broker.Status, error) {
	r, err := call(ctx, c, &pb.JoinRequest{Member: &pb.Member{
		Id: m.ID, Name: m.Name, Peer: m.Peer, Grpc: m.GRPC, Http: m.HTTP,
	}}, pb.AdminClient.Join)
	return clusterStatus(r), err
}

// Promote makes a learner a voter.
func (c *Client) Promote(ctx context.Context, id uint64) (broker.Status, error) {
	r, err := call(ctx, c, &pb.MemberRequest{Id: id}, pb.AdminClient.Promote)
	return clusterStatus(r), err
}

// Remove removes a node from the cluster.
func (c *Client) Remove(ctx context.Context, id uint64) (broker.Status, error) {
	r, err := call(ctx, c, &pb.MemberRequest{Id: id}, pb.AdminClient.Remove)
	return clusterStatus(r), err
}

// TransferLeadership makes another node lead.
func (c *Client) TransferLeadership(ctx context.Context, to uint64) (broker.Status, error) {
	r, err := call(ctx, c, &pb.MemberRequest{Id: to}, pb.AdminClient.TransferLeadership)
	return clusterStatus(r), err
}

func topicConfig(t broker.Topic) *pb.TopicConfig {
	return &pb.TopicConfig{Name: t.Name, RetentionAge: t.RetentionAge, RetentionBytes: t.RetentionBytes, First: t.First}
}

func topic(t *pb.Topic) broker.Topic {
	return broker.Topic{
		Name: t.GetConfig().GetName(), ID: t.GetId(), First: t.GetFirst(), Next: t.GetNext(), Bytes: t.GetBytes(),
		Created:      t.GetCreated(),
		RetentionAge: t.GetConfig().GetRetentionAge(), RetentionBytes: t.GetConfig().GetRetentionBytes(),
		Subscribers: int(t.GetSubscribers()),
	}
}

func group(g *pb.Group) broker.Group {
	c := g.GetConfig()
	out := broker.Group{
		Topic: c.GetTopic(), Name: c.GetName(), AckTimeout: c.GetAckTimeout(), MaxAttempts: c.GetMaxAttempts(),
		Floor: g.GetFloor(), Lag: g.GetLag(), Dead: g.GetDead(), Trimmed: g.GetTrimmed(),
		Members: int(g.GetMembers()), InFlight: int(g.GetInFlight()), Redelivered: g.GetRedelivered(),
	}
	for _, r := range g.GetAcked() {
		out.Acked = append(out.Acked, broker.Range{First: r.GetFirst(), Last: r.GetLast()})
	}
	return out
}

func clusterStatus(c *pb.Cluster) broker.Status {
	s := broker.Status{
		Node: c.GetNode(), Leader: c.GetLeader(), Term: c.GetTerm(), Committed: c.GetCommitted(),
		Applied: c.GetApplied(), Unready: c.GetUnready(),
	}
	for _, m := range c.GetMembers() {
		s.Members = append(s.Members, broker.Member{
			ID: m.GetId(), Name: m.GetName(), Peer: m.GetPeer(), GRPC: m.GetGrpc(), HTTP: m.GetHttp(),
			Learner: m.GetLearner(), Leader: m.GetLeader(), Match: m.GetMatch(), Reached: m.GetReached(),
		})
	}
	return s
}
