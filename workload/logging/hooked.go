package logging

import (
	"context"

	"wirelab"
)

// Wrap returns service with hooks, which are called as [wirelab.Hooks] documents.
func Wrap(service Service, hooks wirelab.Hooks) Service { return hooked{service, hooks} }

// hooked is a service with hooks. No reply is a stream, so Item is not used.
type hooked struct {
	service Service
	hooks   wirelab.Hooks // Before and After are set
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
