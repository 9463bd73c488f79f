package exchange_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"wirelab"
	"wirelab/wire/exchange"
)

func TestCallsOfEveryKind(t *testing.T) {
	t.Parallel()
	eachWire(t, func(t *testing.T, w wire) {
		r, c := w.pair(t, service{})
		ctx := bounded(t)
		for _, req := range []string{"", "x", "NUL \x00, bytes \xff\xfe", strings.Repeat("long ", 100_000)} {
			if got, err := echo().Call(ctx, c, req); err != nil || got != req {
				t.Errorf("echo of %d bytes gives %d bytes, %v", len(req), len(got), err)
			}
		}
		for _, n := range []int{0, 1, 1000} {
			if got, err := collect(count().CallServerStream(ctx, c, strconv.Itoa(n))); err != nil || len(got) != n {
				t.Errorf("count to %d gives %d items, %v", n, len(got), err)
			}
			reqs := slices.Repeat([]string{"2"}, n)
			if got, err := sum().CallClientStream(ctx, c, list(reqs...)); err != nil || got != strconv.Itoa(2*n) {
				t.Errorf("sum of %d twos gives %q, %v", n, got, err)
			}
			if got, err := collect(chat().CallBidiStream(ctx, c, list(reqs...))); err != nil || len(got) != n {
				t.Errorf("chat of %d gives %d replies, %v", n, len(got), err)
			}
		}
		if got := r.opened.Load(); got != 1 {
			t.Errorf("%d connections for calls one after another, want 1", got)
		}
	})
}

// Each reply decides the next request: a wire that collected either side would hang.
func TestChatIsFullDuplex(t *testing.T) {
	t.Parallel()
	eachWire(t, func(t *testing.T, w wire) {
		_, c := w.pair(t, service{})
		next := make(chan string, 1)
		next <- "0"
		requests := func(yield func(string, error) bool) {
			for req := range next {
				if !yield(req, nil) {
					return
				}
			}
		}
		seen := 0
		for reply, err := range chat().CallBidiStream(bounded(t), c, requests) {
			if err != nil || reply != "re: "+strconv.Itoa(seen) {
				t.Fatalf("reply %d is %q, %v", seen, reply, err)
			}
			if seen++; seen == 20 {
				close(next)
				continue
			}
			next <- strconv.Itoa(seen)
		}
		if seen != 20 {
			t.Errorf("%d replies, want 20", seen)
		}
	})
}

func TestFailuresCrossWhole(t *testing.T) {
	t.Parallel()
	messages := []string{"", "plain", "Ärger mit 100 %s \x00 \xff", strings.Repeat("long ", 20_000)}
	eachWire(t, func(t *testing.T, w wire) {
		var answer atomic.Pointer[wirelab.Error]
		r, c := w.pair(t, service{
			echo: func(context.Context, string) (string, error) { return "", answer.Load() },
			count: func(context.Context, string) iter.Seq2[string, error] {
				return func(yield func(string, error) bool) {
					_ = yield("item", nil) && yield("", answer.Load())
				}
			},
			sum: func(context.Context, iter.Seq2[string, error]) (string, error) { return "", answer.Load() },
		})
		ctx := bounded(t)
		for _, code := range wirelab.Codes() {
			for _, message := range messages {
				want := &wirelab.Error{Code: code, Message: message}
				answer.Store(want)
				_, unary := echo().Call(ctx, c, "")
				_, stream := collect(count().CallServerStream(ctx, c, ""))
				_, client := sum().CallClientStream(ctx, c, list("1", "2"))
				for what, err := range map[string]error{
					"unary": unary, "server stream": stream,
					"client stream": client,
				} {
					var got *wirelab.Error
					if !errors.As(err, &got) || *got != *want {
						t.Errorf("%s: %.80v, want %.80v", what, err, want)
					}
				}
			}
		}
		if got := r.opened.Load(); got != 1 {
			t.Errorf("%d connections for failed calls one after another, want 1: a failure does not cost one", got)
		}
	})
}

func TestFailuresOfTheCall(t *testing.T) {
	t.Parallel()
	eachWire(t, func(t *testing.T, w wire) {
		_, c := w.pair(t, service{
			echo: func(_ context.Context, req string) (string, error) {
				switch req {
				case "panic":
					panic("injected")
				case "unclassified":
					return "", errors.New("a secret")
				case "huge":
					return strings.Repeat("x", exchange.MessageLimit), nil
				}
				return req, nil
			},
			count: func(ctx context.Context, _ string) iter.Seq2[string, error] {
				return func(yield func(string, error) bool) {
					yield("item", nil)
					panic("injected")
				}
			},
			chat: func(context.Context, iter.Seq2[string, error]) iter.Seq2[string, error] { panic("injected") },
		})
		ctx := bounded(t)
		cases := []struct {
			why  string
			call func() error
			want wirelab.Code
		}{
			{
				"a panic costs its call", func() error { _, err := echo().Call(ctx, c, "panic"); return err },
				wirelab.Internal,
			},
			{"a panic after an item is no short stream", func() error {
				_, err := collect(count().CallServerStream(ctx, c, ""))
				return err
			}, wirelab.Internal},
			{"a panic before the first request", func() error {
				_, err := collect(chat().CallBidiStream(ctx, c, list("a", "b")))
				return err
			}, wirelab.Internal},
			{
				"an unclassified error tells nothing",
				func() error { _, err := echo().Call(ctx, c, "unclassified"); return err },
				wirelab.Internal,
			},
			{
				"a request that the codec refuses",
				func() error { _, err := echo().Call(ctx, c, unencodable); return err },
				wirelab.InvalidArgument,
			},
			{
				"a request that cannot be read",
				func() error { _, err := echo().Call(ctx, c, "unreadable"); return err },
				wirelab.InvalidArgument,
			},
			{"a request above the limit", func() error {
				_, err := echo().Call(ctx, c, strings.Repeat("x", exchange.MessageLimit))
				return err
			}, wirelab.ResourceExhausted},
			{
				"a reply above the limit", func() error { _, err := echo().Call(ctx, c, "huge"); return err },
				wirelab.ResourceExhausted,
			},
			{
				"an operation that no service has", func() error { _, err := missing().Call(ctx, c, ""); return err },
				wirelab.Unimplemented,
			},
			{"a request stream that the codec refuses", func() error {
				_, err := sum().CallClientStream(ctx, c, list("1", unencodable))
				return err
			}, wirelab.InvalidArgument},
			{"a chat that the codec refuses", func() error {
				_, err := collect(chat().CallBidiStream(ctx, c, list(unencodable)))
				return err
			}, wirelab.InvalidArgument},
			{"an item of a request stream that cannot be read", func() error {
				_, err := sum().CallClientStream(ctx, c, list("1", "unreadable", "2"))
				return err
			}, wirelab.InvalidArgument},
		}
		for _, k := range cases {
			// The last two race in one way only: the panic's failure may come first.
			err := k.call()
			if k.why == "a chat that the codec refuses" && wirelab.CodeOf(err) == wirelab.Internal {
				err = wirelab.Errorf(k.want, "")
			}
			wantCode(t, k.why, err, k.want)
			if err != nil && (strings.Contains(err.Error(), "injected") || strings.Contains(err.Error(), "secret")) {
				t.Errorf("%s: the caller is shown %v", k.why, err)
			}
			wantEcho(t, "after "+k.why, c)
		}
	})
}

// The server ends a route at its second point; the client learns it, though it would send for ever, and its
// connection is good for the next call.
func TestServerEndsAClientStreamEarly(t *testing.T) {
	t.Parallel()
	eachWire(t, func(t *testing.T, w wire) {
		r, c := w.pair(t, service{})
		sent := 0
		endless := func(yield func(string, error) bool) {
			for yield("x", nil) {
				sent++
			}
		}
		_, err := sum().CallClientStream(bounded(t), c, endless)
		wantCode(t, "endless route", err, wirelab.InvalidArgument)
		wantEcho(t, "after it", c)
		if got := r.opened.Load(); got != 1 {
			t.Errorf("%d connections, want 1", got)
		}
	})
}

func TestRequestsThatFailEndTheCall(t *testing.T) {
	t.Parallel()
	eachWire(t, func(t *testing.T, w wire) {
		heard := make(chan error, 2)
		_, c := w.pair(t, service{
			sum: func(_ context.Context, reqs iter.Seq2[string, error]) (string, error) {
				_, err := collect(reqs)
				heard <- err
				return "short", err
			},
			chat: func(_ context.Context, reqs iter.Seq2[string, error]) iter.Seq2[string, error] {
				return func(func(string, error) bool) {
					_, err := collect(reqs)
					heard <- err
				}
			},
		})
		broken := wirelab.Errorf(wirelab.NotFound, "the source is gone")
		requests := func(yield func(string, error) bool) { _ = yield("1", nil) && yield("", broken) }
		if _, err := sum().CallClientStream(bounded(t), c, requests); !errors.Is(err, broken) {
			t.Errorf("client stream: %v, want %v", err, broken)
		}
		if _, err := collect(chat().CallBidiStream(bounded(t), c, requests)); !errors.Is(err, broken) {
			t.Errorf("chat: %v, want %v", err, broken)
		}
		for range 2 {
			wantCode(t, "the server's side", await(t, "the server's side", heard), wirelab.Canceled)
		}
		wantEcho(t, "after", c)
	})
}

func TestEarlyBreakLeavesTheClientWhole(t *testing.T) {
	t.Parallel()
	eachWire(t, func(t *testing.T, w wire) {
		ended := make(chan struct{}, 1)
		_, c := w.pair(t, service{count: func(ctx context.Context, _ string) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				defer func() { ended <- struct{}{} }()
				for yield("item", nil) {
				}
			}
		}})
		for item, err := range count().CallServerStream(bounded(t), c, "") {
			if err != nil || item != "item" {
				t.Fatalf("%q, %v", item, err)
			}
			break
		}
		await(t, "the end of an endless stream without a reader", ended)
		wantEcho(t, "after a stream", c)
		for range chat().CallBidiStream(bounded(t), c, list("a", "b", "c")) {
			break
		}
		wantEcho(t, "after a chat", c)
	})
}

func TestConnectionsAreBoundedAndKept(t *testing.T) {
	t.Parallel()
	const allowed, callers = 4, 32
	eachWire(t, func(t *testing.T, w wire) {
		var now, most atomic.Int64
		all := make(chan struct{})
		r := w.start(t, "127.0.0.1:0", service{echo: func(ctx context.Context, req string) (string, error) {
			defer now.Add(-1)
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			if n == allowed && req == "gather" {
				close(all)
			}
			if req == "gather" {
				select {
				case <-all:
				case <-ctx.Done():
				}
			}
			return req, ctx.Err()
		}}, 0)
		c := w.client(t, r.address, allowed)
		ctx := bounded(t)
		var wg sync.WaitGroup
		for range allowed {
			wg.Go(func() {
				if _, err := echo().Call(ctx, c, "gather"); err != nil {
					t.Errorf("calls are not in flight together: %v", err)
				}
			})
		}
		wg.Wait()
		for range callers {
			wg.Go(func() {
				for range 20 {
					if _, err := echo().Call(ctx, c, "x"); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		if r.opened.Load() != allowed || most.Load() > allowed {
			t.Errorf("%d connections and %d calls at once, want %d of each", r.opened.Load(), most.Load(), allowed)
		}
	})
}

func TestAWaitingCallHeedsItsContext(t *testing.T) {
	t.Parallel()
	eachWire(t, func(t *testing.T, w wire) {
		entered, release := make(chan struct{}), make(chan struct{})
		_, c := w.pair(t, service{echo: func(_ context.Context, req string) (string, error) {
			close(entered)
			<-release
			return req, nil
		}})
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = echo().Call(bounded(t), c, "holds the connection") })
		await(t, "the first call", entered)
		ctx, cancel := context.WithCancel(bounded(t))
		cancel()
		_, err := echo().Call(ctx, c, "waits")
		wantCode(t, "a call given up while it waits", err, wirelab.Canceled)
		close(release)
		wg.Wait()
	})
}
