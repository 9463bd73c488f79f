package directory

import "wirelab"

// Wrap returns service with hooks in it, as [wirelab.Hooks] says where. There
// is no stream, and so no use for Item.
func Wrap(service Service, hooks wirelab.Hooks) Service { return hooked{service, hooks} }

// hooked is a service with hooks. A composition that reaches it is one call;
// one that a stub makes of eight is those eight.
type hooked struct {
	service Service
	hooks   wirelab.Hooks // Before and After are set
}
