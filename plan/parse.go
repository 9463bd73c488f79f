package plan

import (
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

// SizeLimit is the most bytes that a plan may have: some fifty times the
// longest one that makes sense.
const SizeLimit = 64 << 10

// depthLimit bounds lists within lists: a plan needs 3, and the YAML parser
// calls itself for each and takes time with the square of them.
const depthLimit = 100

// excerptLimit is the most bytes of an error that shows the place in the file.
const excerptLimit = 1500

// Parse reads a plan from YAML, of which JSON is a part. name is the file's,
// for errors; those show the line and point at the place.
//
// It is stricter than YAML: unknown and repeated fields, null, a number where
// text belongs, a duration without a unit, more than one document, anchors,
// aliases and tags are all refused. What is written is then what was meant.
// The plan is not checked beyond its shape: see [Plan.Complete].
func Parse(name string, data []byte) (Plan, error) {
	if len(data) > SizeLimit {
		return Plan{}, wirelab.Errorf(wirelab.InvalidArgument, "%s has %d bytes; a plan has at most %d", name, len(data), SizeLimit)
	}
	if depth(data) > depthLimit {
		return Plan{}, wirelab.Errorf(wirelab.InvalidArgument, "%s has lists more than %d deep", name, depthLimit)
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return Plan{}, inFile(name, err)
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil {
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) == 0 {
		return Plan{}, wirelab.Errorf(wirelab.InvalidArgument, "%s is empty; a plan names a workload, an operation and arms", name)
	}
	if len(file.Docs) > 1 {
		return Plan{}, wirelab.Errorf(wirelab.InvalidArgument, "%s has %d documents; a plan is one", name, len(file.Docs))
	}
	if err := checkShape(bodies[0], reflect.TypeFor[Plan](), "plan"); err != nil {
		return Plan{}, inFile(name, err)
	}
	var p Plan
	if err := yaml.NodeToValue(bodies[0], &p, yaml.Strict()); err != nil {
		return Plan{}, inFile(name, err)
	}
	return p, nil
}

// inFile says in which file, and where, an error is.
func inFile(name string, err error) error {
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
// decoder is kinder than a plan may be: it reads 5 as "5", null as nothing
// and "1500" as 1500, and so would hide a slip and contradict the JSON Schema.
func checkShape(node ast.Node, want reflect.Type, field string) error {
	switch {
	case want == reflect.TypeFor[Duration]():
		return checkDuration(node, field)
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

// checkDuration checks the text here, since the decoder would not say where it is.
func checkDuration(node ast.Node, field string) error {
	text, ok := node.(*ast.StringNode)
	if !ok {
		return misplaced(node, field, "a duration with a unit, such as 50ms")
	}
	var d Duration
	if err := d.UnmarshalText([]byte(text.Value)); err != nil {
		return &yaml.SyntaxError{Message: field + ": " + wirelab.Public(err).Message, Token: node.GetToken()}
	}
	return nil
}

// checkMapping checks that every key is a field and its value fits.
func checkMapping(node ast.Node, want reflect.Type, field string) error {
	var entries []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	default:
		return misplaced(node, field, "a mapping of fields")
	}
	fields := fieldsOf(want)
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

// fieldsOf maps the names in the file to the types of a struct's fields.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
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
