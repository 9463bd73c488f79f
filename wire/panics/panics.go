// Package panics turns a panic in a service into its call's failure: the process must go on, the caller must
// not see what went wrong inside, and the log must hold it. It knows no wire; each asks it from its own
// deferred recover.
package panics

import (
	"context"
	"log/slog"
	"runtime/debug"

	"wirelab/wire/status"
)

// Error logs the panic p with the stack of the goroutine that recovers it, and returns what the caller
// receives. It is to be called in the deferred function that recovered, while the stack still holds the place.
func Error(ctx context.Context, p any) error {
	slog.ErrorContext(ctx, "panic in a service", "panic", p, "stack", string(debug.Stack()))
	return status.Errorf(status.Internal, "internal error")
}
