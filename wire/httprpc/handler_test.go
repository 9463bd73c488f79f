package httprpc_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"wirelab/wire/endpoint"
	"wirelab/wire/http1"
	"wirelab/wire/httprpc"
	"wirelab/wire/status"
)

func http1Version() version { return version{"HTTP/1.1", http1.Serve, http1.Dial} }

// TestEncodings asks in each encoding under each of its names and for each by Accept.
func TestEncodings(t *testing.T) {
	t.Parallel()
	address, _ := http1Version().start(t, echo{}.handler(), 0)
	inProto, err := proto.Marshal(wrapperspb.String("hej"))
	if err != nil {
		t.Fatal(err)
	}
	const inJSON = `{"text":"hej"}`
	for _, c := range []struct {
		why               string
		contentType, body string
		accept            string
		wantType          string
	}{
		{"a JSON request is answered in JSON", "application/json", inJSON, "", "application/json"},
		{"no content type means JSON, as in the origin", "", inJSON, "", "application/json"},
		{"a wildcard content type too", "*/*", inJSON, "", "application/json"},
		{"parameters and case do not matter", "Application/JSON; charset=utf-8", inJSON, "", "application/json"},
		{
			"never JSON for protobuf that accepts anything (duh-M01)", "application/protobuf", string(inProto), "",
			"application/protobuf",
		},
		{
			"the older name, answered by the same", "application/x-protobuf", string(inProto), "",
			"application/x-protobuf",
		},
		{"curl sends a wildcard", "application/protobuf", string(inProto), "*/*", "application/protobuf"},
		{"Accept decides", "application/json", inJSON, "application/protobuf", "application/protobuf"},
		{"by the name it uses", "application/json", inJSON, "application/x-protobuf", "application/x-protobuf"},
		{"and the other way", "application/protobuf", string(inProto), "application/json", "application/json"},
		{
			"the first known of several", "application/json", inJSON,
			"text/html, application/protobuf;q=0.5, application/json",
			"application/protobuf",
		},
		{
			"but not one with weight 0", "application/json", inJSON, "application/protobuf;q=0.0, */*",
			"application/json",
		},
	} {
		resp, body := ask(t, "POST", "http://"+address+"/unary", c.body, "Content-Type", c.contentType, "Accept",
			c.accept)
		want := inJSON
		if strings.Contains(c.wantType, "protobuf") {
			want = string(inProto)
		}
		if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != c.wantType ||
			body != want {
			t.Errorf("%s: status %d, type %q, body %q; want 200, %q, %q", c.why, resp.StatusCode, got, body, c.wantType,
				want)
		}
	}
}

// TestRefusals lists what a caller can get wrong in HTTP itself.
func TestRefusals(t *testing.T) {
	t.Parallel()
	address, _ := http1Version().start(t, echo{}.handler(), 0)
	for _, c := range []struct {
		why, method, path, body string
		header                  []string
		status                  int
		code                    status.Code
	}{
		{"unknown path, as the origin answers", "POST", "/nothing", "", nil, 501, status.Unimplemented},
		{"method (duh-D05)", "GET", "/unary", "", nil, 405, status.Unimplemented},
		{"content type", "POST", "/unary", "x", []string{"Content-Type", "text/plain"}, 513, status.InvalidArgument},
		{"nothing acceptable", "POST", "/unary", "{}", []string{"Accept", "text/html"}, 513, status.InvalidArgument},
		{"not JSON", "POST", "/unary", "{", nil, 513, status.InvalidArgument},
		{"JSON of another type", "POST", "/unary", `{"text":1}`, nil, 513, status.InvalidArgument},
		{"two values", "POST", "/unary", `{}{}`, nil, 513, status.InvalidArgument},
		{"empty", "POST", "/unary", "", nil, 513, status.InvalidArgument},
		{"not UTF-8", "POST", "/unary", "{\"text\":\"\xff\"}", nil, 513, status.InvalidArgument},
		{"half a character", "POST", "/unary", `{"text":"\ud800"}`, nil, 513, status.InvalidArgument},
		{"not protobuf", "POST", "/unary", "\xff", []string{
			"Content-Type", "application/protobuf", "Accept",
			"application/json",
		}, 513, status.InvalidArgument},
		{
			"too large", "POST", "/unary", strings.Repeat(" ", httprpc.MessageLimit+1), nil, 413,
			status.ResourceExhausted,
		},
		{
			"timeout that is no number", "POST", "/unary", "{}",
			[]string{"Call-Timeout-Ms", "1s"},
			400,
			status.InvalidArgument,
		},
		{
			"timeout of too many digits", "POST", "/unary", "{}",
			[]string{"Call-Timeout-Ms", "99999999999"},
			400,
			status.InvalidArgument,
		},
		{"timeout below zero", "POST", "/unary", "{}", []string{"Call-Timeout-Ms", "-1"}, 400, status.InvalidArgument},
		{
			"a stream of another type", "POST", "/join", "",
			[]string{"Content-Type", "application/json"},
			513,
			status.InvalidArgument,
		},
		{
			"a stream to a caller that takes none", "POST", "/list", "{}",
			[]string{"Accept", "application/json"},
			513,
			status.InvalidArgument,
		},
	} {
		resp, body := ask(t, c.method, "http://"+address+c.path, c.body, c.header...)
		prefix := fmt.Sprintf(`{"code":%d,"message":"`, c.status)
		suffix := fmt.Sprintf(`","details":{"wirelab.code":"%v"}}`, c.code)
		if resp.StatusCode != c.status || !strings.HasPrefix(body, prefix) || !strings.HasSuffix(body, suffix) {
			t.Errorf("%s: status %d, body %q; want %d, %s…%s", c.why, resp.StatusCode, body, c.status, prefix, suffix)
		}
		if strings.Contains(body, "json:") || strings.Contains(body, "Go ") || strings.Contains(body, "proto:") {
			t.Errorf("%s: the caller is shown a library's text: %s", c.why, body)
		}
		if got := resp.Header.Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options is %q", c.why, got)
		}
		if allow := resp.Header.Get("Allow"); c.status == 405 && allow != "POST" {
			t.Errorf("%s: Allow is %q", c.why, allow)
		}
	}
}

// TestOneEncoding asks services that lack an encoding for it.
func TestOneEncoding(t *testing.T) {
	t.Parallel()
	same := func(_ context.Context, s string) (string, error) { return s, nil }
	onlyJSON, onlyProto := words(), words()
	onlyJSON.Proto, onlyProto.JSON = httprpc.Codec[string]{}, httprpc.Codec[string]{}
	address, _ := http1Version().start(t, httprpc.NewHandler(map[string]httprpc.Route{
		"/json":  httprpc.Unary(onlyJSON, onlyJSON, same),
		"/proto": httprpc.Unary(onlyProto, onlyProto, same),
		"/turn":  httprpc.Unary(onlyProto, onlyJSON, same),
		"/back":  httprpc.Unary(onlyJSON, onlyProto, same),
	}), 0)
	inProto, inJSON := "\n\x03hej", `{"text":"hej"}`
	const asProto, asJSON = "application/protobuf", "application/json"
	for _, c := range []struct {
		path, contentType, body, accept string
		status                          int
		wantType, want                  string // want is a part of the body
	}{
		{"/json", asJSON, inJSON, "", 200, asJSON, inJSON},
		{
			"/json", asProto, inProto, "", 513, asJSON,
			`"content type \"application/protobuf\" is not known: application/json"`,
		},
		{"/json", asJSON, inJSON, asProto, 513, asJSON, "is known: application/json\""},
		{"/json", asJSON, inJSON, asProto + ", " + asJSON, 200, asJSON, inJSON},
		{"/proto", asProto, inProto, "*/*", 200, asProto, inProto},
		{"/proto", asJSON, inJSON, "", 513, asJSON, "is not known: application/protobuf\""},
		{"/proto", "", inJSON, "", 513, asJSON, "is not known: application/protobuf\""},
		{"/turn", asProto, inProto, "", 200, asJSON, inJSON},
		{"/back", asJSON, inJSON, "*/*", 200, asProto, inProto},
	} {
		resp, body := ask(t, "POST", "http://"+address+c.path, c.body, "Content-Type", c.contentType, "Accept",
			c.accept)
		if got := resp.Header.Get("Content-Type"); resp.StatusCode != c.status || got != c.wantType ||
			!strings.Contains(body,
				c.want) {
			t.Errorf("%s, %q for %q: status %d, type %q, body %q; want %d, %q, %q",
				c.path, c.contentType, c.accept, resp.StatusCode, got, body, c.status, c.wantType, c.want)
		}
	}
}

// TestMessageLimit sends messages at the limit and above it, with the length
// announced and without.
func TestMessageLimit(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, v version) {
		address, _ := v.start(t, echo{}.handler(), 0)
		_, err := v.connect(t, address).unary(t.Context(), strings.Repeat("x", httprpc.MessageLimit))
		if err == nil || status.CodeOf(err) != status.ResourceExhausted {
			t.Errorf("%v, want ResourceExhausted", err)
		}
		text := strings.Repeat("x", httprpc.MessageLimit-64)
		if got, err := v.connect(t, address).unary(t.Context(), text); err != nil || got != text {
			t.Errorf("a message at the limit: %d bytes, %v; want %d", len(got), err, len(text))
		}
	})
	address, _ := http1Version().start(t, echo{}.handler(), 0)
	endless := io.MultiReader(strings.NewReader(strings.Repeat(" ", httprpc.MessageLimit)), strings.NewReader("{}"))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/unary", endless)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("without a length: status %d, want 413", resp.StatusCode)
	}
}

// TestTimeoutHeader reads what the service is given of the caller's deadline.
func TestTimeoutHeader(t *testing.T) {
	t.Parallel()
	given := make(chan time.Duration, 1)
	handler := echo{unary: func(ctx context.Context, s string) (string, error) {
		if deadline, ok := ctx.Deadline(); ok {
			given <- time.Until(deadline)
		} else {
			given <- -1
		}
		return s, nil
	}}.handler()
	address, _ := http1Version().start(t, handler, 0)
	stub := http1Version().connect(t, address)
	if _, err := stub.unary(context.WithoutCancel(t.Context()), ""); err != nil {
		t.Fatal(err)
	}
	if got := <-given; got != -1 {
		t.Errorf("without a deadline the service has %v", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if _, err := stub.unary(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if got := <-given; got > time.Hour+time.Millisecond || got < 59*time.Minute {
		t.Errorf("of an hour the service has %v", got)
	}
	// A caller that sets no deadline is notified of the one it asked for.
	late := echo{unary: func(ctx context.Context, s string) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}}.handler()
	address, _ = http1Version().start(t, late, 0)
	resp, body := ask(t, "POST", "http://"+address+"/unary", "{}", "Call-Timeout-Ms", "20")
	if resp.StatusCode != 453 || !strings.Contains(body,
		`"message":"deadline exceeded","details":{"wirelab.code":"deadline_exceeded"}`) {
		t.Errorf("past the deadline: %d %s", resp.StatusCode, body)
	}
}

// TestWrongVersion calls a server of each version with a client of the other,
// and a server that answers in HTTP/1.0.
func TestWrongVersion(t *testing.T) {
	t.Parallel()
	h1, h2 := versions()[0], versions()[1]
	for _, c := range []struct{ server, client version }{{h1, h2}, {h2, h1}} {
		address, _ := c.server.start(t, echo{}.handler(), 0)
		if got, err := c.client.connect(t, address).unary(t.Context(), "x"); err == nil {
			t.Errorf("a client of %s is answered %q by a server of %s", c.client.name, got, c.server.name)
		}
	}
	old, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	go answerOnce(old, "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{\"text\":\"x\"}")
	_, err = h1.connect(t, old.Addr().String()).unary(t.Context(), "x")
	if !is(err, status.Internal, "the reply came over HTTP/1.0") {
		t.Errorf("a reply of HTTP/1.0: %v", err)
	}
}

// answerOnce answers the first request, whatever it is, with reply.
func answerOnce(listener net.Listener, reply string) {
	conn, err := listener.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 64<<10)); err == nil {
		_, _ = conn.Write([]byte(reply)) // the client reports what it got
	}
}

// TestForeignReplies are replies that no server here gives.
func TestForeignReplies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why, reply string
		code       status.Code
		part       string
	}{
		{
			"a proxy's page", "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<p/>",
			status.Unavailable, "<p/>",
		},
		{
			"the origin's own body", reply(453, "application/json", `{"code":453,"message":"no ink"}`),
			status.DeadlineExceeded, "no ink",
		},
		{"its later body", reply(404, "application/json", `{"code":"CARD","message":"no"}`), status.NotFound, "no"},
		{
			"an unknown code", reply(409, "application/json", `{"message":"no","details":{"wirelab.code":"new"}}`),
			status.Conflict, "no",
		},
		{"not an object", reply(500, "application/json", `[]`), status.Internal, "[]"},
		{
			"protobuf that is none", reply(429, "application/protobuf", "\xff\xff"), status.ResourceExhausted,
			"status 429",
		},
		{"success of another type", reply(200, "text/html", "<p/>"), status.Internal, "text/html"},
		{"success that is no message", reply(200, "application/json", "{"), status.Internal, "cannot be read"},
		{"a body cut short", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
			"99\r\n\r\n{\"text\":\"x\"}", status.Unavailable, "unexpected EOF"},
		{"a redirect, which no call follows", reply(307, "text/plain", "away"), status.Internal, "away"},
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go answerOnce(listener, c.reply)
		_, err = http1Version().connect(t, listener.Addr().String()).unary(t.Context(), "x")
		if err == nil || status.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v, want %v with %q", c.why, err, c.code, c.part)
		}
		listener.Close()
	}
}

func reply(status int, contentType, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", status, contentType,
		len(body),
		body)
}

// TestIncompleteEndpoints are refused before anything is served.
func TestIncompleteEndpoints(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, v := range versions() {
		if err := v.serve(t.Context(), endpoint.Endpoint{}, nil, false); err == nil ||
			status.CodeOf(err) != status.InvalidArgument {
			t.Errorf("%s without a listener: %v", v.name, err)
		}
		if err := v.serve(t.Context(), endpoint.Endpoint{Listener: listener}, nil, true); err == nil ||
			status.CodeOf(err) != status.InvalidArgument {
			t.Errorf("%s without a certificate: %v", v.name, err)
		}
	}
	// A server whose listener fails under it says so.
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	if err := http1Version().serve(t.Context(), endpoint.Endpoint{Listener: gone}, nil, false); err == nil {
		t.Error("a closed listener is served")
	}
}
