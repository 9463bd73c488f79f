package connect

import (
	"errors"

	"connectrpc.com/connect"

	"wirelab"
)

// sent is what each code travels as.
var sent = [...]connect.Code{
	wirelab.Internal:          connect.CodeInternal,
	wirelab.InvalidArgument:   connect.CodeInvalidArgument,
	wirelab.NotFound:          connect.CodeNotFound,
	wirelab.Conflict:          connect.CodeAlreadyExists,
	wirelab.PermissionDenied:  connect.CodePermissionDenied,
	wirelab.Unauthenticated:   connect.CodeUnauthenticated,
	wirelab.ResourceExhausted: connect.CodeResourceExhausted,
	wirelab.DeadlineExceeded:  connect.CodeDeadlineExceeded,
	wirelab.Canceled:          connect.CodeCanceled,
	wirelab.Unavailable:       connect.CodeUnavailable,
	wirelab.Unimplemented:     connect.CodeUnimplemented,
}

// received is what each code of the wire is read as. The wire has more codes than wirelab: those that our
// servers never send go to the nearest. The zero is no code of connect-go's and reads as Internal.
var received = [...]wirelab.Code{
	connect.CodeCanceled:           wirelab.Canceled,
	connect.CodeUnknown:            wirelab.Internal,
	connect.CodeInvalidArgument:    wirelab.InvalidArgument,
	connect.CodeDeadlineExceeded:   wirelab.DeadlineExceeded,
	connect.CodeNotFound:           wirelab.NotFound,
	connect.CodeAlreadyExists:      wirelab.Conflict,
	connect.CodePermissionDenied:   wirelab.PermissionDenied,
	connect.CodeResourceExhausted:  wirelab.ResourceExhausted,
	connect.CodeFailedPrecondition: wirelab.Conflict,
	connect.CodeAborted:            wirelab.Conflict,
	connect.CodeOutOfRange:         wirelab.InvalidArgument,
	connect.CodeUnimplemented:      wirelab.Unimplemented,
	connect.CodeInternal:           wirelab.Internal,
	connect.CodeUnavailable:        wirelab.Unavailable,
	connect.CodeDataLoss:           wirelab.Internal,
	connect.CodeUnauthenticated:    wirelab.Unauthenticated,
}

// Encode returns err as the error a handler returns: code by the table, message whole. Whatever is not a
// [wirelab.Error] gives nothing away. Encode(nil) is nil.
func Encode(err error) error {
	if err == nil {
		return nil
	}
	public := wirelab.Public(err)
	code := connect.CodeInternal
	if int(public.Code) < len(sent) {
		code = sent[public.Code]
	}
	return connect.NewError(code, errors.New(public.Message))
}

// Decode returns an error of connect-go, whether the peer sent it or the
// library raised it, as a [wirelab.Error]. Decode(nil) is nil.
func Decode(err error) error {
	if err == nil {
		return nil
	}
	var coded *connect.Error
	if !errors.As(err, &coded) {
		return wirelab.Errorf(wirelab.CodeOf(err), "%s", err)
	}
	code := wirelab.Internal
	if int(coded.Code()) < len(received) {
		code = received[coded.Code()]
	}
	if below := coded.Unwrap(); below != nil && !connect.IsWireError(err) { // the library's: no server said it
		if lost := wirelab.Lost(code, below, "%s", coded.Message()); wirelab.CauseOf(lost) != wirelab.NoCause {
			return lost
		}
	}
	return wirelab.Errorf(code, "%s", coded.Message())
}
