package fault_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"wirelab/internal/fault"
	"wirelab/internal/porttest"
	"wirelab/wire/status"
)

// A fault has one text, whether its error is whole or a library left only the text of it.
func TestText(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", porttest.Held(t))
	if err != nil {
		t.Fatal(err)
	}
	at := listener.Addr().String()
	_, busy := net.Listen("tcp", at)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	_, refused := net.Dial("tcp", at)
	absent := filepath.Join(t.TempDir(), "absent")
	_, missing := os.ReadFile(absent)
	killed := exec.Command("sleep", "60")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{busy, "cannot listen at " + at + ": another program uses this port"},
		{refused, "nothing listens at " + at},
		{fmt.Errorf("node: %w", missing), "node: there is no file or folder " + absent},
		{&os.PathError{Op: "write", Path: "/a", Err: syscall.ENOSPC}, "/a: the disk is full"},
		{&os.PathError{Op: "open", Path: "/a", Err: syscall.EACCES}, "no permission for /a"},
		{exec.Command("no-such-program").Run(), "the program no-such-program is not installed, or not on the PATH"},
		{killed.Wait(), "it was killed (signal 9)"},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), "x: no answer in time"},
		{fmt.Errorf("x: %w", status.Errorf(status.NotFound, "no stone")), "x: no stone"},
	} {
		if got := fault.Text(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
		if got := fault.Text(errors.New(c.err.Error())); got != c.want &&
			!strings.Contains(c.err.Error(), "not_found") &&
			!strings.Contains(c.err.Error(), "/a: ") {
			t.Errorf("the text of %v: %q, want %q", c.err, got, c.want)
		}
	}
}

// What libraries leave is replaced, and the text around it stays.
func TestPlain(t *testing.T) {
	t.Parallel()
	for theirs, ours := range map[string]string{
		`a: connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"; b`:                       "a: nothing listens at 127.0.0.1:1; b",
		`127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused`:                                                                           "nothing listens at 127.0.0.1:1",
		`failed to WebSocket dial: failed to send handshake request: Get "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused`: "nothing listens at 127.0.0.1:1",
		`dial tcp: lookup nohost.invalid on 10.0.0.1:53: no such host`:                                                                             "there is no host nohost.invalid",
		`invalid character 'b' looking for beginning of object key string`:                                                                         "it is not JSON: 'b' stands where it must not",
		`json: unknown field "x"`: `it has a field "x", which is not known`,
		`driver of grpc: the first call failed: unavailable: unavailable: nothing there`:                              `driver of grpc: the first call failed: nothing there`,
		`permission_denied: (deadline_exceeded: late); internal: x; it is unavailable: try again`:                     `(late); x; it is unavailable: try again`,
		`read header: EOF; or unexpected EOF`:                                                                         `read header: it ends too early; or it ends too early`,
		`GetFeature over grpc at 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused; x`:                   `GetFeature over grpc: nothing listens at 127.0.0.1:1; x`,
		`mkdir /a/b: not a directory`:                                                                                 `/a/b: a part of this path is a file, not a folder`,
		`not a result: json: cannot unmarshal array into Go value of type verify.parts`:                               `not a result: it is an array, which does not fit`,
		`json: cannot unmarshal number into Go struct field Machine.environment.cpu of type string`:                   `environment.cpu is a number, which does not fit`,
		`json: cannot unmarshal number 10000000000000000000000 into Go struct field Trial.trials.sent of type uint64`: `trials.sent is 10000000000000000000000, which does not fit`,
		`cannot open in /a/s.db: disk I/O error (4874)`:                                                               `cannot open in /a/s.db: there is no room for it: the disk is probably full`,
		`write /a: no space left on device`:                                                                           `/a: the disk is full`,
		`open /a: read-only file system`:                                                                              `/a: the disk is read-only`,
		`bad.json: json: unknown field "x"`:                                                                           `bad.json: it has a field "x", which is not known`,
		`bad.json: not a result; listener-nats: it died`:                                                              `bad.json: not a result; listener-nats: it died`,
		`the rest stays: 5 rounds; see wirelab --help`:                                                                `the rest stays: 5 rounds; see wirelab --help`,
	} {
		if got := fault.Plain(theirs); got != ours {
			t.Errorf("%s: %q, want %q", theirs, got, ours)
		}
	}
}

// The code decides the exit code: of what was named and is not there, and of what cannot be done.
func TestCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code status.Code
		want string
	}{
		{
			fault.Listen("127.0.0.1:80", "--addr", syscall.EADDRINUSE), status.Unavailable,
			"cannot listen at 127.0.0.1:80: " +
				"another program uses this port; choose another --addr, or port 0 for any free one",
		},
		{
			fault.Listen("nohost", "--addr", syscall.EINVAL), status.InvalidArgument,
			`--addr "nohost" is not HOST:PORT, such as 127.0.0.1:8080`,
		},
		{
			fault.Write("/no/x.html", &os.PathError{Op: "open", Path: "/no/.x-17", Err: syscall.ENOENT}),
			status.Unavailable,
			"cannot write /no/x.html: there is no folder /no",
		},
		{
			fault.Read("--ca", "/no", &os.PathError{Op: "open", Path: "/no", Err: syscall.ENOENT}), status.NotFound,
			"--ca: there is no file or folder /no",
		},
		{
			fault.Read("", "/no", &os.PathError{Op: "open", Path: "/no", Err: syscall.EACCES}), status.Unavailable,
			"no permission for /no",
		},
	} {
		if public := status.Public(c.err); public.Code != c.code || public.Message != c.want {
			t.Errorf("%+v, want %v %q", public, c.code, c.want)
		}
	}
}

// An address that two layers tell is reported once.
func TestAddressOnce(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a:1: read tcp b:2->a:1: read: connection reset by peer": "a:1 closed the connection",
		"x: read tcp b:2->a:1: read: connection reset by peer":   "x: a:1 closed the connection",
	} {
		if got := fault.Plain(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
