package exchange

import (
	"wirelab"
)

// numbers is the error table: what each code travels as. The numbers are those
// of gRPC's canonical codes, since who looks at the bytes knows them.
var numbers = [...]byte{
	wirelab.Internal:          13,
	wirelab.InvalidArgument:   3,
	wirelab.NotFound:          5,
	wirelab.Conflict:          6,
	wirelab.PermissionDenied:  7,
	wirelab.Unauthenticated:   16,
	wirelab.ResourceExhausted: 8,
	wirelab.DeadlineExceeded:  4,
	wirelab.Canceled:          1,
	wirelab.Unavailable:       14,
	wirelab.Unimplemented:     12,
}

// appendFailure appends the failure message for err. A message beyond what the wire takes is cut: such a text
// is no one's to read.
func appendFailure(b []byte, err error) []byte {
	public := wirelab.Public(err)
	number := numbers[wirelab.Internal]
	if int(public.Code) < len(numbers) {
		number = numbers[public.Code]
	}
	text := public.Message
	return append(append(b, byte(kindFailure), number), text[:min(len(text), MessageLimit-2)]...)
}

// parseFailure returns the error that the content of a failure message tells.
// A number that is not in the table reads as Internal.
func parseFailure(content []byte) error {
	if len(content) == 0 {
		return wirelab.Errorf(wirelab.Internal, "failure without a code")
	}
	for code, number := range numbers {
		if number == content[0] {
			return &wirelab.Error{Code: wirelab.Code(code), Message: string(content[1:])}
		}
	}
	return wirelab.Errorf(wirelab.Internal, "failure of unknown code %d: %s", content[0], content[1:])
}
