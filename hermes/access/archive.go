package access

import (
	"context"

	"wirelab/hermes/broker"
)

// everything is a name that only a right on all topics covers: no topic can have it.
const everything = "*"

// both is the guard of what needs two rights on each topic; none stands for all of them.
func (b *guarded) both(ctx context.Context, topics []string, first, second right) error {
	if len(topics) == 0 {
		topics = []string{everything}
	}
	for _, topic := range topics {
		for _, r := range []right{first, second} {
			if err := b.on(ctx, topic, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// Cut implements [broker.Archive]. A caller that takes a backup away reads all that is in it and learns where
// every group stands, so neither right alone is enough.
func (b *guarded) Cut(ctx context.Context, topics []string) (broker.Cut, error) {
	if err := b.both(ctx, topics, admin, subscribe); err != nil {
		return nil, err
	}
	c, err := b.inner.Cut(ctx, topics)
	if err != nil {
		return nil, err
	}
	return &cut{c, b, topics}, nil
}

// cut is one whose reader must keep his rights until its end.
type cut struct {
	broker.Cut
	guard  *guarded
	topics []string
}

// Next implements [broker.Cut].
func (c *cut) Next(ctx context.Context, limit int) (broker.Part, error) {
	if err := c.guard.both(ctx, c.topics, admin, subscribe); err != nil {
		return broker.Part{}, err
	}
	return c.Cut.Next(ctx, limit)
}

// Restore implements [broker.Archive]. It makes a topic and says what was published there, and
// when: an admin who may not publish must not get to it this way. Quotas are not asked: they
// are for what comes anew.
func (b *guarded) Restore(ctx context.Context, step broker.Restore) (broker.Restored, error) {
	if err := b.both(ctx, []string{step.Topic.Name}, admin, publish); err != nil {
		return broker.Restored{}, err
	}
	return b.inner.Restore(ctx, step)
}
