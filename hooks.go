package wirelab

import (
	"context"
	"iter"
)

// Hooks are functions that a wrapped service calls in addition to its work; see
// [Workload.Wrap]. Each may be nil, and the zero value has no hooks.
type Hooks struct {
	// Before is called in the service when a call starts, with the context of the
	// call, before the service sends a reply. In a client stream it is called after
	// the last request, because the service waits there for its caller, and
	// HTTP/1.1 cannot notice that a caller left while its request is unread.
	// The call fails with the error that Before returns. It may block until ctx
	// ends, and it may panic.
	Before func(ctx context.Context, operation string) error
	// Item makes every server stream endless: it is called before each item,
	// and an error from it ends the stream. Each item must take about
	// [ItemSize] bytes on any wire.
	Item func(ctx context.Context) error
	// After is called when the call's method, or its iterator, has ended, with or
	// without an error.
	After func(operation string)
}

// ItemSize is about the number of bytes of an item of an endless stream. It is so
// large that a few thousand items show whether their buffering is bounded.
const ItemSize = 4 << 10

// none reports whether there is no hook.
func (h Hooks) none() bool { return h.Before == nil && h.Item == nil && h.After == nil }

// whole returns the hooks with Before and After replaced by functions that do
// nothing if they were nil, because every wrapper calls them.
func (h Hooks) whole() Hooks {
	if h.Before == nil {
		h.Before = func(context.Context, string) error { return nil }
	}
	if h.After == nil {
		h.After = func(string) {}
	}
	return h
}

// Between makes a unary call with the hooks around it. Services that
// [Workload.Wrap] returns use it.
func Between[Req, Rep any](
	ctx context.Context, hooks Hooks, operation string, call func(context.Context, Req) (Rep, error), req Req,
) (rep Rep, err error) {
	defer hooks.After(operation)
	if err := hooks.Before(ctx, operation); err != nil {
		return rep, err
	}
	return call(ctx, req)
}

// BetweenItems makes a call that streams replies with the hooks around it.
// endless returns item n, from 1, of the endless stream that Hooks.Item makes.
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
