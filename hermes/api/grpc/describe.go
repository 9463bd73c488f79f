package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes/broker"
	"wirelab/hermes/frame"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/status"
)

// method answers a unary call; stream one that streams. The generated handlers are not used, since they would
// decode all messages, and answer Internal to input that is malformed.
type (
	method func(d *api, ctx context.Context, receive func(any) error) (any, error)
	stream func(d *api, call grpc.ServerStream) error
)

// describe is a generated service with handlers of our own. It panics where a
// method has none, which is a mistake in the source.
func describe(generated *grpc.ServiceDesc, methods map[string]method, streams map[string]stream) *grpc.ServiceDesc {
	ours := &grpc.ServiceDesc{
		ServiceName: generated.ServiceName, HandlerType: (*any)(nil),
		Metadata: generated.Metadata,
	}
	for _, m := range generated.Methods {
		answer, ok := methods[m.MethodName]
		if !ok {
			panic(fmt.Sprintf("%s.%s has no handler", generated.ServiceName, m.MethodName))
		}
		// As a stream that is read once: grpc-go reads all of a unary call first, and of a request that is too large it
		// would answer what it makes of the rest.
		ours.Streams = append(ours.Streams, grpc.StreamDesc{
			StreamName: m.MethodName, ClientStreams: true,
			Handler: handler("/"+generated.ServiceName+"/"+m.MethodName, answer),
		})
	}
	for _, s := range generated.Streams {
		answer, ok := streams[s.StreamName]
		if !ok {
			panic(fmt.Sprintf("%s.%s has no handler", generated.ServiceName, s.StreamName))
		}
		s.Handler = func(server any, call grpc.ServerStream) error {
			d, ok := server.(*api)
			if !ok {
				return wiregrpc.Encode(fmt.Errorf("served by %T", server))
			}
			if err := call.SendHeader(d.hinted()); err != nil {
				return err
			}
			return encode(answer(d, bounded{call}))
		}
		ours.Streams = append(ours.Streams, s)
	}
	return ours
}

// bounded is a stream whose messages are within the limit.
type bounded struct{ grpc.ServerStream }

// RecvMsg implements [grpc.ServerStream].
func (b bounded) RecvMsg(m any) error { return within(m, b.ServerStream.RecvMsg(m)) }

// within refuses a message that was received and is beyond the limit, which the meter made shorter.
func within(m any, err error) error {
	if request, ok := m.(*frame.Raw); ok && err == nil && len(*request) > frame.Limit {
		return wiregrpc.Encode(status.Errorf(status.InvalidArgument,
			"the request has more than %d bytes, which are all that are allowed", frame.Limit))
	}
	return err
}

// encode is an error as a status: by the table, but for what has a code of gRPC's own.
func encode(err error) error {
	if broker.Reason(err) == broker.OutOfRange {
		return grpcstatus.Error(codes.OutOfRange, status.Public(err).Message)
	}
	return wiregrpc.Encode(err)
}

// handler answers a unary call.
func handler(path string, answer method) grpc.StreamHandler {
	return func(server any, call grpc.ServerStream) error {
		d, ok := server.(*api)
		if !ok {
			return wiregrpc.Encode(fmt.Errorf("%s is served by %T", path, server))
		}
		if header := d.hinted(); header != nil {
			if err := call.SetHeader(header); err != nil {
				return err
			}
		}
		reply, err := answer(d, call.Context(), func(m any) error {
			err := bounded{call}.RecvMsg(m)
			if errors.Is(err, io.EOF) {
				return wiregrpc.Encode(status.Errorf(status.InvalidArgument, "the call ended without a request"))
			}
			return err
		})
		if err != nil {
			return encode(err)
		}
		return call.SendMsg(reply)
	}
}

// whole answers a call whose request is a generated message.
func whole[Request any, P interface {
	*Request
	proto.Message
}, Reply any](answer func(*api, context.Context, P) (Reply, error)) method {
	return func(d *api, ctx context.Context, receive func(any) error) (any, error) {
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
func raw(answer func(*api, context.Context, frame.Raw) (any, error)) method {
	return func(d *api, ctx context.Context, receive func(any) error) (any, error) {
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
	return status.Errorf(status.InvalidArgument, "the request is malformed: %v", err)
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
