package directory

import (
	"context"
	"math/rand/v2"

	"wirelab"
)

// PublishedData is the name of the published service's data set: its four persons, its links, and its way to create
// (see [AsPublished]).
const PublishedData = "published"

// AsPublished returns service with the published way to create: CreatePerson returns the given person, and stores
// nothing. So nothing conflicts, and the published programs, which create the same person again and again, work.
// The rest of the contract is unchanged.
func AsPublished(service Service) Service { return echo{service} }

// echo is a service that creates nothing.
type echo struct{ Service }

// CreatePerson implements [Service].
func (e echo) CreatePerson(_ context.Context, person Person) (Person, error) {
	if err := person.Validate(); err != nil {
		return Person{}, err
	}
	return person, nil
}

// ProgramComposition implements [Service]. That of the wrapped service would store the person.
func (e echo) ProgramComposition(ctx context.Context, ask Composition) (Aggregation, error) {
	return Compose(ctx, e, ask)
}

// publishedData returns the data set [PublishedData]. Its requests use only features of the published service: no
// pages, and no unknown person. So its own servers can be measured like any other (docs/origins.md mt-D02).
func publishedData() wirelab.Data[Service] {
	known := func(r *rand.Rand) PersonID { return PersonID{ID: number(r, smallSize)} }
	all := func(*rand.Rand) Page { return Page{} }
	return wirelab.Data[Service]{
		Name: PublishedData,
		New:  func() Service { return AsPublished(over(origin())) },
		Operations: asking{
			size: smallSize, set: origin, list: all, page: all, person: known, known: known,
			newcomer: func(*rand.Rand) Person { return PublishedNewcomer() },
		}.operations(),
	}
}

// PublishedNewcomer returns the person that the published programs create.
func PublishedNewcomer() Person {
	return Person{
		ID: "5", Name: PersonName{Title: "ms", First: "valentine", Last: "lacroix"}, Gender: "female",
		Location: Location{Street: "1494 avenue du fort-caire", City: "orléans", State: "aveyron", PostCode: 91831},
		Email:    "valentine.lacroix@example.com",
	}
}

// publishedSet makes the published persons and links. Names, addresses and pictures are invented, because the
// origin took them from randomuser.me.
func publishedSet() *set {
	portrait := func(path string) *Picture {
		const at = "https://randomuser.me/api/portraits/"
		return &Picture{Large: at + path, Medium: at + "med/" + path, Thumbnail: at + "thumb/" + path}
	}
	s := &set{index: map[string]int{}, persons: []Person{
		{
			ID: "1", Name: PersonName{Title: "mr", First: "romain", Last: "hoogmoed"}, Gender: "male",
			Location: Location{
				Street: "1861 jan pieterszoon coenstraat", City: "maasdriel", State: "zeeland",
				PostCode: 69217,
			},
			Email: "romain.hoogmoed@example.com",
		},
		{
			ID: "2", Name: PersonName{Title: "mademoiselle", First: "morgane", Last: "lefebvre"}, Gender: "female",
			Location: Location{Street: "2260 rue de gerland", City: "vucherens", State: "graubünden", PostCode: 2877},
			Email:    "morgane.lefebvre@example.com", Picture: portrait("women/62.jpg"),
		},
		{
			ID: "3", Name: PersonName{Title: "ms", First: "eva", Last: "snyder"}, Gender: "female",
			Location: Location{Street: "8534 grove road", City: "mallow", State: "clare", PostCode: 18863},
			Email:    "eva.snyder@example.com", Picture: portrait("women/84.jpg"),
		},
		{
			ID: "4", Name: PersonName{Title: "monsieur", First: "elliot", Last: "bertrand"}, Gender: "male",
			Location: Location{Street: "2557 rue abel", City: "tolochenaz", State: "graubünden", PostCode: 4629},
			Email:    "elliot.bertrand@example.com", Picture: portrait("men/30.jpg"),
		},
	}}
	s.of = make([][]int32, len(s.persons))
	for i, p := range s.persons {
		s.index[p.ID] = i
	}
	s.linkFour()
	return s
}
