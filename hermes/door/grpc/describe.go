package grpc

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"wirelab"
	"wirelab/hermes/broker"
	"wirelab/hermes/frame"
	wiregrpc "wirelab/wire/grpc"
)

// method answers a unary call; stream one that streams. The generated handlers are not
// used, since they would decode all messages, and answer Internal to what is malformed.
type (
	method func(d *door, ctx context.Context, receive func(any) error) (any, error)
	stream func(d *door, call grpc.ServerStream) error
)

// describe is a generated service with handlers of our own. It panics where a
// method has none, which is a mistake in the source.
func describe(generated *grpc.ServiceDesc, methods map[string]method, streams map[string]stream) *grpc.ServiceDesc {
	ours := &grpc.ServiceDesc{ServiceName: generated.ServiceName, HandlerType: (*any)(nil), Metadata: generated.Metadata}
	for _, m := range generated.Methods {
		answer, ok := methods[m.MethodName]
		if !ok {
			panic(fmt.Sprintf("%s.%s has no handler", generated.ServiceName, m.MethodName))
		}
		ours.Methods = append(ours.Methods, grpc.MethodDesc{
			MethodName: m.MethodName,
			Handler:    handler("/"+generated.ServiceName+"/"+m.MethodName, answer),
		})
	}
	for _, s := range generated.Streams {
		answer, ok := streams[s.StreamName]
		if !ok {
			panic(fmt.Sprintf("%s.%s has no handler", generated.ServiceName, s.StreamName))
		}
		s.Handler = func(server any, call grpc.ServerStream) error {
			d, ok := server.(*door)
			if !ok {
				return wiregrpc.Encode(fmt.Errorf("served by %T", server))
			}
			if err := call.SendHeader(d.hinted()); err != nil {
				return err
			}
			return encode(answer(d, call))
		}
		ours.Streams = append(ours.Streams, s)
	}
	return ours
}

// encode is an error as a status: by the table, but for what has a code of gRPC's own.
func encode(err error) error {
	if broker.Reason(err) == broker.OutOfRange {
		return status.Error(codes.OutOfRange, wirelab.Public(err).Message)
	}
	return wiregrpc.Encode(err)
}

func handler(path string, answer method) grpc.MethodHandler {
	return func(server any, ctx context.Context, receive func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
		handle := func(ctx context.Context, _ any) (any, error) {
			d, ok := server.(*door)
			if !ok {
				return nil, wiregrpc.Encode(fmt.Errorf("%s is served by %T", path, server))
			}
			if header := d.hinted(); header != nil {
				if err := grpc.SetHeader(ctx, header); err != nil {
					return nil, err
				}
			}
			reply, err := answer(d, ctx, receive)
			if err != nil {
				return nil, encode(err)
			}
			return reply, nil
		}
		if intercept == nil {
			return handle(ctx, nil)
		}
		return intercept(ctx, nil, &grpc.UnaryServerInfo{Server: server, FullMethod: path}, handle)
	}
}

// whole answers a call whose request is a generated message.
func whole[Request any, P interface {
	*Request
	proto.Message
}, Reply any](answer func(*door, context.Context, P) (Reply, error)) method {
	return func(d *door, ctx context.Context, receive func(any) error) (any, error) {
		var read frame.Raw
		if err := receive(&read); err != nil {
			return nil, wiregrpc.Decode(err)
		}
		if err := d.intake.Admit(ctx.Done(), len(read)); err != nil {
			return nil, err
		}
		defer d.intake.Give(len(read))
		request := P(new(Request))
		if err := proto.Unmarshal(read, request); err != nil {
			return nil, unreadable(err) // grpc-go would say Internal
		}
		return answer(d, ctx, request)
	}
}

// raw answers a call whose request is read by package frame.
func raw(answer func(*door, context.Context, frame.Raw) (any, error)) method {
	return func(d *door, ctx context.Context, receive func(any) error) (any, error) {
		var request frame.Raw
		if err := receive(&request); err != nil {
			return nil, wiregrpc.Decode(err)
		}
		if err := d.intake.Admit(ctx.Done(), len(request)); err != nil {
			return nil, err
		}
		defer d.intake.Give(len(request))
		return answer(d, ctx, request)
	}
}

// unreadable is bytes that are no request.
func unreadable(err error) error {
	return wirelab.Errorf(wirelab.InvalidArgument, "the request is malformed: %v", err)
}

// next reads a frame of a stream, and m out of it. io.EOF is the end of the client's half.
func next(call grpc.ServerStream, m proto.Message) error {
	var request frame.Raw
	if err := call.RecvMsg(&request); err != nil {
		return received(err)
	}
	if err := proto.Unmarshal(request, m); err != nil {
		return unreadable(err)
	}
	return nil
}
