package main

import (
	"errors"
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"strings"

	"github.com/vektah/gqlparser/v2"
	gql "github.com/vektah/gqlparser/v2/ast"
)

// ask is an operation as GraphQL has it.
type ask struct {
	operation
	Resolver  string // the interface that gqlgen made
	Receiver  string // the type that implements it
	Arguments []argument
	Result    string // what the resolver returns
	Query     string // the text of a document
	Whole     bool   // the only argument is the request, and no field of it
	Nullable  bool   // that argument may be absent
}

// argument is one of a field in the schema.
type argument struct {
	Name, Type string // as the resolver has it
	Field      string // of the request
	Time       bool   // the field is a time, and the argument its text
}

// asks returns the operations that a workload's schema of GraphQL has as a
// field: none without such a schema. The Go types of arguments are those of the
// interfaces that gqlgen made.
func (b binding) asks(tree fs.FS, d domain) ([]ask, error) {
	folder := path.Join("workload", b.Workload)
	names, err := fs.Glob(tree, folder+"/schema/*.graphqls")
	if err != nil || len(names) == 0 {
		return nil, err
	}
	source, err := fs.ReadFile(tree, names[0])
	if err != nil {
		return nil, err
	}
	schema, err := gqlparser.LoadSchema(&gql.Source{Name: names[0], Input: string(source)})
	if err != nil {
		return nil, err
	}
	resolvers, err := readResolvers(tree, folder+"/gen/gengraphql/exec.go")
	if err != nil {
		return nil, err
	}
	var asks []ask
	for _, o := range b.Operations {
		for _, root := range []*gql.Definition{schema.Query, schema.Mutation, schema.Subscription} {
			if root == nil || root.Fields.ForName(o.Lower) == nil {
				continue
			}
			resolver, ok := resolvers[root.Name+"Resolver."+o.Name]
			if !ok {
				return nil, fmt.Errorf("%s: gqlgen has made no resolver of %s; run it first", o.Name, o.Lower)
			}
			a := ask{
				operation: o, Resolver: root.Name + "Resolver", Receiver: "graphqlResolver",
				Result: text(resolver.Results.List[0].Type),
			}
			// A root whose fields would clash with those of another has a separate type.
			if own := "graphql" + root.Name; b.byHand[own] {
				a.Receiver = own
			}
			a.Query = document(schema, root, root.Fields.ForName(o.Lower), o.Name)
			if err := a.argue(resolver, d); err != nil {
				return nil, fmt.Errorf("%s: %w", o.Name, err)
			}
			if err := a.possible(b.byHand); err != nil {
				return nil, fmt.Errorf("%s: %w", o.Name, err)
			}
			asks = append(asks, a)
		}
	}
	return asks, nil
}

// readResolvers returns the methods of the interfaces that gqlgen made, by
// their names: QueryResolver.GetFeature.
func readResolvers(tree fs.FS, name string) (map[string]*ast.FuncType, error) {
	file, err := parse(tree, name)
	if err != nil {
		return nil, err
	}
	found := map[string]*ast.FuncType{}
	for _, d := range file.Decls {
		types, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range types.Specs {
			t, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			is, ok := t.Type.(*ast.InterfaceType)
			if !ok {
				continue
			}
			for _, m := range is.Methods.List {
				if f, ok := m.Type.(*ast.FuncType); ok && len(m.Names) == 1 {
					found[t.Name.Name+"."+m.Names[0].Name] = f
				}
			}
		}
	}
	return found, nil
}

// argue reads the arguments of a resolver, which are the request or its fields.
func (a *ask) argue(resolver *ast.FuncType, d domain) error {
	for _, p := range resolver.Params.List[1:] { // the first is the context
		for _, name := range p.Names {
			a.Arguments = append(a.Arguments, argument{Name: name.Name, Type: text(p.Type)})
		}
	}
	if len(a.Arguments) == 1 && strings.TrimPrefix(a.Arguments[0].Type, "*") == a.Request {
		a.Whole, a.Nullable = true, a.Arguments[0].Type != a.Request
		return nil
	}
	for i := range a.Arguments {
		p := &a.Arguments[i]
		for _, f := range d.structs[a.request] {
			if strings.EqualFold(f.name, p.Name) {
				p.Field, p.Time = f.name, f.typ == "time.Time" && p.Type == "string"
				if f.typ != p.Type && !p.Time {
					return fmt.Errorf("the argument %s is %s, and the field %s is %s", p.Name, p.Type, f.name, f.typ)
				}
			}
		}
		if p.Field == "" {
			return fmt.Errorf("the argument %s is no field of %s", p.Name, a.Request)
		}
	}
	return nil
}

// possible returns an error if a part does not follow from the schema, and is
// not written by hand.
func (a *ask) possible(byHand map[string]bool) error {
	plain := a.Result == "*"+a.Reply || a.Streamed && a.Result == "<-chan *"+a.Reply
	var failures [2]error
	if !plain && !byHand[a.Receiver+"."+a.Name] {
		failures[0] = fmt.Errorf("the resolver returns %s and not %s: write the method %s.%s",
			a.Result, a.Reply, a.Receiver, a.Name)
	}
	if (!plain || a.Whole) && !byHand["graphql"+a.Name] {
		failures[1] = fmt.Errorf("its variables or its result are no fields of Go types: write the function graphql%s",
			a.Name)
	}
	return errors.Join(failures[:]...)
}

// document is the text that asks for a field with all that its reply has.
func document(schema *gql.Schema, root *gql.Definition, f *gql.FieldDefinition, name string) string {
	kinds := map[*gql.Definition]string{
		schema.Query: "query", schema.Mutation: "mutation", schema.Subscription: "subscription",
	}
	var variables, arguments []string
	for _, a := range f.Arguments {
		variables = append(variables, "$"+a.Name+": "+a.Type.String())
		arguments = append(arguments, a.Name+": $"+a.Name)
	}
	takes, passes := "", ""
	if len(variables) > 0 {
		takes, passes = "("+strings.Join(variables, ", ")+")", "("+strings.Join(arguments, ", ")+")"
	}
	return kinds[root] + " " + name + takes + " { " + f.Name + passes + selection(schema, f.Type.Name()) + " }"
}

// selection returns all fields of a type. A type that contains itself would need an infinite selection, and
// gqlgen's limit on the depth of documents refuses deep ones.
func selection(schema *gql.Schema, name string) string {
	t := schema.Types[name]
	if t == nil || t.Kind != gql.Object {
		return ""
	}
	var b strings.Builder
	for _, f := range t.Fields {
		b.WriteString(" " + f.Name + selection(schema, f.Type.Name()))
	}
	return " {" + b.String() + " }"
}
