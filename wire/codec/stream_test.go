package codec_test

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc"

	wireconnect "wirelab/wire/connect"
	"wirelab/wire/endpoint"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/status"
)

// counting is a service with a stream.
type counting interface {
	Count(ctx context.Context, w word) iter.Seq2[size, error]
}

// abacus counts up to as many as a word has letters, and then does what it says.
type abacus struct{ ended chan struct{} }

func (a abacus) Count(ctx context.Context, w word) iter.Seq2[size, error] {
	return func(yield func(size, error) bool) {
		defer func() { a.ended <- struct{}{} }()
		switch w {
		case "broken":
			panic("a service that breaks")
		case "endless":
			for yield(1, nil) {
			}
			return
		case "waiting":
			if yield(1, nil) {
				<-ctx.Done()
				yield(0, ctx.Err())
			}
			return
		}
		for n := range len(w) {
			if !yield(size(n+1), nil) {
				return
			}
		}
		if strings.HasSuffix(string(w), "?") {
			yield(0, status.Errorf(status.NotFound, "no such word"))
		}
	}
}

const counter = "/" + service + "/Count"

// serveStream serves by a library until the test ends.
func serveStream(t *testing.T, library string) (address string, ended <-chan struct{}) {
	t.Helper()
	counts := abacus{make(chan struct{}, 100)} // more than a test makes calls
	return served(t, func(ctx context.Context, at endpoint.Endpoint) error {
		if library == "grpc-go" {
			return wiregrpc.Serve(ctx, at, false, subtype, func(to grpc.ServiceRegistrar) {
				to.RegisterService(wiregrpc.Describe(service, subtype,
					wiregrpc.ServerStream("Count", wordForm(), sizeForm(),
						counting.Count)), counts)
			})
		}
		mux := http.NewServeMux()
		mux.Handle(counter, wireconnect.HandleServerStream(counter, subtype, wordForm(), sizeForm(), counts.Count))
		return wireconnect.Serve(ctx, at, wireconnect.H2C, mux)
	}), counts.ended
}

// dialStream returns a call by a library.
func dialStream(t *testing.T, library, address string) func(context.Context, word) iter.Seq2[size, error] {
	t.Helper()
	to := endpoint.Dialing{Address: address}
	if library == "grpc-go" {
		conn, err := wiregrpc.Dial(to, false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeQuietly(conn) })
		return wiregrpc.CallServerStream(conn, service, "Count", subtype, wordForm(), sizeForm())
	}
	client := wireconnect.Dial(to, wireconnect.H2C)
	t.Cleanup(func() { closeQuietly(client) })
	return wireconnect.CallServerStream(client, client.BaseURL(), counter, subtype, wordForm(), sizeForm(),
		connect.WithGRPC())
}

// Every client against every server: the items of a stream cross, and its
// failure does, from wherever it comes; what came before it has arrived.
func TestStreams(t *testing.T) {
	t.Parallel()
	libraries := []string{"grpc-go", "connect-go"}
	for _, server := range libraries {
		for _, client := range libraries {
			t.Run(client+"→"+server, func(t *testing.T) {
				t.Parallel()
				address, ended := serveStream(t, server)
				call := dialStream(t, client, address)
				for _, c := range []struct {
					ask   word
					items int
					code  status.Code
					says  string // "": success
				}{
					{ask: "ab", items: 2},
					{ask: "", items: 0},
					{ask: "a?", items: 2, code: status.NotFound, says: "no such word"},
					{ask: "broken", code: status.Internal, says: "internal error"},
					{ask: "unwritable", code: status.InvalidArgument, says: "that word cannot be written"},
					{ask: "fatal", code: status.Internal, says: "internal error"},
					{ask: "unreadable", code: status.ResourceExhausted, says: "too much of a word"},
					{ask: "foreign", code: status.Internal, says: "internal error"},
					{ask: "poison", code: status.Internal, says: "internal error"},
					{ask: "abcdef", items: 2, code: status.Internal, says: " "}, // the third item cannot be written
					{ask: "ab", items: 2},
				} {
					items, err := drain(call(t.Context(), c.ask), -1)
					switch {
					case items != c.items:
						t.Errorf("%q: %d items, want %d; %v", c.ask, items, c.items, err)
					case c.says == "" && err != nil:
						t.Errorf("%q: %v", c.ask, err)
					case c.says != "" &&
						(err == nil || status.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says)):
						t.Errorf("%q: %v, want %v with %q", c.ask, err, c.code, c.says)
					case err != nil &&
						(strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "breaks")):
						t.Errorf("%q: %v gives away internals", c.ask, err)
					}
				}
				for len(ended) > 0 {
					<-ended
				}
				leave(t, call, ended)
			})
		}
	}
}

// leave leaves streams that go on, which ends them in the service.
func leave(t *testing.T, call func(context.Context, word) iter.Seq2[size, error], ended <-chan struct{}) {
	t.Helper()
	wait := func(what string) {
		t.Helper()
		select {
		case <-ended:
		case <-time.After(2 * time.Minute):
			t.Fatalf("%s has not ended in the service", what)
		}
	}
	if items, err := drain(call(t.Context(), "endless"), 3); items != 3 || err != nil {
		t.Errorf("an endless stream that was left: %d items, %v", items, err)
	}
	wait("an endless stream that was left")
	if items, err := drain(call(t.Context(), "waiting"), 1); items != 1 || err != nil {
		t.Errorf("a waiting stream that was left: %d items, %v", items, err)
	}
	wait("a waiting stream that was left")
	ctx, cancel := context.WithCancel(t.Context())
	for item, err := range call(ctx, "waiting") {
		if err == nil && item == 1 {
			cancel()
		} else if status.CodeOf(err) != status.Canceled {
			t.Errorf("a stream that was given up: %d, %v, want canceled", item, err)
		}
	}
	cancel()
	wait("a stream that was given up")
}

// drain reads at most most items, all where that is negative, and counts them.
func drain(items iter.Seq2[size, error], most int) (n int, _ error) {
	for item, failure := range items {
		if failure != nil {
			return n, failure
		}
		if n++; int(item) != n && item != 1 {
			return n, status.Errorf(status.Internal, "item %d is %d", n, item)
		}
		if n == most {
			return n, nil
		}
	}
	return n, nil
}
