package wirelab

import (
	"context"
	"iter"
)

// Hooks are functions that a wrapped service calls during a call; see [Workload.Wrap]. Each may be nil. The zero
// value does nothing.
type Hooks struct {
	// Before is called in the service when a call starts, with the context of the call, before anything is
	// answered. In a client stream it is called once the requests have ended: a service waits there for its caller,
	// and over HTTP/1.1 it cannot see that a caller has left while the request is unread. An error from Before is
	// the error of the call. It may block until ctx ends, and it may panic.
	Before func(ctx context.Context, operation string) error
	// Item makes every server stream endless: it is called before each item, and an error from it ends the stream.
	// Each item must take about [ItemSize] bytes on any wire.
	Item func(ctx context.Context) error
	// After is called when the method of the call, or its iterator, has ended, with or without an error.
	After func(operation string)
}

// ItemSize is the approximate size in bytes of an item of an endless stream: large enough that a few thousand items
// show whether anything bounds them.
const ItemSize = 4 << 10

// none reports whether no hook is set.
func (h Hooks) none() bool { return h.Before == nil && h.Item == nil && h.After == nil }

// whole returns the hooks with Before and After set to no-ops if they were nil, because every wrapper calls these
// two.
func (h Hooks) whole() Hooks {
	if h.Before == nil {
		h.Before = func(context.Context, string) error { return nil }
	}
	if h.After == nil {
		h.After = func(string) {}
	}
	return h
}

// Between makes a call of one reply with the hooks around it. Implementations of [Workload.Wrap] use it.
func Between[Req, Rep any](
	ctx context.Context, hooks Hooks, operation string, call func(context.Context, Req) (Rep, error), req Req,
) (rep Rep, err error) {
	defer hooks.After(operation)
	if err := hooks.Before(ctx, operation); err != nil {
		return rep, err
	}
	return call(ctx, req)
}

// BetweenItems makes a call that streams replies with the hooks around it. endless returns item number n, from 1,
// of the endless stream that Item asks for.
func BetweenItems[Req, Item any](
	ctx context.Context, hooks Hooks, operation string, call func(context.Context, Req) iter.Seq2[Item, error], req Req,
	endless func(n uint64) Item,
) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		defer hooks.After(operation)
		if err := hooks.Before(ctx, operation); err != nil {
			var none Item
			yield(none, err)
			return
		}
		if hooks.Item == nil {
			call(ctx, req)(yield)
			return
		}
		for n := uint64(1); ; n++ {
			err := hooks.Item(ctx)
			if !yield(endless(n), err) || err != nil {
				return
			}
		}
	}
}
