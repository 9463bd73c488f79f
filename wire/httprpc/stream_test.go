package httprpc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab/internal/leaktest"
	"wirelab/wire/endpoint"
	"wirelab/wire/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// TestStreams calls each kind over each version.
func TestStreams(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, v version) {
		address, _ := v.start(t, echo{}.handler(), 0)
		stub := v.connect(t, address)
		long := strings.Repeat("long ", 100_000) // more than any buffer on the way
		for range 3 {                            // the second and third over the connections of the first
			if got, err := collect(stub.list(t.Context(), "abc")); got != "abc" || err != nil {
				t.Errorf("list: %q, %v", got, err)
			}
			if got, err := collect(stub.list(t.Context(), "")); got != "" || err != nil {
				t.Errorf("empty list: %q, %v", got, err)
			}
			if got, err := stub.join(t.Context(),
				these(nil, "a", long, "\u2028<&>\x00")); got != "a"+long+"\u2028<&>\x00" ||
				err != nil {
				t.Errorf("join: %d bytes, %v", len(got), err)
			}
			if got, err := stub.join(t.Context(), these(nil)); got != "" || err != nil {
				t.Errorf("empty join: %q, %v", got, err)
			}
			if got, err := collect(stub.chat(t.Context(), these(nil, "a", long))); got != "a"+long || err != nil {
				t.Errorf("chat: %d bytes, %v", len(got), err)
			}
		}
	})
}

// TestFullDuplex has a source that waits for each reply before it continues.
func TestFullDuplex(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, v version) {
		address, _ := v.start(t, echo{}.handler(), 0)
		answered := make(chan string)
		source := func(yield func(string, error) bool) {
			for i := range 5 {
				ask := fmt.Sprint(i)
				if !yield(ask, nil) {
					return
				}
				if got := <-answered; got != ask {
					t.Errorf("%q is answered %q", ask, got)
				}
			}
		}
		n := 0
		for s, err := range v.connect(t, address).chat(t.Context(), source) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			answered <- s
		}
		if n != 5 {
			t.Errorf("%d replies", n)
		}
	})
}

// TestErrorsEndStreams ends streams by errors of the service and of the source.
func TestErrorsEndStreams(t *testing.T) {
	t.Parallel()
	noInk := status.Errorf(status.Conflict, "no ink \n left")
	private := fmt.Errorf("private")
	service := echo{
		list: func(_ context.Context, s string) iter.Seq2[string, error] {
			return these(noInk, strings.Split(s, "")...)
		},
		chat: func(_ context.Context, in iter.Seq2[string, error]) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				for s, err := range in {
					if err == nil && s == "!" {
						err = noInk
					}
					if !yield(s, err) || err != nil {
						return
					}
				}
			}
		},
	}
	eachVersion(t, func(t *testing.T, v version) {
		address, _ := v.start(t, service.handler(), 0)
		stub := v.connect(t, address)
		for _, before := range []string{"", "ab"} {
			if got, err := collect(stub.list(t.Context(), before)); got != before ||
				!is(err, status.Conflict, "no ink \n left") {
				t.Errorf("list: %q, %v", got, err)
			}
		}
		if got, err := collect(stub.chat(t.Context(), these(nil, "a", "!", "b"))); got != "a" ||
			!is(err, status.Conflict, "no ink \n left") {
			t.Errorf("chat: %q, %v", got, err)
		}
		// The source's own error comes back as it was, not as the server may see it.
		if _, err := stub.join(t.Context(), these(private, "a")); !errors.Is(err, private) {
			t.Errorf("join of a broken source: %v", err)
		}
		if got, err := collect(stub.chat(t.Context(), these(private, "a"))); got != "a" || !errors.Is(err, private) {
			t.Errorf("chat of a broken source: %q, %v", got, err)
		}
	})
}

// TestPanicIsContained panics in the service, before and after an item.
func TestPanicIsContained(t *testing.T) {
	t.Parallel()
	service := echo{
		unary: func(context.Context, string) (string, error) { panic("secret") },
		list: func(_ context.Context, s string) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				if s == "" || yield(s, nil) {
					panic("secret")
				}
			}
		},
		join: func(context.Context, iter.Seq2[string, error]) (string, error) { panic("secret") },
	}
	eachVersion(t, func(t *testing.T, v version) {
		address, _ := v.start(t, service.handler(), 0)
		stub := v.connect(t, address)
		_, err := stub.unary(t.Context(), "")
		_, empty := collect(stub.list(t.Context(), ""))
		got, midway := collect(stub.list(t.Context(), "x"))
		_, joined := stub.join(t.Context(), these(nil, "a"))
		for call, err := range map[string]error{
			"unary": err, "list": empty, "list after an item": midway,
			"join": joined,
		} {
			if !is(err, status.Internal, "internal error") {
				t.Errorf("%s: %v", call, err)
			}
		}
		if got != "x" {
			t.Errorf("before the panic came %q", got)
		}
	})
}

// TestRequestStreamsThatFail sends what no client here does.
func TestRequestStreamsThatFail(t *testing.T) {
	t.Parallel()
	address, _ := http1Version().start(t, echo{}.handler(), 0)
	for _, c := range []struct {
		why, body string
		status    int
		part      string
	}{
		{"complete", "{\"result\":{\"text\":\"a\"}}\n{\"end\":true}\n", 200, `{"text":"a"}`},
		{
			"without a last line feed, as curl -d sends", "{\"result\":{\"text\":\"a\"}}\n{\"end\":true}", 200,
			`{"text":"a"}`,
		},
		{
			"CRLF and blank lines", "\r\n{\"result\":{\"text\":\"a\"}}\r\n\r\n{\"end\":true}\r\n\r\n", 200,
			`{"text":"a"}`,
		},
		{"cut short", "{\"result\":{\"text\":\"a\"}}\n", 400, "its end line is missing"},
		{"cut short in a line", "{\"result\":{\"te", 400, "cannot be read"},
		{"empty", "", 400, "its end line is missing"},
		{"something after the end", "{\"end\":true}\n{}", 400, "something follows"},
		{"a bare message", "{\"text\":\"a\"}\n", 400, "cannot be read"},
		{"a message and an end in one", "{\"result\":{},\"end\":true}\n", 400, "cannot be read"},
		{
			"an error of the caller's",
			"{\"error\":{\"message\":\"no map\",\"details\":{\"wirelab.code\":\"not_found\"}}}\n",
			404, "no map",
		},
		{"a line that never ends", strings.Repeat("x", endpoint.MessageLimit+1<<20), 400, "longer than a message"},
	} {
		resp, body := ask(t, "POST", "http://"+address+"/join", c.body, "Content-Type", "application/x-ndjson")
		if resp.StatusCode != c.status || !strings.Contains(body, c.part) {
			t.Errorf("%s: %d %s; want %d with %q", c.why, resp.StatusCode, body, c.status, c.part)
		}
	}
}

// TestReplyStreamsThatFail answers as no server here does: a short list must
// not look like a whole one.
func TestReplyStreamsThatFail(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
	chunk := func(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }
	item := chunk("{\"result\":{\"text\":\"a\"}}\n")
	for _, c := range []struct {
		why, reply string
		code       status.Code
		part       string
	}{
		{
			"the body ends well, the stream does not", head + item + "0\r\n\r\n", status.Unavailable,
			"end line is missing",
		},
		{"the connection ends", head + item, status.Unavailable, "EOF"},
		{"the connection ends in a line", head + item + "9\r\n{\"res", status.Unavailable, "EOF"},
		{"nonsense", head + item + chunk("nonsense\n") + "0\r\n\r\n", status.Internal, "cannot be read"},
		{
			"something after the end", head + item + chunk("{\"end\":true}\n{}") + "0\r\n\r\n", status.Internal,
			"something follows",
		},
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go answerOnce(listener, c.reply)
		got, err := collect(http1Version().connect(t, listener.Addr().String()).list(t.Context(), "x"))
		if got != "a" || err == nil || status.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %q, %v; want \"a\" and %v with %q", c.why, got, err, c.code, c.part)
		}
		listener.Close()
	}
}

// TestLeavingReachesTheService ends calls whose service is busy with something
// else than reading or writing.
func TestLeavingReachesTheService(t *testing.T) {
	t.Parallel()
	entered, left := make(chan struct{}), make(chan error)
	busy := func(ctx context.Context) error {
		entered <- struct{}{}
		<-ctx.Done()
		left <- ctx.Err()
		return ctx.Err()
	}
	service := echo{
		unary: func(ctx context.Context, _ string) (string, error) { return "", busy(ctx) },
		list:  func(ctx context.Context, _ string) iter.Seq2[string, error] { return these(busy(ctx)) },
		join:  func(ctx context.Context, _ iter.Seq2[string, error]) (string, error) { return "", busy(ctx) },
		chat: func(ctx context.Context, _ iter.Seq2[string, error]) iter.Seq2[string, error] {
			return these(busy(ctx))
		},
	}
	for _, v := range versions() { // not at once: they share the channels
		address, _ := v.start(t, service.handler(), 0)
		stub := v.connect(t, address)
		for name, call := range map[string]func(context.Context) error{
			"unary": func(ctx context.Context) error {
				_, err := stub.unary(ctx, "")
				return err
			},
			"list": func(ctx context.Context) error {
				_, err := collect(stub.list(ctx, ""))
				return err
			},
			"join": func(ctx context.Context) error {
				_, err := stub.join(ctx, these(nil, "a"))
				return err
			},
			"join of a source that is not done": func(ctx context.Context) error {
				_, err := stub.join(ctx, untilDone(ctx, "a"))
				return err
			},
			"chat": func(ctx context.Context) error {
				_, err := collect(stub.chat(ctx, untilDone(ctx, "a")))
				return err
			},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			result := make(chan error, 1)
			go func() { result <- call(ctx) }()
			<-entered
			cancel()
			if err := <-result; !is(err, status.Canceled, "canceled") {
				t.Errorf("%s over %s: the caller gets %v", name, v.name, err)
			}
			if err := <-left; status.CodeOf(err) != status.Canceled {
				t.Errorf("%s over %s: the service gets %v", name, v.name, err)
			}
		}
	}
}

// untilDone yields s and then waits for ctx to end.
func untilDone(ctx context.Context, s string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if yield(s, nil) {
			<-ctx.Done()
		}
	}
}

// TestDeadlineInterruptsARead has a service that waits for a message its
// caller never sends, though the caller itself knows no deadline.
func TestDeadlineInterruptsARead(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, v version) {
		address, _ := v.start(t, echo{}.handler(), 0)
		client := v.dial(endpoint.Dialing{Address: address}, false)
		defer client.Close()
		body, out := io.Pipe()
		defer out.Close()
		r := client.Request(http.MethodPost, "/join", "application/x-ndjson",
			"application/json").WithContext(t.Context())
		r.Header.Set("Call-Timeout-Ms", "50")
		r.Body = body
		_, err := client.Do(r, "application/json") //nolint:bodyclose // there is none on an error
		if !is(err, status.DeadlineExceeded, "deadline exceeded") {
			t.Errorf("%v", err)
		}
	})
}

// TestEarlyAnswer has a service that answers before it has read the request,
// which is larger than what any connection holds.
func TestEarlyAnswer(t *testing.T) {
	t.Parallel()
	service := echo{
		join: func(context.Context, iter.Seq2[string, error]) (string, error) {
			return "", status.Errorf(status.PermissionDenied, "not you")
		},
		chat: func(context.Context, iter.Seq2[string, error]) iter.Seq2[string, error] { return these(nil, "enough") },
	}
	eachVersion(t, func(t *testing.T, v version) {
		address, _ := v.start(t, service.handler(), 0)
		stub := v.connect(t, address)
		long := strings.Repeat("x", 1<<20)
		endless := func(yield func(string, error) bool) {
			for yield(long, nil) {
			}
		}
		if _, err := stub.join(t.Context(), endless); !is(err, status.PermissionDenied, "not you") {
			t.Errorf("join: %v", err)
		}
		if got, err := collect(stub.chat(t.Context(), endless)); got != "enough" || err != nil {
			t.Errorf("chat: %q, %v", got, err)
		}
	})
}

// TestEarlyAnswerByHand looks at the same on the connection: the answer says where it ends, and a caller who
// continues sending is not cut off over it.
func TestEarlyAnswerByHand(t *testing.T) {
	t.Parallel()
	refuse := echo{join: func(context.Context, iter.Seq2[string, error]) (string, error) {
		return "", status.Errorf(status.PermissionDenied, "not you")
	}}
	address, _ := http1Version().start(t, refuse.handler(), 0)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const chunk, chunks = 64 << 10, 128 // more than socket buffers hold
	request := "POST /join HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
	for range chunks {
		request += fmt.Sprintf("%x\r\n%s\r\n", chunk, strings.Repeat(" ", chunk))
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Errorf("cut off: %v", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || resp.ContentLength != int64(len(body)) ||
		resp.StatusCode != http.StatusForbidden || !resp.Close {
		t.Errorf("%d, length %d, %s, %v; want 403 with its length, and the connection closed", resp.StatusCode,
			resp.ContentLength, body, err)
	}
}

// TestSlowReaderIsBounded counts what a service can send to a caller that
// stops reading, and that leaving stops it.
func TestSlowReaderIsBounded(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, v version) {
		const size, limit = 64 << 10, 64 << 20
		sent := make(chan int, 1)
		sent <- 0
		ended := make(chan struct{})
		service := echo{list: func(context.Context, string) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				defer close(ended)
				item := strings.Repeat("x", size)
				for yield(item, nil) {
					if n := <-sent + size; n < limit {
						sent <- n
					} else {
						t.Errorf("%d bytes sent to a caller that reads nothing", n)
						return
					}
				}
			}
		}}
		address, _ := v.start(t, service.handler(), 0)
		for _, err := range v.connect(t, address).list(t.Context(), "") {
			if err != nil {
				t.Error(err)
			}
			// Still for a while, as far as anyone can see.
			last, same := -1, 0
			for tick := time.NewTicker(10 * time.Millisecond); same < 20; <-tick.C {
				n := <-sent
				sent <- n
				if n == last {
					same++
				} else {
					last, same = n, 0
				}
			}
			break
		}
		<-ended
	})
}

// TestStop stops servers with a stream in flight, which may finish within the
// drain time and is cut after it.
func TestStop(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, v version) {
		for _, finishes := range []bool{true, false} {
			goOn := make(chan struct{})
			service := echo{list: func(ctx context.Context, _ string) iter.Seq2[string, error] {
				return func(yield func(string, error) bool) {
					if !yield("a", nil) {
						return
					}
					select {
					case <-goOn:
						yield("b", nil)
					case <-ctx.Done():
						yield("", ctx.Err())
					}
				}
			}}
			drain := time.Hour
			if !finishes {
				drain = 50 * time.Millisecond
			}
			address, stop := v.start(t, service.handler(), drain)
			stopped := make(chan struct{})
			var got string
			var last error
			for s, err := range v.connect(t, address).list(t.Context(), "") {
				if last = err; err != nil {
					break
				}
				if got += s; got != "a" {
					continue
				}
				go func() {
					stop()
					close(stopped)
				}()
				if finishes {
					refusesNew(t, address)
					close(goOn)
				}
			}
			<-stopped
			if finishes && (got != "ab" || last != nil) {
				t.Errorf("a stop that waits: %q, %v", got, last)
			}
			if code := status.Unavailable; !finishes &&
				(got != "a" || last == nil || status.CodeOf(last) != code && status.CodeOf(last) != status.Canceled) {
				t.Errorf("a stop that cuts: %q, %v; want \"a\" and %v", got, last, code)
			}
		}
	})
}

// refusesNew waits until the listener at address is closed.
func refusesNew(t *testing.T, address string) {
	t.Helper()
	for {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		conn.Close()
	}
}
