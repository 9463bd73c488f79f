package grpccall

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"connectrpc.com/connect"

	wireconnect "wirelab/wire/connect"
)

// RawStub returns a stub that speaks gRPC by connect-go, through a client of HTTP: the raw driver's
// transport, or one of [wireconnect.Dial]. url is that of the server, such as "http://127.0.0.1:9000".
//
// As every call sends all it has before it reads, a stub is also what a raw driver can learn from and
// replay to, whatever the kind of the call.
func RawStub(client connect.HTTPClient, url string) Stub {
	return &connectStub{client: client, url: strings.TrimSuffix(url, "/"), calls: map[string]*call{}}
}

type call = connect.Client[message, []byte]

type connectStub struct {
	client connect.HTTPClient
	url    string

	mu    sync.RWMutex
	calls map[string]*call // by path
}

// callsMax bounds the methods of a stub that are remembered.
const callsMax = 1024

func (s *connectStub) call(path string) *call {
	s.mu.RLock()
	c := s.calls[path]
	s.mu.RUnlock()
	if c != nil {
		return c
	}
	speak := append(wireconnect.ClientOptions(), connect.WithGRPC(), connect.WithCodec(connectCodec{}))
	c = connect.NewClient[message, []byte](s.client, s.url+path, speak...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) < callsMax {
		s.calls[path] = c
	}
	return c
}

// connectCodec passes bytes under the name of Protocol Buffers, whose content type is the usual one.
type connectCodec struct{}

var _ connect.Codec = connectCodec{}

// Name implements [connect.Codec].
func (connectCodec) Name() string { return "proto" }

// Marshal implements [connect.Codec].
func (connectCodec) Marshal(v any) ([]byte, error) {
	m, ok := v.(*message)
	if !ok {
		return nil, fmt.Errorf("%T is no message of bytes", v)
	}
	// connect-go puts what it is given back into a pool of buffers.
	return append(make([]byte, 0, len(m.data)), m.data...), nil
}

// Unmarshal implements [connect.Codec]. The bytes are connect-go's own, and used again.
func (connectCodec) Unmarshal(data []byte, v any) error {
	room, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("%T is no room for bytes", v)
	}
	*room = append((*room)[:0], data...)
	return nil
}

// Do implements [Stub].
func (s *connectStub) Do(ctx context.Context, r *Request, reply *Reply) error {
	reply.reset()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := s.call(r.method.Path)
	switch {
	case !r.method.ClientStreaming && !r.method.ServerStreaming:
		ask := connect.NewRequest(&r.messages[0])
		r.setHeader(ask.Header())
		got, err := c.CallUnary(ctx, ask)
		if err != nil {
			return reply.failed(err)
		}
		reply.told(got.Header(), got.Trailer())
		return reply.take(*got.Msg)
	case !r.method.ClientStreaming:
		ask := connect.NewRequest(&r.messages[0])
		r.setHeader(ask.Header())
		in, err := c.CallServerStream(ctx, ask)
		if err != nil {
			return reply.failed(err)
		}
		defer func() { _ = in.Close() }()
		for in.Receive() {
			if err := reply.take(*in.Msg()); err != nil {
				return err
			}
		}
		reply.told(in.ResponseHeader(), in.ResponseTrailer())
		if err := in.Err(); err != nil {
			return reply.failed(err)
		}
		return nil
	case !r.method.ServerStreaming:
		return s.clientStream(c.CallClientStream(ctx), r, reply)
	}
	return s.bidi(c.CallBidiStream(ctx), cancel, r, reply)
}

func (s *connectStub) clientStream(
	out *connect.ClientStreamForClient[message, []byte], r *Request, reply *Reply,
) error {
	r.setHeader(out.RequestHeader())
	for i := range r.messages {
		if err := out.Send(&r.messages[i]); err != nil {
			break // the call has ended; its error is reported below
		}
	}
	got, err := out.CloseAndReceive()
	if err != nil {
		return reply.failed(err)
	}
	reply.told(got.Header(), got.Trailer())
	return reply.take(*got.Msg)
}

func (s *connectStub) bidi(
	both *connect.BidiStreamForClient[message, []byte], cancel context.CancelFunc, r *Request, reply *Reply,
) error {
	r.setHeader(both.RequestHeader())
	var sending sync.WaitGroup
	sending.Go(func() { // a server may wait for us to read before it takes more
		for i := range r.messages {
			if both.Send(&r.messages[i]) != nil {
				break // the call is over, and who receives learns why
			}
		}
		_ = both.CloseRequest() // see above
	})
	defer func() {
		cancel() // else a server that takes no more would keep the sender
		_ = both.CloseResponse()
		sending.Wait()
	}()
	for {
		got, err := both.Receive()
		switch {
		case errors.Is(err, io.EOF):
			reply.told(both.ResponseHeader(), both.ResponseTrailer())
			return nil
		case err != nil:
			return reply.failed(err)
		}
		if err := reply.take(*got); err != nil {
			return err
		}
	}
}

// take adds a message that connect-go has allocated.
func (r *Reply) take(message []byte) error {
	r.Messages = append(r.Messages, message)
	return r.count()
}

// told keeps headers and trailers if the caller wants them.
func (r *Reply) told(header, trailer http.Header) {
	if r.Want {
		r.Header, r.Trailer = fieldsOf(header), fieldsOf(trailer)
	}
}

// failed notes the status and the metadata of an error of connect-go and returns the error.
func (r *Reply) failed(err error) error {
	r.Status = int(connect.CodeOf(err))
	var coded *connect.Error
	if r.Want && errors.As(err, &coded) {
		r.Trailer = fieldsOf(coded.Meta())
	}
	return wireconnect.Decode(err)
}

// setHeader adds the metadata.
func (r *Request) setHeader(h http.Header) {
	for name, values := range r.outgoing {
		for _, v := range values {
			if strings.HasSuffix(name, "-bin") {
				v = base64.RawStdEncoding.EncodeToString([]byte(v))
			}
			h.Add(name, v)
		}
	}
}
