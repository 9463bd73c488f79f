package node

import (
	"context"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/wire/status"
)

// CreateGroup implements [broker.Groups].
func (n *Node) CreateGroup(ctx context.Context, g broker.Group, start broker.Start) (broker.Group, error) {
	b, err := n.leading(ctx)
	if err != nil {
		return broker.Group{}, err
	}
	return b.CreateGroup(ctx, g, start)
}

// SeekGroup implements [broker.Groups].
func (n *Node) SeekGroup(ctx context.Context, topic, name string, to broker.Start) (broker.Group, error) {
	b, err := n.leading(ctx)
	if err != nil {
		return broker.Group{}, err
	}
	return b.SeekGroup(ctx, topic, name, to)
}

// DeleteGroup implements [broker.Groups].
func (n *Node) DeleteGroup(ctx context.Context, topic, name string) error {
	b, err := n.leading(ctx)
	if err != nil {
		return err
	}
	return b.DeleteGroup(ctx, topic, name)
}

// Group implements [broker.Groups].
func (n *Node) Group(ctx context.Context, topic, name string) (broker.Group, error) {
	b, err := n.leading(ctx)
	if err != nil {
		return broker.Group{}, err
	}
	return b.Group(ctx, topic, name)
}

// ListGroups implements [broker.Groups].
func (n *Node) ListGroups(ctx context.Context, topic string) ([]broker.Group, error) {
	b, err := n.leading(ctx)
	if err != nil {
		return nil, err
	}
	return b.ListGroups(ctx, topic)
}

// groupRef is a group, found.
type groupRef struct {
	topic uint32
	id    uint64
	broker.Group
}

// find is a group as the leader has it, behind all that was acknowledged.
func (n local) find(ctx context.Context, topicName, name string) (groupRef, error) {
	if err := hermes.CheckGroup(name); err != nil {
		return groupRef{}, err
	}
	if err := n.leads(ctx); err != nil {
		return groupRef{}, err
	}
	return sure(ctx, n.Node, func(m *core.Machine) (groupRef, error) {
		t, err := n.topicOf(m, topicName)
		if err != nil {
			return groupRef{}, err
		}
		id, g, ok := m.Group(topicName, name)
		if !ok {
			return groupRef{}, status.Errorf(status.NotFound, "topic %q has no group %q", topicName, name)
		}
		return groupRef{t.ID, id, n.groups.counted(id, g)}, nil
	})
}

// CreateGroup makes a group on the leader.
func (n local) CreateGroup(ctx context.Context, g broker.Group, start broker.Start) (broker.Group, error) {
	ref, err := n.ensureGroup(ctx, g, start)
	return ref.Group, err
}

// ensureGroup makes a group, or finds it.
func (n local) ensureGroup(ctx context.Context, g broker.Group, start broker.Start) (groupRef, error) {
	if err := hermes.CheckGroup(g.Name); err != nil {
		return groupRef{}, err
	}
	if g.AckTimeout < 0 {
		return groupRef{}, status.Errorf(status.InvalidArgument, "ack timeout %d is negative", g.AckTimeout)
	}
	if err := n.leads(ctx); err != nil {
		return groupRef{}, err
	}
	t, err := sure(ctx, n.Node, func(m *core.Machine) (broker.Topic, error) { return n.topicOf(m, g.Topic) })
	if err != nil {
		return groupRef{}, err
	}
	floor, err := n.at(t, start)
	if err != nil {
		return groupRef{}, err
	}
	of := broker.OwnerOf(ctx)
	return propose(ctx, n.Node,
		commands(core.CreateGroup(t.ID, g, floor, core.Owner{Name: of.Name, Most: of.Groups})), 1,
		func(m *core.Machine, o []core.Outcome) (groupRef, error) {
			made, ok := m.GroupByID(o[0].Group)
			if !ok { // deleted by the same entry
				return groupRef{}, status.Errorf(status.NotFound, "group %q was deleted", g.Name)
			}
			return groupRef{t.ID, o[0].Group, n.groups.counted(o[0].Group, made)}, nil
		})
}

// at is the offset that a beginning stands for.
func (n *Node) at(t broker.Topic, start broker.Start) (uint64, error) {
	switch start.From {
	case broker.FromTail:
		return t.Next, nil
	case broker.FromOffset:
		if start.Offset > t.Next {
			return 0, broker.Beyond(t.Name, start.Offset, t.Next)
		}
		return max(t.First, start.Offset), nil
	case broker.FromTime:
		offset, err := n.byTime(t.ID, start.Time, t.Next)
		return max(t.First, offset), err
	case broker.FromOldest:
		return t.First, nil
	}
	return 0, status.Errorf(status.InvalidArgument, "beginning %d is none here", start.From)
}

// SeekGroup moves a group on the leader.
func (n local) SeekGroup(ctx context.Context, topicName, name string, to broker.Start) (broker.Group, error) {
	ref, err := n.find(ctx, topicName, name)
	if err != nil {
		return broker.Group{}, err
	}
	t, err := look(ctx, n.Node, func(m *core.Machine) (broker.Topic, error) { return n.topicOf(m, topicName) })
	if err != nil {
		return broker.Group{}, err
	}
	floor, err := n.at(t, to)
	if err != nil {
		return broker.Group{}, err
	}
	return propose(ctx, n.Node, commands(core.SeekGroup(ref.id, floor)), 1,
		func(m *core.Machine, _ []core.Outcome) (broker.Group, error) {
			g, _ := m.GroupByID(ref.id)
			n.groups.seek(ref.id, g.Floor, m.Generation(ref.id))
			return n.groups.counted(ref.id, g), nil
		})
}

// DeleteGroup takes a group away on the leader.
func (n local) DeleteGroup(ctx context.Context, topicName, name string) error {
	ref, err := n.find(ctx, topicName, name)
	if err != nil {
		return err
	}
	_, err = propose(ctx, n.Node, commands(core.DeleteGroup(ref.id)), 1,
		func(*core.Machine, []core.Outcome) (struct{}, error) {
			n.groups.endGroup(ref.id, status.Errorf(status.NotFound, "group %q was deleted", name))
			return struct{}{}, nil
		})
	return err
}

// Group reads a group on the leader.
func (n local) Group(ctx context.Context, topicName, name string) (broker.Group, error) {
	ref, err := n.find(ctx, topicName, name)
	return ref.Group, err
}

// ListGroups lists a topic's groups on the leader.
func (n local) ListGroups(ctx context.Context, topicName string) ([]broker.Group, error) {
	if err := n.leads(ctx); err != nil {
		return nil, err
	}
	return sure(ctx, n.Node, func(m *core.Machine) ([]broker.Group, error) {
		if _, err := n.topicOf(m, topicName); err != nil {
			return nil, err
		}
		all := m.Groups(topicName)
		for i := range all {
			if id, _, ok := m.Group(topicName, all[i].Name); ok {
				all[i] = n.groups.counted(id, all[i])
			}
		}
		return all, nil
	})
}
