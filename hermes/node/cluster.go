package node

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"

	"wirelab/hermes/broker"
	"wirelab/hermes/replica"
	"wirelab/wire/status"
)

// promoteWithin is how many entries a learner may lack to be made a voter: fewer than
// come in while the change itself is agreed on would never be reached under load.
const promoteWithin = 64

// Leader implements [broker.Cluster].
func (n *Node) Leader() (broker.Member, bool) {
	l := n.lead.Load()
	if l.leader == 0 {
		return broker.Member{}, false
	}
	m := n.membership.member(l.leader)
	m.Leader = true
	return m, true
}

// Status implements [broker.Cluster].
func (n *Node) Status(ctx context.Context) (broker.Status, error) {
	back := make(chan answer[broker.Status], 1)
	ok := n.loop.call(func(l *loop) {
		if l == nil {
			back <- answer[broker.Status]{err: errStopping}
			return
		}
		back <- answer[broker.Status]{value: l.status()}
	})
	if !ok {
		return broker.Status{}, errStopping
	}
	s, err := await(ctx, back)
	var why *status.Error
	if errors.As(n.unready(), &why) {
		s.Unready = why.Message
	}
	return s, err
}

// status is the cluster as this node sees it.
func (l *loop) status() broker.Status {
	r := l.replica
	status, conf := r.Status(), r.Conf()
	s := broker.Status{
		Node: l.n.options.Self.ID, Leader: r.Leader(), Term: l.n.lead.Load().term,
		Committed: max(r.Committed(), r.Machine().Applied()), Applied: r.Machine().Applied(),
		Lineage: l.n.membership.lineage(),
	}
	ids := append(slices.Clone(conf.GetVoters()), conf.GetLearners()...)
	slices.Sort(ids)
	for _, id := range ids {
		m := l.n.membership.member(id)
		m.Learner = slices.Contains(conf.GetLearners(), id)
		m.Leader = id == s.Leader
		if s.Leader == s.Node {
			m.Match = status.Progress[id].Match
			m.Reached = id == s.Node || status.Progress[id].RecentActive
		}
		s.Members = append(s.Members, m)
	}
	return s
}

// Join implements [broker.Cluster].
func (n *Node) Join(ctx context.Context, m broker.Member) (broker.Status, error) {
	b, err := n.leading(ctx)
	if err != nil {
		return broker.Status{}, err
	}
	return b.Join(ctx, m)
}

// Promote implements [broker.Cluster].
func (n *Node) Promote(ctx context.Context, id uint64) (broker.Status, error) {
	b, err := n.leading(ctx)
	if err != nil {
		return broker.Status{}, err
	}
	return b.Promote(ctx, id)
}

// Remove implements [broker.Cluster].
func (n *Node) Remove(ctx context.Context, id uint64) (broker.Status, error) {
	b, err := n.leading(ctx)
	if err != nil {
		return broker.Status{}, err
	}
	return b.Remove(ctx, id)
}

// TransferLeadership implements [broker.Cluster].
func (n *Node) TransferLeadership(ctx context.Context, to uint64) (broker.Status, error) {
	b, err := n.leading(ctx)
	if err != nil {
		return broker.Status{}, err
	}
	return b.TransferLeadership(ctx, to)
}

func noMember(id uint64) error {
	return status.Errorf(status.NotFound, "member %d is not there", id)
}

// Join lets a node in as a learner; the maintenance promotes it. A Learner that asks has no log: if it is a
// voter already it has lost what it voted for and acknowledged. (hb-D24)
func (n local) Join(ctx context.Context, m broker.Member) (broker.Status, error) {
	if m.ID == 0 || m.Peer == "" {
		return broker.Status{}, status.Errorf(status.InvalidArgument, "a member has an id and an address for its peers")
	}
	about, err := json.Marshal(plain(m))
	if err != nil {
		return broker.Status{}, status.Public(err)
	}
	return n.change(ctx, func(conf *raftpb.ConfState) (*raftpb.ConfChangeV2, error) {
		if !takesPart(conf, m.ID) {
			return single(raftpb.ConfChangeAddLearnerNode, m.ID, about), nil
		}
		was := n.membership.member(m.ID)
		switch {
		case m.Learner && slices.Contains(conf.GetVoters(), m.ID):
			return nil, status.Errorf(status.Conflict,
				"member %d is here and had a log, which it has lost: remove it, and "+
					"let it join under another id", m.ID)
		case was == plain(m):
			return nil, nil
		case was.Name != m.Name || m.Name == "":
			return nil, status.Errorf(status.Conflict,
				"member %d is node %q at %s: take another id, or remove that one first",
				m.ID, was.Name, was.Peer)
		}
		return single(raftpb.ConfChangeUpdateNode, m.ID, about), nil // the same node at another address
	})
}

// Promote makes a learner a voter.
func (n local) Promote(ctx context.Context, id uint64) (broker.Status, error) {
	return n.change(ctx, func(conf *raftpb.ConfState) (*raftpb.ConfChangeV2, error) {
		switch {
		case slices.Contains(conf.GetVoters(), id):
			return nil, nil
		case !takesPart(conf, id):
			return nil, noMember(id)
		}
		return single(raftpb.ConfChangeAddNode, id, nil), nil
	})
}

// Remove takes a member out. The leader may be it: it then leads until that counts. One that was taken out
// before is no error: a caller without an answer asks again.
func (n local) Remove(ctx context.Context, id uint64) (broker.Status, error) {
	return n.change(ctx, func(conf *raftpb.ConfState) (*raftpb.ConfChangeV2, error) {
		switch {
		case !takesPart(conf, id) && n.membership.removed(id):
			return nil, nil
		case !takesPart(conf, id):
			return nil, noMember(id)
		case len(conf.GetVoters()) == 1 && conf.GetVoters()[0] == id:
			return nil, status.Errorf(status.InvalidArgument, "the last member cannot be removed")
		}
		return single(raftpb.ConfChangeRemoveNode, id, nil), nil
	})
}

func single(kind raftpb.ConfChangeType, id uint64, about []byte) *raftpb.ConfChangeV2 {
	return &raftpb.ConfChangeV2{
		Changes: []*raftpb.ConfChangeSingle{{Type: &kind, NodeId: &id}}, Context: about,
	}
}

// change proposes what which says, nil being nothing, and waits until it counts.
func (n local) change(ctx context.Context, which func(*raftpb.ConfState) (*raftpb.ConfChangeV2, error)) (broker.Status,
	error,
) {
	if err := n.leads(ctx); err != nil {
		return broker.Status{}, err
	}
	back := make(chan answer[broker.Status], 1)
	ok := n.loop.call(func(l *loop) {
		if l == nil {
			back <- answer[broker.Status]{err: errStopping}
			return
		}
		c, err := which(l.replica.Conf())
		if err != nil || c == nil {
			back <- answer[broker.Status]{l.status(), err}
			return
		}
		l.pending[l.replica.ProposeChange(c)] = &proposal{
			ctx: context.WithoutCancel(ctx),
			answer: func(v replica.Verdict) {
				back <- answer[broker.Status]{l.status(), v.Err}
			},
		}
	})
	if !ok {
		return broker.Status{}, errStopping
	}
	s, err := await(ctx, back)
	return s, unconfirmed(err, "the change of members")
}

// unconfirmed says what is not known of something that was asked for, where no caller waits any longer.
func unconfirmed(err error, what string) error {
	if err != nil && status.CodeOf(err) == status.DeadlineExceeded {
		return status.Errorf(status.DeadlineExceeded,
			"%s was not confirmed by a majority of nodes in time: it may or may not count, so ask again", what)
	}
	return err
}

// TransferLeadership makes another node lead, and waits until it does.
func (n local) TransferLeadership(ctx context.Context, to uint64) (broker.Status, error) {
	if err := n.leads(ctx); err != nil {
		return broker.Status{}, err
	}
	back := make(chan answer[broker.Status], 1)
	ok := n.loop.call(func(l *loop) {
		switch {
		case l == nil:
			back <- answer[broker.Status]{err: errStopping}
		case !slices.Contains(l.replica.Conf().GetVoters(), to):
			back <- answer[broker.Status]{err: noMember(to)}
		case to == l.n.options.Self.ID:
			back <- answer[broker.Status]{value: l.status()}
		default:
			l.replica.Transfer(to)
			l.transfers = append(l.transfers, transfer{to: to, until: l.ticks + 30, back: back})
		}
	})
	if !ok {
		return broker.Status{}, errStopping
	}
	s, err := await(ctx, back)
	return s, unconfirmed(err, "the change of leader")
}

// transfer is a caller that waits for another leader.
type transfer struct {
	to, until uint64 // until: the tick at which it is given up
	back      chan<- answer[broker.Status]
}

// transferred answers those whose transfer is done or has taken too long.
func (l *loop) transferred() {
	l.transfers = slices.DeleteFunc(l.transfers, func(t transfer) bool {
		switch leader := l.replica.Leader(); {
		case leader == t.to:
			t.back <- answer[broker.Status]{value: l.status()}
		case l.ticks >= t.until:
			t.back <- answer[broker.Status]{err: status.Errorf(status.Unavailable,
				"node %d did not take leadership over in time; node %d leads", t.to, leader)}
		default:
			return false
		}
		return true
	})
}

// promote makes a voter of a learner that has caught up. On the leader.
func (l *loop) promote() {
	if l.replica.Leader() != l.n.options.Self.ID || len(l.replica.Conf().GetLearners()) == 0 {
		return
	}
	status := l.replica.Status()
	for _, id := range l.replica.Conf().GetLearners() {
		p, ok := status.Progress[id]
		if !ok || !p.RecentActive || p.State != tracker.StateReplicate ||
			p.Match+promoteWithin < l.replica.Committed() {
			continue
		}
		l.n.logger.Info("a learner has caught up and becomes a voter", "member", id)
		l.pending[l.replica.ProposeChange(single(raftpb.ConfChangeAddNode, id, nil))] = &proposal{
			ctx: context.Background(), answer: func(v replica.Verdict) {
				if v.Err != nil {
					l.n.logger.Warn("a learner could not be promoted", "member", id, "why", v.Err)
				}
			},
		}
		return // one at a time
	}
}
