package logging

import (
	"context"

	"wirelab"
)

// Wrap returns service with hooks in it, as [wirelab.Hooks] says where.
func Wrap(service Service, hooks wirelab.Hooks) Service { return hooked{service, hooks} }

// hooked is a service with hooks. No reply is a stream, so Item has no place.
type hooked struct {
	service Service
	hooks   wirelab.Hooks // Before and After are set
}

// Ready implements [Readier].
func (h hooked) Ready(ctx context.Context) error { return Ready(ctx, h.service) }

// Readier is a [Service] whose answers depend on something that may be gone,
// such as a database.
type Readier interface {
	// Ready returns nil if that is there, by asking it, else Unavailable.
	Ready(ctx context.Context) error
}

// Ready reports whether a service can answer now, for health checks: nil, or
// the error of the [Readier] that it is. Others always can.
func Ready(ctx context.Context, service Service) error {
	if r, ok := service.(Readier); ok {
		return r.Ready(ctx)
	}
	return nil
}
