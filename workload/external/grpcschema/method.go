package grpcschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"wirelab"
)

// The bounds of messages.
const (
	maxMessage  = wirelab.MessageLimit
	maxRequest  = 16 << 20 // of all messages of one call
	maxMessages = 65_536   // of one call
	maxNested   = 100      // messages in messages: what parsers of Protocol Buffers take
)

// Method is a method of a service, with all that its messages need. It does not change and is safe for
// concurrent use.
type Method struct {
	Path            string // "/shop.Cart/AddItem"
	ClientStreaming bool
	ServerStreaming bool

	desc  protoreflect.MethodDescriptor
	known *known
}

func newMethod(k *known, desc protoreflect.MethodDescriptor) *Method {
	return &Method{
		Path:            "/" + string(desc.Parent().FullName()) + "/" + string(desc.Name()),
		ClientStreaming: desc.IsStreamingClient(), ServerStreaming: desc.IsStreamingServer(),
		desc: desc, known: k,
	}
}

// Name returns the method as people write it: "shop.Cart/AddItem".
func (m *Method) Name() string { return m.Path[1:] }

// Service returns the full name of its service: "shop.Cart".
func (m *Method) Service() string { return string(m.desc.Parent().FullName()) }

func (m *Method) dotted() string { return string(m.desc.FullName()) }

// Request and Reply return the full names of its messages.
func (m *Method) Request() string { return string(m.desc.Input().FullName()) }

// Reply is the same of what comes back.
func (m *Method) Reply() string { return string(m.desc.Output().FullName()) }

// Kind tells which sides are streams.
func (m *Method) Kind() wirelab.Kind {
	switch {
	case m.ClientStreaming && m.ServerStreaming:
		return wirelab.BidiStream
	case m.ClientStreaming:
		return wirelab.ClientStream
	case m.ServerStreaming:
		return wirelab.ServerStream
	}
	return wirelab.UnaryCall
}

// reach calls visit for each message and enum that the method's messages are made of.
func (m *Method) reach(visit func(protoreflect.Descriptor)) {
	seen := map[protoreflect.FullName]bool{}
	var open []protoreflect.MessageDescriptor
	add := func(d protoreflect.Descriptor) {
		if d == nil || seen[d.FullName()] {
			return
		}
		seen[d.FullName()] = true
		visit(d)
		if message, ok := d.(protoreflect.MessageDescriptor); ok && !d.IsPlaceholder() {
			open = append(open, message)
		}
	}
	add(m.desc.Input())
	add(m.desc.Output())
	for len(open) > 0 {
		last := open[len(open)-1]
		open = open[:len(open)-1]
		for i := range last.Fields().Len() {
			field := last.Fields().Get(i)
			if message := field.Message(); message != nil {
				add(message)
			}
			if enum := field.Enum(); enum != nil {
				add(enum)
			}
		}
	}
}

// whole returns an error that names a type which the method needs and no file has.
func (m *Method) whole() error {
	var missing string
	m.reach(func(d protoreflect.Descriptor) {
		if d.IsPlaceholder() && missing == "" {
			missing = string(d.FullName())
		}
	})
	if missing == "" {
		return nil
	}
	return wirelab.Errorf(wirelab.InvalidArgument,
		"%s uses %s, which no file declares; give the file that does (protoc: --include_imports)", m.Name(), missing)
}

// Encode returns the wire form of a request in JSON, an object with the names of the schema or those of its
// JSON mapping. Equal requests are equal bytes. Nothing at all is the message without fields.
func (m *Method) Encode(text []byte) ([]byte, error) {
	if len(text) > 4*maxMessage {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "request of %s: more than %d bytes of JSON", m.Name(),
			4*maxMessage)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}")
		if wellKnown(m.desc.Input()) && m.desc.Input().FullName() != "google.protobuf.Empty" {
			return nil, nil // {} is not its form, and no bytes are its zero
		}
	}
	message := dynamicpb.NewMessage(m.desc.Input())
	read := protojson.UnmarshalOptions{Resolver: m.known.types, RecursionLimit: maxNested}
	if err := read.Unmarshal(text, message); err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "request of %s: %s", m.Name(), m.explain(text, err))
	}
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "request of %s: %s", m.Name(), plain(err))
	}
	if len(wire) > maxMessage {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"request of %s: %d bytes; a message has at most %d", m.Name(), len(wire), maxMessage)
	}
	return wire, nil
}

// EncodeAll returns the messages of a call in JSON: of a client stream an array of messages, or any number of
// them one after another (NDJSON); else one.
func (m *Method) EncodeAll(text []byte) ([][]byte, error) {
	if !m.ClientStreaming {
		one, err := m.Encode(text)
		if err != nil {
			return nil, err
		}
		return [][]byte{one}, nil
	}
	if len(text) > 4*maxRequest {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "request of %s: more than %d bytes of JSON", m.Name(),
			4*maxRequest)
	}
	texts, err := m.split(text)
	if err != nil {
		return nil, err
	}
	var all [][]byte
	total := 0
	for i, one := range texts {
		wire, err := m.Encode(one)
		if err != nil {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "message %d: %s", i+1, said(err))
		}
		if total += len(wire); total > maxRequest {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "request of %s: its messages have more than %d bytes",
				m.Name(),
				maxRequest)
		}
		all = append(all, wire)
	}
	return all, nil
}

// split takes a stream's messages apart.
func (m *Method) split(text []byte) ([]json.RawMessage, error) {
	var texts []json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(text))
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '[' {
		if err := decoder.Decode(&texts); err != nil {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "request of %s: no JSON array of messages: %v",
				m.Name(), err)
		}
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "request of %s: more follows the array", m.Name())
		}
	} else {
		for {
			var one json.RawMessage
			err := decoder.Decode(&one)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, wirelab.Errorf(wirelab.InvalidArgument, "message %d of %s is no JSON: %v", len(texts)+1,
					m.Name(), err)
			}
			if texts = append(texts, one); len(texts) > maxMessages {
				break
			}
		}
	}
	if len(texts) > maxMessages {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "request of %s: more than %d messages", m.Name(),
			maxMessages)
	}
	return texts, nil
}

// wellKnown reports whether a message has a special JSON form.
func wellKnown(d protoreflect.MessageDescriptor) bool {
	_, ok := forms[d.FullName()]
	return ok
}
