package grpc

import (
	"context"
	"fmt"
	"iter"

	"google.golang.org/grpc"

	"wirelab/wire/codec"
	"wirelab/wire/stream"
)

// ServerStream is the method that call answers with a stream. grpc-go writes messages at once, and waits for a
// reader that is behind.
func ServerStream[S, Req, Rep any](
	name string, request codec.Form[Req], reply codec.Form[Rep],
	call func(S, context.Context, Req) iter.Seq2[Rep, error],
) Method[S] {
	return Method[S]{name: name, stream: func(service S, to grpc.ServerStream) error {
		message := request.Empty()
		if err := to.RecvMsg(message); err != nil {
			return err
		}
		req, err := message.Request()
		if err != nil {
			return Encode(err)
		}
		for item, err := range call(service, to.Context(), req) {
			if err != nil {
				return Encode(err)
			}
			if err := to.SendMsg(reply.Of(item)); err != nil {
				return err
			}
		}
		return nil
	}}
}

// describeStream is the method of that service as grpc-go serves it. A server's
// interceptor is around the whole, the decoding too.
func (m Method[S]) describeStream(service, subtype string) grpc.StreamDesc {
	return grpc.StreamDesc{
		StreamName: m.name, ServerStreams: true,
		Handler: func(server any, to grpc.ServerStream) error {
			typed, ok := server.(S)
			if !ok {
				return Encode(fmt.Errorf("%s is served by %T", service, server))
			}
			if err := spoken(to.Context(), subtype); err != nil {
				return Encode(err)
			}
			return m.stream(typed, to)
		},
	}
}

// CallServerStream returns the stub of a method that answers with a stream, by
// its service's full name and its own, in the encoding of a subtype. Leaving
// its loop early ends the call.
func CallServerStream[Req, Rep any](
	conn *grpc.ClientConn, service, method, subtype string, request codec.Form[Req], reply codec.Form[Rep],
) func(context.Context, Req) iter.Seq2[Rep, error] {
	path, speak := "/"+service+"/"+method, grpc.ForceCodecV2(newCodec(subtype))
	described := &grpc.StreamDesc{StreamName: method, ServerStreams: true}
	return func(ctx context.Context, req Req) iter.Seq2[Rep, error] {
		return func(yield func(Rep, error) bool) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel() // which is how grpc-go learns that the call is not read on
			var none Rep
			sent := request.Of(req)
			call, err := conn.NewStream(ctx, described, path, speak)
			if err == nil {
				err = call.SendMsg(sent)
			}
			if err == nil {
				err = call.CloseSend()
			}
			if err != nil {
				yield(none, codec.Ours(sent.Sent(), Decode(err)))
				return
			}
			receive := func() (Rep, error) {
				message := reply.Empty()
				if err := call.RecvMsg(message); err != nil {
					return none, err
				}
				return message.Reply()
			}
			// A reply that cannot be read is already as the caller is to see it.
			translate := func(err error) error { return codec.Ours(err, Decode(err)) }
			stream.Items(receive, func(v Rep) Rep { return v }, translate)(yield)
		}
	}
}
