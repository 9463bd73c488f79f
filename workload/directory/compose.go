package directory

import "context"

// Composition is the request of [Service.ProgramComposition], in the order of its calls.
type Composition struct {
	Limit   int32     // of the list
	Persons [4]string // ids to get
	Links   [2]string // ids whose links to get
	New     Person    // to create
}

// Validate returns InvalidArgument for a composition outside the contract.
func (c Composition) Validate() error {
	if err := (Page{Limit: c.Limit}).Validate(); err != nil {
		return err
	}
	for _, id := range c.Persons {
		if err := validID(id); err != nil {
			return err
		}
	}
	for _, id := range c.Links {
		if err := validID(id); err != nil {
			return err
		}
	}
	return c.New.Validate()
}

// Aggregation is the reply to a [Composition].
type Aggregation struct {
	Persons [4]Person
	Links   [2]PersonLinkList
	List    PersonList // with the created person at its end, and counted
}

// Equal reports whether the two are the same.
func (a Aggregation) Equal(other Aggregation) bool {
	for i := range a.Persons {
		if !a.Persons[i].Equal(other.Persons[i]) {
			return false
		}
	}
	for i := range a.Links {
		if !a.Links[i].Equal(other.Links[i]) {
			return false
		}
	}
	return a.List.Equal(other.List)
}

// Compose makes the eight calls of a composition, one after the other. It is the ProgramComposition of a stub, and
// never calls that of the service.
func Compose(ctx context.Context, service Service, ask Composition) (Aggregation, error) {
	if err := ask.Validate(); err != nil {
		return Aggregation{}, err
	}
	var sum Aggregation
	list, err := service.ListPersons(ctx, Page{Limit: ask.Limit})
	if err != nil {
		return Aggregation{}, err
	}
	for i, id := range ask.Persons {
		if sum.Persons[i], err = service.GetPerson(ctx, PersonID{ID: id}); err != nil {
			return Aggregation{}, err
		}
	}
	for i, id := range ask.Links {
		if sum.Links[i], err = service.GetPersonLinks(ctx, PersonID{ID: id}); err != nil {
			return Aggregation{}, err
		}
	}
	created, err := service.CreatePerson(ctx, ask.New)
	if err != nil {
		return Aggregation{}, err
	}
	sum.List = list.With(created)
	return sum, nil
}
