package httprpc_test

import (
	"context"
	"iter"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wirelab"
)

// inMemory is a listener whose connections are pipes, so that they wait by the clock of a synctest bubble.
type inMemory struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
	opened atomic.Int64
}

func newInMemory() *inMemory {
	l := &inMemory{conns: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

func (l *inMemory) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *inMemory) Close() error { l.close(); return nil }

func (*inMemory) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// connect opens a connection to the listener.
func (l *inMemory) connect(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		l.opened.Add(1)
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

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

// A stream may last, in each direction, whatever a server allows a request. The servers are as they are, and the clock is
// not the machine's.
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
					listener := newInMemory()
					ctx, cancel := context.WithCancel(t.Context())
					ended := make(chan error, 1)
					service := echo{list: func(ctx context.Context, _ string) iter.Seq2[string, error] {
						return slowly(ctx, these(nil, "a", "b", "c"))
					}}
					go func() {
						ended <- v.serve(ctx, wirelab.Endpoint{Listener: listener, Drain: time.Millisecond}, service.handler(), false)
					}()
					client := v.dial(wirelab.Dialing{Address: "127.0.0.1:1", Connect: listener.connect}, false)
					got, err := call(t.Context(), stubsOf(client))
					if n := listener.opened.Load(); got != "abc" || err != nil || n != 1 {
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
