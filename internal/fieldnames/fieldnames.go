// Package fieldnames writes Go values as JSON with lowerFirst names of fields. It knows Go's names and JSON's, and must
// not know what a value is about, or which wire spells it so.
package fieldnames

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"unicode"
)

// JSON returns a domain value as JSON with lowerFirst names, as the JSON
// wires spell them. encoding/json alone would print Go's names: domains have
// no tags, since how a wire spells a name is not theirs to know.
func JSON(value any) ([]byte, error) {
	var out bytes.Buffer
	if err := writeName(&out, reflect.ValueOf(value)); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func writeName(out *bytes.Buffer, v reflect.Value) error {
	if !v.IsValid() {
		out.WriteString("null")
		return nil
	}
	switch v.Interface().(type) {
	case json.Marshaler, encoding.TextMarshaler:
		return writePlain(out, v)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return writeName(out, v.Elem()) // nil has no Elem: null
	case reflect.Struct:
		return writeObject(out, v)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return writePlain(out, v) // bytes, in base64
		}
		out.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := writeName(out, v.Index(i)); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	case reflect.Map: // its keys are data, not names
		entries := make(map[string]json.RawMessage, v.Len())
		for key, item := range v.Seq2() {
			text, err := JSON(item.Interface())
			if err != nil {
				return err
			}
			entries[fmt.Sprint(key)] = text
		}
		return writePlain(out, reflect.ValueOf(entries))
	}
	return writePlain(out, v)
}

func writeObject(out *bytes.Buffer, v reflect.Value) error {
	out.WriteByte('{')
	comma := false
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		if comma {
			out.WriteByte(',')
		}
		comma = true
		fmt.Fprintf(out, "%q:", lowerFirst(field.Name))
		if err := writeName(out, v.Field(i)); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}

// writePlain leaves a value to encoding/json, without the escapes that are
// for web pages only.
func writePlain(out *bytes.Buffer, v reflect.Value) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v.Interface()); err != nil {
		return err
	}
	out.Write(bytes.TrimSpace(text.Bytes()))
	return nil
}

// lowerFirst turns Go's name of a field into that of JSON: "PointCount" into
// "pointCount", "ID" into "id", "URLPath" into "urlPath".
func lowerFirst(name string) string {
	runes := []rune(name)
	for i := range runes {
		last := i+1 == len(runes)
		if !unicode.IsUpper(runes[i]) || i > 0 && !last && unicode.IsLower(runes[i+1]) {
			break
		}
		runes[i] = unicode.ToLower(runes[i])
	}
	return string(runes)
}
