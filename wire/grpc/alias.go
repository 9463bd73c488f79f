package grpc

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Alias is another full name of a service of Protocol Buffers, for clients that
// call the same methods with the same messages under that name.
type Alias struct {
	Name string // such as "v1.RouteGuide"
	Of   string // the full name in the schema
	// Methods are the schema's names of the methods, by their names here. A
	// method that is not in it is not served. nil: the names are the same.
	Methods map[string]string
}

// Describe returns the description by which grpc-go serves the alias, from that
// of the service.
func (a Alias) Describe(of *grpc.ServiceDesc) *grpc.ServiceDesc {
	d := &grpc.ServiceDesc{ServiceName: a.Name, HandlerType: of.HandlerType, Metadata: a.file()}
	for _, m := range of.Methods {
		for _, name := range a.names(m.MethodName) {
			m.MethodName = name
			d.Methods = append(d.Methods, m)
		}
	}
	for _, s := range of.Streams {
		for _, name := range a.names(s.StreamName) {
			s.StreamName = name
			d.Streams = append(d.Streams, s)
		}
	}
	return d
}

// names returns the names here of a method of the schema.
func (a Alias) names(method string) []string {
	if a.Methods == nil {
		return []string{method}
	}
	var all []string
	for here, there := range a.Methods {
		if there == method {
			all = append(all, here)
		}
	}
	slices.Sort(all)
	return all
}

// Paths returns the paths here of a path of the service, none if it is of another.
func (a Alias) Paths(path string) []string {
	service, method, ok := splitPath(path)
	if !ok || service != a.Of {
		return nil
	}
	all := a.names(method)
	for i, name := range all {
		all[i] = "/" + a.Name + "/" + name
	}
	return all
}

// Handler returns the handler of the alias, whose calls next answers under the
// service's own paths. Serve it at the path /Name/.
func (a Alias) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, method, ok := splitPath(r.URL.Path)
		if ok && a.Methods != nil {
			method, ok = a.Methods[method]
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		inner := *r
		inner.URL = new(url.URL)
		*inner.URL = *r.URL
		inner.URL.Path, inner.URL.RawPath = "/"+a.Of+"/"+method, ""
		next.ServeHTTP(w, &inner)
	})
}

// file describes the alias for reflection. It panics if the schema is not
// linked into the program, or lacks a method: mistakes in the source.
func (a Alias) file() protoreflect.FileDescriptor {
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(a.Of))
	if err != nil {
		panic(fmt.Sprintf("alias %s of %s: %v", a.Name, a.Of, err))
	}
	of, ok := found.(protoreflect.ServiceDescriptor)
	if !ok {
		panic(fmt.Sprintf("alias %s of %s, which is no service", a.Name, a.Of))
	}
	full := protoreflect.FullName(a.Name)
	file := &descriptorpb.FileDescriptorProto{Name: proto.String(a.Name + ".proto"), Syntax: proto.String("proto3")}
	if parent := full.Parent(); parent != "" {
		file.Package = proto.String(string(parent))
	}
	service := &descriptorpb.ServiceDescriptorProto{Name: proto.String(string(full.Name()))}
	methods := of.Methods()
	for i := range methods.Len() {
		method := methods.Get(i)
		for _, message := range []protoreflect.MessageDescriptor{method.Input(), method.Output()} {
			if path := message.ParentFile().Path(); !slices.Contains(file.Dependency, path) {
				file.Dependency = append(file.Dependency, path)
			}
		}
		for _, name := range a.names(string(method.Name())) {
			renamed := protodesc.ToMethodDescriptorProto(method)
			renamed.Name = proto.String(name)
			service.Method = append(service.Method, renamed)
		}
	}
	file.Service = []*descriptorpb.ServiceDescriptorProto{service}
	made, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		panic(fmt.Sprintf("alias %s of %s: %v", a.Name, a.Of, err))
	}
	return made
}

// splitPath returns the service and the method of a call's path.
func splitPath(path string) (service, method string, ok bool) {
	rest, absolute := strings.CutPrefix(path, "/")
	service, method, ok = strings.Cut(rest, "/")
	return service, method, absolute && ok
}

// resolver finds the descriptors of aliases, and then those of the program.
type resolver struct{ aliases protoregistry.Files }

var _ protodesc.Resolver = (*resolver)(nil)

// newResolver returns a resolver of the aliases' files. It panics on an alias
// that is there twice, a mistake in the source.
func newResolver(files ...protoreflect.FileDescriptor) *resolver {
	r := new(resolver)
	for _, file := range files {
		if err := r.aliases.RegisterFile(file); err != nil {
			panic(err.Error())
		}
	}
	return r
}

// FindFileByPath implements [protodesc.Resolver].
func (r *resolver) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if file, err := r.aliases.FindFileByPath(path); err == nil {
		return file, nil
	}
	return protoregistry.GlobalFiles.FindFileByPath(path)
}

// FindDescriptorByName implements [protodesc.Resolver].
func (r *resolver) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if found, err := r.aliases.FindDescriptorByName(name); err == nil {
		return found, nil
	}
	return protoregistry.GlobalFiles.FindDescriptorByName(name)
}
