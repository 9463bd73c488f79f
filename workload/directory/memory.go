package directory

import (
	"context"
	"slices"
	"sync"

	"wirelab"
)

// Memory is the reference service: the oracle of the conformance suite and
// what every server serves. It is safe for concurrent use.
type Memory struct {
	set *set // shared and immutable, so read without the lock

	mu      sync.RWMutex // guards all below
	created []Person     // oldest first; len <= CreatedLimit
	// places maps the id of each created person to the number of persons created before it; the first of created is
	// number forgotten.
	places    map[string]int
	forgotten int
	text      int // bytes of text of created; <= CreatedText
}

var _ Service = (*Memory)(nil)

// over returns a reference service over a data set. It is cheap for a set of any size: a load makes one for each
// call that creates.
func over(s *set) *Memory { return &Memory{set: s} }

// ListPersons implements [Service]. A page inside the data set is a slice of it rather than a copy, so that the
// cost of a list of 10,000 is that of its wire.
func (m *Memory) ListPersons(_ context.Context, page Page) (PersonList, error) {
	if err := page.Validate(); err != nil {
		return PersonList{}, err
	}
	limit := int(page.Limit)
	if limit == 0 {
		limit = PageLimit
	}
	first, known := 0, true
	if page.After != "" {
		first, known = m.set.index[page.After]
		first++
	}
	if known && first+limit <= len(m.set.persons) {
		return list(m.set.persons[first:first+limit:first+limit], limit), nil
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if !known {
		place, ok := m.places[page.After]
		if !ok {
			return PersonList{}, unknown(page.After)
		}
		first = len(m.set.persons) + place - m.forgotten + 1
	}
	var old, young []Person
	if first < len(m.set.persons) {
		old = m.set.persons[first:]
	}
	young = m.created[max(first-len(m.set.persons), 0):]
	young = young[:min(len(young), limit-len(old))]
	if len(young) == 0 {
		return list(slices.Clip(old), limit), nil
	}
	return list(slices.Concat(old, young), limit), nil
}

// list returns the page with at most limit of the persons.
func list(persons []Person, limit int) PersonList {
	l := PersonList{Persons: persons, Count: int32(len(persons))}
	if len(persons) == limit {
		l.Next = persons[limit-1].ID
	}
	return l
}

// GetPerson implements [Service].
func (m *Memory) GetPerson(_ context.Context, id PersonID) (Person, error) {
	if err := id.Validate(); err != nil {
		return Person{}, err
	}
	if i, ok := m.set.index[id.ID]; ok {
		return m.set.persons[i], nil
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if place, ok := m.places[id.ID]; ok {
		return m.created[place-m.forgotten], nil
	}
	return Person{}, unknown(id.ID)
}

// GetPersonLinks implements [Service].
func (m *Memory) GetPersonLinks(_ context.Context, id PersonID) (PersonLinkList, error) {
	if err := id.Validate(); err != nil {
		return PersonLinkList{}, err
	}
	if i, ok := m.set.index[id.ID]; ok {
		return m.set.linksOf(i), nil
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if _, ok := m.places[id.ID]; ok {
		return PersonLinkList{}, nil
	}
	return PersonLinkList{}, unknown(id.ID)
}

// CreatePerson implements [Service].
func (m *Memory) CreatePerson(_ context.Context, person Person) (Person, error) {
	if err := person.Validate(); err != nil {
		return Person{}, err
	}
	if _, ok := m.set.index[person.ID]; ok {
		return Person{}, taken(person.ID)
	}
	if person.Picture != nil {
		picture := *person.Picture // the caller may change its picture
		person.Picture = &picture
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.places[person.ID]; ok {
		return Person{}, taken(person.ID)
	}
	if m.places == nil {
		m.places = map[string]int{}
	}
	m.places[person.ID] = m.forgotten + len(m.created)
	m.created = append(m.created, person)
	m.text += person.text()
	for len(m.created) > CreatedLimit || m.text > CreatedText {
		m.forget()
	}
	return person, nil
}

// forget drops the person created first. The slice advances along its array; append copies the rest to a new array
// when it reaches the end.
func (m *Memory) forget() {
	oldest := m.created[0]
	m.created[0] = Person{} // else the array would keep its text alive
	m.created = m.created[1:]
	delete(m.places, oldest.ID)
	m.text -= oldest.text()
	m.forgotten++
}

// ProgramComposition implements [Service].
func (m *Memory) ProgramComposition(ctx context.Context, ask Composition) (Aggregation, error) {
	return Compose(ctx, m, ask)
}

func unknown(id string) error { return wirelab.Errorf(wirelab.NotFound, "no person has the id %q", id) }

func taken(id string) error {
	return wirelab.Errorf(wirelab.Conflict, "a person has the id %q already", id)
}
