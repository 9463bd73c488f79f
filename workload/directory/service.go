package directory

import (
	"context"
	"slices"
	"unicode/utf8"

	"wirelab"
)

// Service is a person directory. See the package comment for the contract.
type Service interface {
	// ListPersons returns one page of the persons.
	ListPersons(ctx context.Context, page Page) (PersonList, error)
	// GetPerson returns the person with an id, or NotFound.
	GetPerson(ctx context.Context, id PersonID) (Person, error)
	// GetPersonLinks returns the links with the person on either side, or NotFound.
	GetPersonLinks(ctx context.Context, id PersonID) (PersonLinkList, error)
	// CreatePerson stores a person and returns it, or returns Conflict.
	CreatePerson(ctx context.Context, person Person) (Person, error)
	// ProgramComposition is a program of eight calls. A stub makes them one after the other with [Compose], unless
	// its wire can request all at once.
	ProgramComposition(ctx context.Context, ask Composition) (Aggregation, error)
}

// Limits of the contract.
const (
	IDLimit      = 64        // characters of an id
	TextLimit    = 256       // bytes of a text
	URLLimit     = 2048      // bytes of a picture's URL
	PageLimit    = 10_000    // persons of one page
	CreatedLimit = 10_000    // created persons that are kept
	CreatedText  = 512 << 10 // bytes of text of the created persons that are kept
)

// Page asks for persons in order.
type Page struct {
	After string // id of the last person of the previous page; "": from the first
	Limit int32  // maximum number of persons; 0: [PageLimit]
}

// Validate returns InvalidArgument for a page outside the contract.
func (p Page) Validate() error {
	if p.Limit < 0 || p.Limit > PageLimit {
		return wirelab.Errorf(wirelab.InvalidArgument, "limit %d is outside 0 to %d", p.Limit, PageLimit)
	}
	if p.After == "" {
		return nil
	}
	return validID(p.After)
}

// PersonID names a person.
type PersonID struct{ ID string }

// Validate returns InvalidArgument for an invalid id.
func (id PersonID) Validate() error { return validID(id.ID) }

// validID accepts ids that need no escaping in a path, whatever the wire.
func validID(id string) error {
	if id == "" || len(id) > IDLimit || id == "." || id == ".." {
		return wirelab.Errorf(wirelab.InvalidArgument, "id %.*q is not 1 to %d characters", IDLimit, id, IDLimit)
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '~', c == '-':
		default:
			return wirelab.Errorf(wirelab.InvalidArgument, "id %q holds other characters than A-Z a-z 0-9 . _ ~ -", id)
		}
	}
	return nil
}

// PersonList is one page of persons. It may share memory with others: do not change it.
type PersonList struct {
	Persons []Person
	Count   int32  // of Persons
	Next    string // After of the next page; "" unless this page is full
}

// Equal reports whether the two are the same; nil equals empty.
func (l PersonList) Equal(other PersonList) bool {
	return l.Count == other.Count && l.Next == other.Next && slices.EqualFunc(l.Persons, other.Persons, Person.Equal)
}

// With returns the list with one more person at its end, counted, which is the list of a composition. Next is
// unchanged.
func (l PersonList) With(p Person) PersonList {
	persons := make([]Person, 0, len(l.Persons)+1)
	l.Persons = append(append(persons, l.Persons...), p)
	l.Count++
	return l
}

// Person is an entry of the directory.
type Person struct {
	ID       string
	Name     PersonName
	Gender   string
	Location Location
	Email    string
	Picture  *Picture // nil: none; not changed after it is set
}

// Equal reports whether the two are the same; pictures are compared by their URLs.
func (p Person) Equal(other Person) bool {
	if (p.Picture == nil) != (other.Picture == nil) || p.Picture != nil && *p.Picture != *other.Picture {
		return false
	}
	p.Picture, other.Picture = nil, nil
	return p == other
}

// Validate returns InvalidArgument for a person outside the contract.
func (p Person) Validate() error {
	if err := validID(p.ID); err != nil {
		return err
	}
	for _, t := range []struct{ what, text string }{
		{"title", p.Name.Title},
		{"first name", p.Name.First},
		{"last name", p.Name.Last},
		{"gender", p.Gender},
		{"street", p.Location.Street},
		{"city", p.Location.City},
		{"state", p.Location.State},
		{"email", p.Email},
	} {
		if err := validText(t.what, t.text, TextLimit); err != nil {
			return err
		}
	}
	if p.Picture == nil {
		return nil
	}
	if err := validText("large picture", p.Picture.Large, URLLimit); err != nil {
		return err
	}
	if err := validText("medium picture", p.Picture.Medium, URLLimit); err != nil {
		return err
	}
	return validText("thumbnail picture", p.Picture.Thumbnail, URLLimit)
}

func validText(what, text string, limit int) error {
	if len(text) > limit {
		return wirelab.Errorf(wirelab.InvalidArgument, "%s of %d bytes; at most %d", what, len(text), limit)
	}
	if !utf8.ValidString(text) {
		return wirelab.Errorf(wirelab.InvalidArgument, "%s is not valid UTF-8", what)
	}
	return nil
}

// text returns the number of bytes of text in the person.
func (p Person) text() int {
	n := len(p.ID) + len(p.Name.Title) + len(p.Name.First) + len(p.Name.Last) + len(p.Gender) +
		len(p.Location.Street) + len(p.Location.City) + len(p.Location.State) + len(p.Email)
	if p.Picture != nil {
		n += len(p.Picture.Large) + len(p.Picture.Medium) + len(p.Picture.Thumbnail)
	}
	return n
}

// PersonName is the name of a person.
type PersonName struct{ Title, First, Last string }

// Location is the address of a person.
type Location struct {
	Street, City, State string
	PostCode            int32
}

// Picture is one picture in three sizes, each a URL.
type Picture struct{ Large, Medium, Thumbnail string }

// String shows the URLs, because a transcript must not show the address of a pointer.
func (p *Picture) String() string {
	if p == nil {
		return "none"
	}
	return "{Large:" + p.Large + " Medium:" + p.Medium + " Thumbnail:" + p.Thumbnail + "}"
}

// PersonLink says that two persons know each other.
type PersonLink struct{ P1, P2 Person }

// Equal reports whether the two are the same.
func (l PersonLink) Equal(other PersonLink) bool { return l.P1.Equal(other.P1) && l.P2.Equal(other.P2) }

// PersonLinkList holds all links of a person.
type PersonLinkList struct {
	Links []PersonLink
	Count int32 // of Links
}

// Equal reports whether the two are the same; nil equals empty.
func (l PersonLinkList) Equal(other PersonLinkList) bool {
	return l.Count == other.Count && slices.EqualFunc(l.Links, other.Links, PersonLink.Equal)
}
