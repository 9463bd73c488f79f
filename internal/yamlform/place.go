package yamlform

import (
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"wirelab"
)

// OfField is an error about a field of a file that [Read] has read, such as arms[1].protocol: it says the line,
// and shows it. Where the file has nothing of the field, since it is missing, the line is that of what the
// field belongs to.
func OfField(name string, data []byte, path, message string) error {
	if all := bodies(data); len(all) > 0 {
		if node, found := nodeAt(all[0], path); found {
			return InFile(name, &yaml.SyntaxError{Message: message, Token: node.GetToken()})
		} // else it is missing from the file itself: the whole file is the place
	}
	return wirelab.Errorf(wirelab.InvalidArgument, "%s: %s", name, message)
}

// OfValue is an error about the first text of that value, wherever it is; nil if there is none.
func OfValue(name string, data []byte, value, message string) error {
	for _, body := range bodies(data) {
		if at, node := valueAt(body, "", value); node != nil {
			return InFile(name, &yaml.SyntaxError{Message: at + ": " + message, Token: node.GetToken()})
		}
	}
	return nil
}

// bodies are the documents of a file; none if it cannot be read.
func bodies(data []byte) (all []ast.Node) {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil
	}
	for _, doc := range file.Docs {
		if doc.Body != nil {
			all = append(all, doc.Body)
		}
	}
	return all
}

// nodeAt is the node of a field, or of the nearest thing around it that is there;
// not found where that is the whole file.
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
