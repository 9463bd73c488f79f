package grpc

import (
	"wirelab/hermes/broker"
	pb "wirelab/hermes/gen"
)

// The broker's answers as they travel.

func topicReply(t broker.Topic, err error) (*pb.Topic, error) {
	if err != nil {
		return nil, err
	}
	return topic(t), nil
}

func topic(t broker.Topic) *pb.Topic {
	return &pb.Topic{
		Config: &pb.TopicConfig{Name: t.Name, RetentionAge: t.RetentionAge, RetentionBytes: t.RetentionBytes},
		Id:     t.ID, First: t.First, Next: t.Next, Bytes: t.Bytes, Created: t.Created,
		Subscribers: uint32(max(t.Subscribers, 0)),
	}
}

func groupReply(g broker.Group, err error) (*pb.Group, error) {
	if err != nil {
		return nil, err
	}
	return group(g), nil
}

func group(g broker.Group) *pb.Group {
	reply := &pb.Group{
		Config: &pb.GroupConfig{Topic: g.Topic, Name: g.Name, AckTimeout: g.AckTimeout, MaxAttempts: g.MaxAttempts},
		Floor:  g.Floor, Lag: g.Lag, Members: uint32(max(g.Members, 0)), InFlight: uint32(max(g.InFlight, 0)),
		Redelivered: g.Redelivered, Dead: g.Dead, Trimmed: g.Trimmed,
	}
	for _, r := range g.Acked {
		reply.Acked = append(reply.Acked, &pb.Range{First: r.First, Last: r.Last})
	}
	return reply
}

func clusterReply(s broker.Status, err error) (*pb.Cluster, error) {
	if err != nil {
		return nil, err
	}
	reply := &pb.Cluster{
		Node: s.Node, Leader: s.Leader, Term: s.Term, Committed: s.Committed, Applied: s.Applied,
		Unready: s.Unready,
	}
	for _, m := range s.Members {
		reply.Members = append(reply.Members, &pb.Member{
			Id: m.ID, Name: m.Name, Peer: m.Peer, Grpc: m.GRPC, Http: m.HTTP,
			Learner: m.Learner, Leader: m.Leader, Match: m.Match, Reached: m.Reached,
		})
	}
	return reply, nil
}
