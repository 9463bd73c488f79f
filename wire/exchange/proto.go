package exchange

import "google.golang.org/protobuf/proto"

// ProtoOf is the codec of T in Protocol Buffers, through the message M.
func ProtoOf[T, M any, P interface {
	*M
	proto.Message
}](to func(T) P, from func(P) T,
) Codec[T] {
	return CheckedProtoOf(to, func(m P) (T, error) { return from(m), nil })
}

// CheckedProtoOf is [ProtoOf] where a message can be none of T, as one with a
// text that is to be a time.
func CheckedProtoOf[T, M any, P interface {
	*M
	proto.Message
}](to func(T) P, from func(P) (T, error),
) Codec[T] {
	return Codec[T]{
		Append: func(b []byte, v T) ([]byte, error) { return proto.MarshalOptions{}.MarshalAppend(b, to(v)) },
		Parse: func(data []byte) (v T, err error) {
			m := P(new(M))
			if err := proto.Unmarshal(data, m); err != nil {
				return v, err
			}
			return from(m)
		},
	}
}
