package grpccall

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"wirelab"
	"wirelab/workload/external/request"
)

// The bounds of a call.
const (
	// MaxMessage is the size in bytes of the largest message, either way.
	MaxMessage = wirelab.MessageLimit
	// MaxReply is the size in bytes of all messages of one reply, with the five bytes before each.
	MaxReply = 16 << 20
	// MaxRequest is the same of one request.
	MaxRequest = 16 << 20
)

// frameHead is the length of what stands before each message of gRPC.
const frameHead = 5

// Method is the method to call.
type Method struct {
	Path            string // "/shop.Cart/AddItem"
	ClientStreaming bool
	ServerStreaming bool
}

// Request is one call, complete. It may be performed many times, by many goroutines at once.
type Request struct {
	method   Method
	messages []message
	outgoing metadata.MD
	desc     *grpc.StreamDesc
}

// New makes a call ready. The messages must not be changed afterwards: they are sent as they are.
// Names of metadata that gRPC has itself are refused; values of names in "-bin" are in base64.
func New(method Method, fields []request.Field, messages [][]byte) (*Request, error) {
	service, name, ok := strings.Cut(strings.TrimPrefix(method.Path, "/"), "/")
	switch {
	case !ok || service == "" || name == "" || strings.ContainsAny(method.Path, " ?#") || method.Path[0] != '/':
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"method %.100q is no path of gRPC; such a path is /shop.Cart/AddItem", method.Path)
	case !method.ClientStreaming && len(messages) != 1:
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"%s takes one message, and there are %d; only a client stream takes several", method.Path, len(messages))
	}
	r := &Request{method: method, desc: &grpc.StreamDesc{
		StreamName: name, ClientStreams: method.ClientStreaming, ServerStreams: method.ServerStreaming,
	}}
	total := 0
	for i, m := range messages {
		if len(m) > MaxMessage {
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"message %d has %d bytes; a message has at most %d", i, len(m), MaxMessage)
		}
		if total += len(m) + frameHead; total > MaxRequest {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "the messages of one call have more than %d bytes",
				MaxRequest)
		}
		r.messages = append(r.messages, newMessage(m))
	}
	var err error
	r.outgoing, err = outgoing(fields)
	return r, err
}

// reserved are names that belong to gRPC or to HTTP/2 itself.
var reserved = map[string]bool{ // read only
	"te": true, "content-type": true, "user-agent": true, "host": true, "connection": true,
	"transfer-encoding": true, "content-length": true, "upgrade": true, "keep-alive": true,
}

// outgoing is the metadata of fields; nil where there is none.
func outgoing(fields []request.Field) (metadata.MD, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	md := metadata.MD{}
	for _, f := range fields {
		name := strings.ToLower(f.Name)
		switch {
		case strings.HasPrefix(name, "grpc-") || reserved[name]:
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"metadata %q belongs to gRPC itself and cannot be set; leave it out", name)
		case name == "" || strings.IndexFunc(name, notOfName) >= 0:
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"metadata %.100q: a name has letters, digits, and the signs - _ . only", f.Name)
		}
		value := f.Value
		if strings.HasSuffix(name, "-bin") {
			data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
			if err != nil {
				return nil, wirelab.Errorf(wirelab.InvalidArgument, "metadata %q: its value must be in base64: %v",
					name, err)
			}
			value = string(data)
		} else if strings.IndexFunc(value, notPrintable) >= 0 {
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"metadata %q: its value must be printable ASCII; other bytes travel in base64, under a name in -bin",
				name)
		}
		md[name] = append(md[name], value)
	}
	return md, nil
}

func notOfName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
}

func notPrintable(r rune) bool { return r < ' ' || r > '~' }

// Reply is what a call was answered with. It can be used again: its buffers are kept.
type Reply struct {
	// Messages are those of the reply, in their order. They are the Reply's own until its next use.
	Messages [][]byte
	// Status is the number of gRPC's status, 0 for OK: the table of errors has fewer codes than gRPC.
	Status int
	// Want is whether Header and Trailer are to be filled; they cost something.
	Want            bool
	Header, Trailer []request.Field // by name; values of names in "-bin" are in base64

	size int
}

// reset makes the reply empty, and keeps its buffers.
func (r *Reply) reset() {
	r.Messages, r.Status, r.Header, r.Trailer, r.size = r.Messages[:0], 0, nil, nil, 0
}

// next returns the room for the next message.
func (r *Reply) next() *[]byte {
	if n := len(r.Messages); n < cap(r.Messages) {
		r.Messages = r.Messages[:n+1]
	} else {
		r.Messages = append(r.Messages, nil)
	}
	return &r.Messages[len(r.Messages)-1]
}

// count takes note of the last message; an error says that the reply is too large.
func (r *Reply) count() error {
	if r.size += len(r.Messages[len(r.Messages)-1]) + frameHead; r.size > MaxReply {
		return wirelab.Errorf(wirelab.ResourceExhausted,
			"the reply has more than %d bytes: ask for less of it at once", MaxReply)
	}
	return nil
}

// Frame is the messages as one body, each behind its length as gRPC writes it. A body of a unary reply is
// the message itself; that of a stream is framed, so that an empty message is not the end.
func Frame(messages [][]byte) []byte {
	size := 0
	for _, m := range messages {
		size += frameHead + len(m)
	}
	framed := make([]byte, 0, size)
	for _, m := range messages {
		framed = append(framed, 0)
		framed = binary.BigEndian.AppendUint32(framed, uint32(len(m)))
		framed = append(framed, m...)
	}
	return framed
}

// Unframe is the inverse of [Frame]. The messages lie in data.
func Unframe(data []byte) ([][]byte, error) {
	var messages [][]byte
	for rest := data; len(rest) > 0; {
		if len(rest) < frameHead || rest[0] != 0 {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "message %d: no frame of gRPC without compression",
				len(messages))
		}
		size := uint64(binary.BigEndian.Uint32(rest[1:]))
		if rest = rest[frameHead:]; size > uint64(len(rest)) {
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"message %d: %d bytes are announced and %d follow", len(messages), size, len(rest))
		}
		messages, rest = append(messages, rest[:size:size]), rest[size:]
	}
	return messages, nil
}

// Stub performs calls. It is safe for concurrent use.
type Stub interface {
	// Do performs a call and fills reply. Errors are those of the wire's table. Where
	// the call failed, reply has what came before.
	Do(ctx context.Context, r *Request, reply *Reply) error
}

// Call performs one call by grpc-go, with all that came back.
func Call(
	ctx context.Context, conn grpc.ClientConnInterface, method Method, fields []request.Field, messages [][]byte,
) (*Reply, error) {
	r, err := New(method, fields, messages)
	if err != nil {
		return nil, err
	}
	reply := &Reply{Want: true}
	err = GRPCStub(conn).Do(ctx, r, reply)
	return reply, err
}

// fieldsOf are the entries of metadata, sorted by name.
func fieldsOf(md map[string][]string) []request.Field {
	var all []request.Field
	for _, key := range slices.Sorted(maps.Keys(md)) {
		name := strings.ToLower(key)
		for _, value := range md[key] {
			all = append(all, request.Field{Name: name, Value: value})
		}
	}
	return all
}
