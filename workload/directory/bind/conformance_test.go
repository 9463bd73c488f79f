package bind_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"wirelab"
	"wirelab/wire/conformance"
	"wirelab/wire/edgevalues"
	"wirelab/workload/directory"
	"wirelab/workload/directory/bind"
)

// TestConformance tests every cell; package conformance defines the tests.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	conformance.Run(t, bind.Workload(), conformance.Suite[directory.Service]{
		Scripts:    "testdata",
		EdgeValues: edgeValues(),
		Probes:     probes(),
		Sequences:  []string{"ProgramComposition"},
	})
}

type (
	person = directory.Person
	page   = directory.Page
)

// newcomer is the person to create, under an id.
func newcomer(id string) person {
	p := directory.Newcomer()
	p.ID = id
	return p
}

// pictured is the same with a picture.
func pictured(id string) person {
	p := newcomer(id)
	p.Picture = &directory.Picture{Large: "l", Medium: "m", Thumbnail: "t"}
	return p
}

// composed is the published composition, which creates the person of an id.
func composed(id string) directory.Composition {
	return directory.Composition{
		Limit: 4, Persons: [4]string{"1", "2", "3", "4"}, Links: [2]string{"1", "3"}, New: newcomer(id),
	}
}

// edges collects edge values.
type edges struct {
	all []conformance.EdgeValue[directory.Service]
}

// ask adds operation o with the one request that it draws.
func (t *edges) ask(o wirelab.Operation[directory.Service], name, why string) {
	e, err := o.Draw("", nil)
	if err != nil {
		panic(err) // o has a default way to draw, or it is not an operation
	}
	t.all = append(t.all, conformance.EdgeValue[directory.Service]{
		Operation: o.Name, Name: name, Why: why,
		Exchange: e,
	})
}

func (t *edges) list(name, why string, req page) {
	t.ask(wirelab.Unary("ListPersons", always(req), directory.Service.ListPersons), name, why)
}

func (t *edges) get(name, why, id string) {
	req := directory.PersonID{ID: id}
	t.ask(wirelab.Unary("GetPerson", always(req), directory.Service.GetPerson), name, why)
	t.ask(wirelab.Unary("GetPersonLinks", always(req), directory.Service.GetPersonLinks), name, why)
}

func (t *edges) create(name, why string, req person) {
	t.ask(wirelab.Unary("CreatePerson", always(req), directory.Service.CreatePerson), name, why)
}

func (t *edges) compose(name, why string, req directory.Composition) {
	t.ask(wirelab.Unary("ProgramComposition", always(req), directory.Service.ProgramComposition), name, why)
}

// always draws one request.
func always[Req any](req Req) func(*rand.Rand) Req {
	return func(*rand.Rand) Req { return req }
}

// ids are ids that wires carry wrongly; which of them can be, the contract says.
func ids() []edgevalues.Value[string] {
	all := []edgevalues.Value[string]{
		{Name: "longest", Value: strings.Repeat("i", directory.IDLimit), Why: "is the longest the contract admits"},
		{
			Name: "too-long", Value: strings.Repeat("i", directory.IDLimit+1),
			Why: "is one longer than the contract admits",
		},
		{Name: "every-sign", Value: "Az09._~-", Why: "holds each sign that a path need not escape"},
		{Name: "dots", Value: "...", Why: "looks like a step in a path, and is none"},
		{Name: "dot", Value: ".", Why: "is the folder itself where an id becomes a path"},
		{Name: "two-dots", Value: "..", Why: "is the folder above where an id becomes a path"},
		{Name: "links", Value: "links", Why: "is a word of the paths"},
		{Name: "slash", Value: "1/links", Why: "is another path where an id becomes one"},
		{Name: "query", Value: "1?limit=1", Why: "is a query where an id becomes a path"},
		{Name: "zero-first", Value: "01", Why: "is 1 to a reader that makes it a number"},
		{Name: "sum", Value: "1e0", Why: "is 1 to a reader that makes it a number"},
		{Name: "case", Value: "NEW", Why: "is another id than in lower case"},
	}
	for _, v := range append(edgevalues.TextsUpTo(directory.IDLimit), edgevalues.BrokenTexts()...) {
		if v.Name == "at-limit" {
			continue
		}
		all = append(all, edgevalues.Value[string]{Name: "text-" + v.Name, Value: v.Value, Why: v.Why})
	}
	return all
}

func edgeValues() []conformance.EdgeValue[directory.Service] {
	t := &edges{}
	for _, v := range ids() {
		t.get("id-"+v.Name, v.Why, v.Value)
		t.list("after-"+v.Name, v.Why, page{After: v.Value})
		t.create("id-"+v.Name, v.Why, newcomer(v.Value))
		t.get("id-"+v.Name+"-created", v.Why, v.Value)
		t.list("after-"+v.Name+"-created", v.Why, page{After: v.Value})
	}
	for _, v := range edgevalues.Int32s() {
		t.list("limit-"+v.Name, v.Why, page{Limit: v.Value})
		p := pictured("post-" + v.Name)
		p.Location.PostCode = v.Value
		t.create("post-code-"+v.Name, v.Why, p)
		t.get("post-code-"+v.Name, v.Why, p.ID)
	}
	textEdges(t)
	pictureEdges(t)
	pageEdges(t)
	compositionEdges(t)
	return t.all
}

// textEdges put texts that wires alter into a person: each alone, and into
// every field at once, the fields told apart.
func textEdges(t *edges) {
	for _, v := range edgevalues.TextsUpTo(directory.TextLimit) {
		p := pictured("text-" + v.Name)
		p.Location.City, p.Picture.Medium = v.Value, v.Value
		t.create("text-"+v.Name, v.Why, p)
		t.get("text-"+v.Name, v.Why, p.ID)
	}
	long := edgevalues.TextsUpTo(directory.URLLimit)
	p := pictured("url-at-limit")
	p.Picture.Large = long[len(long)-1].Value
	t.create("url-at-limit", "is the longest URL the contract admits", p)
	t.create("all-empty", "has no text, as a reader of absent fields sees it", person{ID: "all-empty"})
	t.get("all-empty", "has no text, as a reader of absent fields sees it", "all-empty")
	for name, set := range fields() {
		for _, v := range edgevalues.BrokenTexts() {
			p := pictured("broken-" + name)
			set(&p, v.Value)
			t.create("broken-"+name+"-"+v.Name, v.Why, p)
		}
		p := pictured("over-" + name)
		set(&p, strings.Repeat("x", directory.URLLimit+1))
		t.create("over-"+name, "is longer than the contract admits", p)
		// The published client puts the street into the city (mt-M11).
		p = person{ID: "only-" + name, Picture: &directory.Picture{}}
		set(&p, "only "+name)
		t.create("only-"+name, "must arrive in the field it was sent in (mt-M11)", p)
		t.get("only-"+name, "must be stored in the field it was sent in (mt-M11)", p.ID)
	}
}

// fields are the texts of a person.
func fields() map[string]func(p *person, text string) {
	return map[string]func(*person, string){
		"title":     func(p *person, text string) { p.Name.Title = text },
		"first":     func(p *person, text string) { p.Name.First = text },
		"last":      func(p *person, text string) { p.Name.Last = text },
		"gender":    func(p *person, text string) { p.Gender = text },
		"street":    func(p *person, text string) { p.Location.Street = text },
		"city":      func(p *person, text string) { p.Location.City = text },
		"state":     func(p *person, text string) { p.Location.State = text },
		"email":     func(p *person, text string) { p.Email = text },
		"large":     func(p *person, text string) { p.Picture.Large = text },
		"medium":    func(p *person, text string) { p.Picture.Medium = text },
		"thumbnail": func(p *person, text string) { p.Picture.Thumbnail = text },
	}
}

func pictureEdges(t *edges) {
	none, empty := newcomer("no-picture"), newcomer("empty-picture")
	empty.Picture = &directory.Picture{}
	t.create("no-picture", "has no picture, and a reader of absent fields may give it one", none)
	t.create("empty-picture", "has a picture without URLs, which an encoding may leave out", empty)
	t.get("no-picture", "has no picture, and a reader of absent fields may give it one", none.ID)
	t.get("empty-picture", "has a picture without URLs, which an encoding may leave out", empty.ID)
	t.create("again", "is created a second time", none)
	t.create("data-set", "has an id of the data set", newcomer("4"))
}

func pageEdges(t *edges) {
	t.list("nothing", "asks for nothing at all, as an empty message", page{})
	t.list("last", "begins behind the last person of the data set", page{After: "4"})
	t.list("absent", "begins after an unknown person", page{After: "absent"})
	t.list("full", "is full and ends with the data set, and so has a next page", page{Limit: 4})
	t.list("one", "is full with one person", page{After: "2", Limit: 1})
	t.list("at-limit", "has the largest limit", page{Limit: directory.PageLimit})
	t.list("over-limit", "has a limit that is one too large", page{Limit: directory.PageLimit + 1})
	t.list("least", "has the least limit there can be", page{Limit: math.MinInt32})
	t.get("of-the-set", "is the person with most links", "1")
	t.get("absent", "is an unknown person", "absent")
}

func compositionEdges(t *edges) {
	t.compose("published", "is what the published program asks", composed("5"))
	t.compose("again", "creates a person there is, as its last call", composed("5"))
	same := composed("same")
	same.Persons, same.Links = [4]string{"2", "2", "2", "2"}, [2]string{"2", "2"}
	t.compose("same", "asks the same several times over, where a query may name each thing once", same)
	own := composed("own")
	own.Persons[3] = "own"
	t.compose("own", "gets who is created only after that", own)
	unknown := composed("unlinked")
	unknown.Links[1] = "absent"
	t.compose("unknown", "fails before it creates", unknown)
	t.get("unknown", "must not be created by a composition that failed before", "unlinked")
	broken := composed("broken")
	broken.New.Name.First = "\xff"
	t.compose("broken", "creates a person with text that is not UTF-8", broken)
	slashed := composed("slashed")
	slashed.Persons[0] = "a/b"
	t.compose("slashed", "gets who cannot be", slashed)
	empty := composed("empty")
	empty.Limit = 1
	t.compose("short", "has a list shorter than the data set, with a next page", empty)
}

// probes are the contract's promises that one exchange cannot show.
func probes() []conformance.Probe[directory.Service] {
	return []conformance.Probe[directory.Service]{
		{
			Name: "stored", Operation: "CreatePerson",
			Why:   "what one call creates others see (mt-D01)",
			Check: stored,
		},
		{
			Name: "largest", Operation: "ListPersons",
			Why:   "a page is a message on every wire, whatever was created",
			Check: largest,
		},
	}
}

func stored(ctx context.Context, service directory.Service) error {
	var want []person
	for i := range 3 {
		p := newcomer(fmt.Sprint("stored-", i))
		got, err := service.CreatePerson(ctx, p)
		if err != nil || !got.Equal(p) {
			return fmt.Errorf("created %+v, %w", got, err)
		}
		want = append(want, p)
	}
	list, err := service.ListPersons(ctx, page{After: "4"})
	if err != nil || !list.Equal(directory.PersonList{Persons: want, Count: 3}) {
		return fmt.Errorf("after the data set are %+v, %w", list, err)
	}
	for _, p := range want {
		links, err := service.GetPersonLinks(ctx, directory.PersonID{ID: p.ID})
		if err != nil || links.Count != 0 || len(links.Links) != 0 {
			return fmt.Errorf("links of %s are %+v, %w", p.ID, links, err)
		}
	}
	if _, err := service.CreatePerson(ctx, want[0]); err == nil || wirelab.CodeOf(err) != wirelab.Conflict {
		return fmt.Errorf("a second %s is created: %w", want[0].ID, err)
	}
	if _, err := service.GetPerson(ctx, directory.PersonID{ID: "stored-3"}); err == nil ||
		wirelab.CodeOf(err) != wirelab.NotFound {
		return fmt.Errorf("who was not created is found: %w", err)
	}
	return nil
}

// largest creates the persons that take most bytes in any encoding, more than
// are kept, and reads them back.
func largest(ctx context.Context, service directory.Service) error {
	text, url := strings.Repeat("\x00", directory.TextLimit), strings.Repeat("\x00", directory.URLLimit)
	heavy := person{
		Name: directory.PersonName{Title: text, First: text, Last: text}, Gender: text,
		Location: directory.Location{Street: text, City: text, State: text, PostCode: math.MinInt32}, Email: text,
		Picture: &directory.Picture{Large: url, Medium: url, Thumbnail: url},
	}
	const created = 80
	for i := range created {
		heavy.ID = fmt.Sprint("heavy-", i)
		if _, err := service.CreatePerson(ctx, heavy); err != nil {
			return fmt.Errorf("creating %s: %w", heavy.ID, err)
		}
	}
	list, err := service.ListPersons(ctx, page{})
	if err != nil {
		return fmt.Errorf("listing: %w", err)
	}
	last := list.Persons[len(list.Persons)-1]
	if list.Count < 60 || list.Count > created || !last.Equal(heavy) {
		return fmt.Errorf("%d persons are listed, the last is %s", list.Count, last.ID)
	}
	return nil
}
