package grpcschema

import (
	"context"
	"errors"
	"io"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"wirelab"
	wiregrpc "wirelab/wire/grpc"
)

// maxServices bounds the services that a server may list.
const maxServices = 1024

// versions are the names that reflection goes by, the newest first. The messages of both are the same bytes.
var versions = []string{ // read only
	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
}

// Reflect asks a server what it serves, by server reflection v1 or, where it has only that, v1alpha. md is
// sent with the call; it may be nil. The time that it may take is ctx's.
func Reflect(ctx context.Context, conn grpc.ClientConnInterface, md metadata.MD) (*Schema, error) {
	if md != nil {
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	for _, path := range versions {
		s, err := reflect(ctx, conn, path)
		if err == nil || wirelab.CodeOf(err) != wirelab.Unimplemented {
			return s, err
		}
	}
	return nil, wirelab.Errorf(wirelab.Unimplemented,
		"the server does not offer reflection: switch it on there, or give its .proto files or a protoset")
}

// reflect asks by one version.
func reflect(ctx context.Context, conn grpc.ClientConnInterface, path string) (*Schema, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream, whatever the server does
	call, err := conn.NewStream(ctx, &reflection.ServerReflection_ServiceDesc.Streams[0], path,
		grpc.MaxCallRecvMsgSize(maxBytes))
	if err != nil {
		return nil, wiregrpc.Decode(err)
	}
	q := &inquiry{call: call, texts: map[string]*descriptorpb.FileDescriptorProto{}, missing: map[string]error{}}
	services, err := q.list()
	if err != nil {
		return nil, err
	}
	for _, service := range services {
		if err := q.service(service); err != nil {
			return nil, err
		}
	}
	if err := q.imports(); err != nil {
		return nil, err
	}
	_ = call.CloseSend() // the answers are here
	return q.schema(services)
}

// inquiry is a stream of questions and answers.
type inquiry struct {
	call    grpc.ClientStream
	order   []string // of texts
	texts   map[string]*descriptorpb.FileDescriptorProto
	missing map[string]error // services that the server does not describe
	bytes   int
}

// ask sends a question and returns its answer. The error is that of the call; a refusal is in the answer.
func (q *inquiry) ask(question *reflection.ServerReflectionRequest) (*reflection.ServerReflectionResponse, error) {
	if err := q.call.SendMsg(question); err != nil && !errors.Is(err, io.EOF) {
		return nil, wiregrpc.Decode(err)
	}
	answer := new(reflection.ServerReflectionResponse)
	err := q.call.RecvMsg(answer)
	if errors.Is(err, io.EOF) {
		return nil, wirelab.Caused(wirelab.BadProtocol, wirelab.Unavailable,
			"the server's reflection ended before its answer; give .proto files or a protoset instead")
	}
	if err != nil {
		return nil, wiregrpc.Decode(err)
	}
	if q.bytes += proto.Size(answer); q.bytes > maxBytes {
		return nil, wirelab.Errorf(wirelab.ResourceExhausted,
			"the server's reflection says more than %d bytes; give .proto files or a protoset of the methods to call",
			maxBytes)
	}
	return answer, nil
}

// list returns the names of services.
func (q *inquiry) list() ([]string, error) {
	answer, err := q.ask(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_ListServices{ListServices: "*"},
	})
	if err != nil {
		return nil, err
	}
	if e := answer.GetErrorResponse(); e != nil {
		return nil, wirelab.Errorf(wirelab.Unavailable,
			"the server's reflection does not list services: %.200q; give .proto files or a protoset instead",
			e.GetErrorMessage())
	}
	var names []string
	for _, s := range answer.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case len(names) == 0:
		return nil, wirelab.Errorf(wirelab.Unavailable,
			"the server's reflection lists no service; give .proto files or a protoset instead")
	case len(names) > maxServices:
		return nil, wirelab.Errorf(wirelab.ResourceExhausted, "the server's reflection lists more than %d services",
			maxServices)
	}
	return names, nil
}

// service fetches the files of a service.
func (q *inquiry) service(name string) error {
	answer, err := q.ask(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name},
	})
	if err != nil {
		return err
	}
	if e := answer.GetErrorResponse(); e != nil {
		q.missing[name] = wirelab.Errorf(wirelab.InvalidArgument,
			"the server's reflection does not describe it: %.200q",
			e.GetErrorMessage())
		return nil
	}
	return q.take(answer)
}

// take keeps the files of an answer.
func (q *inquiry) take(answer *reflection.ServerReflectionResponse) error {
	for _, data := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
		text := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(data, text); err != nil {
			return wirelab.Caused(wirelab.BadProtocol, wirelab.Unavailable,
				"the server's reflection sent an invalid descriptor: %s", plain(err))
		}
		if q.texts[text.GetName()] != nil {
			continue
		}
		if len(q.order) == maxFiles {
			return wirelab.Errorf(wirelab.ResourceExhausted, "the server's reflection has more than %d files", maxFiles)
		}
		q.order, q.texts[text.GetName()] = append(q.order, text.GetName()), text
	}
	return nil
}

// imports fetches what files import and no answer has brought. What the server does
// not have is left out: it may be options alone.
func (q *inquiry) imports() error {
	asked := map[string]bool{}
	for i := 0; ; i++ {
		if i == len(q.order) { // which grows in the loop
			return nil
		}
		for _, path := range q.texts[q.order[i]].GetDependency() {
			if q.texts[path] != nil || asked[path] {
				continue
			}
			if asked[path] = true; len(asked) > maxFiles {
				return wirelab.Errorf(wirelab.ResourceExhausted, "the server's files import more than %d others",
					maxFiles)
			}
			answer, err := q.ask(&reflection.ServerReflectionRequest{
				MessageRequest: &reflection.ServerReflectionRequest_FileByFilename{FileByFilename: path},
			})
			if err != nil {
				return err
			}
			if err := q.take(answer); err != nil {
				return err
			}
		}
	}
}

// schema makes one of what was answered.
func (q *inquiry) schema(services []string) (*Schema, error) {
	texts := make([]*descriptorpb.FileDescriptorProto, len(q.order))
	for i, name := range q.order {
		texts[i] = q.texts[name]
	}
	described := slices.DeleteFunc(services, func(name string) bool { return q.missing[name] != nil })
	s, err := build(texts, described)
	if err != nil {
		return nil, behind(err, "the server's reflection: ")
	}
	for name, why := range q.missing {
		s.broken[name] = why
	}
	if len(s.services) == 0 {
		for name, why := range q.missing {
			return nil, wirelab.Errorf(wirelab.Unavailable,
				"%s cannot be called: %s; give .proto files or a protoset instead",
				name, said(why))
		}
	}
	return s, nil
}
