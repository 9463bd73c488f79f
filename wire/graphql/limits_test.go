package graphql

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"wirelab/wire/status"
)

// codeOf is the code's name, or "ok".
func codeOf(err error) string {
	if err == nil {
		return "ok"
	}
	return status.CodeOf(err).String()
}

// nested is n levels of fields around a leaf.
func nested(n int) string {
	return strings.Repeat("{ a ", n) + strings.Repeat("}", n)
}

// doubling is n fragments, each of which spreads the next twice.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString("{ ...F0 }")
	for i := range n {
		fmt.Fprintf(&b, " fragment F%d on T { ...F%d ...F%d }", i, i+1, i+1)
	}
	fmt.Fprintf(&b, " fragment F%d on T { a }", n)
	return b.String()
}

// question is what clients ask of a schema, with all that the standard has and nine types in each other.
const question = `query IntrospectionQuery {
  __schema {
    description
    queryType { name kind } mutationType { name kind } subscriptionType { name kind }
    types { ...FullType }
    directives { name description isRepeatable locations args(includeDeprecated: true) { ...InputValue } }
  }
}
fragment FullType on __Type {
  kind name description specifiedByURL isOneOf
  fields(includeDeprecated: true) {
    name description args(includeDeprecated: true) { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason
  }
  inputFields(includeDeprecated: true) { ...InputValue }
  interfaces { ...TypeRef }
  enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
  possibleTypes { ...TypeRef }
}
fragment InputValue on __InputValue {
  name description type { ...TypeRef } defaultValue isDeprecated deprecationReason
}
fragment TypeRef on __Type {
  kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
  ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } }
}`

func TestCheckDocument(t *testing.T) {
	t.Parallel()
	const exhausted, invalid = "resource_exhausted", "invalid_argument"
	wide := func(n int) string { return "{ " + strings.Repeat("a ", n) + "}" }
	cases := []struct{ why, text, want string }{
		{"nothing", "", "ok"},
		{"a field", "{ a }", "ok"},
		{"a text that is no GraphQL is the parser's to refuse", "{ a ", "ok"},
		{"so is text that is none", "{ \x00 }", "ok"},
		{"a text at the limit", "{ a }" + strings.Repeat(" ", documentLimit-5), "ok"},
		{"a text above it", "{ a }" + strings.Repeat(" ", documentLimit-4), exhausted},
		{"tokens at the limit, though no GraphQL", strings.Repeat("!", tokenLimit), "ok"},
		{"tokens above it", strings.Repeat("!", tokenLimit+1), exhausted},
		{"comments are tokens", "{ a " + strings.Repeat("#\n", tokenLimit) + "}", exhausted},
		{"one comment is one", "{ a #" + strings.Repeat("#", 2*tokenLimit) + "\n}", "ok"},
		{"a string is one token", `{ a(b: "` + strings.Repeat("[ ", tokenLimit) + `") }`, "ok"},
		{"the largest number", "{ a(b: 9223372036854775807, c: -9223372036854775808, d: 1e308) }", "ok"},
		{"a number above it, at which running the document panics", "{ a(b: 9223372036854775808) }", invalid},
		{"a number below all", "{ a(b: [{c: -9223372036854775809}]) }", invalid},
		{"a fraction beyond all", "{ a(b: 1e999) }", invalid},
		{"such a number in a default", "query($b: Int = 9223372036854775808) { a(b: $b) }", invalid},
		{"such a number as text", `{ a(b: "9223372036854775808") }`, "ok"},
		{"levels at the limit", nested(depthLimit), "ok"},
		{"levels above it", nested(depthLimit + 1), exhausted},
		{"levels beyond all", nested(tokenLimit / 4), exhausted},
		{"levels by a fragment", "{ a { ...F } } fragment F on T " + nested(depthLimit), exhausted},
		{
			"inline fragments are no level",
			"{ " + strings.Repeat("... { ", nestLimit-1) + "a" + strings.Repeat("}", nestLimit),
			"ok",
		},
		{"but their brackets are counted", "{ " + strings.Repeat("... { ", nestLimit) + "a" + strings.Repeat("}",
			nestLimit+1), exhausted},
		{"a list in lists", "{ a(b: " + strings.Repeat("[", 500) + ") }", exhausted},
		{"an object in objects", "{ a(b: " + strings.Repeat("{b: ", 200) + ") }", exhausted},
		{"a type in lists", "query($a: " + strings.Repeat("[", 500) + ") { a }", exhausted},
		{"selections at the limit", wide(selectionLimit), "ok"},
		{"selections above it", wide(selectionLimit + 1), exhausted},
		{"of several operations together", "query A " + wide(200) + " query B " + wide(200), exhausted},
		{"of fragments that are spread nowhere", "{ a } fragment F on T " + wide(selectionLimit), exhausted},
		{"a fragment that doubles, and ends in time", doubling(4), "ok"},
		{"a fragment that doubles and doubles", doubling(80), exhausted},
		{"a fragment in itself", "{ ...F } fragment F on T { ...F }", invalid},
		{
			"a fragment in itself by another", "{ ...F } fragment F on T { a { ...G } } fragment G on T { b { ...F } }",
			invalid,
		},
		{"a cycle that nothing spreads", "{ a } fragment F on T { ...G } fragment G on T { ...F }", invalid},
		{
			"a second fragment of the same name",
			"{ ...F } fragment F on T { a } fragment F on T " + wide(selectionLimit),
			exhausted,
		},
		{"a fragment twice, one after the other", "{ a { ...F } b { ...F } } fragment F on T { c }", "ok"},
		{"a fragment that is absent is validation's", "{ ...F }", "ok"},
		{"the question that clients ask about a schema", question, "ok"},
		{
			"the same, and a field of the schema's own", strings.Replace(question, "__schema", "a __schema", 1),
			exhausted,
		},
		{"selections about a schema at their limit", "{ __schema " + wide(aboutSelections-1) + "}", "ok"},
		{"selections above it", "{ __schema " + wide(aboutSelections) + "}", exhausted},
		{"levels about a schema at their limit", "{ __schema " + nested(aboutDepth-1) + "}", "ok"},
		{"levels above it about a schema", "{ __schema " + nested(aboutDepth) + "}", exhausted},
		{
			"a fragment at the root may hold anything",
			"{ ...F } fragment F on Query { __schema " + nested(depthLimit) + "}",
			exhausted,
		},
		{"fragments without an operation", "fragment F on T " + wide(selectionLimit+1), exhausted},
		{"a deferred fragment", "{ ...F @defer } fragment F on T { a }", invalid},
		{"a deferred inline fragment", "{ ... @skip(if: false) @defer(label: \"x\") { a } }", invalid},
		{"a deferred field", "{ a @defer }", invalid},
	}
	for _, k := range cases {
		if got := codeOf(checkDocument(k.text)); got != k.want {
			t.Errorf("%s: %s, want %s", k.why, got, k.want)
		}
	}
}

func TestLevels(t *testing.T) {
	t.Parallel()
	cases := map[string]extent{
		"{ a }":                          {1, 1},
		"{ a { b } c }":                  {3, 2},
		"{ a { ... on T { b { c } } } }": {4, 3},
		"{ a ...F } fragment F on T { b { c { d } } }": {5, 3},
		"{ a { b { c } } ...F } fragment F on T { b }": {5, 3},
		"{ ...F ...F } fragment F on T { b { c } }":    {6, 2},
	}
	for text, want := range cases {
		doc, err := parser.ParseQuery(&ast.Source{Input: text})
		if err != nil {
			t.Fatal(err)
		}
		s := survey{doc: doc, most: limitsOf(doc), done: map[string]extent{}, open: map[string]bool{}}
		if got, err := s.measure(doc.Operations[0].SelectionSet); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestParseRequest(t *testing.T) {
	t.Parallel()
	const exhausted, invalid = "resource_exhausted", "invalid_argument"
	list := func(n int) string { return `{"query":"{ a }","variables":{"x":[0` + strings.Repeat(",0", n-1) + `]}}` }
	cases := []struct{ why, text, want string }{
		{"a query", `{"query":"{ a }"}`, "ok"},
		{
			"all there is",
			`{"query":"{ a }","operationName":null,"variables":null,"extensions":{"persistedQuery":{"version":1}},"x":[1]}`, "ok",
		},
		{"no query, which GraphQL refuses", `{}`, "ok"},
		{"null, likewise", `null`, "ok"},
		{"nothing", ``, invalid},
		{"half of it", `{"query":"{ a }"`, invalid},
		{"two", `{"query":"{ a }"} {"query":"{ a }"}`, invalid},
		{"a batch", ` [{"query":"{ a }"}]`, invalid},
		{"a number for a query", `{"query":7}`, invalid},
		{"a list for variables", `{"query":"{ a }","variables":[]}`, invalid},
		{"text that is not UTF-8", "{\"query\":\"{ a }\",\"variables\":{\"x\":\"\xff\"}}", invalid},
		{"values below the limit", list(valueLimit - 5), "ok"},
		{"values above it", list(valueLimit + 1), exhausted},
		{
			"objects above it", `{"query":"{ a }","variables":{"x":[` + strings.Repeat("{},", valueLimit) + `{}]}}`,
			exhausted,
		},
		{"values beyond all", list(1 << 20), exhausted},
		{"nested beyond all", `{"query":"{ a }","variables":{"x":` + strings.Repeat("[", 1<<20), exhausted},
		{
			"a long text is one value",
			`{"query":"{ a }","variables":{"x":"` + strings.Repeat(`,[{\"\\`, valueLimit) + `"}}`,
			"ok",
		},
		{"a long text without an end", `{"query":"` + strings.Repeat(`,`, 2*valueLimit), invalid},
		{"a long text that ends in a backslash", strings.Repeat(" ", valueLimit) + `{"query":"\`, invalid},
	}
	for _, k := range cases {
		if _, err := parseRequest([]byte(k.text)); codeOf(err) != k.want {
			t.Errorf("%s: %v, want %s", k.why, err, k.want)
		}
	}
}

// FuzzParseRequest looks for a body that is decoded wrongly, or that takes the
// limits for something they are not, or that breaks them.
func FuzzParseRequest(f *testing.F) {
	for _, seed := range []string{
		`{"query":"{ a }"}`, `[{}]`,
		`{"query":"{ ...F } fragment F on T { ...F }","variables":{"x":[1,[2]],"y":{"z":"\""}}}`,
		doubling(3),
		`{"query":"query($a: [T!]! = [1, {b: \"[\"}]) { a(b: $a) @skip(if: true) { ... on T { c } } }"}`, `{"query":"` +
			nested(11) + `"}`, "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseRequest(text)
		var coded *status.Error
		if err != nil && !errors.As(err, &coded) {
			t.Fatalf("an error that is not coded: %v", err)
		}
		if err != nil {
			r.Query = string(text) // so that plain documents are tried as well
		}
		if err := checkDocument(r.Query); err != nil {
			if !errors.As(err, &coded) {
				t.Fatalf("an error that is not coded: %v", err)
			}
			return
		}
		doc, err := parser.ParseQuery(&ast.Source{Input: r.Query})
		if err != nil {
			return
		}
		written := 0
		for _, o := range doc.Operations {
			written += count(doc, o.SelectionSet, 1)
		}
		if written > selectionLimit {
			t.Fatalf("%d selections pass", written)
		}
	})
}

// count counts selections with fragments written out, as the limit means it.
func count(doc *ast.QueryDocument, set ast.SelectionSet, level int) (n int) {
	if level > tokenLimit {
		panic("deeper than a document can be")
	}
	for _, s := range set {
		n++
		switch s := s.(type) {
		case *ast.Field:
			n += count(doc, s.SelectionSet, level+1)
		case *ast.InlineFragment:
			n += count(doc, s.SelectionSet, level+1)
		case *ast.FragmentSpread:
			if d := doc.Fragments.ForName(s.Name); d != nil {
				n += count(doc, d.SelectionSet, level+1)
			}
		}
	}
	return n
}
