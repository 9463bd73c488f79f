package avro

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// kind is one of Avro's types.
type kind uint8

const (
	kindNull kind = iota
	kindBoolean
	kindInt
	kindLong
	kindFloat
	kindDouble
	kindBytes
	kindString
	kindRecord
	kindEnum
	kindArray
	kindMap
	kindUnion
	kindFixed
)

var kindNames = [...]string{ // read only
	kindNull: "null", kindBoolean: "boolean", kindInt: "int", kindLong: "long", kindFloat: "float",
	kindDouble: "double", kindBytes: "bytes", kindString: "string", kindRecord: "record", kindEnum: "enum",
	kindArray: "array", kindMap: "map", kindUnion: "union", kindFixed: "fixed",
}

// String returns the kind's name in schemas.
func (k kind) String() string { return kindNames[k] }

// primitive returns the kind of a primitive type's name.
func primitive(name string) (kind, bool) {
	for k := kindNull; k <= kindString; k++ {
		if kindNames[k] == name {
			return k, true
		}
	}
	return 0, false
}

// shape is a schema as the scan needs it. A recursive schema is a cycle.
type shape struct {
	kind     kind
	name     string       // full, of records, enums and fixed
	fields   []shapeField // of a record
	branches []*shape     // of a union
	item     *shape       // of an array's items, or a map's values
	size     int          // of a fixed, bytes; or how many symbols an enum has
	empty    bool         // a value may take no bytes
}

type shapeField struct {
	name  string
	shape *shape
}

// parseShape reads a schema in canonical form: names are full there, and each
// is defined where it first occurs, which makes this short.
func parseShape(canonical []byte) (*shape, error) {
	s, err := shapes{}.parse(canonical)
	if err != nil {
		return nil, err
	}
	all := map[*shape]bool{}
	s.reach(all)
	// A record is empty if its fields are, which may be found in any order.
	for changed := true; changed; {
		changed = false
		for s := range all {
			if !s.empty && s.isEmpty() {
				s.empty, changed = true, true
			}
		}
	}
	return s, nil
}

// isEmpty reports whether a value may take no bytes, as far as is known.
func (s *shape) isEmpty() bool {
	switch s.kind {
	case kindNull:
		return true
	case kindFixed:
		return s.size == 0
	case kindRecord:
		return !slices.ContainsFunc(s.fields, func(f shapeField) bool { return !f.shape.empty })
	}
	return false
}

// reach collects the shape and all that it is made of.
func (s *shape) reach(all map[*shape]bool) {
	if s == nil || all[s] {
		return
	}
	all[s] = true
	s.item.reach(all)
	for _, b := range s.branches {
		b.reach(all)
	}
	for _, f := range s.fields {
		f.shape.reach(all)
	}
}

// has reports whether a kind occurs in the shape.
func (s *shape) has(k kind) bool {
	all := map[*shape]bool{}
	s.reach(all)
	for s := range all {
		if s.kind == k {
			return true
		}
	}
	return false
}

// shapes are the named types so far.
type shapes map[string]*shape

func (known shapes) parse(text json.RawMessage) (*shape, error) {
	var name string
	var branches []json.RawMessage
	var definition struct {
		Name   string
		Type   string
		Fields []struct {
			Name string
			Type json.RawMessage
		}
		Items, Values json.RawMessage
		Symbols       []string
		Size          int
	}
	switch {
	case json.Unmarshal(text, &name) == nil:
		if k, ok := primitive(name); ok {
			return &shape{kind: k}, nil
		}
		if s, ok := known[name]; ok {
			return s, nil
		}
		return nil, fmt.Errorf("unknown type %q", name)
	case json.Unmarshal(text, &branches) == nil:
		s := &shape{kind: kindUnion}
		for _, text := range branches {
			branch, err := known.parse(text)
			if err != nil {
				return nil, err
			}
			s.branches = append(s.branches, branch)
		}
		return s, nil
	}
	if err := json.Unmarshal(text, &definition); err != nil {
		return nil, err
	}
	s := &shape{name: definition.Name}
	if s.name != "" {
		known[s.name] = s // before its fields, which may refer to it
	}
	var err error
	switch definition.Type {
	case "record":
		s.kind = kindRecord
		for _, f := range definition.Fields {
			field := shapeField{name: f.Name}
			if field.shape, err = known.parse(f.Type); err != nil {
				return nil, err
			}
			s.fields = append(s.fields, field)
		}
	case "enum":
		s.kind, s.size = kindEnum, len(definition.Symbols)
	case "fixed":
		s.kind, s.size = kindFixed, definition.Size
	case "array":
		s.kind = kindArray
		s.item, err = known.parse(definition.Items)
	case "map":
		s.kind = kindMap
		s.item, err = known.parse(definition.Values)
	default:
		return nil, errors.New("type " + definition.Type + " is not supported")
	}
	return s, err
}
