package bind

import "wirelab/workload/directory"

// The messages in JSON. Names, their order, and the null of a person without a
// picture are those of the published service. Absent members are zero, as in
// the other encodings. A list's next is ours, and there only if it says
// something, which it does not in answer to a published request.
type (
	personJSON struct {
		ID       string       `json:"id"`
		Name     nameJSON     `json:"name"`
		Gender   string       `json:"gender"`
		Location locationJSON `json:"location"`
		Email    string       `json:"email"`
		Picture  *pictureJSON `json:"picture"`
	}
	nameJSON struct {
		Title string `json:"title"`
		First string `json:"first"`
		Last  string `json:"last"`
	}
	locationJSON struct {
		Street   string `json:"street"`
		City     string `json:"city"`
		State    string `json:"state"`
		PostCode int32  `json:"postCode"`
	}
	pictureJSON struct {
		Large     string `json:"large"`
		Medium    string `json:"medium"`
		Thumbnail string `json:"thumbnail"`
	}
	listJSON struct {
		Persons []personJSON `json:"persons"`
		Count   int32        `json:"count"`
		Next    string       `json:"next,omitempty"`
	}
	linkJSON struct {
		P1 personJSON `json:"p1"`
		P2 personJSON `json:"p2"`
	}
	linksJSON struct {
		Links []linkJSON `json:"links"`
		Count int32      `json:"count"`
	}
)

func personToJSON(p directory.Person) personJSON {
	return personJSON{
		ID: p.ID, Name: nameJSON(p.Name), Gender: p.Gender, Location: locationJSON(p.Location), Email: p.Email,
		Picture: (*pictureJSON)(p.Picture),
	}
}

func personFromJSON(p personJSON) directory.Person {
	return directory.Person{
		ID: p.ID, Name: directory.PersonName(p.Name), Gender: p.Gender,
		Location: directory.Location(p.Location), Email: p.Email,
		Picture: (*directory.Picture)(p.Picture),
	}
}

// each makes slices that are never nil, and so lists that are [] and not null.

func listToJSON(l directory.PersonList) listJSON {
	return listJSON{Persons: each(l.Persons, personToJSON), Count: l.Count, Next: l.Next}
}

func listFromJSON(l listJSON) directory.PersonList {
	return directory.PersonList{Persons: each(l.Persons, personFromJSON), Count: l.Count, Next: l.Next}
}

func linkToJSON(l directory.PersonLink) linkJSON {
	return linkJSON{P1: personToJSON(l.P1), P2: personToJSON(l.P2)}
}

func linkFromJSON(l linkJSON) directory.PersonLink {
	return directory.PersonLink{P1: personFromJSON(l.P1), P2: personFromJSON(l.P2)}
}

func linksToJSON(l directory.PersonLinkList) linksJSON {
	return linksJSON{Links: each(l.Links, linkToJSON), Count: l.Count}
}

func linksFromJSON(l linksJSON) directory.PersonLinkList {
	return directory.PersonLinkList{Links: each(l.Links, linkFromJSON), Count: l.Count}
}
