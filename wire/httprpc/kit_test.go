package httprpc_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"wirelab/wire/endpoint"
	"wirelab/wire/http1"
	"wirelab/wire/http2"
	"wirelab/wire/httprpc"
	"wirelab/wire/status"
)

// word is the message of these tests.
type word struct {
	Text string `json:"text"`
}

func jsonWord() httprpc.Codec[string] {
	return httprpc.JSONOf(func(s string) word { return word{s} }, func(w word) string { return w.Text })
}

func words() httprpc.Forms[string] {
	return httprpc.Forms[string]{
		JSON:  jsonWord(),
		Proto: httprpc.ProtoOf[string, wrapperspb.StringValue](wrapperspb.String, (*wrapperspb.StringValue).GetValue),
	}
}

// echo is the service of these tests; a field that is nil does what its name says.
type echo struct {
	unary func(context.Context, string) (string, error)
	list  func(context.Context, string) iter.Seq2[string, error]
	join  func(context.Context, iter.Seq2[string, error]) (string, error)
	chat  func(context.Context, iter.Seq2[string, error]) iter.Seq2[string, error]
}

func (e echo) handler() http.Handler {
	if e.unary == nil {
		e.unary = func(_ context.Context, s string) (string, error) { return s, nil }
	}
	if e.list == nil { // the letters of the request
		e.list = func(_ context.Context, s string) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				for _, letter := range s {
					if !yield(string(letter), nil) {
						return
					}
				}
			}
		}
	}
	if e.join == nil {
		e.join = func(_ context.Context, in iter.Seq2[string, error]) (string, error) {
			var all strings.Builder
			for s, err := range in {
				if err != nil {
					return "", err
				}
				all.WriteString(s)
			}
			return all.String(), nil
		}
	}
	if e.chat == nil {
		e.chat = func(_ context.Context, in iter.Seq2[string, error]) iter.Seq2[string, error] { return in }
	}
	return httprpc.NewHandler(map[string]httprpc.Route{
		"/unary": httprpc.Unary(words(), words(), e.unary),
		"/list":  httprpc.ServerStream(jsonWord(), jsonWord(), e.list),
		"/join":  httprpc.ClientStream(jsonWord(), jsonWord(), e.join),
		"/chat":  httprpc.Bidi(jsonWord(), jsonWord(), e.chat),
	})
}

// version is an HTTP version that streams can be tried over.
type version struct {
	name  string
	serve func(context.Context, endpoint.Endpoint, http.Handler, bool) error
	dial  func(endpoint.Dialing, bool) *httprpc.Client
}

func versions() []version {
	return []version{{"HTTP/1.1", http1.Serve, http1.Dial}, {"h2c", http2.Serve, http2.Dial}}
}

// eachVersion runs test over each.
func eachVersion(t *testing.T, test func(t *testing.T, v version)) {
	t.Helper()
	for _, v := range versions() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			test(t, v)
		})
	}
}

// start serves handler until the test ends or stop is called.
func (v version) start(t *testing.T, handler http.Handler, drain time.Duration) (address string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- v.serve(ctx, endpoint.Endpoint{Listener: listener, Drain: drain}, handler, false) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(stop)
	return listener.Addr().String(), stop
}

// stubs are the four calls of one client.
type stubs struct {
	unary, unaryProto func(context.Context, string) (string, error)
	list              func(context.Context, string) iter.Seq2[string, error]
	join              func(context.Context, iter.Seq2[string, error]) (string, error)
	chat              func(context.Context, iter.Seq2[string, error]) iter.Seq2[string, error]
}

func (v version) connect(t *testing.T, address string) stubs {
	t.Helper()
	client := v.dial(endpoint.Dialing{Address: address, Connections: 4}, false)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return stubsOf(client)
}

func stubsOf(client *httprpc.Client) stubs {
	return stubs{
		unary:      httprpc.CallUnary(client, "/unary", jsonWord(), jsonWord()),
		unaryProto: httprpc.CallUnary(client, "/unary", words().Proto, words().Proto),
		list:       httprpc.CallServerStream(client, "/list", jsonWord(), jsonWord()),
		join:       httprpc.CallClientStream(client, "/join", jsonWord(), jsonWord()),
		chat:       httprpc.CallBidi(client, "/chat", jsonWord(), jsonWord()),
	}
}

// collect is a stream's items, joined, and its error.
func collect(items iter.Seq2[string, error]) (string, error) {
	var all strings.Builder
	for s, err := range items {
		if err != nil {
			return all.String(), err
		}
		all.WriteString(s)
	}
	return all.String(), nil
}

// these is a stream of items that ends with err, if it is not nil.
func these(err error, all ...string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, s := range all {
			if !yield(s, nil) {
				return
			}
		}
		if err != nil {
			yield("", err)
		}
	}
}

// answer is a reply whose body was read and closed.
type answer struct {
	StatusCode int
	Header     http.Header
}

// ask sends one request with a client that adds nothing and returns the reply and its body.
func ask(t *testing.T, method, url, body string, header ...string) (answer, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header}, string(data)
}

// is tells whether err carries exactly this code and message.
func is(err error, code status.Code, message string) bool {
	var coded *status.Error
	return errors.As(err, &coded) && coded.Code == code && coded.Message == message
}
