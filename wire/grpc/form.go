package grpc

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"

	"wirelab/wire/codec"
	"wirelab/wire/status"
)

// MediaType is the content type of calls whose messages are in the encoding of
// a subtype, such as "avro"; "" is that of calls which name none.
func MediaType(subtype string) string {
	if subtype == "" {
		return "application/grpc"
	}
	return "application/grpc+" + subtype
}

// messageCodec is grpc-go's codec for messages that know their own encoding. Those of
// health, which have none, stay in Protocol Buffers.
type messageCodec struct {
	subtype string
	scratch *sync.Pool // of *[]byte, in which messages are written
}

var _ encoding.CodecV2 = messageCodec{}

func newCodec(subtype string) messageCodec {
	return messageCodec{subtype: subtype, scratch: &sync.Pool{New: func() any { return new([]byte) }}}
}

// Name implements [encoding.CodecV2].
func (c messageCodec) Name() string { return c.subtype }

// Marshal implements [encoding.CodecV2]. How long a message will be is known
// when it is written, so it is written in a buffer that stays, and copied into
// one of grpc-go's of the right size.
func (c messageCodec) Marshal(v any) (mem.BufferSlice, error) {
	carrier, ok := v.(codec.Carrier)
	if !ok {
		return encoding.GetCodecV2(proto.Name).Marshal(v)
	}
	scratch, ok := c.scratch.Get().(*[]byte)
	if !ok {
		scratch = new([]byte)
	}
	defer c.scratch.Put(scratch)
	message, err := carrier.Append((*scratch)[:0])
	if err != nil {
		return nil, err
	}
	*scratch = message
	return mem.BufferSlice{mem.Copy(message, mem.DefaultBufferPool())}, nil
}

// Unmarshal implements [encoding.CodecV2].
func (c messageCodec) Unmarshal(data mem.BufferSlice, v any) error {
	carrier, ok := v.(codec.Carrier)
	if !ok {
		return encoding.GetCodecV2(proto.Name).Unmarshal(data, v)
	}
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	carrier.Take(whole.ReadOnlyData())
	return nil
}

// Method is a method of a service S whose messages are in an encoding of their
// own. Make one with [Unary] or [ServerStream].
type Method[S any] struct {
	name   string
	answer func(ctx context.Context, service S, receive func(any) error) (any, error)
	stream func(service S, to grpc.ServerStream) error // instead of answer
}

// Unary is the unary method that call answers.
func Unary[S, Req, Rep any](
	name string, request codec.Form[Req], reply codec.Form[Rep], call func(S, context.Context, Req) (Rep, error),
) Method[S] {
	return Method[S]{name: name, answer: func(ctx context.Context, service S, receive func(any) error) (any, error) {
		message := request.Empty()
		if err := receive(message); err != nil {
			return nil, err
		}
		req, err := message.Request()
		if err != nil {
			return nil, Encode(err)
		}
		rep, err := call(service, ctx, req)
		if err != nil {
			return nil, Encode(err)
		}
		return reply.Of(rep), nil
	}}
}

// Describe returns the description by which grpc-go serves a service of that
// full name in the encoding of a subtype; serve it by [Serve] with a subtype,
// which may be another. A call in another encoding is InvalidArgument.
func Describe[S any](service, subtype string, methods ...Method[S]) *grpc.ServiceDesc {
	d := &grpc.ServiceDesc{ServiceName: service, HandlerType: (*S)(nil)}
	for _, m := range methods {
		if m.stream != nil {
			d.Streams = append(d.Streams, m.describeStream(service, subtype))
			continue
		}
		info := "/" + service + "/" + m.name
		d.Methods = append(d.Methods, grpc.MethodDesc{
			MethodName: m.name,
			Handler: func(
				server any, ctx context.Context, receive func(any) error, intercept grpc.UnaryServerInterceptor,
			) (any, error) {
				typed, ok := server.(S)
				if !ok {
					return nil, Encode(fmt.Errorf("%s is served by %T", service, server))
				}
				handle := func(ctx context.Context, _ any) (any, error) {
					if err := spoken(ctx, subtype); err != nil {
						return nil, Encode(err)
					}
					return m.answer(ctx, typed, receive)
				}
				if intercept == nil {
					return handle(ctx, nil)
				}
				// The interceptor is around the decoding too: what panics there
				// is the call's failure, not the server's end.
				return intercept(ctx, nil, &grpc.UnaryServerInfo{Server: server, FullMethod: info}, handle)
			},
		})
	}
	return d
}

// spoken returns an error unless the call is in the encoding of subtype:
// grpc-go would take any for the one that it was told.
func spoken(ctx context.Context, subtype string) error {
	said := strings.Join(metadata.ValueFromIncomingContext(ctx, "content-type"), ", ")
	if want := MediaType(subtype); said != want {
		return status.Errorf(status.InvalidArgument, "the call is in %q; this service speaks %s", said, want)
	}
	return nil
}

// CallUnary returns the stub of a unary method, by its service's full name and
// its own, in the encoding of a subtype.
func CallUnary[Req, Rep any](
	conn *grpc.ClientConn, service, method, subtype string, request codec.Form[Req], reply codec.Form[Rep],
) func(context.Context, Req) (Rep, error) {
	path, speak := "/"+service+"/"+method, grpc.ForceCodecV2(newCodec(subtype))
	return func(ctx context.Context, req Req) (rep Rep, err error) {
		sent, received := request.Of(req), reply.Empty()
		if err := conn.Invoke(ctx, path, sent, received, speak); err != nil {
			return rep, codec.Ours(sent.Sent(), Decode(err))
		}
		return received.Reply()
	}
}
