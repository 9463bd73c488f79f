package directory

import "wirelab"

// Wrap returns service with hooks, which are called as [wirelab.Hooks] documents. No call is a stream, so Item is
// not used.
func Wrap(service Service, hooks wirelab.Hooks) Service { return hooked{service, hooks} }

// hooked is a service with hooks. A composition that reaches it is one call; one that a stub makes of eight calls
// is eight.
type hooked struct {
	service Service
	hooks   wirelab.Hooks // Before and After are set
}
