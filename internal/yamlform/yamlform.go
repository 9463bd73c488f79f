// Package yamlform reads YAML into structs, and takes nothing but what was surely meant. It knows no field by name.
package yamlform

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"wirelab"
)

// depthLimit bounds lists within lists: a plan needs 3, and the YAML parser
// calls itself for each and takes time with the square of them.
const depthLimit = 100

// excerptLimit is the most bytes of an error that shows the place in the file.
const excerptLimit = 1500

// Form is a kind of file.
type Form struct {
	What  string // "plan": the field that errors begin with, and what the file is called
	Needs string // what one has, for an empty file: "names a workload, an operation and arms"
	Limit int    // most bytes
}

// Read reads a file of a form from YAML, of which JSON is a part. name is the file's,
// for errors; those show the line and point at the place. T is a struct whose fields have yaml tags.
//
// It is stricter than YAML: unknown and repeated fields, null, a number where text belongs, more than one
// document, anchors, aliases and tags are all refused, and what a type with UnmarshalText refuses. Written data
// is then what was meant. Only a field of type any takes what there is.
func Read[T any](f Form, name string, data []byte) (value T, err error) {
	if len(data) > f.Limit {
		return value, wirelab.Errorf(wirelab.InvalidArgument, "%s has %d bytes; a %s has at most %d", name, len(data),
			f.What,
			f.Limit)
	}
	if depth(data) > depthLimit {
		return value, wirelab.Errorf(wirelab.InvalidArgument, "%s has lists more than %d deep", name, depthLimit)
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return value, InFile(name, err)
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil {
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) == 0 {
		return value, wirelab.Errorf(wirelab.InvalidArgument, "%s is empty; a %s %s", name, f.What, f.Needs)
	}
	if len(file.Docs) > 1 {
		return value, wirelab.Errorf(wirelab.InvalidArgument, "%s has %d documents; a %s is one", name, len(file.Docs),
			f.What)
	}
	if err := checkShape(bodies[0], reflect.TypeFor[T](), f.What); err != nil {
		return value, InFile(name, err)
	}
	if err := yaml.NodeToValue(bodies[0], &value, yaml.Strict()); err != nil {
		return value, InFile(name, err)
	}
	return value, nil
}

// InFile says in which file, and where, an error is.
func InFile(name string, err error) error {
	var placed yaml.Error
	if errors.As(err, &placed) {
		text := strings.TrimSpace(placed.FormatError(false, true))
		if len(text) > excerptLimit {
			text = strings.ToValidUTF8(text[:excerptLimit], "") + "…"
		}
		return wirelab.Errorf(wirelab.InvalidArgument, "%s: %s", name, text)
	}
	return wirelab.Errorf(wirelab.InvalidArgument, "%s: %v", name, err)
}

// depth is how deep lists and mappings lie in each other on one line: open
// brackets, those in text and comments too, or dashes in a row. Deeper by
// indentation is bounded by the size, since every level costs a longer line.
func depth(data []byte) int {
	brackets, row, most := 0, 0, 0
	start := true // only dashes and space so far on this line
	for _, b := range data {
		switch b {
		case '\n':
			row, start = 0, true
			continue
		case ' ', '\t', '\r':
			continue
		case '-', '?':
			if start {
				row++
			}
		case '[', '{':
			brackets++
			start = false
		case ']', '}':
			brackets--
			start = false
		default:
			start = false
		}
		most = max(most, brackets, row)
	}
	return most
}

// checkShape compares a node with the Go type it is to fill. The library's
// decoder is kinder than such files may be: it reads 5 as "5", null as nothing
// and "1500" as 1500, and so would hide a slip and contradict a JSON Schema.
func checkShape(node ast.Node, want reflect.Type, field string) error {
	switch {
	case reflect.PointerTo(want).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return checkText(node, want, field)
	case want.Kind() == reflect.Interface:
		return checkAny(node, field)
	case want.Kind() == reflect.Pointer:
		return checkShape(node, want.Elem(), field)
	case want.Kind() == reflect.Map:
		return checkMap(node, want.Elem(), field)
	case want.Kind() == reflect.Struct:
		return checkMapping(node, want, field)
	case want.Kind() == reflect.Slice:
		list, ok := node.(*ast.SequenceNode)
		if !ok {
			return misplaced(node, field, "a list")
		}
		for i, item := range list.Values {
			if err := checkShape(item, want.Elem(), fmt.Sprintf("%s[%d]", field, i)); err != nil {
				return err
			}
		}
		return nil
	case want.Kind() == reflect.String:
		switch node.(type) {
		case *ast.StringNode, *ast.LiteralNode:
			return nil
		}
		return misplaced(node, field, "text; put it in quotes")
	case want.Kind() == reflect.Bool:
		if _, ok := node.(*ast.BoolNode); !ok {
			return misplaced(node, field, "true or false")
		}
		return nil
	case want.Kind() == reflect.Float64:
		switch node.(type) {
		case *ast.FloatNode, *ast.IntegerNode:
			return nil
		}
		return misplaced(node, field, "a number")
	default: // int and uint64
		return checkWhole(node, want, field)
	}
}

// checkWhole checks a whole number, the size too: the decoder would not say of which field it is.
func checkWhole(node ast.Node, want reflect.Type, field string) error {
	number, ok := node.(*ast.IntegerNode)
	if !ok {
		return misplaced(node, field, "a whole number")
	}
	target := reflect.New(want).Elem()
	switch value := number.Value.(type) {
	case int64:
		if target.CanUint() && value < 0 {
			return misplaced(node, field, "a whole number that is not negative")
		}
	case uint64:
		if target.CanInt() && value > math.MaxInt64 {
			return misplaced(node, field, "a smaller whole number")
		}
	}
	return nil
}

// checkText checks a text that its type reads, since the decoder would not say where it is.
func checkText(node ast.Node, want reflect.Type, field string) error {
	value := reflect.New(want).Interface().(encoding.TextUnmarshaler)
	text, ok := node.(*ast.StringNode)
	if !ok {
		return misplaced(node, field, meant(value))
	}
	if err := value.UnmarshalText([]byte(text.Value)); err != nil {
		return &yaml.SyntaxError{Message: field + ": " + wirelab.Public(err).Message, Token: node.GetToken()}
	}
	return nil
}

// meant is what a value is to be; types tell it by a method Form.
func meant(value any) string {
	if told, ok := value.(interface{ Form() string }); ok {
		return told.Form()
	}
	return "text; put it in quotes"
}

// checkAny refuses what YAML has beyond JSON, which would be read as something that no one sees.
func checkAny(node ast.Node, field string) error {
	switch n := node.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode, *ast.InfinityNode, *ast.NanNode:
		return misplaced(node, field, "what JSON can say, without anchors, aliases and tags")
	case *ast.SequenceNode:
		for i, item := range n.Values {
			if err := checkAny(item, fmt.Sprintf("%s[%d]", field, i)); err != nil {
				return err
			}
		}
	case *ast.MappingNode:
		for _, entry := range n.Values {
			if err := checkAny(entry, field); err != nil {
				return err
			}
		}
	case *ast.MappingValueNode:
		if _, merged := n.Key.(*ast.MergeKeyNode); merged {
			return misplaced(n.Key, field, "what JSON can say, without anchors, aliases and tags")
		}
		return checkAny(n.Value, field+"."+n.Key.String())
	}
	return nil
}

// checkMap checks a mapping whose keys are names that the file gives.
func checkMap(node ast.Node, want reflect.Type, field string) error {
	entries, ok := entriesOf(node)
	if !ok {
		return misplaced(node, field, "a mapping of names")
	}
	for _, entry := range entries {
		key, text := entry.Key.(*ast.StringNode)
		if !text {
			return misplaced(entry.Key, field+"."+entry.Key.String(), "a name; put it in quotes")
		}
		if err := checkShape(entry.Value, want, field+"."+key.Value); err != nil {
			return err
		}
	}
	return nil
}

// entriesOf are the entries of a mapping, which the parser has in two forms.
func entriesOf(node ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// checkMapping checks that every key is a field and its value fits.
func checkMapping(node ast.Node, want reflect.Type, field string) error {
	entries, ok := entriesOf(node)
	if !ok {
		return misplaced(node, field, "a mapping of fields")
	}
	fields := FieldsOf(want)
	for _, entry := range entries { // the parser has refused a key that is there twice
		var name string
		switch key := entry.Key.(type) {
		case *ast.StringNode:
			name = key.Value
		default:
			name = key.String()
		}
		at := entry.Key.GetToken()
		fieldType, ok := fields[name]
		if !ok {
			known := make([]string, 0, len(fields))
			for f := range fields {
				known = append(known, f)
			}
			unknown := wirelab.UnknownName("field", name, known)
			return &yaml.SyntaxError{Message: field + ": " + wirelab.Public(unknown).Message, Token: at}
		}
		if err := checkShape(entry.Value, fieldType, field+"."+name); err != nil {
			return err
		}
	}
	return nil
}

// FieldsOf maps the names in the file to the types of a struct's fields.
func FieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := make(map[string]reflect.Type, t.NumField())
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		fields[name] = t.Field(i).Type
	}
	return fields
}

// misplaced is the error for a node of the wrong kind.
func misplaced(node ast.Node, field, want string) error {
	var at *token.Token
	if node != nil {
		at = node.GetToken()
	}
	return &yaml.SyntaxError{Message: field + " must be " + want, Token: at}
}
