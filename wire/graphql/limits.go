package graphql

import (
	"context"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/lexer"
	"github.com/vektah/gqlparser/v2/parser"

	"wirelab/wire/status"
)

// guard refuses documents beyond the limits before gqlgen parses and validates
// them. Those that it knows already have passed.
type guard struct {
	known graphql.Cache[*ast.QueryDocument] // the server's own
}

var _ interface {
	graphql.OperationParameterMutator
	graphql.HandlerExtension
} = guard{}

// ExtensionName implements [graphql.HandlerExtension].
func (guard) ExtensionName() string { return "Guard" }

// Validate implements [graphql.HandlerExtension].
func (guard) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters implements [graphql.OperationParameterMutator].
func (g guard) MutateOperationParameters(ctx context.Context, params *graphql.RawParams) *gqlerror.Error {
	if _, ok := g.known.Get(ctx, params.Query); ok {
		return nil
	}
	if err := checkDocument(params.Query); err != nil {
		return gqlerror.Wrap(err)
	}
	return nil
}

// checkDocument returns the faults of a document. Text that is not GraphQL passes: gqlgen describes its errors
// better.
func checkDocument(text string) error {
	if len(text) > documentLimit {
		return beyond("document of more than %d bytes", documentLimit)
	}
	if err := checkTokens(text); err != nil {
		return err
	}
	doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, tokenLimit)
	if err != nil {
		return nil //nolint:nilerr // as the comment says
	}
	return checkSelections(doc)
}

// checkTokens bounds what the parser is given: it recurses with every bracket,
// and what runs the document panics on a number that no type holds.
func checkTokens(text string) error {
	l := lexer.New(&ast.Source{Input: text})
	for tokens, nest := 0, 0; ; tokens++ {
		token, err := l.ReadToken()
		if err != nil {
			return nil //nolint:nilerr // the parser stops here, and says why
		}
		switch token.Kind {
		case lexer.EOF:
			return nil
		case lexer.BraceL, lexer.BracketL, lexer.ParenL:
			nest++
		case lexer.BraceR, lexer.BracketR, lexer.ParenR:
			nest--
		case lexer.Int:
			_, err = strconv.ParseInt(token.Value, 10, 64)
		case lexer.Float:
			_, err = strconv.ParseFloat(token.Value, 64)
		}
		if err != nil {
			return status.Errorf(status.InvalidArgument, "%.40s does not fit 64 bits", token.Value)
		}
		if nest > nestLimit {
			return beyond("document with brackets more than %d deep", nestLimit)
		}
		if tokens == tokenLimit {
			return beyond("document of more than %d tokens", tokenLimit)
		}
	}
}

// extent is how much a selection is with its fragments written out.
type extent struct{ selections, levels int }

// survey measures a document. It looks into each fragment once, so that its
// own work grows with the document's length only.
type survey struct {
	doc  *ast.QueryDocument
	most extent
	done map[string]extent // fragments by name
	open map[string]bool   // fragments that are being looked into
}

// checkSelections bounds the operations and fragments of a document together:
// all are validated, whichever is asked for. A fragment is measured as what it
// says, not by its name, which validation has yet to find unique.
func checkSelections(doc *ast.QueryDocument) error {
	s := survey{doc: doc, most: limitsOf(doc), done: map[string]extent{}, open: map[string]bool{}}
	total := 0
	count := func(e extent, err error) error {
		if total += e.selections; err == nil && total > s.most.selections {
			return s.errSelections()
		}
		return err
	}
	for _, operation := range doc.Operations {
		if err := count(s.measure(operation.SelectionSet)); err != nil {
			return err
		}
	}
	for _, fragment := range doc.Fragments {
		if err := count(s.measure(fragment.SelectionSet)); err != nil {
			return err
		}
	}
	return nil
}

// limitsOf returns how much a document may be. One that asks about the schema
// alone, as clients do before they ask anything else, runs no resolver.
func limitsOf(doc *ast.QueryDocument) extent {
	usual := extent{selectionLimit, depthLimit}
	if len(doc.Operations) == 0 {
		return usual
	}
	for _, operation := range doc.Operations {
		for _, selection := range operation.SelectionSet {
			field, ok := selection.(*ast.Field)
			if !ok || !strings.HasPrefix(field.Name, "__") { // the language's own
				return usual
			}
		}
	}
	return extent{aboutSelections, aboutDepth}
}

func (s *survey) errSelections() error {
	return beyond("document of more than %d selections", s.most.selections)
}

func (s *survey) measure(set ast.SelectionSet) (sum extent, err error) {
	for _, selection := range set {
		var inner extent
		var directives ast.DirectiveList
		sum.selections++
		switch selection := selection.(type) {
		case *ast.Field:
			directives = selection.Directives
			inner, err = s.measure(selection.SelectionSet)
			inner.levels++
		case *ast.InlineFragment:
			directives = selection.Directives
			inner, err = s.measure(selection.SelectionSet)
		case *ast.FragmentSpread:
			directives = selection.Directives
			inner, err = s.fragment(selection.Name)
		}
		if err != nil {
			return sum, err
		}
		if directives.ForName("defer") != nil {
			return sum, status.Errorf(status.InvalidArgument, "nothing is deferred: @defer is not known")
		}
		sum.levels = max(sum.levels, inner.levels)
		// Checked at each step, so that a sum of sums cannot overflow.
		if sum.selections += inner.selections; sum.selections > s.most.selections {
			return sum, s.errSelections()
		}
		if sum.levels > s.most.levels {
			return sum, beyond("query of more than %d levels", s.most.levels)
		}
	}
	return sum, nil
}

// fragment measures the fragment of a name; one that is absent is nothing, and
// validation's to refuse.
func (s *survey) fragment(name string) (extent, error) {
	if e, ok := s.done[name]; ok {
		return e, nil
	}
	fragment := s.doc.Fragments.ForName(name)
	if fragment == nil {
		return extent{}, nil
	}
	if s.open[name] {
		return extent{}, status.Errorf(status.InvalidArgument, "fragment %q spreads itself", name)
	}
	s.open[name] = true
	e, err := s.measure(fragment.SelectionSet)
	delete(s.open, name)
	s.done[name] = e
	return e, err
}
