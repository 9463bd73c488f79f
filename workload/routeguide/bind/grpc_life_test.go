package bind_test

import (
	"context"
	"iter"
	randv2 "math/rand/v2"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/workload/routeguide"
)

func rpcRand(seed uint64) *randv2.Rand { return randv2.New(randv2.NewPCG(seed, 1)) }

// long is a time no test reaches.
const long = time.Hour

// TestRPCDeadlineReachesTheServer looks at the server's context and waits for it to end.
func TestRPCDeadlineReachesTheServer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	eachPair(t, func(t *testing.T, p rpcPair) {
		deadlines, ended := make(chan time.Time, 10), make(chan error, 10)
		stub := p.dial(t, p.serve(t,
			scripted{get: func(ctx context.Context, _ routeguide.Point) (routeguide.Feature, error) {
				deadline, _ := ctx.Deadline()
				deadlines <- deadline
				<-ctx.Done()
				ended <- ctx.Err()
				return routeguide.Feature{}, ctx.Err()
			}}, 0))
		var want, got time.Time
		// A slow machine may use a deadline up before the server is reached, so each
		// attempt allows more.
		for after := 300 * time.Millisecond; got.IsZero() && after < time.Minute; after *= 4 {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			want, _ = ctx.Deadline()
			_, err := stub.GetFeature(ctx, routeguide.Published)
			cancel()
			if err == nil || wirelab.CodeOf(err) != wirelab.DeadlineExceeded {
				t.Errorf("caller got %v, want deadline_exceeded", err)
			}
			select {
			case got = <-deadlines:
			default:
			}
		}
		if got.IsZero() {
			t.Fatal("no call reached the server")
		}
		// The wire carries the remaining time, so the server's deadline is later by the time of transport.
		if got.Before(want.Add(-10*time.Millisecond)) || got.After(want.Add(30*time.Second)) {
			t.Errorf("server's deadline %v, caller's %v", got, want)
		}
		<-ended
	})
}

// TestRPCCancelStopsTheHandler gives up a call of each kind and waits for its
// handler's context to end.
func TestRPCCancelStopsTheHandler(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, p rpcPair) {
		began, ended := make(chan struct{}, 1), make(chan struct{}, 1)
		hang := func(ctx context.Context) error {
			began <- struct{}{}
			<-ctx.Done()
			ended <- struct{}{}
			return ctx.Err()
		}
		stub := p.dial(t, p.serve(t, scripted{
			get: func(ctx context.Context, _ routeguide.Point) (routeguide.Feature, error) {
				return routeguide.Feature{}, hang(ctx)
			},
			list: func(ctx context.Context, _ routeguide.Rectangle) iter.Seq2[routeguide.Feature, error] {
				return func(yield func(routeguide.Feature, error) bool) { yield(routeguide.Feature{}, hang(ctx)) }
			},
			record: func(ctx context.Context,
				points iter.Seq2[routeguide.Point, error],
			) (routeguide.RouteSummary, error) {
				for range points { // to the end of the request, or HTTP/1.1 cannot see that its client left
				}
				return routeguide.RouteSummary{}, hang(ctx)
			},
			chat: func(ctx context.Context,
				_ iter.Seq2[routeguide.RouteNote, error],
			) iter.Seq2[routeguide.RouteNote, error] {
				return func(yield func(routeguide.RouteNote, error) bool) { yield(routeguide.RouteNote{}, hang(ctx)) }
			},
		}, 0))
		for _, o := range routeguide.Operations() {
			if _, hole := p.Holes[o.Name]; hole {
				continue
			}
			exchange, err := o.Draw("", rpcRand(2))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			result := make(chan error, 1)
			go func() {
				_, err := exchange.Ask(ctx, stub)
				result <- err
			}()
			<-began
			cancel()
			<-ended
			if err := <-result; err == nil || wirelab.CodeOf(err) != wirelab.Canceled {
				t.Errorf("%s: %v, want canceled", o.Name, err)
			}
		}
	})
}

// TestRPCDrain stops a server with a call in flight: the call ends well, and
// the server is gone when Serve has returned.
func TestRPCDrain(t *testing.T) {
	eachPair(t, func(t *testing.T, p rpcPair) {
		defer leaktest.None(t, goleak.IgnoreCurrent())
		t.Run("patient", func(t *testing.T) {
			began, release := make(chan struct{}, 1), make(chan struct{})
			s := p.serve(t, scripted{get: func(context.Context, routeguide.Point) (routeguide.Feature, error) {
				began <- struct{}{}
				<-release
				return routeguide.Feature{Name: "late"}, nil
			}}, long)
			stub := p.dial(t, s)
			result := make(chan error, 1)
			go func() {
				_, err := stub.GetFeature(t.Context(), routeguide.Published)
				result <- err
			}()
			<-began
			stopped := make(chan error, 1)
			go func() { stopped <- s.stop() }()
			// The listener closes first; then the call is let go.
			for {
				c, err := net.Dial("tcp", s.address)
				if err != nil {
					break
				}
				_ = c.Close()
			}
			close(release)
			if err := <-result; err != nil {
				t.Errorf("call in flight: %v", err)
			}
			if err := <-stopped; err != nil {
				t.Errorf("Serve: %v", err)
			}
			if _, err := stub.GetFeature(t.Context(), routeguide.Published); err == nil ||
				wirelab.CodeOf(err) != wirelab.Unavailable {
				t.Errorf("call after the stop: %v, want unavailable", err)
			}
		})
	})
}

// TestRPCDrainCuts stops a server whose calls do not end by themselves.
func TestRPCDrainCuts(t *testing.T) {
	eachPair(t, func(t *testing.T, p rpcPair) {
		defer leaktest.None(t, goleak.IgnoreCurrent())
		t.Run("cut", func(t *testing.T) {
			began := make(chan struct{}, 3)
			hang := func(ctx context.Context) error {
				began <- struct{}{}
				<-ctx.Done()
				return ctx.Err()
			}
			s := p.serve(t, scripted{
				get: func(ctx context.Context, _ routeguide.Point) (routeguide.Feature, error) {
					return routeguide.Feature{}, hang(ctx)
				},
				list: func(ctx context.Context, _ routeguide.Rectangle) iter.Seq2[routeguide.Feature, error] {
					return func(yield func(routeguide.Feature, error) bool) {
						yield(routeguide.Feature{Name: "first"}, nil)
						err := hang(ctx)
						yield(routeguide.Feature{}, err)
					}
				},
				// Its request unread: HTTP/1.1 does not see such a connection close.
				record: func(ctx context.Context,
					_ iter.Seq2[routeguide.Point, error],
				) (routeguide.RouteSummary, error) {
					return routeguide.RouteSummary{}, hang(ctx)
				},
			}, 20*time.Millisecond)
			stub := p.dialWith(t, wirelab.Dialing{Address: s.address, Roots: s.roots, Connections: 3})
			results := make(chan error, 3)
			go func() {
				_, err := stub.GetFeature(t.Context(), routeguide.Published)
				results <- err
			}()
			go func() {
				var last error
				for _, last = range stub.ListFeatures(t.Context(), routeguide.Rectangle{}) {
				}
				results <- last
			}()
			go func() {
				_, err := stub.RecordRoute(t.Context(), func(yield func(routeguide.Point, error) bool) {
					yield(routeguide.Published, nil)
				})
				results <- err
			}()
			for range 3 {
				<-began
			}
			if err := s.stop(); err != nil {
				t.Errorf("Serve: %v", err)
			}
			for range 3 {
				// A handler whose context ended may still get its own word
				// out before the connection goes; both are the truth.
				err := <-results
				if err == nil || wirelab.CodeOf(err) != wirelab.Unavailable && wirelab.CodeOf(err) != wirelab.Canceled {
					t.Errorf("cut call: %v, want unavailable or canceled", err)
				}
			}
		})
	})
}

// TestRPCServerVanishes closes the connection under a call: Unavailable, whichever library says it.
func TestRPCServerVanishes(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, p rpcPair) {
		conns := make(chan net.Conn, 4)
		began := make(chan struct{}, 4)
		hang := func(ctx context.Context) error {
			began <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}
		s := p.serve(t, scripted{
			get: func(ctx context.Context, _ routeguide.Point) (routeguide.Feature, error) {
				return routeguide.Feature{}, hang(ctx)
			},
			list: func(ctx context.Context, _ routeguide.Rectangle) iter.Seq2[routeguide.Feature, error] {
				return func(yield func(routeguide.Feature, error) bool) {
					yield(routeguide.Feature{Name: "first"}, nil)
					yield(routeguide.Feature{}, hang(ctx))
				}
			},
			record: func(ctx context.Context,
				points iter.Seq2[routeguide.Point, error],
			) (routeguide.RouteSummary, error) {
				for range points { // to the end of the request; see above
				}
				return routeguide.RouteSummary{}, hang(ctx)
			},
			chat: func(ctx context.Context,
				_ iter.Seq2[routeguide.RouteNote, error],
			) iter.Seq2[routeguide.RouteNote, error] {
				return func(yield func(routeguide.RouteNote, error) bool) { yield(routeguide.RouteNote{}, hang(ctx)) }
			},
		}, 0)
		for _, o := range routeguide.Operations() {
			if _, hole := p.Holes[o.Name]; hole {
				continue
			}
			stub := p.dialWith(t, wirelab.Dialing{
				Address: s.address, Roots: s.roots,
				Connect: func(ctx context.Context, network, address string) (net.Conn, error) {
					var plain net.Dialer
					c, err := plain.DialContext(ctx, network, address)
					if err == nil {
						conns <- c
					}
					return c, err
				},
			})
			exchange, err := o.Draw("", rpcRand(2))
			if err != nil {
				t.Fatal(err)
			}
			result := make(chan error, 1)
			go func() {
				_, err := exchange.Ask(t.Context(), stub)
				result <- err
			}()
			<-began
			c := (<-conns).(*net.TCPConn)
			_ = c.CloseRead() // reads as the end of the connection
			if err := <-result; err == nil || wirelab.CodeOf(err) != wirelab.Unavailable {
				t.Errorf("%s: %v, want unavailable", o.Name, err)
			}
			_ = c.Close()
		}
	})
}

// telling reports the connections it accepts, once the server asks for the
// next and so has taken the last in hand.
type telling struct {
	net.Listener
	taken chan struct{}
}

func (l telling) Accept() (net.Conn, error) {
	l.taken <- struct{}{}
	return l.Listener.Accept()
}

// TestRPCSilentClient connects and says nothing: that holds no stop.
func TestRPCSilentClient(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, p rpcPair) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l := telling{listener, make(chan struct{}, 8)}
		s := p.serveOn(t, l, routeguide.New(), long)
		<-l.taken // ready for the first
		silent, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		<-l.taken // ready for the second
		stopped := make(chan error, 1)
		go func() { stopped <- s.stop() }()
		select {
		case err := <-stopped:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(30 * time.Second): // net/http alone would take 5 s, grpc-go two minutes
			t.Fatal("the stop waits for a client that said nothing")
		}
	})
}

// TestRPCCloseEndsCalls closes a client under a call in flight, which must not outlive it.
func TestRPCCloseEndsCalls(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, p rpcPair) {
		began := make(chan struct{}, 1)
		s := p.serve(t, scripted{get: func(ctx context.Context, _ routeguide.Point) (routeguide.Feature, error) {
			began <- struct{}{}
			<-ctx.Done() // the server sees it too
			return routeguide.Feature{}, ctx.Err()
		}}, long)
		stub, closer, err := p.client.Dial(t.Context(), wirelab.Dialing{Address: s.address, Roots: s.roots})
		if err != nil {
			t.Fatal(err)
		}
		result := make(chan error, 1)
		go func() {
			_, err := stub.GetFeature(t.Context(), routeguide.Published)
			result <- err
		}()
		<-began
		if err := closer.Close(); err != nil {
			t.Error(err)
		}
		// grpc-go says that the caller gave up, connect-go that the connection went: both are true.
		err = <-result
		if err == nil || wirelab.CodeOf(err) != wirelab.Unavailable && wirelab.CodeOf(err) != wirelab.Canceled {
			t.Errorf("%v, want unavailable or canceled", err)
		}
	})
}

// TestRPCReconnects stops a server and starts another where it was.
func TestRPCReconnects(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	eachPair(t, func(t *testing.T, p rpcPair) {
		if p.Protocol.Secure {
			t.Skip("the second server has another certificate here; nothing else differs")
		}
		first := p.serve(t, routeguide.New(), 0)
		stub := p.dial(t, first)
		if _, err := stub.GetFeature(t.Context(), routeguide.Published); err != nil {
			t.Fatal(err)
		}
		if err := first.stop(); err != nil {
			t.Fatal(err)
		}
		if _, err := stub.GetFeature(t.Context(), routeguide.Published); err == nil ||
			wirelab.CodeOf(err) != wirelab.Unavailable {
			t.Errorf("without a server: %v, want unavailable", err)
		}
		listener, err := net.Listen("tcp", first.address)
		if err != nil {
			t.Fatal(err)
		}
		p.serveOn(t, listener, routeguide.New(), 0)
		again := time.NewTicker(20 * time.Millisecond)
		defer again.Stop()
		for ; ; <-again.C { // until it is found; the test's own limit ends it
			_, err := stub.GetFeature(t.Context(), routeguide.Published)
			if err == nil {
				break
			}
			if wirelab.CodeOf(err) != wirelab.Unavailable {
				t.Fatalf("%v, want unavailable until it answers", err)
			}
		}
	})
}

// TestRPCRefusesIncompleteEndpoints: a mistake of the caller is an error, not a crash.
func TestRPCRefusesIncompleteEndpoints(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, p rpcPair) {
		err := p.server.Serve(t.Context(), wirelab.Endpoint{}, routeguide.New())
		if err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument {
			t.Errorf("no listener: %v", err)
		}
		if !p.Protocol.Secure {
			return
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		err = p.server.Serve(t.Context(), wirelab.Endpoint{Listener: listener}, routeguide.New())
		if err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument {
			t.Errorf("no certificate: %v", err)
		}
	})
}
