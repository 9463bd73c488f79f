package wirelab

import (
	"context"
	"iter"
)

// Hooks are what a wrapped service calls beside its work; see [Workload.Wrap].
// Each may be nil, and the zero value is no hooks at all.
type Hooks struct {
	// Before is called in the service when a call starts, with the call's own
	// context: before anything is answered, and in a client stream once its
	// requests have ended, since a service waits there for its caller, and
	// HTTP/1.1 cannot tell that a caller left whose request it has not read.
	// An error from it is the call's. It may block until ctx ends, and it may
	// panic.
	Before func(ctx context.Context, operation string) error
	// Item makes every server stream endless: it is called before each item,
	// and an error from it ends the stream. Each item must take about
	// [ItemSize] bytes on any wire.
	Item func(ctx context.Context) error
	// After is called when the call's method, or its iterator, has ended, in
	// whichever way.
	After func(operation string)
}

// ItemSize is about how many bytes an item of an endless stream takes: enough
// for a few thousand to show whether anything bounds them.
const ItemSize = 4 << 10

// none reports whether there is no hook.
func (h Hooks) none() bool { return h.Before == nil && h.Item == nil && h.After == nil }

// whole returns the hooks with Before and After, which every call of every
// wrapper makes, set to do nothing where they were nil.
func (h Hooks) whole() Hooks {
	if h.Before == nil {
		h.Before = func(context.Context, string) error { return nil }
	}
	if h.After == nil {
		h.After = func(string) {}
	}
	return h
}

// Between makes a call of one reply with the hooks around it, for what
// [Workload.Wrap] returns.
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
// endless is the item of a number, from 1, of the stream that Item asks for.
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
