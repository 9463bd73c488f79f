package together_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"wirelab/internal/together"
)

// Each act is done once, when all have come to it, and all learn of it.
func TestOnceForAll(t *testing.T) {
	t.Parallel()
	const size, acts = 4, 20
	p := together.New(size)
	var came, done atomic.Int64
	bad := errors.New("it failed")
	var all sync.WaitGroup
	for range size {
		all.Go(func() {
			for n := range int64(acts) {
				came.Add(1)
				err := p.Do(t.Context(), func(context.Context) error {
					if got := came.Load(); got != size*(n+1) {
						t.Errorf("act %d is done when %d calls came, want %d", n, got, size*(n+1))
					}
					done.Add(1)
					if n%2 == 0 {
						return bad
					}
					return nil
				})
				if (err != nil) != (n%2 == 0) {
					t.Errorf("act %d: %v", n, err)
				}
			}
		})
	}
	all.Wait()
	if done.Load() != acts {
		t.Errorf("%d acts were done, want %d", done.Load(), acts)
	}
}

// Who has left is not waited for, before an act and during one.
func TestLeave(t *testing.T) {
	t.Parallel()
	p := together.New(3)
	p.Leave()
	result := make(chan error, 1)
	go func() { result <- p.Do(t.Context(), func(context.Context) error { return nil }) }()
	p.Leave()
	if err := <-result; err != nil {
		t.Error(err)
	}
	if err := p.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestEndedContext(t *testing.T) {
	t.Parallel()
	p := together.New(2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Do(ctx, func(context.Context) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("an act without others: %v", err)
	}
}
