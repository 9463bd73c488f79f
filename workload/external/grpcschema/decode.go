package grpcschema

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"wirelab"
)

// UnknownKey is the member of a decoded reply that has what the schema does not know: by the JSON pointer of
// the message that it is in, the bytes in base64. It is no name that a field can have by itself.
const UnknownKey = "$unknown"

// Decode returns a reply message as JSON, by the usual mapping. Fields without presence are there when they
// are zero, too, so that a path to one always leads somewhere. Nothing of the reply is left
// out: see [UnknownKey]. Equal messages are equal bytes.
func (m *Method) Decode(wire []byte) ([]byte, error) {
	message, err := m.known.read(wire, m.desc.Output())
	if err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "reply of %s is no %s: %s", m.Name(), m.Reply(), plain(err))
	}
	u := unknowns{known: m.known, found: map[string]string{}}
	u.message(message.ProtoReflect(), "", 0)
	write := protojson.MarshalOptions{EmitDefaultValues: true, AllowPartial: true, Resolver: m.known.types}
	text, err := write.Marshal(message)
	if err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "reply of %s has no form in JSON: %s", m.Name(), plain(err))
	}
	var compact bytes.Buffer // the library's spaces are now these and now those
	if err := json.Compact(&compact, text); err != nil {
		return nil, wirelab.Errorf(wirelab.Internal, "reply of %s: %v", m.Name(), err)
	}
	return u.addTo(compact.Bytes()), nil
}

// DecodeAll returns the messages of a reply as a JSON array.
func (m *Method) DecodeAll(messages [][]byte) ([]byte, error) {
	text := []byte{'['}
	for i, wire := range messages {
		one, err := m.Decode(wire)
		if err != nil {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "message %d: %s", i+1, said(err))
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, one...)
	}
	return append(text, ']'), nil
}

// read decodes a message.
func (k *known) read(wire []byte, as protoreflect.MessageDescriptor) (*dynamicpb.Message, error) {
	message := dynamicpb.NewMessage(as)
	read := proto.UnmarshalOptions{AllowPartial: true, Resolver: k.types, RecursionLimit: maxNested}
	if err := read.Unmarshal(wire, message); err != nil {
		return nil, err
	}
	return message, nil
}

// unknowns finds what JSON would leave out of a message.
type unknowns struct {
	known *known
	found map[string]string // JSON pointer to bytes in base64
}

func (u *unknowns) message(m protoreflect.Message, at string, depth int) {
	if rest := m.GetUnknown(); len(rest) > 0 {
		u.found[at] = base64.StdEncoding.EncodeToString(rest)
	}
	if m.Descriptor().FullName() == "google.protobuf.Any" {
		u.anyValue(m, at, depth)
		return
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		here := at + "/" + pointerToken(field.JSONName())
		switch {
		case field.IsMap():
			if field.MapValue().Message() == nil {
				break
			}
			value.Map().Range(func(key protoreflect.MapKey, item protoreflect.Value) bool {
				u.message(item.Message(), here+"/"+pointerToken(key.String()), depth)
				return true
			})
		case field.Message() == nil:
		case field.IsList():
			for i := range value.List().Len() {
				u.message(value.List().Get(i).Message(), here+"/"+strconv.Itoa(i), depth)
			}
		default:
			u.message(value.Message(), here, depth)
		}
		return true
	})
}

// anyValue looks into a message of any type. One whose type is not known would have no JSON
// at all: its bytes are noted, and it is emptied.
func (u *unknowns) anyValue(m protoreflect.Message, at string, depth int) {
	fields := m.Descriptor().Fields()
	url, value := fields.ByNumber(1), fields.ByNumber(2)
	if url == nil || value == nil || url.Kind() != protoreflect.StringKind || value.Kind() != protoreflect.BytesKind ||
		url.IsList() || value.IsList() || m.Get(url).String() == "" && len(m.Get(value).Bytes()) == 0 {
		return
	}
	if as, err := u.known.types.FindMessageByURL(m.Get(url).String()); err == nil && depth < maxNested {
		if inner, err := u.known.read(m.Get(value).Bytes(), as.Descriptor()); err == nil {
			if wellKnown(inner.Descriptor()) {
				at += "/value"
			}
			u.message(inner, at, depth+1)
			// An inner one may have been emptied.
			if wire, err := (proto.MarshalOptions{Deterministic: true, AllowPartial: true}).Marshal(inner); err == nil {
				m.Set(value, protoreflect.ValueOfBytes(wire))
				return
			}
		}
	}
	u.found[at] = base64.StdEncoding.EncodeToString(m.Get(value).Bytes()) + " " + m.Get(url).String()
	m.Clear(url)
	m.Clear(value)
}

// addTo adds what was found to a message in JSON.
func (u *unknowns) addTo(text []byte) []byte {
	if len(u.found) == 0 {
		return text
	}
	found, err := json.Marshal(u.found) // sorted
	if err != nil {
		return text
	}
	if len(text) < 2 || text[0] != '{' { // a special JSON form
		text = append(append([]byte(`{"value":`), text...), '}')
	}
	text = text[:len(text)-1]
	if len(text) > 1 {
		text = append(text, ',')
	}
	return append(append(append(text, `"`+UnknownKey+`":`...), found...), '}')
}

// pointerToken writes a name as a part of a JSON pointer.
func pointerToken(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
