package frame

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// Codec is Protocol Buffers for grpc-go, but that a [Frame] is sent unchanged, and bytes received into a *[Raw]
// is left unread: the reader says InvalidArgument where grpc-go would have said Internal.
type Codec struct{}

var _ encoding.CodecV2 = Codec{}

// Name implements [encoding.CodecV2]: to the other end it is Protocol Buffers.
func (Codec) Name() string { return proto.Name }

// Marshal implements [encoding.CodecV2].
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	if f, ok := v.(Frame); ok {
		return f.Buffers(), nil
	}
	return encoding.GetCodecV2(proto.Name).Marshal(v)
}

// Unmarshal implements [encoding.CodecV2].
func (Codec) Unmarshal(data mem.BufferSlice, v any) error {
	if raw, ok := v.(*Raw); ok {
		*raw = data.Materialize()
		return nil
	}
	return encoding.GetCodecV2(proto.Name).Unmarshal(data, v)
}
