package grpcschema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	// The types that every schema may import without bringing them along.
	_ "google.golang.org/protobuf/types/known/anypb"
	_ "google.golang.org/protobuf/types/known/apipb"
	_ "google.golang.org/protobuf/types/known/durationpb"
	_ "google.golang.org/protobuf/types/known/emptypb"
	_ "google.golang.org/protobuf/types/known/fieldmaskpb"
	_ "google.golang.org/protobuf/types/known/sourcecontextpb"
	_ "google.golang.org/protobuf/types/known/structpb"
	_ "google.golang.org/protobuf/types/known/timestamppb"
	_ "google.golang.org/protobuf/types/known/typepb"
	_ "google.golang.org/protobuf/types/known/wrapperspb"

	"wirelab"
)

// The bounds of a schema.
const (
	maxBytes = 16 << 20 // of all descriptors, or of all .proto files
	maxFiles = 4096
	maxDepth = 256 // imports of imports
)

// Schema is the services of a server and the messages that they take. It does not change and is safe
// for concurrent use.
type Schema struct {
	services []Service
	methods  []*Method
	known    *known
	broken   map[string]error // services that cannot be called, by full name
}

// Service is one of a schema's.
type Service struct {
	Name string // "shop.Cart"
	// Standard reports whether it is health or reflection, which most servers have in addition to their own
	// services.
	Standard bool
	Methods  []*Method
}

// known is the descriptors of a schema, and how types of them are found.
type known struct {
	files *protoregistry.Files
	types *dynamicpb.Types
	texts map[string]*descriptorpb.FileDescriptorProto // by path
}

// Services returns the services, sorted by name, with their methods in the order of the schema.
func (s *Schema) Services() []Service { return slices.Clone(s.services) }

// Methods returns all methods, service by service.
func (s *Schema) Methods() []*Method { return slices.Clone(s.methods) }

// Broken returns the services that cannot be called, with the reason for each.
func (s *Schema) Broken() map[string]error { return maps.Clone(s.broken) }

// standard reports whether a service is one that most servers have, such as health and reflection.
func standard(service string) bool {
	return strings.HasPrefix(service, "grpc.reflection.") || strings.HasPrefix(service, "grpc.health.") ||
		strings.HasPrefix(service, "grpc.channelz.")
}

// Find returns the method of that name: "shop.Cart/AddItem", "shop.Cart.AddItem", and where no other
// method is meant "Cart/AddItem", "Cart.AddItem" or "AddItem".
func (s *Schema) Find(name string) (*Method, error) {
	wanted := strings.ReplaceAll(strings.TrimPrefix(name, "/"), "/", ".")
	var found []*Method
	for _, m := range s.methods {
		full := m.dotted()
		switch {
		case full == wanted:
			return m, nil
		case wanted != "" && strings.HasSuffix(full, "."+wanted):
			found = append(found, m)
		}
	}
	if own := slices.DeleteFunc(slices.Clone(found),
		func(m *Method) bool { return standard(m.Service()) }); len(own) > 0 {
		found = own
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) > 1 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "%.100q is the name of %d methods: say %s", name,
			len(found),
			alternatives(found))
	}
	for service, err := range s.broken {
		if strings.HasPrefix(wanted, service+".") {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "%s cannot be called: %s", service, said(err))
		}
	}
	// Both forms, so that a short name with one wrong letter is near, too.
	names := make([]string, 0, 2*len(s.methods))
	for _, m := range s.methods {
		if standard(m.Service()) {
			continue
		}
		names = append(names, m.Name())
		if !strings.ContainsAny(name, "/.") {
			names = append(names, m.Name()[strings.LastIndexByte(m.Name(), '/')+1:])
		}
	}
	if len(names) == 0 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "there is no method %.100q: the schema has no service",
			name)
	}
	return nil, wirelab.UnknownName("method", name, names)
}

// alternatives lists a few methods by their full names.
func alternatives(found []*Method) string {
	const few = 4
	var names []string
	for _, m := range found[:min(few, len(found))] {
		names = append(names, m.Name())
	}
	if len(found) > few {
		names = append(names, fmt.Sprintf("or one of %d more", len(found)-few))
	}
	return strings.Join(names, ", ")
}

// said is an error's message without its code.
func said(err error) string { return wirelab.Public(err).Message }

// builder makes descriptors of files in the order of their imports.
type builder struct {
	texts map[string]*descriptorpb.FileDescriptorProto
	done  map[string]error
	files *protoregistry.Files
}

// build makes a schema of files. Its services are those of listed, or all if listed is nil. A service with an error
// is left out, so that the others can be called; if none is left, the error is returned.
func build(texts []*descriptorpb.FileDescriptorProto, listed []string) (*Schema, error) {
	b := builder{
		texts: make(map[string]*descriptorpb.FileDescriptorProto, len(texts)),
		done:  map[string]error{}, files: new(protoregistry.Files),
	}
	for _, text := range texts {
		if _, ok := b.texts[text.GetName()]; !ok {
			b.texts[text.GetName()] = text
		}
	}
	var broken []error
	for _, text := range texts {
		if err := b.file(text.GetName(), 0); err != nil {
			broken = append(broken, err)
		}
	}
	k := &known{files: b.files, types: dynamicpb.NewTypes(b.files), texts: b.texts}
	s := &Schema{known: k, broken: map[string]error{}}
	if listed == nil {
		b.files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
			for i := range file.Services().Len() {
				listed = append(listed, string(file.Services().Get(i).FullName()))
			}
			return true
		})
		for _, text := range texts { // those of files that are broken
			if err := b.done[text.GetName()]; err != nil {
				for _, service := range text.GetService() {
					s.broken[qualified(text, service.GetName())] = err
				}
			}
		}
	}
	for _, name := range listed {
		s.add(name, broken)
	}
	slices.SortFunc(s.services, func(a, b Service) int { return cmp.Compare(a.Name, b.Name) })
	for _, service := range s.services {
		s.methods = append(s.methods, service.Methods...)
	}
	if len(s.services) == 0 && len(s.broken) > 0 {
		first := slices.Sorted(maps.Keys(s.broken))[0]
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "%s cannot be called: %s", first, said(s.broken[first]))
	}
	if len(s.services) == 0 && len(broken) > 0 {
		return nil, broken[0]
	}
	return s, nil
}

func qualified(text *descriptorpb.FileDescriptorProto, name string) string {
	if text.GetPackage() == "" {
		return name
	}
	return text.GetPackage() + "." + name
}

// file makes the descriptors of a file, after those of what it imports. A missing import is an error only
// for what uses it: many files import options alone.
func (b *builder) file(path string, depth int) (err error) {
	if err, ok := b.done[path]; ok {
		return err
	}
	text := b.texts[path]
	if strings.HasPrefix(path, "google/protobuf/") { // ours, whatever else is said of it
		if file, err := protoregistry.GlobalFiles.FindFileByPath(path); err == nil {
			text = protodesc.ToFileDescriptorProto(file)
			b.texts[path] = text
		}
	}
	if text == nil {
		return nil
	}
	b.done[path] = wirelab.Errorf(wirelab.InvalidArgument, "%s imports itself, by way of others", path)
	defer func() { b.done[path] = err }()
	if depth > maxDepth {
		return wirelab.Errorf(wirelab.InvalidArgument, "%s is imported more than %d deep", path, maxDepth)
	}
	for _, other := range text.GetDependency() {
		if err := b.file(other, depth+1); err != nil {
			return err
		}
	}
	made, err := protodesc.FileOptions{AllowUnresolvable: true}.New(text, b.files)
	if err == nil {
		err = usual(made.Messages())
	}
	if err == nil {
		err = b.files.RegisterFile(made)
	}
	if err != nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "%s: %s", cmp.Or(path, "a file without a name"), plain(err))
	}
	return nil
}

// usual returns an error if one of the messages has the name of a well-known one, and not its fields: what
// reads and writes JSON takes them for granted.
func usual(all protoreflect.MessageDescriptors) error {
	for i := range all.Len() {
		m := all.Get(i)
		if err := usual(m.Messages()); err != nil {
			return err
		}
		if !wellKnown(m) {
			continue
		}
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(m.FullName())
		known, ok := found.(protoreflect.MessageDescriptor)
		if err != nil || !ok || !sameFields(m.Fields(), known.Fields()) {
			return fmt.Errorf("it declares %s in another form than the usual one; import google/protobuf's own",
				m.FullName())
		}
	}
	return nil
}

func sameFields(a, b protoreflect.FieldDescriptors) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range b.Len() {
		want := b.Get(i)
		got := a.ByNumber(want.Number())
		if got == nil || got.Name() != want.Name() || got.Kind() != want.Kind() ||
			got.Cardinality() != want.Cardinality() ||
			got.IsMap() != want.IsMap() || (got.ContainingOneof() == nil) != (want.ContainingOneof() == nil) ||
			want.Message() != nil && !want.IsMap() && got.Message().FullName() != want.Message().FullName() {
			return false
		}
		if want.IsMap() && !sameFields(got.Message().Fields(), want.Message().Fields()) {
			return false
		}
	}
	return true
}

// add takes in a service by its full name.
func (s *Schema) add(name string, broken []error) {
	found, err := s.known.files.FindDescriptorByName(protoreflect.FullName(name))
	service, ok := found.(protoreflect.ServiceDescriptor)
	if err != nil || !ok {
		why := wirelab.Errorf(wirelab.InvalidArgument, "no file describes it")
		if len(broken) > 0 {
			why = broken[0]
		}
		if s.broken[name] == nil {
			s.broken[name] = why
		}
		return
	}
	added := Service{Name: name, Standard: standard(name)}
	for i := range service.Methods().Len() {
		m := newMethod(s.known, service.Methods().Get(i))
		if err := m.whole(); err != nil {
			s.broken[name+"."+string(m.desc.Name())] = err
			continue
		}
		added.Methods = append(added.Methods, m)
	}
	if len(added.Methods) == 0 && service.Methods().Len() > 0 {
		s.broken[name] = s.broken[name+"."+string(service.Methods().Get(0).Name())]
		return
	}
	s.services = append(s.services, added)
}

// plain is the text of an error of the protobuf library, which begins with its name and a space that
// is now of this and now of that kind.
func plain(err error) string {
	text := err.Error()
	if rest, ok := strings.CutPrefix(text, "proto:"); ok {
		text = strings.TrimLeft(rest, " \u00a0")
	}
	return strings.ReplaceAll(text, "\u00a0", " ")
}

// Protoset reads a set of descriptors, as protoc --descriptor_set_out and buf build write it. name is the file's.
func Protoset(name string, data []byte) (*Schema, error) {
	if len(data) > maxBytes {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "%s: more than %d bytes", name, maxBytes)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(data, &set); err != nil || len(set.GetFile()) == 0 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"%s: no set of descriptors; protoc --include_imports --descriptor_set_out=%s writes one", name, name)
	}
	if len(set.GetFile()) > maxFiles {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "%s: more than %d files", name, maxFiles)
	}
	s, err := build(set.GetFile(), nil)
	if err != nil {
		return nil, behind(err, name+": ")
	}
	if len(s.services) == 0 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "%s: its files have no service; give those that have one",
			name)
	}
	return s, nil
}

// behind puts a text in front of an error's message.
func behind(err error, text string) error { return wirelab.Public(err).Behind(text) }
