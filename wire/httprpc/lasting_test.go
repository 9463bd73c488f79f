package httprpc_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"wirelab/internal/pipetest"
	"wirelab/wire/endpoint"
)

// slowly is a stream with a day before each item: longer than each limit of a server, which are for requests that do
// not stream.
func slowly(ctx context.Context, items iter.Seq2[string, error]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for s, err := range items {
			select {
			case <-time.After(24 * time.Hour):
			case <-ctx.Done():
				return
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// A stream may last, in each direction, whatever a server allows a request. The servers are as they are, and
// the clock is not the machine's.
func TestStreamsOfBothDirectionsOutliveTimeouts(t *testing.T) {
	t.Parallel()
	for _, v := range versions() {
		for name, call := range map[string]func(context.Context, stubs) (string, error){
			"server stream": func(ctx context.Context, s stubs) (string, error) { return collect(s.list(ctx, "abc")) },
			"client stream": func(ctx context.Context, s stubs) (string, error) {
				return s.join(ctx, slowly(ctx, these(nil, "a", "b", "c")))
			},
			"chat": func(ctx context.Context, s stubs) (string, error) {
				return collect(s.chat(ctx, slowly(ctx, these(nil, "a", "b", "c"))))
			},
		} {
			t.Run(v.name+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					listener := pipetest.New()
					ctx, cancel := context.WithCancel(t.Context())
					ended := make(chan error, 1)
					service := echo{list: func(ctx context.Context, _ string) iter.Seq2[string, error] {
						return slowly(ctx, these(nil, "a", "b", "c"))
					}}
					go func() {
						ended <- v.serve(ctx, endpoint.Endpoint{Listener: listener, Drain: time.Millisecond},
							service.handler(), false)
					}()
					client := v.dial(endpoint.Dialing{Address: "127.0.0.1:1", Connect: listener.Connect}, false)
					got, err := call(t.Context(), stubsOf(client))
					if n := listener.Opened.Load(); got != "abc" || err != nil || n != 1 {
						t.Errorf("%q, %v, over %d connections", got, err, n)
					}
					if err := client.Close(); err != nil {
						t.Error(err)
					}
					cancel()
					if err := <-ended; err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}
