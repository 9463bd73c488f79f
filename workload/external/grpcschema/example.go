package grpcschema

import (
	"bytes"
	"encoding/json"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// The bounds of an example.
const (
	exampleDepth  = 5   // messages in messages
	exampleFields = 500 // in all
)

// Example returns a request in JSON for people to fill in: every field is there with a value that is its zero
// or stands for one, of a oneof the first. What would repeat itself, or go too deep, is left out. Of a
// client stream it is an array of one message. [Method.EncodeAll] takes it.
func (m *Method) Example() []byte {
	e := example{left: exampleFields}
	e.message(m.desc.Input(), nil)
	text := e.text.Bytes()
	if m.ClientStreaming {
		text = append(append([]byte{'['}, text...), ']')
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return text
	}
	return indented.Bytes()
}

type example struct {
	text bytes.Buffer
	left int // fields that may still be written
}

// forms are example values of the messages with a special JSON form.
var forms = map[protoreflect.FullName]string{ // read only
	"google.protobuf.Any": `{}`, "google.protobuf.Duration": `"1s"`, "google.protobuf.Empty": `{}`,
	"google.protobuf.FieldMask": `""`, "google.protobuf.ListValue": `[]`, "google.protobuf.Struct": `{}`,
	"google.protobuf.Timestamp": `"2026-01-01T00:00:00Z"`, "google.protobuf.Value": `null`,
	"google.protobuf.BoolValue": `false`, "google.protobuf.StringValue": `""`, "google.protobuf.BytesValue": `""`,
	"google.protobuf.Int32Value": `0`, "google.protobuf.UInt32Value": `0`, "google.protobuf.FloatValue": `0`,
	"google.protobuf.Int64Value": `"0"`, "google.protobuf.UInt64Value": `"0"`, "google.protobuf.DoubleValue": `0`,
}

// message writes a message; open are those around it.
func (e *example) message(d protoreflect.MessageDescriptor, open []protoreflect.FullName) {
	if form, ok := forms[d.FullName()]; ok {
		e.text.WriteString(form)
		return
	}
	open = append(open[:len(open):len(open)], d.FullName())
	e.text.WriteByte('{')
	first := true
	for i := range d.Fields().Len() {
		field := d.Fields().Get(i)
		if choice := field.ContainingOneof(); choice != nil && !choice.IsSynthetic() &&
			choice.Fields().Get(0) != field {
			continue
		}
		if !e.fits(field, open) {
			continue
		}
		e.left--
		if !first {
			e.text.WriteByte(',')
		}
		first = false
		e.text.WriteString(quoted(field.JSONName()) + ":")
		e.field(field, open)
	}
	e.text.WriteByte('}')
}

// fits reports whether there is room for a field.
func (e *example) fits(field protoreflect.FieldDescriptor, open []protoreflect.FullName) bool {
	message := field.Message()
	if field.IsMap() {
		message = field.MapValue().Message()
	}
	if message != nil {
		for _, name := range open {
			if name == message.FullName() {
				return false
			}
		}
	}
	if field.Cardinality() == protoreflect.Required {
		return true
	}
	return e.left > 0 && (message == nil || len(open) < exampleDepth || wellKnown(message))
}

// field writes a field's value.
func (e *example) field(field protoreflect.FieldDescriptor, open []protoreflect.FullName) {
	switch {
	case field.IsMap():
		key := "0"
		switch field.MapKey().Kind() {
		case protoreflect.StringKind:
			key = "key"
		case protoreflect.BoolKind:
			key = "true"
		}
		e.text.WriteString("{" + quoted(key) + ":")
		e.value(field.MapValue(), open)
		e.text.WriteByte('}')
	case field.IsList():
		e.text.WriteByte('[')
		e.value(field, open)
		e.text.WriteByte(']')
	default:
		e.value(field, open)
	}
}

// value writes one value of a field.
func (e *example) value(field protoreflect.FieldDescriptor, open []protoreflect.FullName) {
	switch field.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		e.message(field.Message(), open)
	case protoreflect.BoolKind:
		e.text.WriteString("false")
	case protoreflect.StringKind, protoreflect.BytesKind:
		e.text.WriteString(`""`)
	case protoreflect.EnumKind:
		if field.Enum().FullName() == "google.protobuf.NullValue" {
			e.text.WriteString("null")
			return
		}
		e.text.WriteString(quoted(string(field.Enum().Values().Get(0).Name())))
	case protoreflect.Int64Kind, protoreflect.Uint64Kind, protoreflect.Sint64Kind, protoreflect.Fixed64Kind,
		protoreflect.Sfixed64Kind:
		e.text.WriteString(`"0"`)
	default:
		e.text.WriteString("0")
	}
}

func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return strconv.Quote(text)
	}
	return string(data)
}
