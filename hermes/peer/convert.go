package peer

import (
	"wirelab/hermes/broker"
	"wirelab/hermes/peer/gen"
)

// The types of package broker as messages of peer.proto, both ways. A test fills every
// field and compares, so that one that is added there cannot be lost here.

func writeTopic(t broker.Topic) *gen.Topic {
	return &gen.Topic{
		Name: t.Name, Id: t.ID, First: t.First, Next: t.Next, Bytes: t.Bytes, Created: t.Created,
		RetentionAge: t.RetentionAge, RetentionBytes: t.RetentionBytes, Subscribers: int64(t.Subscribers),
	}
}

func readTopic(t *gen.Topic) broker.Topic {
	return broker.Topic{
		Name: t.GetName(), ID: t.GetId(), First: t.GetFirst(), Next: t.GetNext(), Bytes: t.GetBytes(),
		Created:      t.GetCreated(),
		RetentionAge: t.GetRetentionAge(), RetentionBytes: t.GetRetentionBytes(), Subscribers: int(t.GetSubscribers()),
	}
}

func writeRanges(ranges []broker.Range) []*gen.Range {
	return each(ranges, func(r broker.Range) *gen.Range { return &gen.Range{First: r.First, Last: r.Last} })
}

func readRanges(ranges []*gen.Range) []broker.Range {
	return each(ranges, func(r *gen.Range) broker.Range { return broker.Range{First: r.GetFirst(), Last: r.GetLast()} })
}

func writeGroup(g broker.Group) *gen.Group {
	return &gen.Group{
		Topic: g.Topic, Name: g.Name, AckTimeout: g.AckTimeout, MaxAttempts: g.MaxAttempts, Floor: g.Floor,
		Acked: writeRanges(g.Acked), Lag: g.Lag, Dead: g.Dead, Members: int64(g.Members),
		InFlight: int64(g.InFlight), Redelivered: g.Redelivered, Trimmed: g.Trimmed,
	}
}

func readGroup(g *gen.Group) broker.Group {
	return broker.Group{
		Topic: g.GetTopic(), Name: g.GetName(), AckTimeout: g.GetAckTimeout(), MaxAttempts: g.GetMaxAttempts(),
		Floor: g.GetFloor(),
		Acked: readRanges(g.GetAcked()), Lag: g.GetLag(), Dead: g.GetDead(), Members: int(g.GetMembers()),
		InFlight: int(g.GetInFlight()), Redelivered: g.GetRedelivered(), Trimmed: g.GetTrimmed(),
	}
}

// writeOwner: no one is left away.
func writeOwner(o broker.Owner) *gen.Owner {
	if o == (broker.Owner{}) {
		return nil
	}
	return &gen.Owner{Name: o.Name, Groups: o.Groups, Producers: o.Producers}
}

func readOwner(o *gen.Owner) broker.Owner {
	return broker.Owner{Name: o.GetName(), Groups: o.GetGroups(), Producers: o.GetProducers()}
}

func writeStart(s *broker.Start) *gen.Start {
	return &gen.Start{
		Topic: s.Topic, From: uint32(s.From), Offset: s.Offset, Time: s.Time, Group: s.Group,
		InFlight: int64(s.InFlight), Create: s.Create,
	}
}

// readStart: a beginning beyond what a byte holds is one that no node knows.
func readStart(s *gen.Start) broker.Start {
	return broker.Start{
		Topic: s.GetTopic(), From: broker.From(min(s.GetFrom(), 255)), Offset: s.GetOffset(), Time: s.GetTime(),
		Group:    s.GetGroup(),
		InFlight: int(s.GetInFlight()), Create: s.GetCreate(),
	}
}

func writeMember(m broker.Member) *gen.Member {
	return &gen.Member{
		Id: m.ID, Name: m.Name, Peer: m.Peer, Grpc: m.GRPC, Http: m.HTTP, Learner: m.Learner, Leader: m.Leader,
		Match: m.Match, Reached: m.Reached,
	}
}

func readMember(m *gen.Member) broker.Member {
	return broker.Member{
		ID: m.GetId(), Name: m.GetName(), Peer: m.GetPeer(), GRPC: m.GetGrpc(), HTTP: m.GetHttp(),
		Learner: m.GetLearner(),
		Leader:  m.GetLeader(),
		Match:   m.GetMatch(), Reached: m.GetReached(),
	}
}

func writeStatus(s broker.Status) *gen.Status {
	return &gen.Status{
		Node: s.Node, Leader: s.Leader, Term: s.Term, Committed: s.Committed, Applied: s.Applied,
		Members: each(s.Members, writeMember), Unready: s.Unready, Lineage: s.Lineage,
	}
}

func readStatus(s *gen.Status) broker.Status {
	return broker.Status{
		Node: s.GetNode(), Leader: s.GetLeader(), Term: s.GetTerm(), Committed: s.GetCommitted(),
		Applied: s.GetApplied(),
		Members: each(s.GetMembers(), readMember), Unready: s.GetUnready(), Lineage: s.GetLineage(),
	}
}

// each converts a list; none stays none.
func each[A, B any](list []A, one func(A) B) []B {
	if len(list) == 0 {
		return nil
	}
	converted := make([]B, len(list))
	for i, a := range list {
		converted[i] = one(a)
	}
	return converted
}
