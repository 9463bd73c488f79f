package rows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"text/template/parse"

	"wirelab"
)

// Limits of templates.
const (
	mostTemplate = 16 << 20
	mostRendered = 64 << 20
	mostDepth    = 256
)

// functions are the functions that a template may call.
var functions = []string{"json", "urlquery", "index"}

// whatIsRight ends the errors of templates.
const whatIsRight = `write {{.field}}, {{.field.inner}}, {{index . "a field"}}, {{.field | json}} or ` +
	`{{.field | urlquery}}`

// Template is a text with placeholders for values of a row.
type Template struct {
	where string
	parts []part
}

// part is a text or a placeholder.
type part struct {
	text  string
	place bool
	path  []string
	with  []string // the names of functions, in order
	shown string
}

// Parse parses a template. where names the template in errors: "shop.yaml:12: body".
func Parse(where, text string) (*Template, error) {
	t := &Template{where: where}
	if !strings.Contains(text, "{{") {
		t.parts = []part{{text: text}}
		return t, nil
	}
	if len(text) > mostTemplate {
		return nil, t.faultf("the template has %d MiB; at most %d are read", len(text)>>20, mostTemplate>>20)
	}
	if strings.Count(text, "(") > mostDepth && deep(text) {
		return nil, t.faultf("the template has too many parentheses; %s", whatIsRight)
	}
	tree := parse.New("template")
	tree.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(text, "", "", trees); err != nil {
		return nil, t.faultf("line %s; %s", strings.TrimPrefix(err.Error(), "template: template:"), whatIsRight)
	}
	for name := range trees {
		if name != tree.Name {
			return nil, t.faultf("{{define %q}} is more than the place of a value; %s", short(name), whatIsRight)
		}
	}
	if tree.Root == nil {
		return t, nil
	}
	for _, node := range tree.Root.Nodes {
		switch node := node.(type) {
		case *parse.TextNode:
			t.parts = append(t.parts, part{text: string(node.Text)})
		case *parse.ActionNode:
			p, ok := place(node)
			if !ok {
				return nil, t.faultf("%s is more than the place of a value; %s", short(node.String()), whatIsRight)
			}
			t.parts = append(t.parts, p)
		default:
			return nil, t.faultf("%s is more than the place of a value; %s", short(node.String()), whatIsRight)
		}
	}
	return t, nil
}

// deep reports whether a text nests parentheses deeper than a template needs.
func deep(text string) bool {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			if depth++; depth > mostDepth {
				return true
			}
		case ')':
			depth = max(0, depth-1)
		}
	}
	return false
}

func (t *Template) faultf(format string, args ...any) error {
	return wirelab.Errorf(wirelab.InvalidArgument, "%s: %s", t.where, fmt.Sprintf(format, args...))
}

func short(text string) string {
	if len(text) > 80 {
		return strings.ToValidUTF8(text[:80], "") + "…"
	}
	return text
}

// place returns the placeholder of an action.
func place(node *parse.ActionNode) (part, bool) {
	p := part{place: true, shown: short(node.String())}
	if node.Pipe == nil || len(node.Pipe.Decl) > 0 {
		return p, false
	}
	for i, command := range node.Pipe.Cmds {
		args := command.Args
		if i > 0 {
			name, ok := function(args[0])
			if !ok || len(args) != 1 || name == "index" {
				return p, false
			}
			p.with = append(p.with, name)
			continue
		}
		if name, ok := function(args[0]); ok {
			if args = args[1:]; name == "index" {
				return p, p.index(args)
			}
			p.with = append(p.with, name)
		}
		if len(args) != 1 {
			return p, false
		}
		field, ok := args[0].(*parse.FieldNode)
		if !ok {
			return p, false
		}
		p.path = field.Ident
	}
	return p, true
}

// index parses {{index . "a" "b"}}, for names that are no identifiers.
func (p *part) index(args []parse.Node) bool {
	if len(args) < 2 || args[0].Type() != parse.NodeDot {
		return false
	}
	for _, a := range args[1:] {
		text, ok := a.(*parse.StringNode)
		if !ok {
			return false
		}
		p.path = append(p.path, text.Text)
	}
	return true
}

// function returns the name of a known function.
func function(node parse.Node) (string, bool) {
	name, ok := node.(*parse.IdentifierNode)
	if !ok {
		return "", false
	}
	return name.Ident, slices.Contains(functions, name.Ident)
}

// Fixed reports whether the template is the same for all rows.
func (t *Template) Fixed() bool {
	return !slices.ContainsFunc(t.parts, func(p part) bool { return p.place })
}

// Text returns the template with the values of a row.
func (t *Template) Text(row Row) (string, error) {
	if len(t.parts) == 1 && !t.parts[0].place {
		return t.parts[0].text, nil
	}
	var b strings.Builder
	for _, p := range t.parts {
		if !p.place {
			b.WriteString(p.text)
			continue
		}
		value, err := t.value(p, row)
		if err != nil {
			return "", err
		}
		text, err := written(value)
		if err != nil {
			return "", t.faultf("%s: %s of this row cannot be written: %v", row.At, p.shown, err)
		}
		b.WriteString(text)
		if b.Len() > mostRendered {
			return "", t.faultf("%s: the text with this row's values has more than %d MiB", row.At, mostRendered>>20)
		}
	}
	return b.String(), nil
}

// Value returns the template with the values of a row. If it is a single placeholder, the value keeps its type.
func (t *Template) Value(row Row) (any, error) {
	if len(t.parts) == 1 && t.parts[0].place && len(t.parts[0].with) == 0 {
		return t.value(t.parts[0], row)
	}
	return t.Text(row)
}

// value returns the value for a placeholder.
func (t *Template) value(p part, row Row) (any, error) {
	var value any = row.Fields
	for i, name := range p.path {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil, t.faultf("%s: %q of this row is no object, so %s is nothing", row.At,
				strings.Join(p.path[:i], "."), p.shown)
		}
		if value, ok = fields[name]; !ok {
			return nil, t.faultf("%s: this row has no field %q, which %s asks for; it has %s", row.At,
				strings.Join(p.path[:i+1], "."), p.shown, listed(fields))
		}
	}
	for _, name := range p.with {
		text, err := "", error(nil)
		switch name {
		case "json":
			text, err = encoded(value)
		case "urlquery":
			if text, err = written(value); err == nil {
				text = url.QueryEscape(text)
			}
		}
		if err != nil {
			return nil, t.faultf("%s: %s of this row cannot be written: %v", row.At, p.shown, err)
		}
		value = text
	}
	return value, nil
}

// listed returns the names of some fields, for an error.
func listed(fields map[string]any) string {
	const most = 8
	names := slices.Sorted(maps.Keys(fields))
	for i := range names {
		names[i] = short(names[i])
	}
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > most:
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// written renders a value inside a text: a string without quotes, and others as JSON.
func written(value any) (string, error) {
	switch value := value.(type) {
	case string:
		return value, nil
	case json.Number:
		return value.String(), nil
	}
	return encoded(value)
}

// encoded encodes a value as JSON.
func encoded(value any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// Shape is a JSON value whose strings and field names are templates.
type Shape struct {
	value any // a *Template, a []Shape, a []named, or a constant
}

// named is a field of an object.
type named struct {
	name  *Template
	value Shape
}

// ParseValue reads the templates in a value as decoded from JSON or YAML: maps with string keys, lists, strings;
// other values stay constant. where names the value in errors.
func ParseValue(where string, value any) (Shape, error) { return parseValue(where, value, 0) }

func parseValue(where string, value any, depth int) (Shape, error) {
	if depth > mostDepth {
		return Shape{}, wirelab.Errorf(wirelab.InvalidArgument, "%s: it is nested deeper than %d", where, mostDepth)
	}
	switch value := value.(type) {
	case string:
		t, err := Parse(where, value)
		if err != nil {
			return Shape{}, err
		}
		if t.Fixed() {
			return Shape{value}, nil
		}
		return Shape{t}, nil
	case []any:
		list := make([]Shape, len(value))
		for i, v := range value {
			var err error
			if list[i], err = parseValue(fmt.Sprintf("%s[%d]", where, i), v, depth+1); err != nil {
				return Shape{}, err
			}
		}
		return Shape{list}, nil
	case map[string]any:
		fields := make([]named, 0, len(value))
		for _, name := range slices.Sorted(maps.Keys(value)) {
			t, err := Parse(where, name)
			if err != nil {
				return Shape{}, err
			}
			inner, err := parseValue(where+"."+short(name), value[name], depth+1)
			if err != nil {
				return Shape{}, err
			}
			fields = append(fields, named{t, inner})
		}
		return Shape{fields}, nil
	}
	return Shape{value}, nil
}

// Fixed reports whether the value is the same for all rows.
func (s Shape) Fixed() bool {
	switch value := s.value.(type) {
	case *Template:
		return false
	case []Shape:
		return !slices.ContainsFunc(value, func(v Shape) bool { return !v.Fixed() })
	case []named:
		return !slices.ContainsFunc(value, func(n named) bool { return !n.name.Fixed() || !n.value.Fixed() })
	}
	return true
}

// Value returns the JSON value with the values of a row.
func (s Shape) Value(row Row) (any, error) {
	switch value := s.value.(type) {
	case *Template:
		return value.Value(row)
	case []Shape:
		list := make([]any, len(value))
		for i, v := range value {
			var err error
			if list[i], err = v.Value(row); err != nil {
				return nil, err
			}
		}
		return list, nil
	case []named:
		fields := make(map[string]any, len(value))
		for _, n := range value {
			name, err := n.name.Text(row)
			if err != nil {
				return nil, err
			}
			if _, twice := fields[name]; twice {
				return nil, n.name.faultf("%s: two fields are named %q with this row's values", row.At, short(name))
			}
			if fields[name], err = n.value.Value(row); err != nil {
				return nil, err
			}
		}
		return fields, nil
	}
	return s.value, nil
}
