package graphqlschema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/lexer"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"

	"wirelab"
)

// Limits of the input.
const (
	maxBytes       = 16 << 20 // of a schema
	maxTokens      = 4 << 20  // of a schema
	maxDocument    = 256 << 10
	maxDocTokens   = 20_000
	maxBrackets    = 100 // in brackets: the parser recurses
	maxNamesInList = 5_000
)

// Schema is what a server takes. It does not change and is safe for concurrent use.
type Schema struct{ of *ast.Schema }

// Operation is a field of a root type: what a document asks for at its top.
type Operation struct {
	Kind      string // "query", "mutation" or "subscription"
	Name      string
	Arguments []Argument
	Type      string // of its result: "[Item!]!"

	field  *ast.FieldDefinition
	schema *ast.Schema
}

// Argument is one of an operation.
type Argument struct {
	Name     string
	Type     string // "ID!"
	Required bool
}

// Operations returns the operations: queries, mutations, and then subscriptions, each in the order of the schema.
func (s *Schema) Operations() []Operation {
	var all []Operation
	for _, root := range []struct {
		kind string
		of   *ast.Definition
	}{{"query", s.of.Query}, {"mutation", s.of.Mutation}, {"subscription", s.of.Subscription}} {
		if root.of == nil {
			continue
		}
		for _, field := range root.of.Fields {
			if strings.HasPrefix(field.Name, "__") {
				continue
			}
			o := Operation{Kind: root.kind, Name: field.Name, Type: field.Type.String(), field: field, schema: s.of}
			for _, a := range field.Arguments {
				o.Arguments = append(o.Arguments, Argument{
					Name: a.Name, Type: a.Type.String(), Required: a.Type.NonNull && a.DefaultValue == nil,
				})
			}
			all = append(all, o)
		}
	}
	return all
}

// Find returns the operation of that name; where a query and a mutation have it, say "mutation addItem".
func (s *Schema) Find(name string) (Operation, error) {
	var found []Operation
	var names []string
	for _, o := range s.Operations() {
		if o.Name == name || o.Kind+" "+o.Name == name {
			found = append(found, o)
		}
		if len(names) < maxNamesInList {
			names = append(names, o.Name)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Operation{}, wirelab.Errorf(wirelab.InvalidArgument, "%q is both a %s and a %s: say %q",
			name, found[0].Kind, found[1].Kind, found[1].Kind+" "+name)
	case len(names) == 0:
		return Operation{}, wirelab.Errorf(wirelab.InvalidArgument, "there is no operation %.100q: the schema has none",
			name)
	}
	return Operation{}, wirelab.UnknownName("operation", name, names)
}

// Check returns the error in a document, at FILE:LINE:COLUMN. operation is the one to execute, "" if the document
// has only one; variables are the given variables.
func (s *Schema) Check(name, document, operation string, variables map[string]any) error {
	doc, err := parse(name, document)
	if err != nil {
		return err
	}
	if wrong := validator.ValidateWithRules(s.of, doc, nil); len(wrong) > 0 {
		return complaint(name, wrong)
	}
	performed, err := chosen(name, doc, operation)
	if err != nil {
		return err
	}
	var known []string
	for _, v := range performed.VariableDefinitions {
		known = append(known, v.Variable)
		if _, given := variables[v.Variable]; !given && v.Type.NonNull && v.DefaultValue == nil {
			return wirelab.Errorf(wirelab.InvalidArgument, "%s:%d:%d: variable $%s is not given; it is %s",
				name, v.Position.Line, v.Position.Column, v.Variable, v.Type)
		}
	}
	for variable := range variables {
		if len(known) == 0 {
			return wirelab.Errorf(wirelab.InvalidArgument, "%s: variable %.100q is given, and the operation has none",
				name,
				variable)
		}
		if !slices.Contains(known, variable) {
			return wirelab.UnknownName("variable of "+name, variable, known)
		}
	}
	return nil
}

// Syntax returns the syntax error in a document, for servers without a known schema.
func Syntax(name, document string) error {
	_, err := parse(name, document)
	return err
}

func parse(name, document string) (*ast.QueryDocument, error) {
	if len(document) > maxDocument {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "%s: a document of more than %d bytes", name, maxDocument)
	}
	source := &ast.Source{Name: name, Input: document}
	if err := bounded(source, maxDocTokens); err != nil {
		return nil, err
	}
	doc, err := parser.ParseQueryWithTokenLimit(source, maxDocTokens)
	if err != nil {
		return nil, complaint(name, err)
	}
	if len(doc.Operations) == 0 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"%s: no operation is there; one begins with query, mutation, subscription or {", name)
	}
	return doc, nil
}

// chosen is the operation of a document that is performed.
func chosen(name string, doc *ast.QueryDocument, operation string) (*ast.OperationDefinition, error) {
	var names []string
	for _, o := range doc.Operations {
		if o.Name == operation || operation == "" && len(doc.Operations) == 1 {
			return o, nil
		}
		names = append(names, o.Name)
	}
	if operation == "" {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "%s: there are %d operations: say which%s",
			name, len(names), wirelab.Known("", names))
	}
	return nil, wirelab.UnknownName("operation of "+name, operation, names)
}

// bounded refuses what would make the parser recurse without end.
func bounded(source *ast.Source, most int) error {
	l := lexer.New(source)
	for tokens, nest := 0, 0; ; tokens++ {
		token, err := l.ReadToken()
		if err != nil {
			return nil //nolint:nilerr // the parser stops here, too, and says why
		}
		switch token.Kind {
		case lexer.EOF:
			return nil
		case lexer.BraceL, lexer.BracketL, lexer.ParenL:
			nest++
		case lexer.BraceR, lexer.BracketR, lexer.ParenR:
			nest--
		}
		if nest > maxBrackets {
			return wirelab.Errorf(wirelab.InvalidArgument, "%s:%d:%d: brackets more than %d deep",
				source.Name, token.Pos.Line, token.Pos.Column, maxBrackets)
		}
		if tokens == most {
			return wirelab.Errorf(wirelab.InvalidArgument, "%s: more than %d words and signs", source.Name, most)
		}
	}
}

// complaint is an error of the library as one of ours, with at most a few mistakes.
func complaint(name string, err error) error {
	const few = 5
	var list gqlerror.List
	var single *gqlerror.Error
	switch {
	case errors.As(err, &list):
	case errors.As(err, &single):
		list = gqlerror.List{single}
	default:
		return wirelab.Errorf(wirelab.InvalidArgument, "%s: %v", name, err)
	}
	var texts []string
	for _, e := range list[:min(few, len(list))] {
		at := name
		if len(e.Locations) > 0 && e.Locations[0].Line > 0 {
			at = fmt.Sprintf("%s:%d:%d", name, e.Locations[0].Line, e.Locations[0].Column)
		}
		texts = append(texts, at+": "+e.Message)
	}
	if len(list) > few {
		texts = append(texts, fmt.Sprintf("and %d more", len(list)-few))
	}
	return wirelab.Errorf(wirelab.InvalidArgument, "%s", cmp.Or(strings.Join(texts, "; "), name+": no GraphQL"))
}

// load makes a schema of its text.
func load(name, text string) (*Schema, error) {
	source := &ast.Source{Name: name, Input: text}
	if err := bounded(source, maxTokens); err != nil {
		return nil, err
	}
	document, err := parser.ParseSchemasWithLimit(maxTokens, validator.Prelude, source)
	if err != nil {
		return nil, complaint(name, err)
	}
	made, err := validator.ValidateSchemaDocument(document)
	if err != nil {
		return nil, complaint(name, err)
	}
	if made.Query == nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"%s: the schema has no query; give the file that has type Query",
			name)
	}
	return &Schema{of: made}, nil
}
