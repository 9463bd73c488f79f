package broker

import (
	"context"
	"sync"
)

// Reading is the life of a subscriber, for those that implement [Subscriber]. It is stopped by Close or by a
// handler, or it fails by itself, and it is over once nothing of it runs.
type Reading struct {
	life context.Context //nolint:containedctx // the life of the subscriber's goroutines
	stop context.CancelFunc
	over chan struct{} // closed when nothing of it runs
	done chan struct{} // closed if it failed

	mu  sync.Mutex // guards err
	err error
}

// NewReading begins one. It has the values of ctx, and outlives it.
func NewReading(ctx context.Context) *Reading {
	r := &Reading{over: make(chan struct{}), done: make(chan struct{})}
	r.life, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// Life ends when nothing more is to be given.
func (r *Reading) Life() context.Context { return r.life }

// Stopped reports whether nothing more is to be given.
func (r *Reading) Stopped() bool { return r.life.Err() != nil }

// Stop lets nothing more be given. It does not wait.
func (r *Reading) Stop() { r.stop() }

// Fail notes why nothing is given any more, unless it was stopped before. The first reason stays.
func (r *Reading) Fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil && !r.Stopped() {
		r.err = err
		close(r.done)
	}
}

// Over says, once, that nothing of it runs.
func (r *Reading) Over() { close(r.over) }

// Close stops it and waits until it is over. It implements [Subscriber] where nothing has to be done then.
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
