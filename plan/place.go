package plan

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"wirelab"
	"wirelab/internal/yamlform"
)

// The ways in which an error of [Plan.Complete] names its field: at its beginning,
// and as the kind of a name that is not known.
var (
	fieldFirst   = regexp.MustCompile(`^[a-z_]+(\[[0-9]+\])?(\.[a-z0-9_]+(\[[0-9]+\])?)*`)
	fieldUnknown = regexp.MustCompile(`^(?:([a-z_\[\]0-9.]+): )?unknown ([a-z_\[\]0-9.]+) "`)
)

// unknownName is a name that is not known, as [wirelab.UnknownName] has it behind what it would be of.
var unknownName = regexp.MustCompile(`^unknown [a-zA-Z ]+ "([^"]+)"`)

// At says at which line of a plan's file an error of [Plan.Complete] is, and shows
// the line as the errors of [Parse] do. Where the file has nothing of the field, since
// it is missing, the line is that of what the field belongs to. An error that is of no
// field comes back as it is.
func At(fileName string, data []byte, err error) error {
	message := wirelab.Public(err).Message
	path := fieldFirst.FindString(message)
	if unknown := fieldUnknown.FindStringSubmatch(message); unknown != nil {
		path = strings.TrimPrefix(unknown[1]+"."+unknown[2], ".")
	}
	top, _, _ := strings.Cut(path, ".")
	top, _, _ = strings.Cut(top, "[")
	file, parseErr := parser.ParseBytes(data, 0)
	if parseErr != nil {
		return err
	}
	if name := unknownName.FindStringSubmatch(message); name != nil {
		for _, doc := range file.Docs {
			if at, node := valueAt(doc.Body, "", name[1]); node != nil {
				return yamlform.InFile(fileName, &yaml.SyntaxError{Message: at + ": " + message, Token: node.GetToken()})
			}
		}
	}
	if _, ok := yamlform.FieldsOf(reflect.TypeFor[Plan]())[top]; !ok {
		return err // it is of no field
	}
	for _, doc := range file.Docs {
		if doc.Body != nil {
			node, found := nodeAt(doc.Body, path)
			if !found {
				break // the field is missing from the plan itself: the whole file is the place
			}
			return yamlform.InFile(fileName, &yaml.SyntaxError{Message: message, Token: node.GetToken()})
		}
	}
	return wirelab.Errorf(wirelab.InvalidArgument, "%s: %s", fileName, message)
}

// nodeAt is the node of a field, or of the nearest thing around it that is there;
// not found where that is the whole plan.
func nodeAt(node ast.Node, path string) (nearest ast.Node, found bool) {
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		next := child(node, step)
		if next == nil {
			return node, found
		}
		node, found = next, true
	}
	return node, found
}

// valueAt is the first text of that value, with the field that has it; nil if there is none.
func valueAt(node ast.Node, path, value string) (at string, found ast.Node) {
	switch n := node.(type) {
	case *ast.StringNode:
		if n.Value == value {
			return path, n
		}
	case *ast.SequenceNode:
		for i, one := range n.Values {
			if at, found = valueAt(one, path+"["+strconv.Itoa(i)+"]", value); found != nil {
				return at, found
			}
		}
	case *ast.MappingNode:
		for _, entry := range n.Values {
			if at, found = valueAt(entry, path, value); found != nil {
				return at, found
			}
		}
	case *ast.MappingValueNode:
		return valueAt(n.Value, strings.TrimPrefix(path+"."+n.Key.String(), "."), value)
	}
	return "", nil
}

// child is the value of a key, or of a place in a list; nil if there is none.
func child(node ast.Node, step string) ast.Node {
	var entries []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Values) {
			return n.Values[i]
		}
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	}
	for _, entry := range entries {
		if key, ok := entry.Key.(*ast.StringNode); ok && key.Value == step {
			return entry.Value
		}
	}
	return nil
}
