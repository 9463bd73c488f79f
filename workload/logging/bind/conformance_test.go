package bind_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/wire/conformance"
	"wirelab/wire/edgevalues"
	"wirelab/workload/logging"
	"wirelab/workload/logging/bind"
)

// TestConformance tests every cell; package conformance defines the tests.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	conformance.Run(t, bind.Workload(), conformance.Suite[logging.Service]{
		Scripts:    "testdata",
		EdgeValues: edgeValues(),
		Probes:     probes(),
	})
}

type (
	entry = logging.Entry
	query = logging.Query
)

// edges collects edge values.
type edges struct {
	all []conformance.EdgeValue[logging.Service]
}

// ask adds operation o with the one request that it draws.
func (t *edges) ask(o wirelab.Operation[logging.Service], name, why string) {
	e, err := o.Draw("", nil)
	if err != nil {
		panic(err) // o has a default way to draw, or it is not an operation
	}
	t.all = append(t.all, conformance.EdgeValue[logging.Service]{Operation: o.Name, Name: name, Why: why, Exchange: e})
}

func (t *edges) write(name, why string, req entry) {
	t.ask(wirelab.Unary("WriteLog", always(req), logging.Service.WriteLog), name, why)
}

func (t *edges) get(name, why, id string) {
	t.ask(wirelab.Unary("GetEntry", always(logging.EntryID{ID: id}), logging.Service.GetEntry), name, why)
}

func (t *edges) list(name, why string, req query) {
	t.ask(wirelab.Unary("ListEntries", always(req), logging.Service.ListEntries), name, why)
}

func (t *edges) remove(name, why string, before time.Time) {
	t.ask(wirelab.Unary("DeleteEntries", always(logging.Retention{Before: before}), logging.Service.DeleteEntries),
		name, why)
}

// always draws one request.
func always[Req any](req Req) func(*rand.Rand) Req {
	return func(*rand.Rand) Req { return req }
}

func edgeValues() []conformance.EdgeValue[logging.Service] {
	t := &edges{}
	idEdges(t)
	textEdges(t)
	sizeEdges(t)
	againEdges(t)
	queryEdges(t)
	retentionEdges(t)
	return t.all
}

// idEdges put ids that wires carry wrongly where ids go; which of them can be,
// the contract says.
func idEdges(t *edges) {
	ids := []edgevalues.Value[string]{
		{Name: "longest", Value: strings.Repeat("i", logging.IDLimit), Why: "is the longest the contract admits"},
		{
			Name: "too-long", Value: strings.Repeat("i", logging.IDLimit+1),
			Why: "is one longer than the contract admits",
		},
		{Name: "every-sign", Value: "Az09._~-", Why: "holds each sign that a path need not escape"},
		{Name: "dots", Value: "...", Why: "looks like a step in a path, and is none"},
		{Name: "dot", Value: ".", Why: "is the folder itself where an id becomes a path"},
		{Name: "two-dots", Value: "..", Why: "is the folder above where an id becomes a path"},
		{Name: "slash", Value: "1/entries", Why: "is another path where an id becomes one"},
		{Name: "query", Value: "1?limit=1", Why: "is a query where an id becomes a path"},
		{Name: "entries", Value: "entries", Why: "is a word of the paths"},
		{Name: "zero-first", Value: "01", Why: "is 1 to a reader that makes it a number"},
	}
	for _, v := range append(edgevalues.TextsUpTo(logging.IDLimit), edgevalues.BrokenTexts()...) {
		ids = append(ids, edgevalues.Value[string]{Name: "text-" + v.Name, Value: v.Value, Why: v.Why})
	}
	for _, v := range ids {
		t.get("id-"+v.Name, v.Why, v.Value)
		t.write("id-"+v.Name, v.Why, entry{ID: v.Value, Name: "id", Data: v.Name})
		if v.Value != "" { // the logger made one, which no caller knows in advance
			t.get("id-"+v.Name+"-written", v.Why, v.Value)
		}
	}
}

// textEdges put texts that wires alter into an entry, and each where the other goes.
func textEdges(t *edges) {
	for _, v := range append(edgevalues.TextsUpTo(logging.DataLimit), edgevalues.BrokenTexts()...) {
		id := "data-" + v.Name
		t.write(id, v.Why, entry{ID: id, Name: "text", Data: v.Value})
		t.get(id, v.Why, id)
	}
	for _, v := range append(edgevalues.TextsUpTo(logging.NameLimit), edgevalues.BrokenTexts()...) {
		id := "name-" + v.Name
		t.write(id, v.Why, entry{ID: id, Name: v.Value})
		t.get(id, v.Why, id)
		t.list(id, v.Why, query{Name: v.Value})
	}
	t.write("swapped", "has a name and data that must not change places",
		entry{ID: "swapped", Name: "the name", Data: "the data"})
	t.get("swapped", "has a name and data that must not change places", "swapped")
	t.write("nothing", "is nothing at all, and must not be stored as an empty record (ms-D02)", entry{})
	t.write("id-alone", "has no name, and must not be stored as an empty record (ms-D02)", entry{ID: "id-alone"})
	t.get("id-alone", "was refused, and so is not there", "id-alone")
}

func sizeEdges(t *edges) {
	for name, n := range map[string]int{"at": logging.NameLimit, "over": logging.NameLimit + 1} {
		t.write("name-length-"+name, "is where names end",
			entry{ID: "name-length-" + name, Name: strings.Repeat("n", n)})
	}
	for name, n := range map[string]int{"at": logging.DataLimit, "over": logging.DataLimit + 1} {
		// A control character is six bytes of JSON.
		e := entry{ID: "data-length-" + name, Name: "long", Data: strings.Repeat("\x01", n)}
		t.write(e.ID, "is where data end, and six times as long in JSON", e)
		t.get(e.ID, "is where data end, and six times as long in JSON", e.ID)
	}
}

func againEdges(t *edges) {
	e := entry{ID: "again", Name: "name", Data: "data"}
	t.write("again-first", "is stored", e)
	t.write("again-second", "is the same entry, which is not stored again", e)
	t.write("again-name", "is another entry under the same id", entry{ID: "again", Name: "other", Data: "data"})
	t.write("again-data", "is another entry under the same id", entry{ID: "again", Name: "name"})
	t.get("again", "is the entry as it was first written", "again")
	t.list("again", "is one entry and not two", query{Limit: 1})
	t.write("no-id", "has no id, and so gets one", entry{Name: "no-id", Data: "x"})
	t.write("no-id-again", "has no id, and so is stored a second time", entry{Name: "no-id", Data: "x"})
	t.list("no-id", "is two entries", query{Name: "no-id"})
}

func queryEdges(t *edges) {
	for _, v := range edgevalues.Int32s() {
		t.list("limit-"+v.Name, v.Why, query{Name: "id", Limit: v.Value})
	}
	for _, v := range edgevalues.Ints() {
		t.list("before-"+v.Name, v.Why, query{Name: "text", Before: v.Value, Limit: 3})
	}
	for _, v := range edgevalues.Times() {
		t.list("since-"+v.Name, v.Why, query{Name: "id", Since: v.Value, Limit: 2})
		t.list("until-"+v.Name, v.Why, query{Name: "id", Until: v.Value, Limit: 2})
	}
	for name, n := range map[string]int32{
		"at": logging.PageLimit, "over": logging.PageLimit + 1,
		"least": math.MinInt32,
	} {
		t.list("page-"+name, "is where pages end", query{Name: "name-x", Limit: n})
	}
	for name, n := range map[string]int64{"at": logging.PositionLimit, "over": logging.PositionLimit + 1} {
		t.list("position-"+name, "is where positions end", query{Name: "id", Before: n, Limit: 1})
	}
	t.list("everything", "asks for nothing at all, as an empty message", query{})
	t.list("first", "is full, and so has a next page", query{Limit: 1})
	t.list("oldest", "is before the second entry, of which there is one", query{Before: 2})
	for _, year := range []int{-44, 0, 10_000, 292_277_026} {
		at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		t.list("year", "is in a year that RFC 3339 cannot write", query{Since: at})
		t.remove("year", "is in a year that RFC 3339 cannot write", at)
	}
	zone := time.FixedZone("", 12_345) // seconds, which gob does not carry
	t.list("zone", "is a moment in a zone whose offset has seconds",
		query{Since: time.Date(2024, 1, 1, 0, 0, 0, 0, zone), Name: "swapped"})
}

// retentionEdges come last: they remove what the others wrote.
func retentionEdges(t *edges) {
	for _, v := range edgevalues.Times() {
		if v.Value.Year() > 2200 {
			continue
		}
		t.remove("before-"+v.Name, v.Why, v.Value)
	}
	t.list("left", "is what no removal of the past reached", query{Name: "swapped"})
	t.remove("far", "is after everything, so that all of it goes",
		time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC))
	t.list("nothing-left", "finds nothing any more", query{})
	t.write("forgotten", "has an id that was forgotten with its entry", entry{ID: "again", Name: "other"})
	t.get("forgotten", "is the entry that was written since", "again")
}
