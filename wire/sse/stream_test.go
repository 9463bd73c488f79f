package sse_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wirelab/internal/pipetest"
	"wirelab/wire/endpoint"
	"wirelab/wire/http1"
	"wirelab/wire/http2"
	"wirelab/wire/httprpc"
	"wirelab/wire/sse"
	"wirelab/wire/status"
)

// count asks for the numbers behind one.
type count struct {
	after string
	limit int32
}

// number is an item: its id, and its place in the stream.
type number struct {
	N     int `json:"n"`
	Place int `json:"place"`
}

func numbers() sse.Stream[count, number] {
	return sse.Stream[count, number]{
		Codec: httprpc.JSONOf(func(n number) number { return n }, func(n number) number { return n }),
		Name:  "number", Failure: "error", AnyOrigin: true,
		Resume: &sse.Resume[count, number]{
			Retry: time.Millisecond,
			ID:    func(n *number) string { return strconv.Itoa(n.N) },
			After: func(c *count, id string) { c.after = id },
			Rest: func(c *count, n int64) bool {
				if c.limit == 0 {
					return true
				}
				c.limit -= int32(n)
				return c.limit > 0
			},
			Shift: func(n *number, by int64) { n.Place += int(by) },
		},
	}
}

func countParameters() []httprpc.Parameter[count] {
	return []httprpc.Parameter[count]{
		httprpc.Text("after", func(c *count) *string { return &c.after }),
		httprpc.Number("limit", func(c *count) *int32 { return &c.limit }),
	}
}

// upTo counts up to last, or as far as asked.
func upTo(last int) func(context.Context, count) iter.Seq2[number, error] {
	return func(_ context.Context, c count) iter.Seq2[number, error] {
		return func(yield func(number, error) bool) {
			from := 0
			if c.after != "" {
				var err error
				if from, err = strconv.Atoi(c.after); err != nil {
					yield(number{}, status.Errorf(status.NotFound, "no %q", c.after))
					return
				}
			}
			for n := from + 1; n <= last && (c.limit == 0 || n <= from+int(c.limit)); n++ {
				if !yield(number{n, n - from}, nil) {
					return
				}
			}
		}
	}
}

// counting is the handler of a counting service.
func counting(
	stream sse.Stream[count, number], call func(context.Context, count) iter.Seq2[number, error],
) http.Handler {
	return httprpc.NewREST(map[string][]httprpc.Route{"/count": {
		httprpc.GetStream(countParameters(), call, stream.Framing(), httprpc.Lines[count](stream.Codec)),
	}})
}

// version is an HTTP version that streams are tried over.
type version struct {
	name  string
	serve func(context.Context, endpoint.Endpoint, http.Handler, bool) error
	dial  func(endpoint.Dialing, bool) *httprpc.Client
}

func versions() []version {
	return []version{{"HTTP/1.1", http1.Serve, http1.Dial}, {"h2c", http2.Serve, http2.Dial}}
}

// start serves handler until the test ends or stop is called.
func (v version) start(t *testing.T, handler http.Handler) (address string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- v.serve(ctx, endpoint.Endpoint{Listener: listener, Drain: time.Millisecond}, handler, false)
	}()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
	t.Cleanup(stop)
	return listener.Addr().String(), stop
}

// counter is a client's stub, over connections that connect opens.
func (v version) counter(
	t *testing.T, stream sse.Stream[count, number], address string,
	connect func(context.Context, string, string) (net.Conn, error),
) func(context.Context, count) iter.Seq2[number, error] {
	t.Helper()
	client := v.dial(endpoint.Dialing{Address: address, Connect: connect}, false)
	t.Cleanup(func() { client.Close() })
	return sse.Call(client, "/count", countParameters(), stream)
}

// taken is what a stream gave: "1@1 2@2", each number with its place.
func taken(items iter.Seq2[number, error]) (string, error) {
	var all []string
	for n, err := range items {
		if err != nil {
			return strings.Join(all, " "), err
		}
		all = append(all, fmt.Sprintf("%d@%d", n.N, n.Place))
	}
	return strings.Join(all, " "), nil
}

// said is what a server says to one GET.
func said(t *testing.T, handler http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// TestIDs reads the bytes of streams with ids, begun and resumed.
func TestIDs(t *testing.T) {
	t.Parallel()
	handler := counting(numbers(), upTo(3))
	const (
		begin = "retry: 1\n\n"
		one   = "event: number\nid: 1\ndata: {\"n\":1,\"place\":1}\n\n"
		two   = "event: number\nid: 2\ndata: {\"n\":2,\"place\":2}\n\n"
		end   = "event: end\nid: (end)\ndata:{}\n\n"
	)
	third := func(place int) string {
		return fmt.Sprintf("event: number\nid: 3\ndata: {\"n\":3,\"place\":%d}\n\n", place)
	}
	for _, c := range []struct {
		why, target, last string
		status            int
		want              string
	}{
		{"from the beginning", "/count", "", 200, begin + one + two + third(3) + end},
		{"so many", "/count?limit=2", "", 200, begin + one + two + end},
		{"after an id of the query", "/count?after=2", "", 200, begin + third(1) + end},
		{"after the last id, as EventSource asks", "/count", "2", 200, begin + third(1) + end},
		{"which goes before the query's", "/count?after=1", "2", 200, begin + third(1) + end},
		{"after the last", "/count", "3", 200, begin + end},
		{"after the end, at which EventSource stops", "/count", "(end)", 204, ""},
		{
			"after what there is not", "/count", "x", 404,
			`{"code":404,"message":"no \"x\"","details":{"wirelab.code":"not_found"}}`,
		},
	} {
		w := said(t, handler, "GET", c.target, "Last-Event-ID", c.last)
		if w.Code != c.status || w.Body.String() != c.want {
			t.Errorf("%s: %d, %q; want %d, %q", c.why, w.Code, w.Body, c.status, c.want)
		}
		if c.status == 200 && w.Header().Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s: type %q", c.why, w.Header().Get("Content-Type"))
		}
		if w.Header().Get("Access-Control-Allow-Origin") != "*" || c.status == 200 &&
			w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: header %v", c.why, w.Header())
		}
	}
	// A failure is an event once the stream has begun, under the stream's name for it.
	failing := counting(numbers(), func(context.Context, count) iter.Seq2[number, error] {
		return func(yield func(number, error) bool) {
			_ = yield(number{1, 1}, nil) && yield(number{}, status.Errorf(status.Unavailable, "gone"))
		}
	})
	const failure = "event: error\n" +
		"data:{\"code\":503,\"message\":\"gone\",\"details\":{\"wirelab.code\":\"unavailable\"}}\n\n"
	if w := said(t, failing, "GET", "/count"); w.Body.String() != begin+one+failure {
		t.Errorf("a failure: %q", w.Body)
	}
	// An id that would be another line, or the end's, is the service's fault.
	for _, id := range []string{"a\nid: b", "\r", "\x00", sse.EndID} {
		stream := numbers()
		stream.Resume.ID = func(*number) string { return id }
		if w := said(t, counting(stream, upTo(3)), "GET", "/count"); w.Code != 500 {
			t.Errorf("id %q: %d, %q; want 500", id, w.Code, w.Body)
		}
	}
}

// TestFramings asks for the stream in each way that it is offered.
func TestFramings(t *testing.T) {
	t.Parallel()
	handler := counting(numbers(), upTo(1))
	const events, lines = "text/event-stream", "application/x-ndjson"
	for _, c := range []struct{ accept, kind string }{
		{"", events},
		{"*/*", events},
		{"text/*", events},
		{"application/*", lines},
		{lines, lines},
		{lines + ", */*", lines},
		{"text/html, " + lines + ";q=0.5, " + events, lines},
		{lines + ";q=0, */*;q=0.1", events},
		{"Text/Event-Stream; charset=utf-8", events},
	} {
		if w := said(t, handler, "GET", "/count", "Accept", c.accept); w.Code != 200 ||
			w.Header().Get("Content-Type") != c.kind {
			t.Errorf("Accept %q: %d, %v", c.accept, w.Code, w.Header())
		}
	}
	if w := said(t, handler, "GET", "/count", "Accept", "application/json"); w.Code != 406 ||
		!strings.Contains(w.Body.String(), events+", "+lines) {
		t.Errorf("Accept of neither: %d, %s", w.Code, w.Body)
	}
	if w := said(t, handler, "GET", "/count", "Accept",
		lines); w.Body.String() != "{\"result\":{\"n\":1,\"place\":1}}\n{\"end\":true}\n" {
		t.Errorf("lines: %q", w.Body)
	}
	asked := func(context.Context, count) iter.Seq2[number, error] {
		t.Error("a HEAD has the stream made")
		return func(func(number, error) bool) {}
	}
	if w := said(t, counting(numbers(), asked), "HEAD", "/count"); w.Code != 200 ||
		w.Header().Get("Content-Type") != events {
		t.Errorf("HEAD: %d, %v", w.Code, w.Header())
	}
}

// TestHeartbeats reads comments while nothing comes, then an item: grb-D10.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	for _, v := range versions() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			goOn := make(chan struct{})
			stream := numbers()
			stream.Heartbeat = time.Millisecond
			address, _ := v.start(t, counting(stream, func(ctx context.Context, c count) iter.Seq2[number, error] {
				return func(yield func(number, error) bool) {
					select {
					case <-goOn:
					case <-ctx.Done():
						return
					}
					upTo(1)(ctx, c)(yield)
				}
			}))
			client := v.dial(endpoint.Dialing{Address: address}, false)
			defer client.Close()
			ask := httprpc.Asking(client, "/count", countParameters(), httprpc.MediaEvents)
			r, err := ask(t.Context(), new(count))
			if err != nil {
				t.Fatal(err)
			}
			err = client.Receive(t.Context(), r, httprpc.MediaEvents, func(*http.Request) {},
				func(resp *http.Response) error {
					const beats = "retry: 1\n\n:\n\n:\n\n:\n\n"
					got := make([]byte, len(beats))
					if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != beats {
						return fmt.Errorf("%q, %w", got, err)
					}
					close(goOn)
					rest, err := io.ReadAll(resp.Body)
					text := strings.TrimLeft(string(rest), ":\n")
					if err != nil || !strings.HasPrefix(text, "event: number\nid: 1\n") || !strings.HasSuffix(text,
						"id: (end)\ndata:{}\n\n") {
						return fmt.Errorf("%q, %w", rest, err)
					}
					return nil
				})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// deaf is a reply whose reader is gone: it takes so many bytes.
type deaf struct {
	http.ResponseWriter
	takes int
}

var errGone = errors.New("the reader is gone")

func (d *deaf) Write(p []byte) (int, error) {
	if d.takes -= len(p); d.takes < 0 {
		return 0, errGone
	}
	return len(p), nil
}

func (d *deaf) FlushError() error { return nil }

// TestReaderIsGone has writes fail, of an item and of a heartbeat: the service
// stops, whatever it was waiting for (grb-D10).
func TestReaderIsGone(t *testing.T) {
	t.Parallel()
	stream := numbers()
	stream.Heartbeat = time.Millisecond
	for why, call := range map[string]func(context.Context, count) iter.Seq2[number, error]{
		"items": upTo(1 << 40),
		"heartbeats": func(ctx context.Context, _ count) iter.Seq2[number, error] {
			return func(yield func(number, error) bool) {
				<-ctx.Done()
				yield(number{}, ctx.Err())
			}
		},
	} {
		func() {
			defer func() {
				if p := recover(); p != http.ErrAbortHandler {
					t.Errorf("%s: the reply is not cut: %v", why, p)
				}
			}()
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/count", http.NoBody)
			counting(stream, call).ServeHTTP(&deaf{httptest.NewRecorder(), 100}, r)
		}()
	}
}

// TestStreamsOutliveTimeouts streams from an unchanged server, with a day between two items: longer than each
// of its limits, which are for requests (grb-M16). The clock is not the machine's.
func TestStreamsOutliveTimeouts(t *testing.T) {
	t.Parallel()
	const pause = 24 * time.Hour
	for _, v := range versions() {
		t.Run(v.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener := pipetest.New()
				var calls atomic.Int64
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					at := endpoint.Endpoint{Listener: listener, Drain: time.Millisecond}
					ended <- v.serve(ctx, at,
						counting(numbers(), func(ctx context.Context, c count) iter.Seq2[number, error] {
							calls.Add(1)
							return func(yield func(number, error) bool) {
								upTo(5)(ctx, c)(func(n number, err error) bool {
									select {
									case <-time.After(pause):
									case <-ctx.Done():
										return false
									}
									return yield(n, err)
								})
							}
						}), false)
				}()
				client := v.dial(endpoint.Dialing{Address: "127.0.0.1:1", Connect: listener.Connect}, false)
				got, err := taken(sse.Call(client, "/count", countParameters(), numbers())(t.Context(), count{}))
				if got != "1@1 2@2 3@3 4@4 5@5" || err != nil {
					t.Errorf("%s, %v", got, err)
				}
				// A stream that was cut would go on over another connection, or with another request.
				if n := listener.Opened.Load(); n != 1 || calls.Load() != 1 {
					t.Errorf("over %d connections, with %d requests", n, calls.Load())
				}
				client.Close()
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// overseen is a listener that notes whether a connection of its was ever given
// a time by which something must be written.
type overseen struct {
	net.Listener
	limited *atomic.Bool
}

func (o overseen) Accept() (net.Conn, error) {
	conn, err := o.Listener.Accept()
	return overseenConn{conn, o.limited}, err
}

type overseenConn struct {
	net.Conn
	limited *atomic.Bool
}

func (o overseenConn) SetWriteDeadline(at time.Time) error {
	if !at.IsZero() {
		o.limited.Store(true)
	}
	return o.Conn.SetWriteDeadline(at)
}

// TestNoTimeToWrite streams from an unchanged server: nothing says how long a reply may take (grb-M16).
func TestNoTimeToWrite(t *testing.T) {
	t.Parallel()
	for _, v := range versions() {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var limited atomic.Bool
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			at := endpoint.Endpoint{Listener: overseen{listener, &limited}}
			ended <- v.serve(ctx, at, counting(numbers(), upTo(3)), false)
		}()
		if got, err := taken(v.counter(t, numbers(), listener.Addr().String(), nil)(t.Context(),
			count{})); got != "1@1 2@2 3@3" || err != nil || limited.Load() {
			t.Errorf("%s: %s, %v; a time to write by: %v", v.name, got, err, limited.Load())
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
