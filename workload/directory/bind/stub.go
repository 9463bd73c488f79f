package bind

import (
	"context"

	"wirelab/workload/directory"
)

// calls are the calls that cross a wire, as a client makes them.
type calls interface {
	ListPersons(ctx context.Context, page directory.Page) (directory.PersonList, error)
	GetPerson(ctx context.Context, id directory.PersonID) (directory.Person, error)
	GetPersonLinks(ctx context.Context, id directory.PersonID) (directory.PersonLinkList, error)
	CreatePerson(ctx context.Context, person directory.Person) (directory.Person, error)
}

// stub makes the service of a client's calls. It refuses what is outside the
// contract before a wire sees it: wires differ in what they do with text that
// is not UTF-8, and with an id that is no element of a path.
type stub struct{ calls calls }

var _ directory.Service = stub{}

// ListPersons implements [directory.Service].
func (s stub) ListPersons(ctx context.Context, page directory.Page) (directory.PersonList, error) {
	if err := page.Validate(); err != nil {
		return directory.PersonList{}, err
	}
	return s.calls.ListPersons(ctx, page)
}

// GetPerson implements [directory.Service].
func (s stub) GetPerson(ctx context.Context, id directory.PersonID) (directory.Person, error) {
	if err := id.Validate(); err != nil {
		return directory.Person{}, err
	}
	return s.calls.GetPerson(ctx, id)
}

// GetPersonLinks implements [directory.Service].
func (s stub) GetPersonLinks(ctx context.Context, id directory.PersonID) (directory.PersonLinkList, error) {
	if err := id.Validate(); err != nil {
		return directory.PersonLinkList{}, err
	}
	return s.calls.GetPersonLinks(ctx, id)
}

// CreatePerson implements [directory.Service].
func (s stub) CreatePerson(ctx context.Context, person directory.Person) (directory.Person, error) {
	if err := person.Validate(); err != nil {
		return directory.Person{}, err
	}
	return s.calls.CreatePerson(ctx, person)
}

// ProgramComposition implements [directory.Service].
func (s stub) ProgramComposition(ctx context.Context, ask directory.Composition) (directory.Aggregation, error) {
	return directory.Compose(ctx, s, ask)
}
