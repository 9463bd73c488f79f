package broker

import (
	"context"
	"sync"
)

// Reading implements the life cycle of a [Subscriber]. Close or a handler stops it, or it fails by itself. It is
// over when all its goroutines have ended.
type Reading struct {
	life context.Context //nolint:containedctx // the life of the subscriber's goroutines
	stop context.CancelFunc
	over chan struct{} // closed when all goroutines have ended
	done chan struct{} // closed if it failed

	mu  sync.Mutex // guards err
	err error
}

// NewReading begins a reading. It has the values of ctx, and does not end with it.
func NewReading(ctx context.Context) *Reading {
	r := &Reading{over: make(chan struct{}), done: make(chan struct{})}
	r.life, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// Life returns a context that ends when no more messages are to be delivered.
func (r *Reading) Life() context.Context { return r.life }

// Stopped reports whether no more messages are to be delivered.
func (r *Reading) Stopped() bool { return r.life.Err() != nil }

// Stop stops deliveries. It does not wait.
func (r *Reading) Stop() { r.stop() }

// Fail records why no more messages are delivered, unless the reading was stopped before. The first reason is kept.
func (r *Reading) Fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil && !r.Stopped() {
		r.err = err
		close(r.done)
	}
}

// Over says that all goroutines have ended. It must be called once.
func (r *Reading) Over() { close(r.over) }

// Close stops the reading and waits until it is over. It implements [Subscriber] if there is nothing more to do.
func (r *Reading) Close(ctx context.Context) error {
	r.stop()
	select {
	case <-r.over:
		return nil
	case <-ctx.Done():
		return ErrStuck()
	}
}

// Done implements [Subscriber].
func (r *Reading) Done() <-chan struct{} { return r.done }

// Err implements [Subscriber].
func (r *Reading) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
