package graphql_test

import (
	"fmt"
	"strings"
	"testing"

	"wirelab/hermes/api/graphql"
)

// Tools can ask for both schemas, and an answer grows with them and not with their powers.
func TestIntrospection(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	var many strings.Builder
	for i := range 280 {
		fmt.Fprintf(&many, "a%d:name ", i)
	}
	for _, path := range []string{graphql.Path, graphql.OriginPath} {
		s.want(s.ask(path, "{__schema{queryType{name}}}"), `{"__schema":{"queryType":{"name":"Query"}}}`)
		deepest := "name" + strings.Repeat(" ofType{name", 9) + strings.Repeat("}", 9)
		s.want(s.ask(path, "{__schema{types{fields{args{type{"+deepest+"}}}}}}"), `{"__schema":{"types":[{`)
		s.want(s.ask(path, "{__schema{types{fields{type{fields{type{fields{name}}}}}}}}"), "invalid_argument: ")
		for _, within := range []string{
			"{__schema{types{fields{args{%s}}}}}",
			"{__schema{types{fields{type{fields{%s}}}}}}",
			"{__schema{types{fields{type{ofType{fields{%s}}}}}}}",
			"{__schema{types{fields{type{ofType{fields{args{%s}}}}}}}}",
			"{__schema{types{inputFields{type{ofType{inputFields{%s}}}}}}}",
		} {
			answer := s.ask(path, fmt.Sprintf(within, many.String()))
			s.want(answer, `{"__schema":{"types":[{`)
			if len(answer) > 2<<20 {
				t.Errorf("%s: %s is answered with %d bytes", path, within, len(answer))
			}
		}
	}
}
