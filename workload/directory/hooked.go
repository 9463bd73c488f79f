package directory

import (
	"context"

	"wirelab"
)

// Wrap returns service with hooks in it, as [wirelab.Hooks] says where. There
// is no stream, and so no use for Item.
func Wrap(service Service, hooks wirelab.Hooks) Service { return hooked{service, hooks} }

// hooked is a service with hooks. A composition that reaches it is one call;
// one that a stub makes of eight is those eight.
type hooked struct {
	service Service
	hooks   wirelab.Hooks // Before and After are set
}

func (h hooked) ListPersons(ctx context.Context, page Page) (PersonList, error) {
	return wirelab.Between(ctx, h.hooks, "ListPersons", h.service.ListPersons, page)
}

func (h hooked) GetPerson(ctx context.Context, id PersonID) (Person, error) {
	return wirelab.Between(ctx, h.hooks, "GetPerson", h.service.GetPerson, id)
}

func (h hooked) GetPersonLinks(ctx context.Context, id PersonID) (PersonLinkList, error) {
	return wirelab.Between(ctx, h.hooks, "GetPersonLinks", h.service.GetPersonLinks, id)
}

func (h hooked) CreatePerson(ctx context.Context, person Person) (Person, error) {
	return wirelab.Between(ctx, h.hooks, "CreatePerson", h.service.CreatePerson, person)
}

func (h hooked) ProgramComposition(ctx context.Context, ask Composition) (Aggregation, error) {
	return wirelab.Between(ctx, h.hooks, "ProgramComposition", h.service.ProgramComposition, ask)
}
