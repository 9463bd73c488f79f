package sse_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"wirelab/internal/leaktest"
	"wirelab/wire/endpoint"
	"wirelab/wire/http1"
	"wirelab/wire/httprpc"
	"wirelab/wire/sse"
	"wirelab/wire/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

func text() httprpc.Codec[string] {
	return httprpc.JSONOf(func(s string) string { return s }, func(s string) string { return s })
}

func query() sse.Query[string] {
	return sse.Query[string]{
		Encode: func(s string) url.Values { return url.Values{"q": {s}} },
		Decode: func(q url.Values) (string, error) {
			if !q.Has("q") {
				return "", status.Errorf(status.InvalidArgument, "q is missing")
			}
			return q.Get("q"), nil
		},
	}
}

// serve serves list on loopback until the test ends and returns its address.
func serve(t *testing.T, list func(context.Context, string) iter.Seq2[string, error]) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	handler := httprpc.NewHandler(map[string]httprpc.Route{"/list": sse.ServerStream(query(), text(), list)})
	go func() { ended <- http1.Serve(ctx, endpoint.Endpoint{Listener: listener}, handler, false) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return listener.Addr().String()
}

func stub(t *testing.T, address string) func(context.Context, string) iter.Seq2[string, error] {
	t.Helper()
	client := http1.Dial(endpoint.Dialing{Address: address}, false)
	t.Cleanup(func() { client.Close() })
	return sse.CallServerStream(client, "/list", query(), text())
}

func collect(items iter.Seq2[string, error]) (all []string, err error) {
	for s, err := range items {
		if err != nil {
			return all, err
		}
		all = append(all, s)
	}
	return all, nil
}

// TestStream lists, fails before and after the first item, and lists again
// over the same connection.
func TestStream(t *testing.T) {
	t.Parallel()
	call := stub(t, serve(t, func(_ context.Context, s string) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for _, word := range strings.Fields(s) {
				var err error
				if word == "!" {
					err = status.Errorf(status.NotFound, "no more\r\ndata: x")
				}
				if !yield(word, err) || err != nil {
					return
				}
			}
		}
	}))
	for _, c := range []struct {
		request, want string
		failure       string
	}{
		{"a+b & c % \u2028", "[a+b & c %]", ""},
		{"", "[]", ""},
		{"!", "[]", "not_found: no more\r\ndata: x"},
		{"a b !", "[a b]", "not_found: no more\r\ndata: x"},
		{"a", "[a]", ""},
	} {
		got, err := collect(call(t.Context(), c.request))
		if fmt.Sprint(got) != c.want || (err == nil) != (c.failure == "") || err != nil && err.Error() != c.failure {
			t.Errorf("%q: %v, %v; want %s, %s", c.request, got, err, c.want, c.failure)
		}
	}
}

// TestRawStream reads the reply as a browser gets it.
func TestRawStream(t *testing.T) {
	t.Parallel()
	address := serve(t, func(context.Context, string) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			_ = yield("a", nil) && yield("", status.Errorf(status.Conflict, "no"))
		}
	})
	get := func(method, query, accept string) (int, string, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+"/list"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Header.Get("Content-Type"), string(body)
	}
	const want = "data: \"a\"\n\n" +
		"event: failure\ndata:{\"code\":409,\"message\":\"no\",\"details\":{\"wirelab.code\":\"conflict\"}}\n\n"
	for _, accept := range []string{"text/event-stream", "*/*", "text/*"} {
		if status, kind, body := get("GET", "?q=", accept); status != 200 || kind != "text/event-stream" ||
			body != want {
			t.Errorf("Accept %s: %d, %s, %q; want %q", accept, status, kind, body, want)
		}
	}
	for why, status := range map[string]int{
		"POST ?q= */*": 405, "GET ?x= */*": 400, "GET ?q=%zz */*": 400, "GET ?q= application/json": 513,
	} {
		ask := strings.Fields(why)
		if got, kind, body := get(ask[0], ask[1], ask[2]); got != status || kind != "application/json" {
			t.Errorf("%s: %d, %s, %s; want %d", why, got, kind, body, status)
		}
	}
}

// TestStreamsThatFail answers as no server here does.
func TestStreamsThatFail(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream;charset=utf-8\r\n\r\ndata: " +
		"\"a\"\n\n"
	for _, c := range []struct {
		why, reply string
		code       status.Code
		part       string
	}{
		{"no end event", head, status.Unavailable, "end event is missing"},
		{"cut short in an event", head + "event: end\ndata: {}\n", status.Unavailable, "end event is missing"},
		{
			"something after the end", head + "event: end\ndata: {}\n\ndata: \"b\"\n\n", status.Unavailable,
			"something follows",
		},
		{"nonsense", head + "data: b\n\n", status.Internal, "cannot be read"},
		{"a failure that is none of ours", head + "event: failure\ndata: oops\n\n", status.Internal, "oops"},
		{"not UTF-8", head + "data: \"\xff\"\n\n", status.Internal, "UTF-8"},
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				io.WriteString(conn, c.reply)
			}
		}()
		got, err := collect(stub(t, listener.Addr().String())(t.Context(), ""))
		if len(got) != 1 || err == nil || status.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v, %v; want [a] and %v with %q", c.why, got, err, c.code, c.part)
		}
		<-answered
		listener.Close()
	}
}

// TestLeaving ends a call from its loop and sees the service stop.
func TestLeaving(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	call := stub(t, serve(t, func(context.Context, string) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			defer close(ended)
			for yield("a", nil) {
			}
		}
	}))
	for range call(t.Context(), "") {
		break
	}
	<-ended
}
