package avro

import (
	"reflect"
	"strings"

	library "github.com/twmb/avro"

	"wirelab"
)

// The library finds a field's counterpart by its exact name or by a tag. A
// domain type has neither the schema's names nor tags, so the codec works with
// a copy of the schema whose fields have the names of the Go type's, and their
// own as aliases, by which those of writers are found. Names are not on the
// wire. The road not taken, a tagged copy of every domain type, costs a copy of
// each value both ways: a third of the time of a list.

// renaming is what fields of records are called in Go: by the record's full
// name, then the field's.
type renaming map[string]map[string]string

// match adds how the shape's fields are called in t. at is where in the type
// the two are, for errors.
func (r renaming) match(s *shape, t reflect.Type, at string) error {
	want, ok := goKinds[s.kind]
	switch {
	case s.kind == kindUnion:
		return r.matchOption(s, t, at)
	case !ok || t.Kind() != want:
		return wirelab.Errorf(wirelab.InvalidArgument, "%s is %s in the schema, and in Go %s", at, s.kind, t)
	}
	switch s.kind {
	case kindBytes:
		if t.Elem().Kind() != reflect.Uint8 {
			return wirelab.Errorf(wirelab.InvalidArgument, "%s is bytes in the schema, and in Go %s", at, t)
		}
	case kindFixed:
		if t.Elem().Kind() != reflect.Uint8 || t.Len() != s.size {
			return wirelab.Errorf(wirelab.InvalidArgument, "%s has %d bytes in the schema, and is in Go %s", at,
				s.size, t)
		}
	case kindArray:
		return r.match(s.item, t.Elem(), at+"[]")
	case kindMap:
		if t.Key().Kind() != reflect.String {
			return wirelab.Errorf(wirelab.InvalidArgument, "%s is a map in the schema, and in Go %s", at, t)
		}
		return r.match(s.item, t.Elem(), at+"[]")
	case kindRecord:
		return r.matchRecord(s, t, at)
	}
	return nil
}

// goKinds are the kinds of Go's types for each of Avro's but unions, and null
// by itself, which no value is.
var goKinds = map[kind]reflect.Kind{ // read only
	kindBoolean: reflect.Bool, kindInt: reflect.Int32, kindLong: reflect.Int64,
	kindFloat: reflect.Float32, kindDouble: reflect.Float64, kindBytes: reflect.Slice, kindString: reflect.String,
	kindRecord: reflect.Struct, kindEnum: reflect.String, kindArray: reflect.Slice, kindMap: reflect.Map,
	kindFixed: reflect.Array,
}

// matchOption is match for a union, which must be of null and one more.
func (r renaming) matchOption(s *shape, t reflect.Type, at string) error {
	if len(s.branches) == 2 && t.Kind() == reflect.Pointer {
		for i, branch := range s.branches {
			if branch.kind == kindNull {
				return r.match(s.branches[1-i], t.Elem(), at)
			}
		}
	}
	return wirelab.Errorf(wirelab.InvalidArgument,
		"%s is a union in the schema, and in Go %s: supported are unions of null and one more, as pointers", at, t)
}

// matchRecord is match for a record.
func (r renaming) matchRecord(s *shape, t reflect.Type, at string) error {
	names, again := r[s.name]
	if !again {
		names = map[string]string{}
		r[s.name] = names // before the fields: the record may contain itself
	}
	if len(s.fields) != t.NumField() {
		return wirelab.Errorf(wirelab.InvalidArgument, "%s has %d fields in the schema, and in Go %s has %d",
			at, len(s.fields), t, t.NumField())
	}
	for _, f := range s.fields {
		field, err := fieldOf(t, f.name, at)
		if err != nil {
			return err
		}
		if known, ok := names[f.name]; ok && known != field.Name {
			return wirelab.Errorf(wirelab.InvalidArgument, "%s is %s in Go, and elsewhere %s: one record, one name",
				at+"."+f.name, field.Name, known)
		}
		names[f.name] = field.Name
		if again {
			continue
		}
		if err := r.match(f.shape, field.Type, at+"."+f.name); err != nil {
			return err
		}
	}
	return nil
}

// fieldOf returns the one field of t that is called name in any case.
func fieldOf(t reflect.Type, name, at string) (reflect.StructField, error) {
	var found []reflect.StructField
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && !f.Anonymous && strings.EqualFold(f.Name, name) {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		return reflect.StructField{}, wirelab.Errorf(wirelab.InvalidArgument,
			"%s.%s of the schema has %d fields of that name in Go's %s", at, name, len(found), t)
	}
	return found[0], nil
}

// apply returns the schema with its fields renamed.
func (r renaming) apply(s *Schema) (*library.Schema, error) {
	root := s.parsed.Root()
	if err := r.rename(root); err != nil {
		return nil, err
	}
	renamed, err := root.Schema()
	if err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "schema %s with the names of Go: %v", s, err)
	}
	return renamed, nil
}

// rename renames the fields of the records that are defined in n and below.
func (r renaming) rename(n *library.SchemaNode) error {
	if n == nil {
		return nil
	}
	full := n.Name
	if n.Namespace != "" && !strings.Contains(full, ".") {
		full = n.Namespace + "." + full
	}
	for i := range n.Fields {
		f := &n.Fields[i]
		if members, ok := f.Default.(map[string]any); ok && len(members) > 0 && f.Type.Type != "map" {
			return wirelab.Errorf(wirelab.InvalidArgument, "%s.%s: a default of record type is not supported", full,
				f.Name)
		}
		if err := r.rename(&f.Type); err != nil {
			return err
		}
		if name := r[full][f.Name]; name != f.Name {
			f.Aliases = append(f.Aliases, f.Name)
			f.Name = name
		}
	}
	for i := range n.Branches {
		if err := r.rename(&n.Branches[i]); err != nil {
			return err
		}
	}
	if err := r.rename(n.Items); err != nil {
		return err
	}
	return r.rename(n.Values)
}
