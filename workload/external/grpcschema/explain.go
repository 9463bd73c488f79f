package grpcschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"wirelab"
)

// explain says what is wrong with a request that the library refused with err: which field, and what would be
// right. What it cannot find itself it says in the library's words.
func (m *Method) explain(text []byte, err error) string {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if syntax := decoder.Decode(&value); syntax != nil {
		return "no JSON: " + plain(err)
	}
	if why := wrong(m.desc.Input(), value, "", 0); why != "" {
		return why
	}
	return plain(err)
}

// wrong says what is wrong with the JSON of a message; "": nothing that it can see.
func wrong(d protoreflect.MessageDescriptor, value any, at string, depth int) string {
	if wellKnown(d) || depth > maxNested {
		return ""
	}
	object, ok := value.(map[string]any)
	if !ok {
		return fmt.Sprintf("%s is %s; it is a %s, so an object: {…}", place(at), shown(value), d.FullName())
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		field, inner := fieldOf(d, name), object[name]
		if field == nil {
			if strings.HasPrefix(name, "[") {
				continue // an extension
			}
			return fmt.Sprintf("%s has no field %.100q%s", d.FullName(), join(at, name), wirelab.Known(name, names(d)))
		}
		if inner == nil {
			continue
		}
		if why := wrongField(field, inner, join(at, name), depth); why != "" {
			return why
		}
	}
	return ""
}

// wrongField is [wrong] of a field.
func wrongField(field protoreflect.FieldDescriptor, value any, at string, depth int) string {
	switch {
	case field.IsMap():
		object, ok := value.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %s; it is a map, so an object: {…}", at, shown(value))
		}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			if why := wrongValue(field.MapValue(), object[key], join(at, key), depth); why != "" {
				return why
			}
		}
		return ""
	case field.IsList():
		list, ok := value.([]any)
		if !ok {
			return fmt.Sprintf("%s is %s; it is repeated, so an array: [%s]", at, shown(value), form(field))
		}
		for i, inner := range list {
			if why := wrongValue(field, inner, at+"["+strconv.Itoa(i)+"]", depth); why != "" {
				return why
			}
		}
		return ""
	}
	return wrongValue(field, value, at, depth)
}

// wrongValue is [wrong] of one value of a field.
func wrongValue(field protoreflect.FieldDescriptor, value any, at string, depth int) string {
	if message := field.Message(); message != nil {
		return wrong(message, value, at, depth+1)
	}
	fits := false
	switch v := value.(type) {
	case bool:
		fits = field.Kind() == protoreflect.BoolKind
	case json.Number:
		fits = numberFits(field.Kind(), v.String())
	case string:
		switch field.Kind() {
		case protoreflect.StringKind, protoreflect.BytesKind:
			fits = true
		case protoreflect.EnumKind:
			values := field.Enum().Values()
			if fits = values.ByName(protoreflect.Name(v)) != nil; !fits {
				return fmt.Sprintf("%s is %s%s", at, shown(v), wirelab.Known(v, enumNames(field.Enum())))
			}
		case protoreflect.BoolKind:
		case protoreflect.FloatKind, protoreflect.DoubleKind:
			fits = v == "NaN" || v == "Infinity" || v == "-Infinity" || numberFits(field.Kind(), v)
		default:
			fits = numberFits(field.Kind(), v)
		}
	}
	if fits {
		return ""
	}
	return fmt.Sprintf("%s is %s; it is %s", at, shown(value), form(field))
}

// numberFits reports whether a number fits a kind. It accepts anything that is not a plain integer, for the library
// to decide.
func numberFits(kind protoreflect.Kind, text string) bool {
	var err error
	switch kind {
	case protoreflect.BoolKind, protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind,
		protoreflect.GroupKind:
		return false
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		_, err = strconv.ParseFloat(text, 64)
		return err == nil
	}
	if strings.ContainsAny(text, ".eE") {
		f, err := strconv.ParseFloat(text, 64)
		return err == nil && f == float64(int64(f))
	}
	switch kind {
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		_, err = strconv.ParseUint(text, 10, 32)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		_, err = strconv.ParseUint(text, 10, 64)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		_, err = strconv.ParseInt(text, 10, 64)
	default:
		_, err = strconv.ParseInt(text, 10, 32)
	}
	return err == nil
}

// form says what a field's value looks like.
func form(field protoreflect.FieldDescriptor) string {
	switch field.Kind() {
	case protoreflect.BoolKind:
		return "true or false (bool)"
	case protoreflect.StringKind:
		return `a text: "…" (string)`
	case protoreflect.BytesKind:
		return `base64 in a text: "AAEC" (bytes)`
	case protoreflect.EnumKind:
		names := enumNames(field.Enum())
		return "a name of " + string(field.Enum().FullName()) + ", such as " + strconv.Quote(names[0])
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return "an object: {…} (" + string(field.Message().FullName()) + ")"
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return "a whole number of at least 0 (" + field.Kind().String() + ")"
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return "a number (" + field.Kind().String() + ")"
	}
	return "a whole number (" + field.Kind().String() + ")"
}

// shown is a JSON value as an error names it.
func shown(value any) string {
	switch v := value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("the text %.40q", v)
	case json.Number:
		return fmt.Sprintf("the number %.40s", v.String())
	}
	return fmt.Sprint(value)
}

func fieldOf(d protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if field := d.Fields().ByJSONName(name); field != nil {
		return field
	}
	return d.Fields().ByTextName(name)
}

func names(d protoreflect.MessageDescriptor) []string {
	var all []string
	for i := range d.Fields().Len() {
		all = append(all, d.Fields().Get(i).JSONName())
	}
	if len(all) == 0 {
		return []string{"(it has none)"}
	}
	return all
}

func enumNames(d protoreflect.EnumDescriptor) []string {
	var all []string
	for i := range d.Values().Len() {
		all = append(all, string(d.Values().Get(i).Name()))
	}
	return all
}

func place(at string) string {
	if at == "" {
		return "the request"
	}
	return at
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}
