package sse_test

import (
	"context"
	"fmt"
	"iter"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"wirelab/wire/endpoint"
	"wirelab/wire/sse"
	"wirelab/wire/status"
)

// frail is a connection that breaks after so many bytes were read of it.
type frail struct {
	net.Conn
	left int
}

func (f *frail) Read(p []byte) (int, error) {
	if f.left <= 0 {
		f.Close()
		return 0, net.ErrClosed
	}
	n, err := f.Conn.Read(p[:min(len(p), f.left)])
	f.left -= n
	return n, err
}

// connector opens connections of which the nth, from 0, breaks after
// breaks[n] bytes, and those behind never.
type connector struct {
	mu     sync.Mutex // guards all below
	breaks []int
	opened int
}

func (c *connector) connect(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened++
	if c.opened > len(c.breaks) {
		return conn, nil
	}
	return &frail{conn, c.breaks[c.opened-1]}, nil
}

// TestResumeAtEveryByte cuts the connection at every byte of a stream: what
// comes over the second begins where the first ended, and nothing is lost,
// given twice or misplaced.
func TestResumeAtEveryByte(t *testing.T) {
	t.Parallel()
	for _, v := range versions() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			address, _ := v.start(t, counting(numbers(), upTo(4)))
			for request, want := range map[count]string{{}: "1@1 2@2 3@3 4@4", {after: "1", limit: 2}: "2@1 3@2"} {
				resumed, whole := 0, false
				for at := 0; !whole; at++ {
					if at > 2000 {
						t.Fatal("the stream has no end")
					}
					c := &connector{breaks: []int{at}}
					client := v.dial(endpoint.Dialing{Address: address, Connect: c.connect}, false)
					got, err := taken(sse.Call(client, "/count", countParameters(), numbers())(t.Context(), request))
					client.Close()
					if err != nil && got == "" && status.CodeOf(err) == status.Unavailable && resumed == 0 {
						continue // cut before there was a reply
					}
					if got != want || err != nil {
						t.Fatalf("cut after %d bytes: %s, %v", at, got, err)
					}
					if whole = c.opened == 1; !whole {
						resumed++
					}
				}
				if resumed < 100 {
					t.Errorf("%+v: only %d cuts were resumed", request, resumed)
				}
			}
		})
	}
}

// TestResumeAgainAndAgain has every connection break after some items: as long as each brings one the stream
// continues.
func TestResumeAgainAndAgain(t *testing.T) {
	t.Parallel()
	for _, v := range versions() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			const last = 60
			var want []string
			for n := range last {
				want = append(want, fmt.Sprintf("%d@%d", n+1, n+1))
			}
			address, _ := v.start(t, counting(numbers(), upTo(last)))
			c := &connector{}
			for range last {
				c.breaks = append(c.breaks, 420)
			}
			got, err := taken(v.counter(t, numbers(), address, c.connect)(t.Context(), count{limit: last}))
			if got != strings.Join(want, " ") || err != nil {
				t.Errorf("%s, %v", got, err)
			}
			if c.opened < 10 {
				t.Errorf("only %d connections", c.opened)
			}
		})
	}
}

// scene is a stream that breaks in some way, and what its reader then sees.
type scene struct {
	why   string
	call  func(ctx context.Context, asked int64, c count) iter.Seq2[number, error]
	asked int64 // how often the server is
	want  string
	code  status.Code
	plain bool // the client knows nothing of resuming
}

// cutting breaks the connection off, as net/http does for a handler that panics so.
func cutting(items ...number) func(func(number, error) bool) {
	return func(yield func(number, error) bool) {
		for _, n := range items {
			if !yield(n, nil) {
				return
			}
		}
		panic(http.ErrAbortHandler)
	}
}

func scenes() []scene {
	failing := func(code status.Code) func(context.Context, int64, count) iter.Seq2[number, error] {
		return func(_ context.Context, asked int64, _ count) iter.Seq2[number, error] {
			if asked == 1 {
				return cutting(number{1, 1})
			}
			return func(yield func(number, error) bool) { yield(number{}, status.Errorf(code, "no")) }
		}
	}
	always := func(_ context.Context, asked int64, _ count) iter.Seq2[number, error] {
		if asked == 1 {
			return cutting(number{1, 1})
		}
		return cutting()
	}
	return []scene{
		{"nothing more comes, however often it is asked for", always, 5, "1@1", status.Unavailable, false},
		{"the server says that it is going away", failing(status.Unavailable), 5, "1@1", status.Unavailable, false},
		{"the server refuses to go on", failing(status.NotFound), 2, "1@1", status.NotFound, false},
		{"the client knows nothing of resuming", always, 1, "1@1", status.Unavailable, true},
		{
			"a failure is reported, which is no broken connection", func(context.Context, int64,
				count,
			) iter.Seq2[number, error] {
				return func(yield func(number, error) bool) {
					_ = yield(number{1, 1}, nil) && yield(number{}, status.Errorf(status.Unavailable, "down"))
				}
			}, 1, "1@1", status.Unavailable, false,
		},
		{
			"a panic in the service is none either", func(context.Context, int64, count) iter.Seq2[number, error] {
				return func(yield func(number, error) bool) {
					yield(number{1, 1}, nil)
					panic("injected")
				}
			}, 1, "1@1", status.Internal, false,
		},
		{
			"the reply breaks before its first item",
			func(ctx context.Context, asked int64, c count) iter.Seq2[number, error] {
				if asked == 1 {
					return cutting()
				}
				return upTo(1)(ctx, c)
			}, 1, "", status.Unavailable, false,
		},
	}
}

// TestWhenToResume sees which failures are taken for a broken connection, and
// that there is an end to it.
func TestWhenToResume(t *testing.T) {
	t.Parallel()
	for _, v := range versions() {
		for _, c := range scenes() {
			t.Run(v.name+"/"+c.why, func(t *testing.T) {
				t.Parallel()
				var asked atomic.Int64
				address, _ := v.start(t,
					counting(numbers(), func(ctx context.Context, req count) iter.Seq2[number, error] {
						return c.call(ctx, asked.Add(1), req)
					}))
				stream := numbers()
				if c.plain {
					stream.Resume = nil
				}
				got, err := taken(v.counter(t, stream, address, nil)(t.Context(), count{}))
				if got != c.want || err == nil || status.CodeOf(err) != c.code {
					t.Errorf("%s, %v; want %s and %v", got, err, c.want, c.code)
				}
				if n := asked.Load(); n != c.asked {
					t.Errorf("the server was asked %d times, want %d", n, c.asked)
				}
			})
		}
	}
}

// TestAllButTheEnd breaks after the last item of a request with a limit: it is
// whole, and nothing is asked for again.
func TestAllButTheEnd(t *testing.T) {
	t.Parallel()
	for _, v := range versions() {
		var asked atomic.Int64
		address, _ := v.start(t, counting(numbers(), func(context.Context, count) iter.Seq2[number, error] {
			asked.Add(1)
			return cutting(number{1, 1}, number{2, 2})
		}))
		if got, err := taken(v.counter(t, numbers(), address, nil)(t.Context(), count{limit: 2})); got != "1@1 2@2" ||
			err != nil || asked.Load() != 1 {
			t.Errorf("%s: %s, %v, asked %d times", v.name, got, err, asked.Load())
		}
	}
}

// TestNoIDs breaks streams whose events have no ids, as a server may send that
// is not ours: to begin anew would give items twice.
func TestNoIDs(t *testing.T) {
	t.Parallel()
	nameless := numbers()
	nameless.Resume = nil
	var asked atomic.Int64
	v := versions()[0]
	address, _ := v.start(t, counting(nameless, func(context.Context, count) iter.Seq2[number, error] {
		asked.Add(1)
		return cutting(number{1, 1})
	}))
	if got, err := taken(v.counter(t, numbers(), address, nil)(t.Context(), count{})); got != "1@1" || err == nil ||
		asked.Load() != 1 {
		t.Errorf("%s, %v, asked %d times", got, err, asked.Load())
	}
}

// TestGivingUpWhileWaiting ends a call that waits to connect again.
func TestGivingUpWhileWaiting(t *testing.T) {
	t.Parallel()
	stream := numbers()
	stream.Resume.Retry = 1 << 40 // more than any wait is
	v := versions()[0]
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int64
	address, _ := v.start(t, counting(stream, func(context.Context, count) iter.Seq2[number, error] {
		asked.Add(1)
		return cutting(number{1, 1})
	}))
	client := v.dial(endpoint.Dialing{
		Address: address,
		Connect: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return &watched{conn, cancel}, err
		},
	}, false)
	defer client.Close()
	got, err := taken(sse.Call(client, "/count", countParameters(), stream)(ctx, count{}))
	if got != "1@1" || err == nil || status.CodeOf(err) != status.Canceled || asked.Load() != 1 {
		t.Errorf("%s, %v, asked %d times", got, err, asked.Load())
	}
}

// watched is a connection that tells when it is closed.
type watched struct {
	net.Conn
	closed func()
}

func (w *watched) Close() error {
	defer w.closed()
	return w.Conn.Close()
}
