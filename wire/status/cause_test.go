package status_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"wirelab/wire/status"
)

// What a call met is shown by type where there is one, else by the library's text; what a peer answered is
// never read.
func TestCauseOf(t *testing.T) {
	t.Parallel()
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}
	}
	lost := func(err error) error { return status.Lost(status.Unavailable, err, "there: %v", err) }
	for _, c := range []struct {
		err  error
		want status.Cause
	}{
		{status.Errorf(status.Unavailable, "connection refused, says the server's own backend"), status.Answered},
		{status.Errorf(status.DeadlineExceeded, "late"), status.TimedOut},
		{context.DeadlineExceeded, status.TimedOut},
		{status.Errorf(status.Canceled, "stop"), status.GivenUp},
		{lost(dial(syscall.ECONNREFUSED)), status.Refused},
		{lost(dial(syscall.EHOSTUNREACH)), status.Unreachable},
		{lost(dial(syscall.EMFILE)), status.Descriptors},
		{lost(syscall.ECONNRESET), status.Reset},
		{lost(io.ErrUnexpectedEOF), status.Closed},
		{lost(&net.DNSError{Err: "no such host", Name: "nowhere.invalid"}), status.BadName},
		{lost(x509.UnknownAuthorityError{}), status.BadTLS},
		{lost(errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=1")), status.Closed},
		{lost(errors.New("stream error: stream ID 3; REFUSED_STREAM; received from peer")), status.Reset},
		{lost(errors.New("http2: client connection force closed via ClientConn.Close")), status.Reset},
		{lost(errors.New(`malformed HTTP response "x"`)), status.BadProtocol},
		{lost(errors.New("503 Service Unavailable")), "status 503"},
		{lost(errors.New("an unknown text")), status.NoCause},
		{status.Caused(status.StatusCause(502), status.Unavailable, "status 502"), "status 502"},
		{fmt.Errorf("call: %w", lost(syscall.ECONNRESET)), status.Reset},
	} {
		if got := status.CauseOf(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
