package ledger

import (
	"context"
	"iter"
	"strings"
	"time"

	"wirelab"
)

// Wrap returns service with hooks, which are called as [wirelab.Hooks] documents.
func Wrap(service Service, hooks wirelab.Hooks) Service { return hooked{service, hooks} }

// hooked is a service with hooks.
type hooked struct {
	service Service
	hooks   wirelab.Hooks // Before and After are set
}

func (h hooked) StreamTransactions(ctx context.Context, feed Feed) iter.Seq2[Event, error] {
	var large Transaction
	if h.hooks.Item != nil {
		large = usual().run(0, 1)[0].Transaction
		large.Type = strings.Repeat("n", wirelab.ItemSize)
	}
	return wirelab.BetweenItems(ctx, h.hooks, "StreamTransactions", h.service.StreamTransactions, feed,
		func(n uint64) Event { return Event{Transaction: large, Stamp: stampOf(n, time.Time{})} })
}

// Ready implements [Readier].
func (h hooked) Ready(ctx context.Context) error { return Ready(ctx, h.service) }

// Readier is a [Service] that depends on something that may be unavailable, such as a database.
type Readier interface {
	// Ready asks that dependency, and returns nil or Unavailable.
	Ready(ctx context.Context) error
}

// Ready reports whether a service works, for health checks. It returns the error of a [Readier], and nil for other
// services.
func Ready(ctx context.Context, service Service) error {
	if r, ok := service.(Readier); ok {
		return r.Ready(ctx)
	}
	return nil
}
