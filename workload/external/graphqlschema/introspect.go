package graphqlschema

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"wirelab"
)

// Question is the body of a request that asks a server for its schema: by what the oldest version of the
// specification in use has, so that every server knows it.
const Question = `{"operationName":"Introspection","query":"query Introspection{__schema{` +
	`queryType{name} mutationType{name} subscriptionType{name} ` +
	`types{kind name fields(includeDeprecated:true){name args{...Input} type{...Type}} inputFields{...Input} ` +
	`interfaces{...Type} enumValues(includeDeprecated:true){name} possibleTypes{...Type}} ` +
	`directives{name locations args{...Input}}}} ` +
	`fragment Input on __InputValue{name type{...Type} defaultValue} ` +
	`fragment Type on __Type{kind name ofType{kind name ofType{kind name ofType{kind name ofType{kind name ` +
	`ofType{kind name ofType{kind name ofType{kind name}}}}}}}}"}`

// Introspect asks a server for its schema. do sends a body to it and brings the body of the reply, whatever
// status that has: servers tell why they refuse in it.
func Introspect(ctx context.Context, do func(ctx context.Context, body []byte) ([]byte, error)) (*Schema, error) {
	reply, err := do(ctx, []byte(Question))
	if err != nil {
		return nil, err
	}
	return introspected("the server's introspection", reply)
}

// Parse reads a schema from a file: in the language of schemas (SDL), or the JSON of an introspection.
func Parse(name string, data []byte) (*Schema, error) {
	if len(data) > maxBytes {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "%s: a schema of more than %d bytes", name, maxBytes)
	}
	// SDL has no bracket of that kind at its beginning.
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '{' {
		return introspected(name, data)
	}
	return load(name, string(data))
}

// typeRef is a type as a field has it.
type typeRef struct {
	Kind   string   `json:"kind"`
	Name   string   `json:"name"`
	OfType *typeRef `json:"ofType"`
}

type input struct {
	Name         string  `json:"name"`
	Type         typeRef `json:"type"`
	DefaultValue *string `json:"defaultValue"`
}

type definition struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Fields []struct {
		Name string  `json:"name"`
		Args []input `json:"args"`
		Type typeRef `json:"type"`
	} `json:"fields"`
	InputFields   []input   `json:"inputFields"`
	Interfaces    []typeRef `json:"interfaces"`
	EnumValues    []named   `json:"enumValues"`
	PossibleTypes []typeRef `json:"possibleTypes"`
}

type named struct {
	Name string `json:"name"`
}

type description struct {
	QueryType        *named       `json:"queryType"`
	MutationType     *named       `json:"mutationType"`
	SubscriptionType *named       `json:"subscriptionType"`
	Types            []definition `json:"types"`
	Directives       []struct {
		Name      string   `json:"name"`
		Locations []string `json:"locations"`
		Args      []input  `json:"args"`
	} `json:"directives"`
}

type answer struct {
	Data *struct {
		Schema *description `json:"__schema"`
	} `json:"data"`
	Schema *description `json:"__schema"` // of a file that has the data alone
	Errors []struct {
		Message string `json:"message"`
	} `json:"errors"`
}

// introspected reads the reply to [Question].
func introspected(name string, reply []byte) (*Schema, error) {
	if len(reply) > maxBytes {
		return nil, wirelab.Errorf(wirelab.ResourceExhausted, "%s: more than %d bytes; give the schema as a file (SDL)",
			name, maxBytes)
	}
	var a answer
	if err := json.Unmarshal(reply, &a); err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"%s: no reply of GraphQL, but %s; is the path that of GraphQL, such as /graphql?", name, beginning(reply))
	}
	found := a.Schema // of a file
	if a.Data != nil && a.Data.Schema != nil {
		found = a.Data.Schema
	}
	if found == nil {
		why := "it has no schema in it"
		if len(a.Errors) > 0 {
			why = fmt.Sprintf("refused with %.200q", a.Errors[0].Message)
		}
		return nil, wirelab.Errorf(wirelab.Unimplemented,
			"%s: %s; switch introspection on there, or give the schema as a file (SDL); "+
				"without a schema documents are sent unchecked", name, why)
	}
	if found.QueryType == nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "%s: it has no query type; give the schema as a file (SDL)",
			name)
	}
	var w sdl
	if err := w.description(found); err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "%s: %v; give the schema as a file (SDL)", name, err)
	}
	return load(name+", as SDL", w.String())
}

// beginning shows how a reply begins.
func beginning(reply []byte) string {
	const most = 60
	if len(reply) == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%q", strings.ToValidUTF8(string(reply[:min(most, len(reply))]), "\uFFFD"))
}

// sdl writes a schema in the language of schemas. Names are a server's, and checked before they are written.
type sdl struct{ strings.Builder }

var nameForm = regexp.MustCompile(`^[_A-Za-z][_0-9A-Za-z]*$`)

// builtIn are the scalars that every schema has.
var builtIn = []string{"Int", "Float", "String", "Boolean", "ID"} // read only

// usualDirectives are those that every schema has.
var usualDirectives = []string{"skip", "include", "deprecated", "specifiedBy", "defer", "oneOf"} // read only

// executable are the places of directives in documents; those in schemas say nothing here.
var executable = []string{ // read only
	"QUERY", "MUTATION", "SUBSCRIPTION", "FIELD", "FRAGMENT_DEFINITION", "FRAGMENT_SPREAD", "INLINE_FRAGMENT",
	"VARIABLE_DEFINITION",
}

func checked(name string) (string, error) {
	if !nameForm.MatchString(name) {
		return "", fmt.Errorf("%.60q is no name of GraphQL", name)
	}
	return name, nil
}

func (w *sdl) description(d *description) error {
	w.WriteString("schema {\n")
	for _, root := range []struct {
		kind string
		of   *named
	}{{"query", d.QueryType}, {"mutation", d.MutationType}, {"subscription", d.SubscriptionType}} {
		if root.of == nil || root.of.Name == "" {
			continue
		}
		name, err := checked(root.of.Name)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %s\n", root.kind, name)
	}
	w.WriteString("}\n")
	for i := range d.Types {
		t := &d.Types[i]
		if strings.HasPrefix(t.Name, "__") || slices.Contains(builtIn, t.Name) {
			continue
		}
		if err := w.definition(t); err != nil {
			return err
		}
	}
	for _, directive := range d.Directives {
		places := slices.DeleteFunc(slices.Clone(directive.Locations),
			func(p string) bool { return !slices.Contains(executable, p) })
		if len(places) == 0 || slices.Contains(usualDirectives, directive.Name) {
			continue
		}
		name, err := checked(directive.Name)
		if err != nil {
			return err
		}
		w.WriteString("directive @" + name)
		if err := w.inputs("(", directive.Args, ")"); err != nil {
			return err
		}
		w.WriteString(" on " + strings.Join(places, " | ") + "\n")
	}
	return nil
}

// definition writes a type.
func (w *sdl) definition(t *definition) error {
	name, err := checked(t.Name)
	if err != nil {
		return err
	}
	switch t.Kind {
	case "SCALAR":
		w.WriteString("scalar " + name + "\n")
		return nil
	case "OBJECT":
		w.WriteString("type " + name)
		return w.fields(t)
	case "INTERFACE":
		w.WriteString("interface " + name)
		return w.fields(t)
	case "UNION":
		w.WriteString("union " + name)
		return w.list(" = ", t.PossibleTypes, " | ", "\n")
	case "ENUM":
		w.WriteString("enum " + name + " {")
		for _, v := range t.EnumValues {
			value, err := checked(v.Name)
			if err != nil {
				return err
			}
			w.WriteString(" " + value)
		}
		w.WriteString(" }\n")
		return nil
	case "INPUT_OBJECT":
		w.WriteString("input " + name)
		if err := w.inputs(" {", t.InputFields, "}"); err != nil {
			return err
		}
		w.WriteString("\n")
		return nil
	}
	return fmt.Errorf("type %s is of the unknown kind %.40q", name, t.Kind)
}

// fields writes what an object or an interface has.
func (w *sdl) fields(t *definition) error {
	if err := w.list(" implements ", t.Interfaces, " & ", ""); err != nil {
		return err
	}
	w.WriteString(" {\n")
	for i := range t.Fields {
		f := &t.Fields[i]
		name, err := checked(f.Name)
		if err != nil {
			return err
		}
		w.WriteString(name)
		if err := w.inputs("(", f.Args, ")"); err != nil {
			return err
		}
		of, err := f.Type.text()
		if err != nil {
			return err
		}
		w.WriteString(": " + of + "\n")
	}
	w.WriteString("}\n")
	return nil
}

// list writes names of types; nothing where there are none.
func (w *sdl) list(before string, all []typeRef, between, after string) error {
	for i := range all {
		name, err := checked(all[i].Name)
		if err != nil {
			return err
		}
		if i == 0 {
			w.WriteString(before)
		} else {
			w.WriteString(between)
		}
		w.WriteString(name)
	}
	w.WriteString(after)
	return nil
}

// inputs writes arguments or the fields of an input. Of a default it counts only that there is one.
func (w *sdl) inputs(before string, all []input, after string) error {
	for i := range all {
		name, err := checked(all[i].Name)
		if err != nil {
			return err
		}
		of, err := all[i].Type.text()
		if err != nil {
			return err
		}
		if i == 0 {
			w.WriteString(before)
		}
		w.WriteString(" " + name + ": " + of)
		if all[i].DefaultValue != nil {
			w.WriteString(" = null")
		}
	}
	if len(all) > 0 {
		w.WriteString(after)
	}
	return nil
}

// text writes a type.
func (t *typeRef) text() (string, error) {
	const most = 12 // lists and marks around a name
	before, after := "", ""
	for range most {
		switch {
		case t == nil:
			return "", fmt.Errorf("a type is nested too deep, or has no name")
		case t.Kind == "NON_NULL":
			if strings.HasPrefix(after, "!") {
				return "", fmt.Errorf("a type that is not null is marked so twice")
			}
			after = "!" + after
		case t.Kind == "LIST":
			before, after = before+"[", "]"+after
		default:
			name, err := checked(t.Name)
			return before + name + after, err
		}
		t = t.OfType
	}
	return "", fmt.Errorf("a type is more than %d lists deep", most)
}
