package daemon

import (
	"context"
	"fmt"
	"time"

	"wirelab/internal/process"
	"wirelab/wire/status"
)

// Waiting says how long, and how, is waited until a server takes connections.
type Waiting struct {
	Limit, Every time.Duration
	// Try reports whether it takes them. What went wrong counts only if it does.
	Try func(context.Context) (bool, error)
	// Words are the server's own last ones, put behind an error.
	Words func() string
}

// Ready waits until the server that a process runs takes connections. The error is Unavailable where
// it did not within the limit, or ended as if all were well, and else how it ended.
func Ready(ctx context.Context, p *process.Process, w Waiting) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.Limit,
		status.Errorf(status.Unavailable, "it took no connections within %v", w.Limit))
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w%s", context.Cause(ctx), w.Words())
		case <-p.Done():
			err := p.Err()
			if err == nil {
				return status.Errorf(status.Unavailable, "it ended by itself before it took connections%s", w.Words())
			}
			return fmt.Errorf("it ended: %w%s", err, w.Words())
		case <-timer.C:
		}
		if taken, err := w.Try(ctx); taken {
			return err
		}
		timer.Reset(w.Every)
	}
}
