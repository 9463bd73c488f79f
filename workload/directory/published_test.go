package directory_test

import (
	"testing"

	"wirelab"
	"wirelab/workload/directory"
)

// As published, one person is created again and again, which stores nothing;
// all else is as in the contract.
func TestAsPublished(t *testing.T) {
	t.Parallel()
	for _, d := range directory.Data() {
		s, plain := directory.AsPublished(d.New()), d.New()
		known, err := s.GetPerson(t.Context(), directory.PersonID{ID: "2"})
		if err != nil {
			t.Fatal(err)
		}
		again, theirs := directory.Newcomer(), directory.PublishedNewcomer()
		for _, p := range []directory.Person{again, again, theirs, known} {
			if got, err := s.CreatePerson(t.Context(), p); err != nil || !got.Equal(p) {
				t.Errorf("data %s: creating %s: %+v, %v", d.Name, p.ID, got, err)
			}
		}
		for range 2 {
			if _, err := s.ProgramComposition(t.Context(), published()); err != nil {
				t.Errorf("data %s: the published program: %v", d.Name, err)
			}
		}
		_, err = s.CreatePerson(t.Context(), directory.Person{ID: "a/b"})
		wantCode(t, "data "+d.Name+": a person outside the contract", err, wirelab.InvalidArgument)
		if err := get(s, "5"); d.Name == "4" && wirelab.CodeOf(err) != wirelab.NotFound {
			t.Errorf("the created person is kept: %v", err)
		}
		got, err := s.ListPersons(t.Context(), directory.Page{})
		if want, wrong := plain.ListPersons(t.Context(), directory.Page{}); err != nil || wrong != nil ||
			!got.Equal(want) {
			t.Errorf("data %s: the list has %d persons, %v; want the %d of the set", d.Name, got.Count, err, want.Count)
		}
	}
}

// TestDefaultConflicts checks that by default a created person is stored, once only.
func TestDefaultConflicts(t *testing.T) {
	t.Parallel()
	s := directory.New()
	create(t, s, directory.Newcomer())
	if _, err := s.CreatePerson(t.Context(), directory.Newcomer()); wirelab.CodeOf(err) != wirelab.Conflict {
		t.Errorf("the same person again: %v, want conflict", err)
	}
}
