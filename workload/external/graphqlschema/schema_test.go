package graphqlschema_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/99designs/gqlgen/graphql/handler/transport"

	"wirelab"
	directory "wirelab/workload/directory/gen/gengraphql"
	"wirelab/workload/external/graphqlschema"
	ledger "wirelab/workload/ledger/gen/gengraphql"
	routeguide "wirelab/workload/routeguide/gen/gengraphql"
)

// server answers introspection of a schema of ours, or not.
func server(es graphql.ExecutableSchema, introspection bool) func(context.Context, []byte) ([]byte, error) {
	h := handler.New(es)
	h.AddTransport(transport.POST{})
	if introspection {
		h.Use(extension.Introspection{})
	}
	return func(ctx context.Context, body []byte) ([]byte, error) {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/graphql", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(w, r)
		return io.ReadAll(w.Body)
	}
}

func ours() map[string]graphql.ExecutableSchema {
	return map[string]graphql.ExecutableSchema{
		"routeguide": routeguide.NewExecutableSchema(routeguide.Config{}),
		"directory":  directory.NewExecutableSchema(directory.Config{}),
		"ledger":     ledger.NewExecutableSchema(ledger.Config{}),
	}
}

// wantError asks for an error of a code that says something.
func wantError(t testing.TB, err error, code wirelab.Code, say ...string) {
	t.Helper()
	var coded *wirelab.Error
	if !errors.As(err, &coded) || coded.Code != code {
		t.Errorf("%v, want %v", err, code)
		return
	}
	for _, text := range say {
		if !strings.Contains(coded.Message, text) {
			t.Errorf("%s; it does not say %q", coded.Message, text)
		}
	}
}

// check checks the example of each operation.
func check(t testing.TB, s *graphqlschema.Schema) {
	t.Helper()
	for _, o := range s.Operations() {
		document, variables := o.Example()
		var given map[string]any
		if err := json.Unmarshal(variables, &given); err != nil {
			t.Errorf("%s: %s: %v", o.Name, variables, err)
		}
		if err := s.Check("example", document, "", given); err != nil {
			t.Errorf("%s %s: %v\n%s", o.Kind, o.Name, err, document)
		}
	}
}

// What a real server tells of itself is the schema that it has.
func TestIntrospect(t *testing.T) {
	t.Parallel()
	for name, es := range ours() {
		s, err := graphqlschema.Introspect(t.Context(), server(es, true))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		check(t, s)
		names := func(kind string) (all []string) {
			for _, o := range s.Operations() {
				if o.Kind == kind {
					all = append(all, o.Name+" "+o.Type)
				}
			}
			slices.Sort(all)
			return all
		}
		for kind, root := range map[string]string{"query": es.Schema().Query.Name} {
			var want []string
			for _, f := range es.Schema().Types[root].Fields {
				if !strings.HasPrefix(f.Name, "__") {
					want = append(want, f.Name+" "+f.Type.String())
				}
			}
			slices.Sort(want)
			if got := names(kind); len(want) == 0 || !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	}
}

func TestIntrospectionOff(t *testing.T) {
	t.Parallel()
	_, err := graphqlschema.Introspect(t.Context(), server(ours()["routeguide"], false))
	wantError(t, err, wirelab.Unimplemented, "introspection disabled", "as a file (SDL)", "unchecked")
	for reply, say := range map[string][]string{
		"<html>not here</html>": {"<html>not here", "/graphql?"},
		"":                      {"nothing"},
		`{"data":{"__schema":{"queryType":{"name":"A"},"types":[{"kind":"OBJECT","name":"A b"}]}}}`: {
			"A b",
			"no name of GraphQL",
		},
		`{"data":{"__schema":{"queryType":{"name":"A"},"types":[{"kind":"WHAT","name":"A"}]}}}`: {"WHAT"},
		`{"data":{"__schema":{}}}`: {"has"},
		`{"data":{"__schema":{"queryType":{"name":"Q"},"types":[{"kind":"OBJECT",` +
			`"name":"Q","fields":[{"name":"a","type":{"kind":"LIST"}}]}]}}}`: {"no name"},
	} {
		_, err := graphqlschema.Introspect(t.Context(), func(context.Context, []byte) ([]byte, error) {
			return []byte(reply),
				nil
		})
		wantError(t, err, wirelab.InvalidArgument, say...)
	}
	for _, reply := range []string{`{}`, `{"data":null}`, `{"data":{"__schema":null},"errors":[{"message":"no"}]}`} {
		_, err := graphqlschema.Introspect(t.Context(), func(context.Context, []byte) ([]byte, error) {
			return []byte(reply),
				nil
		})
		wantError(t, err, wirelab.Unimplemented, "as a file (SDL)")
	}
	broken := wirelab.Errorf(wirelab.Unavailable, "away")
	_, err = graphqlschema.Introspect(t.Context(), func(context.Context, []byte) ([]byte, error) { return nil, broken })
	wantError(t, err, wirelab.Unavailable, "away")
}

const shop = `
type Query {
  item(id: ID!, lang: String): Item items(first: Int! = 10, filter: Filter!): [Item!]!
  self: Query node: Node any: Any version: String!
}
type Mutation { addItem(input: ItemInput!): Item item(id: ID!): Item }
type Subscription { added(kinds: [Kind!]!): Item }
interface Node { id: ID! }
union Any = Item | Owner
type Item implements Node { id: ID! name: String price(in: String!): Float kind: Kind owner: Owner tags: [String!] }
type Owner implements Node { id: ID! name: String items: [Item] }
enum Kind { BOOK TOY }
input Filter { kind: Kind! not: Filter min: Float! when: Date! }
input ItemInput { sku: String! parts: [ItemInput!]! count: Int! = 1 note: String }
scalar Date
`

func parsed(t testing.TB) *graphqlschema.Schema {
	t.Helper()
	s, err := graphqlschema.Parse("shop.graphql", []byte(shop))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOperations(t *testing.T) {
	t.Parallel()
	s := parsed(t)
	check(t, s)
	o, err := s.Find("items")
	if err != nil || o.Kind != "query" || o.Type != "[Item!]!" || !slices.Equal(o.Arguments, []graphqlschema.Argument{
		{Name: "first", Type: "Int!"}, {Name: "filter", Type: "Filter!", Required: true},
	}) {
		t.Errorf("%+v, %v", o, err)
	}
	document, variables := o.Example()
	const want = "query items($filter: Filter!) {\n  items(filter: $filter) {\n    id\n    name\n    kind\n " +
		"   owner {\n" +
		"      id\n      name\n    }\n    tags\n  }\n}\n"
	if document != want || string(variables) != `{"filter":{"kind":"BOOK","min":0,"when":""}}` {
		t.Errorf("%s%s", document, variables)
	}
	if o, err := s.Find("version"); err != nil {
		t.Error(err)
	} else if document, variables := o.Example(); document != "query version {\n  version\n}\n" ||
		string(variables) != "{}" {
		t.Errorf("%s%s", document, variables)
	}
	if o, err := s.Find("mutation item"); err != nil || o.Kind != "mutation" {
		t.Errorf("%+v, %v", o, err)
	}
	_, err = s.Find("item")
	wantError(t, err, wirelab.InvalidArgument, "both a query and a mutation", `"mutation item"`)
	_, err = s.Find("itms")
	wantError(t, err, wirelab.InvalidArgument, "did you mean", "items")
}

// TestCheck checks that the error in a wrong document has its position.
func TestCheck(t *testing.T) {
	t.Parallel()
	s := parsed(t)
	for _, c := range []struct {
		document, operation string
		variables           map[string]any
		say                 []string // nil: right
	}{
		{"{ version }", "", nil, nil},
		{"query A { version } query B { version }", "B", nil, nil},
		{"query A($id: ID!) { item(id: $id) { id } }", "", map[string]any{"id": 1}, nil},
		{"{\n  versoin\n}", "", nil, []string{"q.graphql:2:3: ", "versoin"}},
		{"{ item { id } }", "", nil, []string{"q.graphql:1:3: ", `"id"`}},
		{"{ item(id: 1) }", "", nil, []string{"q.graphql:1:3: ", "selection"}},
		{"{ item(id: [1) }", "", nil, []string{"q.graphql:1:"}},
		{"query A { version } query B { version }", "", nil, []string{"2 operations", "A, B"}},
		{"query A { version }", "B", nil, []string{"unknown operation of q.graphql"}},
		{
			"query A($id: ID!) { item(id: $id) { id } }", "", nil,
			[]string{"q.graphql:1:9: variable $id is not given; it is ID!"},
		},
		{"query A($id: ID!) { item(id: $id) { id } }", "", map[string]any{"id": 1, "idd": 2}, []string{
			`"idd"`,
			"did you mean id",
		}},
		{"{ version }", "", map[string]any{"x": 2}, []string{`"x"`, "has none"}},
		{"", "", nil, []string{"no operation"}},
		{"fragment A on Item { id }", "", nil, []string{"no operation"}},
		{strings.Repeat("{a", 500) + strings.Repeat("}", 500), "", nil, []string{"100 deep"}},
		{"{" + strings.Repeat(" version", 30_000) + "}", "", nil, []string{"more than"}},
		{"{" + strings.Repeat(" version", 60_000) + "}", "", nil, []string{"bytes"}},
	} {
		err := s.Check("q.graphql", c.document, c.operation, c.variables)
		if c.say == nil {
			if err != nil {
				t.Errorf("%s: %v", c.document, err)
			}
			continue
		}
		wantError(t, err, wirelab.InvalidArgument, c.say...)
	}
}

// Without a schema it is still known whether a document is GraphQL.
func TestSyntax(t *testing.T) {
	t.Parallel()
	if err := graphqlschema.Syntax("q.graphql", "{ anything(at: 1) { all } }"); err != nil {
		t.Error(err)
	}
	wantError(t, graphqlschema.Syntax("q.graphql", "{\n  a(\n}"), wirelab.InvalidArgument, "q.graphql:3:1: ")
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, say := range map[string][]string{
		"type Query { a: Absent }":  {"s.graphql:1:17: ", "Absent"},
		"type Query {\n a Strng }":  {"s.graphql:2:4: "},
		"type A { a: Int }":         {"no query"},
		"":                          {"no query"},
		`{"data":{"__schema":7}}`:   {"no reply of GraphQL"},
		strings.Repeat("[", 1<<20):  {"100 deep"},
		strings.Repeat(" ", 17<<20): {"more than"},
	} {
		_, err := graphqlschema.Parse("s.graphql", []byte(text))
		wantError(t, err, wirelab.InvalidArgument, say...)
	}
	// The JSON of an introspection is a file, too, whole or its data alone.
	reply, err := server(ours()["routeguide"], true)(t.Context(), []byte(graphqlschema.Question))
	if err != nil {
		t.Fatal(err)
	}
	var whole struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(reply, &whole); err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{reply, whole.Data} {
		if s, err := graphqlschema.Parse("schema.json", data); err != nil || len(s.Operations()) == 0 {
			t.Error(err)
		}
	}
}

func use(s *graphqlschema.Schema) {
	for i, o := range s.Operations() {
		if i == 20 {
			break
		}
		document, _ := o.Example()
		_ = s.Check("a", document, "", nil)
		_, _ = s.Find(o.Name)
	}
}

func FuzzIntrospect(f *testing.F) {
	reply, err := server(ours()["routeguide"], true)(f.Context(), []byte(graphqlschema.Question))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(reply)
	f.Add([]byte(`{"errors":[{"message":"no"}]}`))
	f.Add([]byte(`{"__schema":{"queryType":{"name":"Q"},"types":[{"kind":"OBJECT","name":"Q","fields":[{"name":"a",` +
		`"args":[{"name":"x","type":{"kind":"NON_NULL","ofType":{"kind":"INPUT_OBJECT","name":"I"}},"defaultValue":"1"}],` +
		`"type":{"kind":"SCALAR","name":"Int"}}]},{"kind":"INPUT_OBJECT","name":"I",` +
		`"inputFields":[{"name":"i","type":{"name":"I"}}]}]}}`))
	f.Add([]byte(shop))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if s, err := graphqlschema.Parse("a", data); err == nil {
			use(s)
		}
	})
}

func FuzzCheck(f *testing.F) {
	s := parsed(f)
	for _, o := range s.Operations() {
		document, _ := o.Example()
		f.Add(document)
	}
	f.Add("query($a:[Int!]=[1]){...F} " +
		"fragment F on Query{items(first:$a,filter:{min:1}){id ...on Item{owner{items{id}}}}}")
	f.Fuzz(func(_ *testing.T, document string) { _ = s.Check("a", document, "", map[string]any{"a": 1}) })
}
