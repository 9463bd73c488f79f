package graphql

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"go.uber.org/goleak"

	"wirelab/internal/leaktest"
	"wirelab/wire/endpoint"
	"wirelab/wire/httprpc"
	"wirelab/wire/panics"
	"wirelab/wire/status"
)

func TestMain(m *testing.M) {
	// Injected panics would fill the output with their stacks.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(leaktest.Patient(m))
}

func TestPresent(t *testing.T) {
	t.Parallel()
	withCode := func(code string) error {
		err := gqlerror.Errorf("about the query")
		errcode.Set(err, code)
		return err
	}
	cases := []struct {
		why     string
		err     error
		code    status.Code
		message string
	}{
		{"a service's", status.Errorf(status.NotFound, "gone"), status.NotFound, "gone"},
		{
			"a service's, as gqlgen wraps it", gqlerror.WrapPath(nil, status.Errorf(status.Conflict, "twice")),
			status.Conflict, "twice",
		},
		{
			"a service's internal one", status.Errorf(status.Internal, "internal error"), status.Internal,
			"internal error",
		},
		{"an unclassified one, told", Told(errors.New("a secret")), status.Internal, "internal error"},
		{"a deadline", context.DeadlineExceeded, status.DeadlineExceeded, "deadline exceeded"},
		{"a cancel", gqlerror.WrapPath(nil, context.Canceled), status.Canceled, "canceled"},
		{"a query that is none", withCode(errcode.ParseFailed), status.InvalidArgument, "about the query"},
		{"a query that does not fit", withCode(errcode.ValidationFailed), status.InvalidArgument, "about the query"},
		{"a query of too many fields", withCode(complexityCode), status.ResourceExhausted, "about the query"},
		{"a panic", panics.Error(t.Context(), "injected"), status.Internal, "internal error"},
	}
	for _, code := range status.Codes() {
		cases = append(cases, struct {
			why     string
			err     error
			code    status.Code
			message string
		}{"code " + code.String(), status.Errorf(code, "why"), code, "why"})
	}
	for _, k := range cases {
		got := present(t.Context(), k.err)
		var read failure
		read.Message = got.Message
		read.Extensions.Code, _ = got.Extensions[codeKey].(string)
		_, err := response[int]{Errors: []failure{read}}.result()
		var coded *status.Error
		if !errors.As(err, &coded) || coded.Code != k.code || coded.Message != k.message {
			t.Errorf("%s: arrives as %v, want %v: %s", k.why, err, k.code, k.message)
		}
	}
	if Told(nil) != nil {
		t.Error("no error is reported as one")
	}
}

func TestParseResponse(t *testing.T) {
	t.Parallel()
	cases := []struct {
		why, text string
		want      int
		code      status.Code
		fails     bool
	}{
		{"data", `{"data":7}`, 7, 0, false},
		{
			"errors with data are a failure (R10)",
			`{"data":7,"errors":[{"message":"no","extensions":{"code":"not_found"}}]}`,
			0, status.NotFound, true,
		},
		{
			"the first of several",
			`{"errors":[{"extensions":{"code":"conflict"}},{"extensions":{"code":"internal"}}]}`, 0,
			status.Conflict, true,
		},
		{"an unknown code", `{"errors":[{"message":"no","extensions":{"code":"ODD"}}]}`, 0, status.Internal, true},
		{"no code", `{"errors":[{"message":"no"}]}`, 0, status.Internal, true},
		{"neither data nor errors", `{}`, 0, status.Internal, true},
		{"null data", `{"data":null}`, 0, status.Internal, true},
		{"not JSON", `<html>`, 0, status.Internal, true},
		{"nothing", ``, 0, status.Internal, true},
		{"data of another shape", `{"data":"x"}`, 0, status.Internal, true},
		{
			"above the limit", `{"data":7}` + strings.Repeat(" ", httprpc.MessageLimit), 0, status.ResourceExhausted,
			true,
		},
	}
	for _, k := range cases {
		got, err := parseResponse[int]([]byte(k.text))
		if k.fails && (err == nil || status.CodeOf(err) != k.code) || !k.fails && (err != nil || got != k.want) {
			t.Errorf("%s: %v, %v", k.why, got, err)
		}
	}
}

// A stream outside a subscription has no one who would wait for it.
func TestStreamOutsideASubscription(t *testing.T) {
	t.Parallel()
	_, err := Stream(t.Context(), func(func(int, error) bool) { t.Error("is read") })
	if err == nil || status.CodeOf(err) != status.InvalidArgument {
		t.Errorf("%v", err)
	}
}

func TestPump(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	broken := status.Errorf(status.Conflict, "broken")
	cases := []struct {
		why   string
		ctx   context.Context
		items iter.Seq2[int, error]
		want  error
	}{
		{"an end", t.Context(), func(func(int, error) bool) {}, nil},
		{"an error", t.Context(), func(yield func(int, error) bool) { yield(0, broken) }, broken},
		{"a service that just stops when its time is over", ended, func(func(int, error) bool) {}, context.Canceled},
		{"no reader of an item", ended, func(yield func(int, error) bool) { yield(1, nil) }, context.Canceled},
	}
	for _, k := range cases {
		if err := pump(k.ctx, k.items, make(chan *int)); !errors.Is(err, k.want) {
			t.Errorf("%s: %v, want %v", k.why, err, k.want)
		}
	}
	err := pump(t.Context(), func(func(int, error) bool) { panic("injected") }, make(chan *int))
	if err == nil || status.CodeOf(err) != status.Internal || strings.Contains(err.Error(), "injected") {
		t.Errorf("a panic: %v", err)
	}
}

// serveText answers every request with a status, a type and a text, and then
// hangs up.
func serveText(t testing.TB, mediaType string, text func() string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request,
	) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", mediaType)
		_, _ = io.WriteString(w, text())
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
	return listener.Addr().String()
}

func TestEventsOfAServer(t *testing.T) {
	t.Parallel()
	const (
		one      = "event: next\ndata: {\"data\":1}\n\n"
		two      = "event: next\ndata: {\"data\":2}\n\n"
		complete = "event: complete\ndata: \n\n"
		refused  = "event: next\ndata: {\"errors\":[{\"message\":\"no\",\"extensions\":{\"code\":\"conflict\"}}]}\n\n"
	)
	cases := []struct {
		why, text string
		items     int
		code      status.Code
		fails     bool
	}{
		{"items and the end", one + two + complete, 2, 0, false},
		{"the end alone", complete, 0, 0, false},
		{"comments and unknown events", ":\n\n" + one + "event: odd\ndata: x\n\n" + complete, 1, 0, false},
		{"no end", one + two, 2, status.Unavailable, true},
		{"nothing", "", 0, status.Unavailable, true},
		{"an end that is cut", one + "event: complete\nda", 1, status.Unavailable, true},
		{"a failure after an item", one + refused + complete, 1, status.Conflict, true},
		{"an item that is none", "event: next\ndata: x\n\n" + complete, 0, status.Internal, true},
	}
	for _, k := range cases {
		t.Run(k.why, func(t *testing.T) {
			t.Parallel()
			c := Dial(endpoint.Dialing{Address: serveText(t, "text/event-stream", func() string { return k.text })})
			defer c.Close()
			items := 0
			var failed error
			for _, err := range Subscribe[int, int](c, "X", "subscription X { x }")(t.Context(), 0) {
				if err != nil {
					failed = err
					break
				}
				items++
			}
			if items != k.items || k.fails != (failed != nil) || failed != nil && status.CodeOf(failed) != k.code {
				t.Errorf("%d items, %v", items, failed)
			}
		})
	}
}

func FuzzParseResponse(f *testing.F) {
	for _, seed := range []string{
		`{"data":{"x":1}}`,
		`{"data":null,"errors":[{"message":"m","extensions":{"code":"not_found"}}]}`, `[]`, `{"errors":[null]}`, "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		data, err := parseResponse[map[string]int](text)
		if err != nil && data != nil {
			t.Fatalf("%v with %v", data, err)
		}
	})
}

// A reply comes with its length or without, whole, cut or too long.
func TestRepliesOfAServer(t *testing.T) {
	t.Parallel()
	big := `{"data":1}` + strings.Repeat(" ", httprpc.MessageLimit)
	cases := []struct {
		why, head, text string
		code            status.Code
		fails           bool
	}{
		{"with a length", "Content-Length: 10\r\n", `{"data":1}`, 0, false},
		{"in chunks", "Transfer-Encoding: chunked\r\n", "5\r\n{\"dat\r\n5\r\na\":1}\r\n0\r\n\r\n", 0, false},
		{"to the connection's end", "Connection: close\r\n", `{"data":1}`, 0, false},
		{"shorter than announced", "Content-Length: 11\r\n", `{"data":1}`, status.Unavailable, true},
		{"announced as nothing", "Content-Length: 0\r\n", ``, status.Internal, true},
		{
			"announced above the limit", fmt.Sprintf("Content-Length: %d\r\n", len(big)), big, status.ResourceExhausted,
			true,
		},
		{"announced as a terabyte", "Content-Length: 1099511627776\r\n", `{"data":1}`, status.Unavailable, true},
		{"above the limit, to the connection's end", "Connection: close\r\n", big, status.ResourceExhausted, true},
	}
	for _, k := range cases {
		t.Run(k.why, func(t *testing.T) {
			t.Parallel()
			c := Dial(endpoint.Dialing{Address: answerOnce(t,
				"HTTP/1.1 200 OK\r\nContent-Type: "+mediaResponse+"\r\n"+k.head+"\r\n"+k.text)})
			defer c.Close()
			got, err := Ask[int, int](c, "X", "query X { x }")(t.Context(), 0)
			if k.fails != (err != nil) || err != nil && status.CodeOf(err) != k.code || err == nil && got != 1 {
				t.Errorf("%d, %v", got, err)
			}
		})
	}
}

// answerOnce answers the first request with a raw text, and hangs up.
func answerOnce(t testing.TB, text string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = io.WriteString(conn, text) // to a client that may have left
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-served
	})
	return listener.Addr().String()
}
