package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

// Limits of one operation's values: schemas refer to themselves and to each other.
const (
	mostValues = 20_000
	mostDepth  = 32
	// mostShown is the maximum depth of optional values in an example.
	mostShown = 6
)

// maker makes the request of one operation.
type maker struct {
	op     *Operation
	fields map[string]int            // how often each name of a place was wanted
	shown  map[*openapi3.Schema]bool // the Document's
	budget int
}

// lack notes that a value lacks, and returns its place.
func (m *maker) lack(where string) string {
	name := where
	if cut := strings.LastIndexAny(name, " ."); cut >= 0 {
		name = name[cut+1:]
	}
	field := identifier(name)
	if m.fields[field] > 0 {
		field = identifier(where)
	}
	for base := field; m.fields[field] > 0; {
		m.fields[base]++
		field = fmt.Sprintf("%s_%d", base, m.fields[base])
	}
	m.fields[field]++
	m.op.Lacks = append(m.op.Lacks, Lack{Where: where, Field: field})
	return field
}

// identifier returns a name as templates can have it.
func identifier(name string) string {
	out := strings.Map(func(r rune) rune {
		if r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
	if out == "" || out[0] >= '0' && out[0] <= '9' {
		out = "v" + out
	}
	return out
}

// example returns the one that a document gives for a value, and whether it does.
func example(one any, several openapi3.Examples, schema *openapi3.SchemaRef) (any, bool) {
	if one != nil {
		return exact(one)
	}
	for _, name := range slices.Sorted(maps.Keys(several)) {
		if e := several[name]; e != nil && e.Value != nil && e.Value.Value != nil {
			return exact(e.Value.Value)
		}
	}
	if schema == nil || schema.Value == nil {
		return nil, false
	}
	s := schema.Value
	for _, list := range [][]any{{s.Example}, s.Examples, {s.Const, s.Default}, s.Enum} {
		for _, value := range list {
			if value != nil {
				return exact(value)
			}
		}
	}
	return nil, false
}

// exact returns an example as JSON has it; false: it was not read exactly, or JSON cannot say it.
func exact(value any) (any, bool) {
	value = plain(value, 0)
	return value, isExact(value)
}

func isExact(value any) bool {
	switch value := value.(type) {
	case float64:
		// A whole number beyond these bits may have been another one in the text.
		return math.Abs(value) < 1<<53 || value != math.Trunc(value)
	case []any:
		return !slices.ContainsFunc(value, func(v any) bool { return !isExact(v) })
	case map[string]any:
		for _, v := range value {
			if !isExact(v) {
				return false
			}
		}
	case unsayable:
		return false
	}
	return true
}

// unsayable is a value that JSON has none for.
type unsayable struct{}

// plain returns a value of YAML as JSON has it.
func plain(value any, depth int) any {
	if depth > 256 {
		return unsayable{}
	}
	switch value := value.(type) {
	case nil, bool, string, int, int64, uint64, json.Number:
		return value
	case float64:
		if math.IsInf(value, 0) || math.IsNaN(value) {
			return unsayable{}
		}
		return value
	case time.Time:
		// YAML reads a date as a moment. In JSON it is the text that it was.
		if value.Equal(value.Truncate(24*time.Hour)) && value.Location() == time.UTC {
			return value.Format(time.DateOnly)
		}
		return value.Format(time.RFC3339Nano)
	case []any:
		out := make([]any, len(value))
		for i, v := range value {
			out[i] = plain(v, depth+1)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(value))
		for k, v := range value {
			out[k] = plain(v, depth+1)
		}
		return out
	case map[any]any:
		out := make(map[string]any, len(value))
		for k, v := range value {
			key, ok := k.(string)
			if !ok {
				text, err := json.Marshal(plain(k, depth+1))
				if err != nil {
					return unsayable{}
				}
				key = string(text)
			}
			out[key] = plain(v, depth+1)
		}
		return out
	}
	return unsayable{}
}

// value returns a value of a schema, made of examples. Where one lacks it stands for its place.
func (m *maker) value(ref *openapi3.SchemaRef, where string, depth int) any {
	if v, ok := example(nil, nil, ref); ok {
		return v
	}
	if m.budget--; ref == nil || ref.Value == nil || depth > mostDepth || m.budget < 0 {
		return m.place(where)
	}
	s := ref.Value
	switch {
	case len(s.AllOf) > 0:
		return m.allOf(s, where, depth)
	case len(s.OneOf) > 0:
		return m.firstOf(s.OneOf, where, depth)
	case len(s.AnyOf) > 0:
		return m.firstOf(s.AnyOf, where, depth)
	case s.Type.Permits("object") && !s.Type.IsEmpty() || len(s.Properties) > 0:
		return m.object(s, where, depth)
	case s.Type.Permits("array") && !s.Type.IsEmpty():
		return m.array(s, where, depth)
	}
	return m.place(where)
}

// place returns what stands for a value that lacks.
func (m *maker) place(where string) any { return "{{." + m.lack(where) + "}}" }

// shows reports whether a schema has an example in it. Defaults and the values of an enum are none: they are what a
// server takes where nothing is sent.
func (m *maker) shows(ref *openapi3.SchemaRef, depth int) bool {
	if ref == nil || ref.Value == nil || depth > mostShown {
		return false
	}
	s := ref.Value
	if shown, known := m.shown[s]; known {
		return shown
	}
	// One that refers to itself has no example by that.
	m.shown[s] = false
	shown := s.Example != nil || len(s.Examples) > 0 || m.shows(s.Items, depth+1)
	for _, list := range []openapi3.SchemaRefs{s.AllOf, s.OneOf, s.AnyOf} {
		for _, part := range list {
			shown = shown || m.shows(part, depth+1)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		shown = shown || m.shows(s.Properties[name], depth+1)
	}
	m.shown[s] = shown
	return shown
}

// object returns an object with what it must have, and with what else has an example.
func (m *maker) object(s *openapi3.Schema, where string, depth int) any {
	out := map[string]any{}
	for _, name := range slices.Sorted(slices.Values(s.Required)) {
		property := s.Properties[name]
		if property != nil && property.Value != nil && property.Value.ReadOnly {
			continue
		}
		if _, twice := out[name]; !twice {
			out[name] = m.value(property, where+"."+name, depth+1)
		}
	}
	if depth > mostShown {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		if _, has := out[name]; has || !m.shows(property, 0) || property.Value.ReadOnly || property.Value.Deprecated {
			continue
		}
		before := len(m.op.Lacks)
		if value := m.value(property, where+"."+name, depth+1); len(m.op.Lacks) > before {
			m.forget(before)
		} else if !empty(value) {
			out[name] = value
		}
	}
	return out
}

// empty reports whether a value says nothing.
func empty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return false
}

// array returns a list with one element, or none where that is right and no example is there.
func (m *maker) array(s *openapi3.Schema, where string, depth int) any {
	before := len(m.op.Lacks)
	element := m.value(s.Items, where, depth+1)
	if len(m.op.Lacks) > before && s.MinItems == 0 {
		m.forget(before)
		return []any{}
	}
	return []any{element}
}

// forget takes back what was noted as lacking.
func (m *maker) forget(from int) {
	for _, l := range m.op.Lacks[from:] {
		delete(m.fields, l.Field)
	}
	m.op.Lacks = m.op.Lacks[:from]
}

// allOf joins the objects of several schemas.
func (m *maker) allOf(s *openapi3.Schema, where string, depth int) any {
	out := map[string]any{}
	for _, part := range s.AllOf {
		if part == nil || part.Value == nil {
			continue
		}
		before := len(m.op.Lacks)
		switch v := m.value(part, where, depth+1).(type) {
		case map[string]any:
			maps.Copy(out, v)
		default:
			if len(m.op.Lacks) == before {
				return v
			}
			// A part that only adds a rule has no value.
			if m.forget(before); len(s.AllOf) == 1 {
				return m.place(where)
			}
		}
	}
	// The names may be required here, and have their schemas in the parts.
	own := &openapi3.Schema{Required: s.Required, Properties: openapi3.Schemas{}}
	for _, part := range s.AllOf {
		if part != nil && part.Value != nil {
			maps.Copy(own.Properties, part.Value.Properties)
		}
	}
	maps.Copy(own.Properties, s.Properties)
	own.Required = slices.DeleteFunc(slices.Clone(own.Required), func(name string) bool {
		_, has := out[name]
		return has
	})
	if more, ok := m.object(own, where, depth).(map[string]any); ok {
		maps.Copy(out, more)
	}
	return out
}

// firstOf returns the value of the first schema that lacks nothing, or else of the first.
func (m *maker) firstOf(all openapi3.SchemaRefs, where string, depth int) any {
	before := len(m.op.Lacks)
	for _, one := range all {
		v := m.value(one, where, depth+1)
		if len(m.op.Lacks) == before {
			return v
		}
		m.forget(before)
	}
	return m.value(all[0], where, depth+1)
}
