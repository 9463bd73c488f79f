package httprpc

import (
	"errors"

	"wirelab/wire/codec"
	"wirelab/wire/status"
)

// Form is the codec as gRPC's libraries take it. What a message of ours says of
// itself, as that a text in it is no time, is for the caller; what the
// encoding's library says is not.
func (c Codec[T]) Form() codec.Form[T] {
	return codec.Form[T]{
		Append: func(dst []byte, v *T) ([]byte, error) {
			message, err := c.Encode(*v)
			if err != nil {
				return dst, status.Errorf(status.InvalidArgument, "the value cannot be written in %s", c.Encoding)
			}
			return append(dst, message...), nil
		},
		Decode: func(message []byte) (T, error) {
			v, err := c.Decode(message)
			var coded *status.Error
			if err != nil && !errors.As(err, &coded) {
				err = status.Errorf(status.InvalidArgument, "the message cannot be read as %s", c.Encoding)
			}
			return v, err
		},
	}
}
