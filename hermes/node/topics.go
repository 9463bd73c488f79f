package node

import (
	"context"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/wire/status"
)

// CreateTopic implements [broker.Topics].
func (n *Node) CreateTopic(ctx context.Context, t broker.Topic) (broker.Topic, error) {
	b, err := n.leading(ctx)
	if err != nil {
		return broker.Topic{}, err
	}
	return b.CreateTopic(ctx, t)
}

// ConfigureTopic implements [broker.Topics].
func (n *Node) ConfigureTopic(ctx context.Context, t broker.Topic) (broker.Topic, error) {
	b, err := n.leading(ctx)
	if err != nil {
		return broker.Topic{}, err
	}
	return b.ConfigureTopic(ctx, t)
}

// DeleteTopic implements [broker.Topics].
func (n *Node) DeleteTopic(ctx context.Context, name string) error {
	b, err := n.leading(ctx)
	if err != nil {
		return err
	}
	return b.DeleteTopic(ctx, name)
}

// CreateTopic makes a topic on the leader.
func (n local) CreateTopic(ctx context.Context, t broker.Topic) (broker.Topic, error) {
	if t.First > 0 {
		return n.changeTopic(ctx, t, core.BeginTopic)
	}
	return n.changeTopic(ctx, t, core.CreateTopic)
}

// ConfigureTopic changes a topic on the leader.
func (n local) ConfigureTopic(ctx context.Context, t broker.Topic) (broker.Topic, error) {
	return n.changeTopic(ctx, t, core.ConfigureTopic)
}

func (n local) changeTopic(ctx context.Context, t broker.Topic,
	command func(broker.Topic) []byte,
) (broker.Topic, error) {
	if err := hermes.CheckTopic(t.Name); err != nil {
		return broker.Topic{}, err
	}
	if err := n.leads(ctx); err != nil {
		return broker.Topic{}, err
	}
	return propose(ctx, n.Node, commands(command(t)), 1, func(m *core.Machine, _ []core.Outcome) (broker.Topic, error) {
		return n.topicOf(m, t.Name)
	})
}

// DeleteTopic takes a topic away on the leader.
func (n local) DeleteTopic(ctx context.Context, name string) error {
	if err := n.leads(ctx); err != nil {
		return err
	}
	t, err := sure(ctx, n.Node, func(m *core.Machine) (broker.Topic, error) { return n.topicOf(m, name) })
	if err != nil {
		return err
	}
	_, err = propose(ctx, n.Node, commands(core.DeleteTopic(t.ID)), 1,
		func(*core.Machine, []core.Outcome) (struct{}, error) {
			return struct{}{}, nil
		})
	return err
}

// topicOf is a topic's state. On the loop.
func (n *Node) topicOf(m *core.Machine, name string) (broker.Topic, error) {
	t, err := topicOf(m, name)
	if err != nil {
		return t, err
	}
	return n.counted(t), nil
}

// topicOf is a topic's state as the machine has it.
func topicOf(m *core.Machine, name string) (broker.Topic, error) {
	if err := hermes.CheckTopic(name); err != nil {
		return broker.Topic{}, err
	}
	t, ok := m.Topic(name)
	if !ok {
		return broker.Topic{}, status.Errorf(status.NotFound, "topic %q is not there: create it", name)
	}
	return t, nil
}

// counted adds what only this node knows.
func (n *Node) counted(t broker.Topic) broker.Topic {
	if here := n.topics.id(t.ID); here != nil {
		t.Subscribers = int(here.subscribers.Load())
	}
	return t
}

// Topic implements [broker.Topics].
func (n *Node) Topic(ctx context.Context, name string, linearizable bool) (broker.Topic, error) {
	read := func(m *core.Machine) (broker.Topic, error) { return n.topicOf(m, name) }
	if linearizable {
		return sure(ctx, n, read)
	}
	return look(ctx, n, read)
}

// ListTopics implements [broker.Topics].
func (n *Node) ListTopics(ctx context.Context, prefix, after string, limit int) ([]broker.Topic, error) {
	return look(ctx, n, func(m *core.Machine) ([]broker.Topic, error) {
		all := m.Topics(prefix, after, max(0, limit))
		for i := range all {
			all[i] = n.counted(all[i])
		}
		return all, nil
	})
}
