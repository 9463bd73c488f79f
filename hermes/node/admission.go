package node

import (
	"context"
	"sync"

	"wirelab/wire/status"
)

// admission bounds the bytes that publishers have handed over and that are not answered.
type admission struct {
	limit int

	mu    sync.Mutex // guards all below
	used  int
	freed chan struct{} // closed when something is given back; nil: there is no waiter
}

// enter waits for room; a publish larger than the limit gets in when nothing else is.
func (g *admission) enter(ctx context.Context, stopped <-chan struct{}, bytes int) error {
	for {
		g.mu.Lock()
		if g.used == 0 || g.used+bytes <= g.limit {
			g.used += bytes
			g.mu.Unlock()
			return nil
		}
		// One channel for all who wait, closed at each release: who finds too little waits on the next one. A queue
		// would let one large publish hold up all small ones behind it.
		if g.freed == nil {
			g.freed = make(chan struct{})
		}
		freed := g.freed
		g.mu.Unlock()
		select {
		case <-freed:
		case <-stopped:
			return errStopping
		case <-ctx.Done():
			return status.Public(ctx.Err())
		}
	}
}

func (g *admission) release(bytes int) {
	if bytes == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used -= bytes
	if g.freed != nil {
		close(g.freed)
		g.freed = nil
	}
}
