package directory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unsafe"

	"wirelab"
	"wirelab/wire/edgevalues"
	"wirelab/workload/directory"
)

// services returns a new service over each data set that is drawn, by its size.
func services() map[int]directory.Service {
	all := map[int]directory.Service{}
	for _, d := range directory.Data() {
		if d.Name == directory.PublishedData {
			continue
		}
		size, err := strconv.Atoi(d.Name)
		if err != nil {
			panic(err)
		}
		all[size] = d.New()
	}
	return all
}

// everyone returns the whole data set of a new service.
func everyone(t *testing.T, s directory.Service, size int) []directory.Person {
	t.Helper()
	l, err := s.ListPersons(t.Context(), directory.Page{Limit: int32(size)})
	if err != nil {
		t.Fatal(err)
	}
	return l.Persons
}

// wantCode fails unless err has the code; nil is no code.
func wantCode(t *testing.T, what string, err error, want wirelab.Code) {
	t.Helper()
	var coded *wirelab.Error
	if !errors.As(err, &coded) || coded.Code != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

func create(t *testing.T, s directory.Service, p directory.Person) {
	t.Helper()
	if _, err := s.CreatePerson(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func get(s directory.Service, id string) error {
	_, err := s.GetPerson(context.Background(), directory.PersonID{ID: id})
	return err
}

// The small data set has the shape of the published one.
func TestSmallDataSetHasThePublishedShape(t *testing.T) {
	t.Parallel()
	s := directory.New()
	list, err := s.ListPersons(t.Context(), directory.Page{})
	if err != nil || list.Count != 4 || len(list.Persons) != 4 || list.Next != "" {
		t.Fatalf("%+v, %v", list, err)
	}
	foreign := false
	for i, p := range list.Persons {
		if p.ID != strconv.Itoa(i+1) || (p.Picture == nil) != (i == 0) {
			t.Errorf("person %d is %+v", i+1, p)
		}
		foreign = foreign || strings.ContainsFunc(fmt.Sprint(p), func(c rune) bool { return c > unicode.MaxASCII })
	}
	if !foreign {
		t.Error("all text is ASCII")
	}
	for id, want := range map[string]string{"1": "1-2 1-3 4-1", "2": "1-2 2-3", "3": "1-3 2-3", "4": "4-1"} {
		links, err := s.GetPersonLinks(t.Context(), directory.PersonID{ID: id})
		var got []string
		for _, l := range links.Links {
			got = append(got, l.P1.ID+"-"+l.P2.ID)
		}
		if err != nil || strings.Join(got, " ") != want || int(links.Count) != len(links.Links) {
			t.Errorf("links of %s are %v (%d), %v; want %s", id, got, links.Count, err, want)
		}
	}
	fifth := directory.Newcomer()
	if fifth.ID != "5" || fifth.Picture != nil || fifth.Validate() != nil ||
		!strings.ContainsFunc(fifth.Location.City, func(c rune) bool { return c > unicode.MaxASCII }) {
		t.Errorf("the person to create is %+v", fifth)
	}
}

func TestDataSetsGrowInPlace(t *testing.T) {
	t.Parallel()
	var names []string
	for _, d := range directory.Data() {
		names = append(names, d.Name)
	}
	if !slices.Equal(names, []string{"4", "100", "10000", "published"}) {
		t.Fatalf("data sets %v", names)
	}
	all := services()
	four := everyone(t, all[4], 4)
	for size, s := range all {
		persons := everyone(t, s, size)
		if len(persons) != size {
			t.Fatalf("%d persons, want %d", len(persons), size)
		}
		if !slices.EqualFunc(persons[:4], four, directory.Person.Equal) {
			t.Errorf("the first four of %d are others than the four", size)
		}
		bytes, links := 0, 0
		for i, p := range persons {
			if err := p.Validate(); err != nil || p.ID != strconv.Itoa(i+1) {
				t.Errorf("person %d of %d is %+v, %v", i+1, size, p, err)
			}
			text, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			bytes += len(text)
			links += linksAreSound(t, s, p.ID)
		}
		if mean := bytes / size; mean < 330 || mean > 430 {
			t.Errorf("a person of %d has %d bytes of JSON on average", size, mean)
		}
		if each := float64(links) / float64(size); each < 1.9 || each > 4.1 {
			t.Errorf("a person of %d has %.1f links on average", size, each)
		}
		if published := linksAreSound(t, s, "1"); published != 3 {
			t.Errorf("person 1 of %d has %d links, want those of the four", size, published)
		}
	}
}

// linksAreSound checks a person's links and counts them.
func linksAreSound(t *testing.T, s directory.Service, id string) int {
	t.Helper()
	l, err := s.GetPersonLinks(t.Context(), directory.PersonID{ID: id})
	if err != nil || int(l.Count) != len(l.Links) {
		t.Fatalf("links of %s: %d, %v", id, l.Count, err)
	}
	seen := map[string]bool{}
	for _, link := range l.Links {
		a, b := link.P1.ID, link.P2.ID
		if (a == id) == (b == id) || seen[a+" "+b] || seen[b+" "+a] {
			t.Errorf("%s has the link %s-%s", id, a, b)
		}
		seen[a+" "+b] = true
	}
	return len(l.Links)
}

// A load makes a reference for each call that creates, and lists as long as
// the data set: neither may cost what the set's size is (mt-D04).
func TestReferenceIsCheap(t *testing.T) { // not parallel: it counts what the process allocates
	for _, d := range directory.Data() {
		if d.Name == directory.PublishedData {
			continue // its calls can be made again, so that a load makes one reference
		}
		_ = d.New() // makes the set
		for _, made := range []func() directory.Service{d.New, directory.New} {
			if n := testing.AllocsPerRun(100, func() { _ = made() }); n > 1 {
				t.Errorf("data %s: a new service allocates %v times", d.Name, n)
			}
		}
		size, _ := strconv.Atoi(d.Name)
		s, other := d.New(), d.New()
		for _, limit := range []int32{int32(size), 0} {
			page := directory.Page{Limit: limit}
			if n := testing.AllocsPerRun(100, func() { _, _ = s.ListPersons(t.Context(), page) }); n > 0 {
				t.Errorf("data %s: a list allocates %v times", d.Name, n)
			}
		}
		a, b := everyone(t, s, size), everyone(t, other, size)
		if unsafe.SliceData(a) != unsafe.SliceData(b) || cap(a) != len(a) {
			t.Errorf("data %s: the set is copied, or can be appended to", d.Name)
		}
		id := directory.PersonID{ID: d.Name} // the last
		if n := testing.AllocsPerRun(100, func() { _, _ = s.GetPerson(t.Context(), id) }); n > 0 {
			t.Errorf("data %s: a lookup allocates %v times", d.Name, n)
		}
	}
}

func TestPagesHaveAnEnd(t *testing.T) {
	t.Parallel()
	s := directory.New()
	for i := range 3 {
		p := directory.Newcomer()
		p.ID = fmt.Sprint("c", i)
		create(t, s, p)
	}
	for _, c := range []struct {
		why  string
		page directory.Page
		ids  string
		next string
	}{
		{"no limit is a long one", directory.Page{}, "1 2 3 4 c0 c1 c2", ""},
		{"the longest", directory.Page{Limit: directory.PageLimit}, "1 2 3 4 c0 c1 c2", ""},
		{"a full page may have a next", directory.Page{Limit: 2}, "1 2", "2"},
		{"a full page that ends with the data set", directory.Page{Limit: 4}, "1 2 3 4", "4"},
		{"a page over the data set's end", directory.Page{After: "3", Limit: 2}, "4 c0", "c0"},
		{"a page that is full at the very end", directory.Page{After: "4", Limit: 3}, "c0 c1 c2", "c2"},
		{"the page behind it", directory.Page{After: "c2", Limit: 3}, "", ""},
		{"a page of created persons", directory.Page{After: "c0", Limit: 1}, "c1", "c1"},
		{"the rest", directory.Page{After: "c0"}, "c1 c2", ""},
		{"all but the first", directory.Page{After: "1"}, "2 3 4 c0 c1 c2", ""},
	} {
		l, err := s.ListPersons(t.Context(), c.page)
		var ids []string
		for _, p := range l.Persons {
			ids = append(ids, p.ID)
		}
		if err != nil || strings.Join(ids, " ") != c.ids || l.Next != c.next || int(l.Count) != len(ids) {
			t.Errorf("%s: %v, next %q, count %d, %v; want %s, next %q", c.why, ids, l.Next, l.Count, err, c.ids, c.next)
		}
	}
	for _, c := range []struct {
		why  string
		page directory.Page
		want wirelab.Code
	}{
		{"a negative limit", directory.Page{Limit: -1}, wirelab.InvalidArgument},
		{"a limit without measure", directory.Page{Limit: directory.PageLimit + 1}, wirelab.InvalidArgument},
		{"the largest number", directory.Page{Limit: math.MaxInt32}, wirelab.InvalidArgument},
		{"a page after an unknown person", directory.Page{After: "99"}, wirelab.NotFound},
		{"a page behind no id", directory.Page{After: "a b"}, wirelab.InvalidArgument},
	} {
		_, err := s.ListPersons(t.Context(), c.page)
		wantCode(t, c.why, err, c.want)
	}
}

// TestPagesCoverAll checks that following Next gives each person once, whatever the page size.
func TestPagesCoverAll(t *testing.T) {
	t.Parallel()
	s := services()[100]
	for i := range 30 {
		create(t, s, directory.Person{ID: fmt.Sprint("c", i)})
	}
	for limit := int32(1); limit < 140; limit += 3 {
		var ids []string
		for page := (directory.Page{Limit: limit}); ; {
			l, err := s.ListPersons(t.Context(), page)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range l.Persons {
				ids = append(ids, p.ID)
			}
			if page.After = l.Next; l.Next == "" {
				break
			}
		}
		if len(ids) != 130 || ids[0] != "1" || ids[129] != "c29" ||
			len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 130 {
			t.Errorf("pages of %d give %d persons: %v", limit, len(ids), ids)
		}
	}
}

// TestCreateStores checks that creating stores, once only (mt-D01), and that a missing person is NotFound (mt-D02).
func TestCreateStores(t *testing.T) {
	t.Parallel()
	s, p := directory.New(), directory.Newcomer()
	p.Picture = &directory.Picture{Large: "l", Medium: "m", Thumbnail: "t"}
	id := directory.PersonID{ID: p.ID}
	wantCode(t, "before", get(s, p.ID), wirelab.NotFound)
	_, err := s.GetPersonLinks(t.Context(), id)
	wantCode(t, "links before", err, wirelab.NotFound)
	want := p
	create(t, s, p)
	p.Picture.Large = "changed by its caller"
	want.Picture = &directory.Picture{Large: "l", Medium: "m", Thumbnail: "t"}
	if got, err := s.GetPerson(t.Context(), id); err != nil || !got.Equal(want) {
		t.Errorf("stored is %+v, %v", got, err)
	}
	if got, err := s.GetPersonLinks(t.Context(), id); err != nil || !got.Equal(directory.PersonLinkList{}) {
		t.Errorf("links are %+v, %v", got, err)
	}
	_, err = s.CreatePerson(t.Context(), p)
	wantCode(t, "again", err, wirelab.Conflict)
	p.ID = "1"
	_, err = s.CreatePerson(t.Context(), p)
	wantCode(t, "under an id of the data set", err, wirelab.Conflict)
	if other, err := directory.New().ListPersons(t.Context(), directory.Page{}); err != nil || other.Count != 4 {
		t.Errorf("another service lists %d, %v", other.Count, err)
	}
}

// The newest are kept, and the oldest forgotten: no caller makes memory grow.
func TestCreatedAreBounded(t *testing.T) {
	t.Parallel()
	s := directory.New()
	for i := range directory.CreatedLimit + 7 {
		create(t, s, directory.Person{ID: fmt.Sprint("c", i)})
	}
	wantCode(t, "the last that is forgotten", get(s, "c6"), wirelab.NotFound)
	if err := errors.Join(get(s, "c7"), get(s, "c10006"), get(s, "4")); err != nil {
		t.Error(err)
	}
	l, err := s.ListPersons(t.Context(), directory.Page{After: "4"})
	if err != nil || l.Count != directory.CreatedLimit || l.Persons[0].ID != "c7" || l.Persons[9999].ID != "c10006" ||
		l.Next != "c10006" {
		t.Errorf("%d created, next %q, %v", l.Count, l.Next, err)
	}
	create(t, s, directory.Person{ID: "c0"}) // free again
	wantCode(t, "then the next is forgotten", get(s, "c7"), wirelab.NotFound)
}

// However large the persons are, a page of them is a message (see
// wirelab.MessageLimit): JSON writes a NUL in six bytes.
func TestCreatedTextIsBounded(t *testing.T) {
	t.Parallel()
	s := services()[10_000]
	for i := range 200 {
		create(t, s, heaviest(fmt.Sprint("c", i)))
	}
	wantCode(t, "the first", get(s, "c0"), wirelab.NotFound)
	if err := get(s, "c199"); err != nil {
		t.Error(err)
	}
	l, err := s.ListPersons(t.Context(), directory.Page{After: "10000"})
	if err != nil || l.Count < 60 || l.Count > 64 {
		t.Errorf("%d of the largest persons are kept, %v", l.Count, err)
	}
	l, err = s.ListPersons(t.Context(), directory.Page{After: strconv.Itoa(int(l.Count))})
	if err != nil || l.Count != directory.PageLimit || l.Next != "c199" {
		t.Fatalf("%d persons, next %q, %v", l.Count, l.Next, err)
	}
	text, err := json.Marshal(l)
	if err != nil || len(text) > wirelab.MessageLimit*9/10 {
		t.Errorf("a page may have %d bytes of JSON, %v", len(text), err)
	}
}

// heaviest is the person that takes most bytes.
func heaviest(id string) directory.Person {
	text, url := strings.Repeat("\x00", directory.TextLimit), strings.Repeat("\x00", directory.URLLimit)
	return directory.Person{
		ID: id, Name: directory.PersonName{Title: text, First: text, Last: text}, Gender: text,
		Location: directory.Location{Street: text, City: text, State: text, PostCode: math.MinInt32},
		Email:    text, Picture: &directory.Picture{Large: url, Medium: url, Thumbnail: url},
	}
}

func TestRequestsAreChecked(t *testing.T) {
	t.Parallel()
	s := directory.New()
	for _, id := range []string{"a", "0", "A.b_c~d-e", "...", strings.Repeat("x", directory.IDLimit)} {
		if err := (directory.PersonID{ID: id}).Validate(); err != nil {
			t.Error(err)
		}
	}
	for _, id := range []string{
		"", ".", "..", "a/b", "a b", "é", "a\x00", "a%20", "\xff", strings.Repeat("x", directory.IDLimit+1),
	} {
		wantCode(t, fmt.Sprintf("get %q", id), get(s, id), wirelab.InvalidArgument)
		_, err := s.GetPersonLinks(t.Context(), directory.PersonID{ID: id})
		wantCode(t, fmt.Sprintf("links of %q", id), err, wirelab.InvalidArgument)
		_, err = s.CreatePerson(t.Context(), directory.Person{ID: id})
		wantCode(t, fmt.Sprintf("create %q", id), err, wirelab.InvalidArgument)
	}
	for name, set := range texts() {
		limit := directory.TextLimit
		if strings.HasPrefix(name, "picture") {
			limit = directory.URLLimit
		}
		refused := append(edgevalues.BrokenTexts(), edgevalues.Value[string]{
			Name: "over", Value: strings.Repeat("x", limit+1),
		})
		for i, v := range slices.Concat(edgevalues.TextsUpTo(limit), refused) {
			p := directory.Newcomer()
			p.ID, p.Picture = fmt.Sprint(name, i), &directory.Picture{}
			set(&p, v.Value)
			_, err := s.CreatePerson(t.Context(), p)
			if i < len(edgevalues.TextsUpTo(limit)) {
				if err != nil {
					t.Errorf("%s with the text %s: %v", name, v.Name, err)
				}
				continue
			}
			wantCode(t, name+" with the text "+v.Name, err, wirelab.InvalidArgument)
		}
	}
}

// texts are the texts of a person.
func texts() map[string]func(p *directory.Person, text string) {
	return map[string]func(*directory.Person, string){
		"title":             func(p *directory.Person, text string) { p.Name.Title = text },
		"first":             func(p *directory.Person, text string) { p.Name.First = text },
		"last":              func(p *directory.Person, text string) { p.Name.Last = text },
		"gender":            func(p *directory.Person, text string) { p.Gender = text },
		"street":            func(p *directory.Person, text string) { p.Location.Street = text },
		"city":              func(p *directory.Person, text string) { p.Location.City = text },
		"state":             func(p *directory.Person, text string) { p.Location.State = text },
		"email":             func(p *directory.Person, text string) { p.Email = text },
		"picture-large":     func(p *directory.Person, text string) { p.Picture.Large = text },
		"picture-medium":    func(p *directory.Person, text string) { p.Picture.Medium = text },
		"picture-thumbnail": func(p *directory.Person, text string) { p.Picture.Thumbnail = text },
	}
}

// Two persons are equal when all their fields are, and only then: a reply with
// the street where the city belongs is another (mt-M11).
func TestEqualSeesEveryField(t *testing.T) {
	t.Parallel()
	whole := func() directory.Person {
		p := directory.Newcomer()
		p.Picture = &directory.Picture{Large: "l"}
		return p
	}
	if !whole().Equal(whole()) {
		t.Error("a person is not itself")
	}
	changes := texts()
	changes["id"] = func(p *directory.Person, text string) { p.ID = text }
	changes["post code"] = func(p *directory.Person, _ string) { p.Location.PostCode++ }
	changes["no picture"] = func(p *directory.Person, _ string) { p.Picture = nil }
	changes["mt-M11"] = func(p *directory.Person, _ string) { p.Location.City = p.Location.Street }
	for name, change := range changes {
		a, b := whole(), whole()
		change(&b, "another")
		lists := func(p directory.Person) directory.PersonList { return directory.PersonList{}.With(p) }
		links := func(p directory.Person) directory.PersonLinkList {
			return directory.PersonLinkList{Links: []directory.PersonLink{{P1: whole(), P2: p}}, Count: 1}
		}
		sum := func(p directory.Person) directory.Aggregation {
			return directory.Aggregation{Persons: [4]directory.Person{3: p}}
		}
		if a.Equal(b) || b.Equal(a) || lists(a).Equal(lists(b)) || links(a).Equal(links(b)) || sum(a).Equal(sum(b)) {
			t.Errorf("a change of %s is not seen", name)
		}
		if !lists(b).Equal(lists(b)) || !links(b).Equal(links(b)) || !sum(b).Equal(sum(b)) {
			t.Errorf("with a change of %s nothing is itself", name)
		}
	}
	if !(directory.PersonList{}).Equal(directory.PersonList{Persons: []directory.Person{}}) ||
		!(directory.PersonLinkList{}).Equal(directory.PersonLinkList{Links: []directory.PersonLink{}}) {
		t.Error("an empty list is another than none")
	}
	if (directory.PersonList{Next: "1"}).Equal(directory.PersonList{}) ||
		(directory.PersonLinkList{Count: 1}).Equal(directory.PersonLinkList{}) {
		t.Error("a different count or Next is not detected")
	}
}

func TestManyCallersAtOnce(t *testing.T) {
	t.Parallel()
	s := services()[100]
	var wg sync.WaitGroup
	for caller := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(caller)))
			for range 50 {
				for _, o := range directory.Data()[1].Operations {
					e, err := o.Draw("", r)
					if err != nil {
						t.Error(err)
						return
					}
					if err := e.Expect(context.Background(), directory.Data()[1].New())(context.Background(),
						s); err != nil {
						t.Errorf("%s: %v", o.Name, err)
					}
				}
				if _, err := s.ListPersons(context.Background(), directory.Page{After: "90"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	l, err := s.ListPersons(t.Context(), directory.Page{After: "100"})
	if err != nil || l.Count != 2*8*50 {
		t.Errorf("%d are stored, %v", l.Count, err)
	}
}
