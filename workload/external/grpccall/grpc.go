package grpccall

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	wiregrpc "wirelab/wire/grpc"
)

// message is a message to send, in the forms that both libraries take without a copy.
type message struct {
	data   []byte
	slices mem.BufferSlice
}

func newMessage(data []byte) message { return message{data, mem.BufferSlice{mem.SliceBuffer(data)}} }

// codec passes bytes. Its name is that of no encoding, so that calls are of the usual content type.
type codec struct{}

var _ encoding.CodecV2 = codec{}

// Name implements [encoding.CodecV2].
func (codec) Name() string { return "" }

// Marshal implements [encoding.CodecV2].
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*message)
	if !ok {
		return nil, fmt.Errorf("%T is no message of bytes", v)
	}
	return m.slices, nil
}

// Unmarshal implements [encoding.CodecV2]. It overwrites the buffer it is given.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	room, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("%T is no room for bytes", v)
	}
	n := data.Len()
	*room = slices.Grow((*room)[:0], n)[:n]
	data.CopyTo(*room)
	return nil
}

// options are what every call is made with.
var options = []grpc.CallOption{ // read only
	grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage),
}

// GRPCStub returns a stub over a connection of grpc-go.
func GRPCStub(conn grpc.ClientConnInterface) Stub { return grpcStub{conn} }

type grpcStub struct{ conn grpc.ClientConnInterface }

// Do implements [Stub].
func (s grpcStub) Do(ctx context.Context, r *Request, reply *Reply) error {
	reply.reset()
	if r.outgoing != nil {
		ctx = metadata.NewOutgoingContext(ctx, r.outgoing)
	}
	with := options
	if reply.Want {
		var header, trailer metadata.MD
		with = append(slices.Clone(options), grpc.Header(&header), grpc.Trailer(&trailer))
		defer func() { reply.Header, reply.Trailer = fieldsOf(readable(header)), fieldsOf(readable(trailer)) }()
	}
	if !r.method.ClientStreaming && !r.method.ServerStreaming {
		err := s.conn.Invoke(ctx, r.method.Path, &r.messages[0], reply.next(), with...)
		if err != nil {
			reply.Messages = reply.Messages[:0]
			return reply.refused(err)
		}
		return reply.count()
	}
	return s.stream(ctx, r, reply, with)
}

// stream performs a streaming call. Another goroutine sends the requests: a server that replies before it has read
// them all would otherwise wait for us to read while we wait for it.
func (s grpcStub) stream(ctx context.Context, r *Request, reply *Reply, with []grpc.CallOption) error {
	ctx, cancel := context.WithCancel(ctx)
	call, err := s.conn.NewStream(ctx, r.desc, r.method.Path, with...)
	if err != nil {
		cancel()
		return reply.refused(err)
	}
	send := func() {
		for i := range r.messages {
			if call.SendMsg(&r.messages[i]) != nil {
				return // the call is over, and who receives learns why
			}
		}
		_ = call.CloseSend() // see above
	}
	sent := make(chan struct{})
	if len(r.messages) == 1 && len(r.messages[0].data) < direct {
		send()
		close(sent)
	} else {
		go func() {
			defer close(sent)
			send()
		}()
	}
	defer func() {
		cancel()
		<-sent
	}()
	for {
		err := call.RecvMsg(reply.next())
		if err != nil {
			reply.Messages = reply.Messages[:len(reply.Messages)-1]
			if errors.Is(err, io.EOF) {
				return nil
			}
			return reply.refused(err)
		}
		if err := reply.count(); err != nil {
			return err
		}
		if !r.method.ServerStreaming {
			return nil // grpc-go has read the status with it
		}
	}
}

// refused notes the status of an error of grpc-go and returns the error.
func (r *Reply) refused(err error) error {
	r.Status = int(status.Code(err))
	return wiregrpc.Decode(err)
}

// direct is the size in bytes below which a single message is sent without a goroutine: any
// server's window has room for it before the first reply.
const direct = 16 << 10

// readable returns metadata with binary values in base64.
func readable(md metadata.MD) metadata.MD {
	for name, values := range md {
		if !strings.HasSuffix(name, "-bin") {
			continue
		}
		for i, v := range values {
			values[i] = base64.RawStdEncoding.EncodeToString([]byte(v))
		}
	}
	return md
}
