package grpc

import (
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"wirelab/wire/status"
)

// sent is what each code travels as.
var sent = [...]codes.Code{
	status.Internal:          codes.Internal,
	status.InvalidArgument:   codes.InvalidArgument,
	status.NotFound:          codes.NotFound,
	status.Conflict:          codes.AlreadyExists,
	status.PermissionDenied:  codes.PermissionDenied,
	status.Unauthenticated:   codes.Unauthenticated,
	status.ResourceExhausted: codes.ResourceExhausted,
	status.DeadlineExceeded:  codes.DeadlineExceeded,
	status.Canceled:          codes.Canceled,
	status.Unavailable:       codes.Unavailable,
	status.Unimplemented:     codes.Unimplemented,
}

// received is what each code of the wire is read as. gRPC has more codes than wirelab: those that our servers
// never send go to the nearest.
var received = [...]status.Code{
	codes.OK:                 status.Internal, // an error that claims success
	codes.Canceled:           status.Canceled,
	codes.Unknown:            status.Internal,
	codes.InvalidArgument:    status.InvalidArgument,
	codes.DeadlineExceeded:   status.DeadlineExceeded,
	codes.NotFound:           status.NotFound,
	codes.AlreadyExists:      status.Conflict,
	codes.PermissionDenied:   status.PermissionDenied,
	codes.ResourceExhausted:  status.ResourceExhausted,
	codes.FailedPrecondition: status.Conflict,
	codes.Aborted:            status.Conflict,
	codes.OutOfRange:         status.InvalidArgument,
	codes.Unimplemented:      status.Unimplemented,
	codes.Internal:           status.Internal,
	codes.Unavailable:        status.Unavailable,
	codes.DataLoss:           status.Internal,
	codes.Unauthenticated:    status.Unauthenticated,
}

// Encode returns err as the status a server sends: code by the table, message whole. Whatever is not a
// [status.Error] gives nothing away. Encode(nil) is nil.
func Encode(err error) error {
	if err == nil {
		return nil
	}
	public := status.Public(err)
	code := codes.Internal
	if int(public.Code) < len(sent) {
		code = sent[public.Code]
	}
	return grpcstatus.Error(code, public.Message)
}

// Decode returns an error of grpc-go, whether the peer sent it or the library
// raised it, as a [status.Error]. Decode(nil) is nil.
func Decode(err error) error {
	if err == nil {
		return nil
	}
	s, ok := grpcstatus.FromError(err)
	if !ok {
		s = grpcstatus.FromContextError(err) // a bare context error, else Unknown
	}
	code := status.Internal
	if int(s.Code()) < len(received) {
		code = received[s.Code()]
	}
	if raised(s.Message()) {
		return status.Caused(status.CauseOfText(s.Message()), code, "%s", s.Message())
	}
	return status.Errorf(code, "%s", s.Message())
}

// raised reports whether grpc-go raised an error itself: it marks such a status by no more than
// its text. A server that says the same only gets a cause that its words deserve.
func raised(message string) bool {
	return slices.ContainsFunc([]string{
		"connection error: desc = ", "error reading from server: ", "name resolver error: ",
		"stream terminated by RST_STREAM", "unexpected HTTP status code received from server: ", "transport: ",
		"transport is closing", "the connection is draining", "the stream is rejected because server is draining",
		"closing transport due to: ", "keepalive ping", "grpc: ", "malformed ", "server closed the stream without " +
			"sending trailers",
		"unexpected EOF", "EOF", "read tcp ", "write tcp ", "dial tcp ", "tls: ", "x509: ",
	}, func(known string) bool { return strings.HasPrefix(message, known) })
}
