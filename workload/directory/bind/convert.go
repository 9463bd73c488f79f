package bind

import (
	"wirelab/workload/directory"
	"wirelab/workload/directory/gen"
)

// The domain's types and the generated messages, both ways. Absent messages
// read as their zero value, since the generated getters are nil-safe; only a
// picture may be absent and mean it.

func pageToProto(p directory.Page) *gen.Page {
	return &gen.Page{After: p.After, Limit: p.Limit}
}

func pageFromProto(p *gen.Page) directory.Page {
	return directory.Page{After: p.GetAfter(), Limit: p.GetLimit()}
}

func idToProto(id directory.PersonID) *gen.PersonId { return &gen.PersonId{Id: id.ID} }

func idFromProto(id *gen.PersonId) directory.PersonID { return directory.PersonID{ID: id.GetId()} }

func personToProto(p directory.Person) *gen.Person {
	to := &gen.Person{
		Id:     p.ID,
		Name:   &gen.PersonName{Title: p.Name.Title, First: p.Name.First, Last: p.Name.Last},
		Gender: p.Gender,
		Location: &gen.Location{
			Street: p.Location.Street, City: p.Location.City, State: p.Location.State, PostCode: p.Location.PostCode,
		},
		Email: p.Email,
	}
	if p.Picture != nil {
		to.Picture = &gen.Picture{Large: p.Picture.Large, Medium: p.Picture.Medium, Thumbnail: p.Picture.Thumbnail}
	}
	return to
}

func personFromProto(p *gen.Person) directory.Person {
	name, location, picture := p.GetName(), p.GetLocation(), p.GetPicture()
	from := directory.Person{
		ID:     p.GetId(),
		Name:   directory.PersonName{Title: name.GetTitle(), First: name.GetFirst(), Last: name.GetLast()},
		Gender: p.GetGender(),
		Location: directory.Location{
			Street: location.GetStreet(), City: location.GetCity(), State: location.GetState(),
			PostCode: location.GetPostCode(),
		},
		Email: p.GetEmail(),
	}
	if picture != nil {
		from.Picture = &directory.Picture{
			Large: picture.GetLarge(), Medium: picture.GetMedium(), Thumbnail: picture.GetThumbnail(),
		}
	}
	return from
}

func listToProto(l directory.PersonList) *gen.PersonList {
	return &gen.PersonList{Persons: each(l.Persons, personToProto), Count: l.Count, Next: l.Next}
}

func listFromProto(l *gen.PersonList) directory.PersonList {
	return directory.PersonList{Persons: each(l.GetPersons(), personFromProto), Count: l.GetCount(), Next: l.GetNext()}
}

func linkToProto(l directory.PersonLink) *gen.PersonLink {
	return &gen.PersonLink{P1: personToProto(l.P1), P2: personToProto(l.P2)}
}

func linkFromProto(l *gen.PersonLink) directory.PersonLink {
	return directory.PersonLink{P1: personFromProto(l.GetP1()), P2: personFromProto(l.GetP2())}
}

func linksToProto(l directory.PersonLinkList) *gen.PersonLinkList {
	return &gen.PersonLinkList{Links: each(l.Links, linkToProto), Count: l.Count}
}

func linksFromProto(l *gen.PersonLinkList) directory.PersonLinkList {
	return directory.PersonLinkList{Links: each(l.GetLinks(), linkFromProto), Count: l.GetCount()}
}

// each converts a list.
func each[From, To any](all []From, convert func(From) To) []To {
	converted := make([]To, len(all))
	for i := range all {
		converted[i] = convert(all[i])
	}
	return converted
}
