package directory

import (
	"math/rand/v2"
	"strconv"

	"wirelab"
)

// Ways to draw requests other than the default.
const (
	// Published sends the requests of the published experiment: list the whole data set, get person 1, get the
	// links of person 1, and create person 5, with a new id for each call if the service stores created persons.
	Published = "published"
	// Known asks for existing persons only.
	Known = "known"
	// Pages asks for pages of up to 100 persons anywhere in the data set.
	Pages = "pages"
)

// pageSize is the maximum length of a drawn page.
const pageSize = 100

// Operations returns the five calls and the ways to draw their requests, for the data set of [New].
func Operations() []wirelab.Operation[Service] { return operations(smallSize, small) }

// operations returns the calls for a data set of size persons, whose ids are their numbers. No list reaches beyond
// the data set, so persons created by other callers are in no reply. Unknown ids are ids that are never created.
// The set itself is made when a request first needs it.
func operations(size int, made func() *set) []wirelab.Operation[Service] {
	known := func(r *rand.Rand) PersonID { return PersonID{ID: number(r, size)} }
	newcomer := Newcomer()
	return asking{
		size: size, set: made, stores: true, known: known,
		list: func(*rand.Rand) Page { return Page{Limit: int32(size)} },
		page: func(r *rand.Rand) Page { return pageOf(r, size) },
		// One in four is unknown, so that every wire carries NotFound too.
		person: func(r *rand.Rand) PersonID {
			if r.IntN(4) == 0 {
				return PersonID{ID: "absent-" + number(r, size)}
			}
			return known(r)
		},
		newcomer: func(r *rand.Rand) Person { return fresh(r, newcomer) },
	}.operations()
}

// asking defines how the requests for a data set are drawn.
type asking struct {
	size          int
	set           func() *set
	list, page    func(*rand.Rand) Page     // the whole data set, and a part of it
	person, known func(*rand.Rand) PersonID // any, and one of the set
	newcomer      func(*rand.Rand) Person   // the person that the published experiment creates
	stores        bool                      // whether a created person cannot be created again
}

// operations returns the calls with requests drawn in this way.
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
		page.After = strconv.Itoa(from) // the person before the page, by its number
	}
	return page
}

// fresh returns the person under an id that no other call has: with 1.8e19 of them a collision is not to be
// expected.
func fresh(r *rand.Rand, p Person) Person {
	p.ID = "new-" + strconv.FormatUint(r.Uint64(), 36)
	return p
}
