package grpc

import (
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"wirelab"
)

// sent is what each code travels as.
var sent = [...]codes.Code{
	wirelab.Internal:          codes.Internal,
	wirelab.InvalidArgument:   codes.InvalidArgument,
	wirelab.NotFound:          codes.NotFound,
	wirelab.Conflict:          codes.AlreadyExists,
	wirelab.PermissionDenied:  codes.PermissionDenied,
	wirelab.Unauthenticated:   codes.Unauthenticated,
	wirelab.ResourceExhausted: codes.ResourceExhausted,
	wirelab.DeadlineExceeded:  codes.DeadlineExceeded,
	wirelab.Canceled:          codes.Canceled,
	wirelab.Unavailable:       codes.Unavailable,
	wirelab.Unimplemented:     codes.Unimplemented,
}

// received is what each code of the wire is read as. gRPC has more codes than
// the house: those that our servers never send go to the nearest.
var received = [...]wirelab.Code{
	codes.OK:                 wirelab.Internal, // an error that claims success
	codes.Canceled:           wirelab.Canceled,
	codes.Unknown:            wirelab.Internal,
	codes.InvalidArgument:    wirelab.InvalidArgument,
	codes.DeadlineExceeded:   wirelab.DeadlineExceeded,
	codes.NotFound:           wirelab.NotFound,
	codes.AlreadyExists:      wirelab.Conflict,
	codes.PermissionDenied:   wirelab.PermissionDenied,
	codes.ResourceExhausted:  wirelab.ResourceExhausted,
	codes.FailedPrecondition: wirelab.Conflict,
	codes.Aborted:            wirelab.Conflict,
	codes.OutOfRange:         wirelab.InvalidArgument,
	codes.Unimplemented:      wirelab.Unimplemented,
	codes.Internal:           wirelab.Internal,
	codes.Unavailable:        wirelab.Unavailable,
	codes.DataLoss:           wirelab.Internal,
	codes.Unauthenticated:    wirelab.Unauthenticated,
}

// Encode returns err as the status a server sends: code by the table, message
// whole. What is not a [wirelab.Error] gives nothing away. Encode(nil) is nil.
func Encode(err error) error {
	if err == nil {
		return nil
	}
	public := wirelab.Public(err)
	code := codes.Internal
	if int(public.Code) < len(sent) {
		code = sent[public.Code]
	}
	return status.Error(code, public.Message)
}

// Decode returns an error of grpc-go, whether the peer sent it or the library
// raised it, as a [wirelab.Error]. Decode(nil) is nil.
func Decode(err error) error {
	if err == nil {
		return nil
	}
	s, ok := status.FromError(err)
	if !ok {
		s = status.FromContextError(err) // a bare context error, else Unknown
	}
	code := wirelab.Internal
	if int(s.Code()) < len(received) {
		code = received[s.Code()]
	}
	if raised(s.Message()) {
		return wirelab.Caused(wirelab.CauseOfText(s.Message()), code, "%s", s.Message())
	}
	return wirelab.Errorf(code, "%s", s.Message())
}

// raised reports whether grpc-go raised an error itself: it marks such a status by no more than
// its text. A server that says the same only gets a cause that its words deserve.
func raised(message string) bool {
	return slices.ContainsFunc([]string{
		"connection error: desc = ", "error reading from server: ", "name resolver error: ",
		"stream terminated by RST_STREAM", "unexpected HTTP status code received from server: ", "transport: ",
		"transport is closing", "the connection is draining", "the stream is rejected because server is draining",
		"closing transport due to: ", "keepalive ping", "grpc: ", "malformed ", "server closed the stream without sending trailers",
		"unexpected EOF", "EOF", "read tcp ", "write tcp ", "dial tcp ", "tls: ", "x509: ",
	}, func(known string) bool { return strings.HasPrefix(message, known) })
}
