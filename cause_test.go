package wirelab_test

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

	"wirelab"
)

// What a call met is told by type where there is one, else by the library's text; what a
// peer answered is never read.
func TestCauseOf(t *testing.T) {
	t.Parallel()
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}
	}
	lost := func(err error) error { return wirelab.Lost(wirelab.Unavailable, err, "there: %v", err) }
	for _, c := range []struct {
		err  error
		want wirelab.Cause
	}{
		{wirelab.Errorf(wirelab.Unavailable, "connection refused, says the server's own backend"), wirelab.Answered},
		{wirelab.Errorf(wirelab.DeadlineExceeded, "late"), wirelab.TimedOut},
		{context.DeadlineExceeded, wirelab.TimedOut},
		{wirelab.Errorf(wirelab.Canceled, "stop"), wirelab.GivenUp},
		{lost(dial(syscall.ECONNREFUSED)), wirelab.Refused},
		{lost(dial(syscall.EHOSTUNREACH)), wirelab.Unreachable},
		{lost(dial(syscall.EMFILE)), wirelab.Descriptors},
		{lost(syscall.ECONNRESET), wirelab.Reset},
		{lost(io.ErrUnexpectedEOF), wirelab.Closed},
		{lost(&net.DNSError{Err: "no such host", Name: "nowhere.invalid"}), wirelab.BadName},
		{lost(x509.UnknownAuthorityError{}), wirelab.BadTLS},
		{lost(errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=1")), wirelab.Closed},
		{lost(errors.New("stream error: stream ID 3; REFUSED_STREAM; received from peer")), wirelab.Reset},
		{lost(errors.New("http2: client connection force closed via ClientConn.Close")), wirelab.Reset},
		{lost(errors.New(`malformed HTTP response "x"`)), wirelab.BadProtocol},
		{lost(errors.New("503 Service Unavailable")), "status 503"},
		{lost(errors.New("what nobody knows")), wirelab.NoCause},
		{wirelab.Caused(wirelab.StatusCause(502), wirelab.Unavailable, "status 502"), "status 502"},
		{fmt.Errorf("call: %w", lost(syscall.ECONNRESET)), wirelab.Reset},
	} {
		if got := wirelab.CauseOf(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
