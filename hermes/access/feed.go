package access

import (
	"context"
	"errors"
	"sync"

	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// feed is a subscription that lasts as long as its principal's right.
type feed struct {
	policy *Policy
	who    Principal
	topic  string
	usage  *usage

	ctx    context.Context //nolint:containedctx // the subscription's, whose end by a revocation is shown by its cause
	cancel context.CancelCauseFunc
	over   sync.Once
	inner  broker.Feed // assigned before any caller has the feed
}

var _ broker.Feed = (*feed)(nil)

// Subscribe implements [broker.Broker]. Making the topic needs the right of an admin:
// who lacks it may still subscribe to one that is there.
func (b *guarded) Subscribe(ctx context.Context, start broker.Start) (broker.Feed, error) {
	who, g, err := b.policy.caller(ctx)
	if err != nil {
		return nil, err
	}
	if err := g.may(start.Topic, subscribe); err != nil {
		return nil, err
	}
	var mayNot error
	if start.Create {
		mayNot = g.may(start.Topic, admin)
		start.Create = mayNot == nil
	}
	if start.From == broker.FromGroup && g.groups() != nil {
		if _, err := b.inner.Group(ctx, start.Topic, start.Group); err != nil {
			if status.CodeOf(err) == status.NotFound {
				err = g.groups() // it would be made
			}
			return nil, err
		}
	}
	f, err := b.policy.open(g.owning(ctx), who, g.usage, start.Topic)
	if err != nil {
		return nil, err
	}
	f.inner, err = b.inner.Subscribe(f.ctx, start)
	if err == nil {
		context.AfterFunc(f.ctx, f.release) // also once it is revoked
		return f, nil
	}
	refused := f.allowed()
	f.release()
	switch {
	case refused != nil:
		return nil, refused
	case mayNot != nil && status.CodeOf(err) == status.NotFound:
		return nil, status.Errorf(status.PermissionDenied, "topic %.100q is not there, and %s has no right to make it",
			start.Topic, who.name)
	}
	return nil, err
}

// open takes a place for a feed. It is known to the policy before its right is looked at again, so that a
// reload in the meantime is not missed.
func (p *Policy) open(ctx context.Context, who Principal, u *usage, topic string) (*feed, error) {
	if err := u.subscribe(); err != nil {
		return nil, err
	}
	f := &feed{policy: p, who: who, topic: topic, usage: u}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	p.mu.Lock()
	p.feeds[f] = struct{}{}
	p.mu.Unlock()
	if err := f.allowed(); err != nil {
		f.release()
		return nil, err
	}
	return f, nil
}

// release gives the place back, once.
func (f *feed) release() {
	f.over.Do(func() {
		f.policy.mu.Lock()
		delete(f.policy.feeds, f)
		f.policy.mu.Unlock()
		f.usage.unsubscribe()
		f.cancel(nil)
	})
}

// revoked is the cause of an end by the policy, which the cause of no caller is.
type revoked struct{ error }

// revoke ends the feed, and a Next that waits. The policy's lock is held.
func (f *feed) revoke(why error) { f.cancel(revoked{why}) }

// allowed refuses what the policy does not allow any more, or did not at its last
// reload: what was revoked stays so.
func (f *feed) allowed() error {
	var end revoked
	if errors.As(context.Cause(f.ctx), &end) {
		return end.error
	}
	g, err := f.policy.granted(f.who)
	if err != nil {
		return err
	}
	return g.may(f.topic, subscribe)
}

// used refuses another principal than the feed's. A caller that has the feed and names none is taken for its
// own.
func (f *feed) used(ctx context.Context) error {
	if who, ok := From(ctx); ok && who.name != f.who.name {
		return status.Errorf(status.PermissionDenied, "the subscription is not one of %s", who.name)
	}
	return f.allowed()
}

// Next implements [broker.Feed]. The right is asked for again when messages are
// here: waiting for them may have taken long.
func (f *feed) Next(ctx context.Context, room broker.Room) (broker.Batch, error) {
	if err := f.used(ctx); err != nil {
		return broker.Batch{}, err
	}
	b, err := f.inner.Next(ctx, room)
	if refused := f.allowed(); refused != nil {
		if err == nil {
			f.inner.Return(b.Count) // it is sent to no caller
		}
		return broker.Batch{}, refused
	}
	return b, err
}

// Ack implements [broker.Feed].
func (f *feed) Ack(ctx context.Context, ranges []broker.Range) error {
	if err := f.used(ctx); err != nil {
		return err
	}
	return f.inner.Ack(ctx, ranges)
}

// Nack implements [broker.Feed].
func (f *feed) Nack(ctx context.Context, ranges []broker.Range, reason string, delay int64) error {
	if err := f.used(ctx); err != nil {
		return err
	}
	return f.inner.Nack(ctx, ranges, reason, delay)
}

// Return implements [broker.Feed]. It needs no right: it takes nothing.
func (f *feed) Return(count int) { f.inner.Return(count) }

// Close implements [broker.Feed].
func (f *feed) Close() {
	f.inner.Close()
	f.release()
}
