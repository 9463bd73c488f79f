package directory

import (
	"context"
)

// Service is what a person directory does. See the package comment for the contract.
type Service interface {
	// ListPersons returns one page of the persons.
	ListPersons(ctx context.Context, page Page) (PersonList, error)
	// GetPerson returns the person of an id, or NotFound.
	GetPerson(ctx context.Context, id PersonID) (Person, error)
	// GetPersonLinks returns the links on either side of which the person is, or NotFound.
	GetPersonLinks(ctx context.Context, id PersonID) (PersonLinkList, error)
	// CreatePerson stores a person and returns it, or AlreadyExists.
	CreatePerson(ctx context.Context, person Person) (Person, error)
	// ProgramComposition is the work of a program that needs eight calls; a
	// stub makes them one after the other with [Compose], unless its wire has
	// a way to ask for all at once.
	ProgramComposition(ctx context.Context, ask Composition) (Aggregation, error)
}

// Page asks for persons in order.
type Page struct {
	After string // id of the last person of the page before; "": from the first
	Limit int32  // most persons; 0: [PageLimit]
}

// PersonID names a person.
type PersonID struct{ ID string }

// PersonList is one page of persons.
type PersonList struct {
	Persons []Person
	Count   int32  // of Persons
	Next    string // After of the next page; "" unless the page is full
}

// Person is an entry of the directory.
type Person struct {
	ID       string
	Name     PersonName
	Gender   string
	Location Location
	Email    string
	Picture  *Picture // nil: none
}

// PersonName is how a person is called.
type PersonName struct{ Title, First, Last string }

// Location is where a person lives.
type Location struct {
	Street, City, State string
	PostCode            int32
}

// Picture is one picture in three sizes, each a URL.
type Picture struct{ Large, Medium, Thumbnail string }

// PersonLink says that two persons know each other.
type PersonLink struct{ P1, P2 Person }

// PersonLinkList is all links of a person.
type PersonLinkList struct {
	Links []PersonLink
	Count int32 // of Links
}

// Composition is what a [Service.ProgramComposition] asks, in the order of its calls.
type Composition struct {
	Limit   int32     // of the list
	Persons [4]string // ids to get
	Links   [2]string // ids whose links to get
	New     Person    // to create
}

// Aggregation is what came of a [Composition].
type Aggregation struct {
	Persons [4]Person
	Links   [2]PersonLinkList
	List    PersonList // with the created person at its end, and counted
}
