package directory

import (
	"math/rand/v2"
	"strconv"

	"wirelab"
)

// The ways to draw requests beside the default one.
const (
	// Published asks what the published experiment asks: the list of the whole
	// data set, person 1, the links of person 1, and person 5 to be created,
	// under an id of its own in each call where creating stores.
	Published = "published"
	// Known asks for persons there are.
	Known = "known"
	// Pages asks for pages of up to 100 persons anywhere in the data set.
	Pages = "pages"
)

// pageSize is the most persons that a drawn page asks for.
const pageSize = 100

// Operations are the five calls and how requests for them are drawn, for the
// data set of [New].
func Operations() []wirelab.Operation[Service] { return operations(smallSize, small) }

// operations are the calls for a data set of size persons, whose ids are their
// numbers. No list reaches beyond the data set, so that what other callers
// create meanwhile is no part of any reply; and an id nobody has is one that
// nobody creates. The set itself is made when a request first needs it.
func operations(size int, made func() *set) []wirelab.Operation[Service] {
	known := func(r *rand.Rand) PersonID { return PersonID{ID: number(r, size)} }
	newcomer := Newcomer()
	return asking{
		size: size, set: made, stores: true, known: known,
		list: func(*rand.Rand) Page { return Page{Limit: int32(size)} },
		page: func(r *rand.Rand) Page { return pageOf(r, size) },
		// One in four is unknown, so that NotFound too is on every wire.
		person: func(r *rand.Rand) PersonID {
			if r.IntN(4) == 0 {
				return PersonID{ID: "nobody-" + number(r, size)}
			}
			return known(r)
		},
		newcomer: func(r *rand.Rand) Person { return fresh(r, newcomer) },
	}.operations()
}

// asking is how the requests of a data set are drawn.
type asking struct {
	size          int
	set           func() *set
	list, page    func(*rand.Rand) Page     // the whole data set, and a part of it
	person, known func(*rand.Rand) PersonID // any, and one of the set
	newcomer      func(*rand.Rand) Person   // whom the published experiment creates
	stores        bool                      // whether who was created cannot be created again
}

// operations are the calls whose requests are drawn so.
func (a asking) operations() []wirelab.Operation[Service] {
	first := func(*rand.Rand) PersonID { return PersonID{ID: "1"} }
	anyone := func(r *rand.Rand) Person { return fresh(r, a.set().persons[r.IntN(a.size)]) }
	create := wirelab.Unary("CreatePerson", anyone, Service.CreatePerson,
		wirelab.Drawing[Person]{Name: Published, Draw: a.newcomer})
	compose := wirelab.Unary("ProgramComposition", func(r *rand.Rand) Composition {
		return Composition{
			Limit:   a.list(r).Limit,
			Persons: [4]string{number(r, a.size), number(r, a.size), number(r, a.size), number(r, a.size)},
			Links:   [2]string{number(r, a.size), number(r, a.size)},
			New:     anyone(r),
		}
	}, Service.ProgramComposition,
		wirelab.Drawing[Composition]{Name: Published, Draw: func(r *rand.Rand) Composition {
			return Composition{
				Limit: a.list(r).Limit, Persons: [4]string{"1", "2", "3", "4"}, Links: [2]string{"1", "3"},
				New: a.newcomer(r),
			}
		}})
	if a.stores {
		create, compose = create.Once(), compose.Once()
	}
	return []wirelab.Operation[Service]{
		wirelab.Unary("ListPersons", a.list, Service.ListPersons,
			wirelab.Drawing[Page]{Name: Pages, Draw: a.page},
			wirelab.Drawing[Page]{Name: Published, Draw: a.list}),
		wirelab.Unary("GetPerson", a.person, Service.GetPerson,
			wirelab.Drawing[PersonID]{Name: Known, Draw: a.known},
			wirelab.Drawing[PersonID]{Name: Published, Draw: first}),
		wirelab.Unary("GetPersonLinks", a.person, Service.GetPersonLinks,
			wirelab.Drawing[PersonID]{Name: Known, Draw: a.known},
			wirelab.Drawing[PersonID]{Name: Published, Draw: first}),
		create,
		compose,
	}
}

// number draws the id of a person of a data set.
func number(r *rand.Rand, size int) string { return strconv.Itoa(1 + r.IntN(size)) }

// pageOf draws a page inside the data set.
func pageOf(r *rand.Rand, size int) Page {
	from := r.IntN(size)
	page := Page{Limit: int32(1 + r.IntN(min(pageSize, size-from)))}
	if from > 0 {
		page.After = strconv.Itoa(from) // the person before, by its number
	}
	return page
}

// fresh returns the person under an id that no other call has: among 1.8e19 of
// them a clash is not to be expected.
func fresh(r *rand.Rand, p Person) Person {
	p.ID = "new-" + strconv.FormatUint(r.Uint64(), 36)
	return p
}
