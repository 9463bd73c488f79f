package directory_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"wirelab"
	"wirelab/workload/directory"
)

// called notes the calls made of a service, and fails at one.
type called struct {
	directory.Service
	calls  []string
	failAt string
}

func (c *called) note(what string) error {
	c.calls = append(c.calls, what)
	if what == c.failAt {
		return wirelab.Errorf(wirelab.Unavailable, "told to fail")
	}
	return nil
}

func (c *called) ListPersons(ctx context.Context, page directory.Page) (directory.PersonList, error) {
	if err := c.note("list"); err != nil {
		return directory.PersonList{}, err
	}
	return c.Service.ListPersons(ctx, page)
}

func (c *called) GetPerson(ctx context.Context, id directory.PersonID) (directory.Person, error) {
	if err := c.note("get " + id.ID); err != nil {
		return directory.Person{}, err
	}
	return c.Service.GetPerson(ctx, id)
}

func (c *called) GetPersonLinks(ctx context.Context, id directory.PersonID) (directory.PersonLinkList, error) {
	if err := c.note("links " + id.ID); err != nil {
		return directory.PersonLinkList{}, err
	}
	return c.Service.GetPersonLinks(ctx, id)
}

func (c *called) CreatePerson(ctx context.Context, p directory.Person) (directory.Person, error) {
	if err := c.note("create " + p.ID); err != nil {
		return directory.Person{}, err
	}
	return c.Service.CreatePerson(ctx, p)
}

func published() directory.Composition {
	return directory.Composition{
		Limit: 4, Persons: [4]string{"1", "2", "3", "4"}, Links: [2]string{"1", "3"}, New: directory.Newcomer(),
	}
}

// The eight calls of the published program, in its order (mt-F05).
func TestComposeMakesEightCalls(t *testing.T) {
	t.Parallel()
	s := &called{Service: directory.New()}
	sum, err := directory.Compose(t.Context(), s, published())
	if err != nil {
		t.Fatal(err)
	}
	const want = "list, get 1, get 2, get 3, get 4, links 1, links 3, create 5"
	if got := strings.Join(s.calls, ", "); got != want {
		t.Errorf("calls are %s; want %s", got, want)
	}
	for i, p := range sum.Persons {
		if !p.Equal(sum.List.Persons[i]) {
			t.Errorf("person %d is %+v", i, p)
		}
	}
	if sum.List.Count != 5 || !sum.List.Persons[4].Equal(directory.Newcomer()) || sum.List.Next != "4" {
		t.Errorf("the list is %+v", sum.List)
	}
	if sum.Links[0].Count != 3 || sum.Links[1].Count != 2 {
		t.Errorf("%d and %d links", sum.Links[0].Count, sum.Links[1].Count)
	}
	again, err := directory.New().ProgramComposition(t.Context(), published())
	if err != nil || !again.Equal(sum) {
		t.Errorf("the reference gives %+v, %v", again, err)
	}
	if l, err := directory.New().ListPersons(t.Context(), directory.Page{}); err != nil || len(l.Persons) != 4 {
		t.Errorf("the data set has grown to %d, %v", len(l.Persons), err)
	}
}

func TestComposeStopsAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	all := &called{Service: directory.New()}
	if _, err := directory.Compose(t.Context(), all, published()); err != nil {
		t.Fatal(err)
	}
	for i, call := range all.calls {
		s := &called{Service: directory.New(), failAt: call}
		_, err := directory.Compose(t.Context(), s, published())
		wantCode(t, "failing at "+call, err, wirelab.Unavailable)
		if !slices.Equal(s.calls, all.calls[:i+1]) {
			t.Errorf("failing at %s: calls are %v", call, s.calls)
		}
	}
	for why, change := range map[string]func(*directory.Composition){
		"a limit beyond the contract":  func(c *directory.Composition) { c.Limit = -1 },
		"a person that cannot be":      func(c *directory.Composition) { c.Persons[3] = "" },
		"links of who cannot be":       func(c *directory.Composition) { c.Links[1] = ".." },
		"a text that is not UTF-8":     func(c *directory.Composition) { c.New.Location.City = "\xff" },
		"a newcomer without an id":     func(c *directory.Composition) { c.New.ID = "" },
		"a newcomer with a long title": func(c *directory.Composition) { c.New.Name.Title = strings.Repeat("x", 257) },
	} {
		s, ask := &called{Service: directory.New()}, published()
		change(&ask)
		_, err := directory.Compose(t.Context(), s, ask)
		wantCode(t, why, err, wirelab.InvalidArgument)
		if len(s.calls) != 0 {
			t.Errorf("%s: calls are %v, want none", why, s.calls)
		}
	}
}

// The published requests are those of the published experiment.
func TestPublishedRequests(t *testing.T) {
	t.Parallel()
	for _, d := range directory.Data() {
		s := &called{Service: d.New()}
		r := rand.New(rand.NewPCG(1, 1))
		for range 2 {
			for _, o := range d.Operations {
				if !slices.Contains(o.Requests, directory.Published) {
					continue // the published experiment does not have it
				}
				e, err := o.Draw(directory.Published, r)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := e.Ask(t.Context(), s); err != nil {
					t.Errorf("data %s: %s: %v", d.Name, o.Name, err)
				}
			}
		}
		var creates []string
		for _, call := range s.calls {
			if id, ok := strings.CutPrefix(call, "create "); ok {
				creates = append(creates, id)
			}
		}
		// A composition reaches the service as one call, and creates inside it.
		if again := d.Name == directory.PublishedData; len(creates) != 2 || creates[0] == creates[1] != again {
			t.Errorf("data %s: created are %v, want each under a different id, unless nothing is stored", d.Name,
				creates)
		}
		if got := strings.Join(s.calls[:3], ", "); got != "list, get 1, links 1" {
			t.Errorf("data %s: calls are %s", d.Name, got)
		}
	}
}

// TestDrawnRepliesDoNotDependOnOthers checks that persons created by other callers are in no reply to a drawn
// request, so that one server can carry the load of all operations at once.
func TestDrawnRepliesDoNotDependOnOthers(t *testing.T) {
	t.Parallel()
	for _, d := range directory.Data() {
		s := d.New()
		create(t, s, directory.Person{ID: "other"})
		r := rand.New(rand.NewPCG(2, 2))
		for _, o := range d.Operations {
			for i := range 30 {
				e, err := o.Draw(o.Requests[i%len(o.Requests)], r)
				if err != nil {
					t.Fatal(err)
				}
				if err := e.Expect(t.Context(), d.New())(t.Context(), s); err != nil {
					t.Fatalf("data %s: %s %s: %v", d.Name, o.Name, e.Request(), err)
				}
			}
		}
	}
}
