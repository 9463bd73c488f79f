package grpcschema

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"wirelab"
)

// maxMethod is the size in bytes of a method's own schema.
const maxMethod = 4 << 20

// pathField is the number of the field that has a method's path in its set of descriptors. The
// set has no field of that number itself, so that any program can read it as one.
const pathField protowire.Number = 1000

// Marshal returns the method with what it needs of its schema, as a set of descriptors that also says which
// method it is: for a driver that has no file and asks no server. [ParseMethod] reads it.
func (m *Method) Marshal() ([]byte, error) {
	keep := map[protoreflect.FullName]bool{} // top-level messages and enums
	anything := false
	m.reach(func(d protoreflect.Descriptor) {
		anything = anything || d.FullName() == "google.protobuf.Any"
		for ; d.Parent() != nil; d = d.Parent() {
			if _, file := d.Parent().(protoreflect.FileDescriptor); file {
				keep[d.FullName()] = true
			}
		}
	})
	home := m.desc.ParentFile().Path()
	var set descriptorpb.FileDescriptorSet
	for _, path := range m.known.closure(home) {
		text := m.known.texts[path]
		pruned := &descriptorpb.FileDescriptorProto{
			Name: text.Name, Package: text.Package, Dependency: text.Dependency,
			PublicDependency: text.PublicDependency,
			Options:          text.Options, Syntax: text.Syntax, Edition: text.Edition,
		}
		for _, message := range text.GetMessageType() {
			if anything || keep[protoreflect.FullName(qualified(text, message.GetName()))] {
				pruned.MessageType = append(pruned.MessageType, message)
			}
		}
		for _, enum := range text.GetEnumType() {
			if anything || keep[protoreflect.FullName(qualified(text, enum.GetName()))] {
				pruned.EnumType = append(pruned.EnumType, enum)
			}
		}
		if path == home {
			pruned.Service = ownService(text, m)
		}
		set.File = append(set.File, pruned)
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(&set)
	if err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "schema of %s: %s", m.Name(), plain(err))
	}
	data = protowire.AppendString(protowire.AppendTag(data, pathField, protowire.BytesType), m.Path)
	if len(data) > maxMethod {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"the schema of %s has %d bytes, and at most %d are taken: give .proto files with what it needs only",
			m.Name(), len(data), maxMethod)
	}
	return data, nil
}

// ownService is the service of a method with that method alone.
func ownService(text *descriptorpb.FileDescriptorProto, m *Method) []*descriptorpb.ServiceDescriptorProto {
	for _, service := range text.GetService() {
		if qualified(text, service.GetName()) != m.Service() {
			continue
		}
		for _, method := range service.GetMethod() {
			if method.GetName() == string(m.desc.Name()) {
				return []*descriptorpb.ServiceDescriptorProto{{
					Name:   service.Name,
					Method: []*descriptorpb.MethodDescriptorProto{method},
				}}
			}
		}
	}
	return nil
}

// closure returns a file and all that it imports by way of others, as far as they are known.
func (k *known) closure(home string) []string {
	paths, seen := []string{home}, map[string]bool{home: true}
	for i := 0; i < len(paths); i++ { // paths grows in the loop
		for _, path := range k.texts[paths[i]].GetDependency() {
			if !seen[path] && k.texts[path] != nil {
				seen[path] = true
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// ParseMethod reads what [Method.Marshal] wrote.
func ParseMethod(data []byte) (*Method, error) {
	if len(data) > maxMethod {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "schema of a method: more than %d bytes", maxMethod)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(data, &set); err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "schema of a method: %s", plain(err))
	}
	if len(set.GetFile()) > maxFiles {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "schema of a method: more than %d files", maxFiles)
	}
	path := ""
	for rest := []byte(set.ProtoReflect().GetUnknown()); len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			break
		}
		rest = rest[n:]
		if n = protowire.ConsumeFieldValue(number, kind, rest); n < 0 {
			break
		}
		if number == pathField && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(rest)
			path = string(value)
		}
		rest = rest[n:]
	}
	s, err := build(set.GetFile(), nil)
	if err != nil {
		return nil, behind(err, "schema of a method: ")
	}
	for _, m := range s.methods {
		if m.Path == path {
			return m, nil
		}
	}
	return nil, wirelab.Errorf(wirelab.InvalidArgument,
		"schema of a method: it does not have the method %.100q that it names", path)
}
