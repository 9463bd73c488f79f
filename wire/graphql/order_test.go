package graphql

import (
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
)

// pathOf reads a path written as "a.1.b".
func pathOf(text string) (path ast.Path) {
	for step := range strings.SplitSeq(text, ".") {
		if step != "" && strings.Trim(step, "0123456789") == "" {
			n := 0
			for _, digit := range step {
				n = 10*n + int(digit-'0')
			}
			path = append(path, ast.PathIndex(n))
		} else if step != "" {
			path = append(path, ast.PathName(step))
		}
	}
	return path
}

func TestSortErrors(t *testing.T) {
	t.Parallel()
	const text = "mutation { first { x y: z ...F ... on T { b } } second { list { p q } } } fragment F on T { a }"
	cases := []struct{ why, came, want string }{
		{"in order", "first.x first.y second", "first.x first.y second"},
		{"backwards", "second first.b first.a first.y first.x", "first.x first.y first.a first.b second"},
		{"items of a list", "second.list.10.p second.list.9.q second.list.9.p", "second.list.9.p second.list.9.q " +
			"second.list.10.p"},
		{"a field before those in it", "first.y first", "first first.y"},
		{"errors of no field first", "first.x  nowhere", " nowhere first.x"},
		{
			"errors of one place in order of arrival", "first.x.gone first.x.lost first.x",
			"first.x.gone first.x.lost first.x",
		},
	}
	doc, err := parser.ParseQuery(&ast.Source{Input: text})
	if err != nil {
		t.Fatal(err)
	}
	first := doc.Operations[0].SelectionSet[0].(*ast.Field)
	for _, s := range first.SelectionSet { // what validation does
		if spread, ok := s.(*ast.FragmentSpread); ok {
			spread.Definition = doc.Fragments.ForName(spread.Name)
		}
	}
	for _, k := range cases {
		var errs gqlerror.List
		for path := range strings.SplitSeq(k.came, " ") {
			errs = append(errs, &gqlerror.Error{Message: path, Path: pathOf(path)})
		}
		sortErrors(errs, doc.Operations[0].SelectionSet)
		var got []string
		for _, err := range errs {
			got = append(got, err.Message)
		}
		if strings.Join(got, " ") != k.want {
			t.Errorf("%s: %q, want %q", k.why, got, k.want)
		}
	}
}
