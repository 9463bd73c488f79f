package brokertest

import (
	"context"

	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// self is the only member.
const self = 1

func (m *InMemory) member() broker.Member {
	return broker.Member{
		ID: self, Name: "memory", Peer: "127.0.0.1:1", GRPC: "127.0.0.1:2", HTTP: "127.0.0.1:3",
		Leader: m.leads, Match: m.index, Reached: true,
	}
}

// Status implements [broker.Cluster].
func (m *InMemory) Status(context.Context) (broker.Status, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := broker.Status{Node: self, Term: m.term, Committed: m.index, Applied: m.index, Members: []broker.Member{
		m.member(),
	}}
	if m.leads {
		s.Leader = self
	} else {
		s.Unready = "this node knows no leader"
	}
	return s, nil
}

// Leader implements [broker.Cluster].
func (m *InMemory) Leader() (broker.Member, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.leads {
		return broker.Member{}, false
	}
	return m.member(), true
}

// Join implements [broker.Cluster]: no one can join a node in memory.
func (m *InMemory) Join(_ context.Context, who broker.Member) (broker.Status, error) {
	switch {
	case who.ID == 0 || who.Peer == "":
		return broker.Status{}, status.Errorf(status.InvalidArgument, "a member has an id and an address for its peers")
	case who.ID == self:
		return broker.Status{}, status.Errorf(status.Conflict, "member %d is another node", who.ID)
	}
	return broker.Status{}, status.Errorf(status.Unimplemented, "a broker in memory stays alone")
}

// Promote implements [broker.Cluster].
func (m *InMemory) Promote(ctx context.Context, id uint64) (broker.Status, error) {
	if id != self {
		return broker.Status{}, noMember(id)
	}
	return m.Status(ctx)
}

// Remove implements [broker.Cluster].
func (m *InMemory) Remove(_ context.Context, id uint64) (broker.Status, error) {
	if id != self {
		return broker.Status{}, noMember(id)
	}
	return broker.Status{}, status.Errorf(status.InvalidArgument, "the last member cannot be removed")
}

// TransferLeadership implements [broker.Cluster].
func (m *InMemory) TransferLeadership(ctx context.Context, to uint64) (broker.Status, error) {
	if to != self {
		return broker.Status{}, noMember(to)
	}
	return m.Status(ctx)
}

func noMember(id uint64) error {
	return status.Errorf(status.NotFound, "member %d is not there", id)
}
