package graphqlschema

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// The bounds of an example.
const (
	exampleFields = 40 // of one type
	exampleDepth  = 4  // inputs in inputs
	exampleInputs = 200
)

// Example returns a document for people to change, and its variables as JSON: the operation with the arguments
// that it must have, and of its result the plain fields two levels deep.
func (o Operation) Example() (document string, variables []byte) {
	var head, call []string
	values := &object{}
	left := exampleInputs
	for _, a := range o.field.Arguments {
		if !a.Type.NonNull || a.DefaultValue != nil {
			continue
		}
		head = append(head, "$"+a.Name+": "+a.Type.String())
		call = append(call, a.Name+": $"+a.Name)
		values.add(a.Name, o.value(a.Type, nil, &left))
	}
	var b strings.Builder
	b.WriteString(o.Kind + " " + o.Name)
	if len(head) > 0 {
		b.WriteString("(" + strings.Join(head, ", ") + ")")
	}
	b.WriteString(" {\n  " + o.Name)
	if len(call) > 0 {
		b.WriteString("(" + strings.Join(call, ", ") + ")")
	}
	o.selection(&b, o.field.Type, "  ", 2)
	b.WriteString("\n}\n")
	return b.String(), values.text()
}

// selection writes the fields to request of a type; nothing for a type without fields.
func (o Operation) selection(b *strings.Builder, of *ast.Type, indent string, levels int) {
	d := o.schema.Types[of.Name()]
	if d == nil || !d.IsCompositeType() {
		return
	}
	b.WriteString(" {\n")
	start, n := b.Len(), 0
	for _, f := range d.Fields {
		inner := o.schema.Types[f.Type.Name()]
		if n == exampleFields || inner == nil || strings.HasPrefix(f.Name, "__") || needs(f) {
			continue
		}
		if inner.IsCompositeType() && levels < 2 {
			continue
		}
		n++
		b.WriteString(indent + "  " + f.Name)
		o.selection(b, f.Type, indent+"  ", levels-1)
		b.WriteString("\n")
	}
	if b.Len() == start {
		b.WriteString(indent + "  __typename\n")
	}
	b.WriteString(indent + "}")
}

// needs reports whether a field has arguments that must be given.
func needs(f *ast.FieldDefinition) bool {
	for _, a := range f.Arguments {
		if a.Type.NonNull && a.DefaultValue == nil {
			return true
		}
	}
	return false
}

// value is a value of an input's type as JSON. open are the inputs around it.
func (o Operation) value(of *ast.Type, open []string, left *int) []byte {
	*left--
	if of.Elem != nil {
		if *left < 0 {
			return []byte("[]")
		}
		return append(append([]byte{'['}, o.value(of.Elem, open, left)...), ']')
	}
	d := o.schema.Types[of.NamedType]
	switch {
	case d == nil:
		return []byte("null")
	case d.Kind == ast.Enum && len(d.EnumValues) > 0:
		return quoted(d.EnumValues[0].Name)
	case d.Kind == ast.InputObject:
		values := &object{}
		if len(open) == exampleDepth || *left < 0 {
			return values.text()
		}
		for _, f := range d.Fields {
			if f.Type.NonNull && f.DefaultValue == nil {
				values.add(f.Name, o.value(f.Type, append(open[:len(open):len(open)], d.Name), left))
			}
		}
		return values.text()
	}
	switch d.Name {
	case "Int", "Float":
		return []byte("0")
	case "Boolean":
		return []byte("false")
	case "ID":
		return []byte(`"1"`)
	}
	return []byte(`""`)
}

// object is an object of JSON whose members keep their order.
type object struct{ bytes.Buffer }

func (o *object) add(name string, value []byte) {
	if o.Len() > 0 {
		o.WriteByte(',')
	}
	o.Write(quoted(name))
	o.WriteByte(':')
	o.Write(value)
}

func (o *object) text() []byte { return append(append([]byte{'{'}, o.Bytes()...), '}') }

func quoted(text string) []byte {
	data, err := json.Marshal(text)
	if err != nil {
		return []byte(`""`)
	}
	return data
}
