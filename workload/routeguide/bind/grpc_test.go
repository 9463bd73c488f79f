package bind_test

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"iter"
	"net"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/internal/porttest"
	"wirelab/wire/conformance"
	"wirelab/workload/routeguide"
	"wirelab/workload/routeguide/bind"
)

// rpcBindings are the bindings that these tests are about.
func rpcBindings() []wirelab.Binding[routeguide.Service] {
	return []wirelab.Binding[routeguide.Service]{bind.GRPC(), bind.GRPCTLS(), bind.Connect(), bind.ConnectHTTP1()}
}

// rpcPair is a binding with the library at each end chosen.
type rpcPair struct {
	wirelab.Binding[routeguide.Service]
	server wirelab.Server[routeguide.Service]
	client wirelab.Dialer[routeguide.Service]
}

// eachPair runs test for every pair of every binding.
func eachPair(t *testing.T, test func(t *testing.T, p rpcPair)) {
	t.Helper()
	for _, b := range rpcBindings() {
		for _, server := range b.Servers {
			for _, client := range b.Clients {
				t.Run(b.Protocol.Name+"/"+server.Library+"-serves-"+client.Library, func(t *testing.T) {
					test(t, rpcPair{b, server, client})
				})
			}
		}
	}
}

// rpcServer is a server that a test started.
type rpcServer struct {
	address string
	roots   *x509.CertPool
	stop    func() error // ends it and returns what Serve returned; may be called twice
}

// serve serves service on loopback until the test ends or stop is called.
func (p rpcPair) serve(t *testing.T, service routeguide.Service, drain time.Duration) rpcServer {
	t.Helper()
	listener, err := net.Listen("tcp", porttest.Held(t))
	if err != nil {
		t.Fatal(err)
	}
	return p.serveOn(t, listener, service, drain)
}

func (p rpcPair) serveOn(
	t *testing.T, listener net.Listener, service routeguide.Service, drain time.Duration,
) rpcServer {
	t.Helper()
	at := wirelab.Endpoint{Listener: listener, Drain: drain}
	s := rpcServer{address: listener.Addr().String()}
	if p.Protocol.Secure {
		at.Certificate, s.roots = conformance.Certificate(t)
	}
	// Not t.Context(): that ends before cleanups run, and a test wants to say when.
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.server.Serve(ctx, at, service) }()
	s.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return s
}

// dial returns a stub of s that is closed when the test ends.
func (p rpcPair) dial(t *testing.T, s rpcServer) routeguide.Service {
	t.Helper()
	return p.dialWith(t, wirelab.Dialing{Address: s.address, Roots: s.roots})
}

func (p rpcPair) dialWith(t *testing.T, to wirelab.Dialing) routeguide.Service {
	t.Helper()
	stub, closer, err := p.client.Dial(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closer.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return stub
}

// scripted is a service made of functions; one that is nil answers as the reference.
type scripted struct {
	routeguide.Service
	get    func(context.Context, routeguide.Point) (routeguide.Feature, error)
	list   func(context.Context, routeguide.Rectangle) iter.Seq2[routeguide.Feature, error]
	record func(context.Context, iter.Seq2[routeguide.Point, error]) (routeguide.RouteSummary, error)
	chat   func(context.Context, iter.Seq2[routeguide.RouteNote, error]) iter.Seq2[routeguide.RouteNote, error]
}

func (s scripted) GetFeature(ctx context.Context, at routeguide.Point) (routeguide.Feature, error) {
	if s.get != nil {
		return s.get(ctx, at)
	}
	return s.Service.GetFeature(ctx, at)
}

func (s scripted) ListFeatures(ctx context.Context, in routeguide.Rectangle) iter.Seq2[routeguide.Feature, error] {
	if s.list != nil {
		return s.list(ctx, in)
	}
	return s.Service.ListFeatures(ctx, in)
}

func (s scripted) RecordRoute(
	ctx context.Context, points iter.Seq2[routeguide.Point, error],
) (routeguide.RouteSummary, error) {
	if s.record != nil {
		return s.record(ctx, points)
	}
	return s.Service.RecordRoute(ctx, points)
}

func (s scripted) RouteChat(
	ctx context.Context, notes iter.Seq2[routeguide.RouteNote, error],
) iter.Seq2[routeguide.RouteNote, error] {
	if s.chat != nil {
		return s.chat(ctx, notes)
	}
	return s.Service.RouteChat(ctx, notes)
}

// TestRPCPairsAnswerLikeTheReference asks every operation of every pair.
func TestRPCPairsAnswerLikeTheReference(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	eachPair(t, func(t *testing.T, p rpcPair) {
		stub := p.dial(t, p.serve(t, routeguide.New(), 0))
		for _, o := range routeguide.Operations() {
			for i := range uint64(30) {
				exchange, err := o.Draw("", rpcRand(i))
				if err != nil {
					t.Fatal(err)
				}
				err = exchange.Expect(t.Context(), routeguide.New())(t.Context(), stub)
				if _, hole := p.Holes[o.Name]; hole {
					if err == nil || wirelab.CodeOf(err) != wirelab.Unimplemented {
						t.Errorf("%s is a hole but answers %v", o.Name, err)
					}
				} else if err != nil {
					t.Errorf("%s seed %d: %v", o.Name, i, err)
				}
			}
		}
	})
}

// TestRPCErrorsAreTheReferences compares code and message of what fails.
func TestRPCErrorsAreTheReferences(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	bad := routeguide.Point{Latitude: routeguide.LatitudeLimit + 1}
	points := func(n int, last routeguide.Point) iter.Seq2[routeguide.Point, error] {
		return func(yield func(routeguide.Point, error) bool) {
			for range n {
				if !yield(routeguide.Published, nil) {
					return
				}
			}
			yield(last, nil)
		}
	}
	notes := func(n int, last routeguide.RouteNote) iter.Seq2[routeguide.RouteNote, error] {
		return func(yield func(routeguide.RouteNote, error) bool) {
			for i := range n {
				if !yield(routeguide.RouteNote{Location: routeguide.Point{Latitude: int32(i)}}, nil) {
					return
				}
			}
			yield(last, nil)
		}
	}
	list := func(s routeguide.Service, in routeguide.Rectangle) error {
		for _, err := range s.ListFeatures(t.Context(), in) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	chat := func(s routeguide.Service, in iter.Seq2[routeguide.RouteNote, error]) error {
		for _, err := range s.RouteChat(t.Context(), in) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	calls := map[string]func(routeguide.Service) error{
		"GetFeature off Earth": func(s routeguide.Service) error {
			_, err := s.GetFeature(t.Context(), bad)
			return err
		},
		"ListFeatures off Earth": func(s routeguide.Service) error { return list(s, routeguide.Rectangle{Hi: bad}) },
		"RecordRoute off Earth": func(s routeguide.Service) error {
			_, err := s.RecordRoute(t.Context(), points(3, bad))
			return err
		},
		"RecordRoute one too many": func(s routeguide.Service) error {
			_, err := s.RecordRoute(t.Context(), points(routeguide.RouteLimit, routeguide.Published))
			return err
		},
		// More than any window or buffer holds: the server stops reading long before the client has sent all.
		"RecordRoute far too many": func(s routeguide.Service) error {
			_, err := s.RecordRoute(t.Context(), points(5*routeguide.RouteLimit, routeguide.Published))
			return err
		},
		"RecordRoute broken input": func(s routeguide.Service) error {
			_, err := s.RecordRoute(t.Context(), func(yield func(routeguide.Point, error) bool) {
				_ = yield(routeguide.Published, nil) &&
					yield(routeguide.Point{}, wirelab.Errorf(wirelab.NotFound, "no more map"))
			})
			return err
		},
		"RouteChat off Earth": func(s routeguide.Service) error {
			return chat(s, notes(3, routeguide.RouteNote{Location: bad}))
		},
		"RouteChat not UTF-8": func(s routeguide.Service) error {
			return chat(s, notes(3, routeguide.RouteNote{Message: "\xff"}))
		},
		"RouteChat one too many": func(s routeguide.Service) error {
			return chat(s, notes(routeguide.RouteLimit, routeguide.RouteNote{}))
		},
		"RouteChat broken input": func(s routeguide.Service) error {
			return chat(s, func(yield func(routeguide.RouteNote, error) bool) {
				_ = yield(routeguide.RouteNote{}, nil) &&
					yield(routeguide.RouteNote{}, wirelab.Errorf(wirelab.NotFound, "no more ink"))
			})
		},
	}
	eachPair(t, func(t *testing.T, p rpcPair) {
		stub := p.dial(t, p.serve(t, routeguide.New(), 0))
		for name, call := range calls {
			if _, hole := p.Holes["RouteChat"]; hole && name[:5] == "Route" {
				continue
			}
			var want, got *wirelab.Error
			if !errors.As(call(routeguide.New()), &want) {
				t.Fatalf("%s: the reference does not fail", name)
			}
			if err := call(stub); !errors.As(err, &got) || *got != *want {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
		}
	})
}

// TestRPCCodesCross sends every code, with a message that needs escaping in any header, through a unary call and
// through a stream that has already sent something.
func TestRPCCodesCross(t *testing.T) {
	t.Parallel()
	const text = "50 % of „ö\n\x00𝄞 \" \\"
	eachPair(t, func(t *testing.T, p rpcPair) {
		for _, code := range wirelab.Codes() {
			fail := wirelab.Errorf(code, "%s", text)
			stub := p.dial(t, p.serve(t, scripted{
				get: func(context.Context, routeguide.Point) (routeguide.Feature, error) {
					return routeguide.Feature{}, fail
				},
				list: func(context.Context, routeguide.Rectangle) iter.Seq2[routeguide.Feature, error] {
					return func(yield func(routeguide.Feature, error) bool) {
						_ = yield(routeguide.Feature{Name: "first"}, nil) && yield(routeguide.Feature{}, fail)
					}
				},
			}, 0))
			_, err := stub.GetFeature(t.Context(), routeguide.Published)
			if err == nil || *wirelab.Public(err) != *wirelab.Public(fail) {
				t.Errorf("GetFeature: %v, want %v", err, fail)
			}
			items := 0
			for _, err = range stub.ListFeatures(t.Context(), routeguide.Rectangle{}) {
				items++
			}
			if err == nil || *wirelab.Public(err) != *wirelab.Public(fail) || items != 2 {
				t.Errorf("ListFeatures: %v after %d items, want %v after 2", err, items, fail)
			}
		}
	})
}

// TestRPCPanicIsContained calls a service that panics in each operation.
func TestRPCPanicIsContained(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, p rpcPair) {
		stub := p.dial(t, p.serve(t, scripted{ // its Service is nil, so each call dereferences nil
			get: func(context.Context, routeguide.Point) (routeguide.Feature, error) { panic("secret") },
			list: func(context.Context, routeguide.Rectangle) iter.Seq2[routeguide.Feature, error] {
				return func(yield func(routeguide.Feature, error) bool) {
					yield(routeguide.Feature{}, nil)
					panic(errors.New("secret"))
				}
			},
		}, 0))
		for _, o := range routeguide.Operations() {
			if _, hole := p.Holes[o.Name]; hole {
				continue
			}
			exchange, err := o.Draw("", rpcRand(1))
			if err != nil {
				t.Fatal(err)
			}
			_, err = exchange.Ask(t.Context(), stub)
			if err == nil || *wirelab.Public(err) != (wirelab.Error{
				Code:    wirelab.Internal,
				Message: "internal error",
			}) {
				t.Errorf("%s: %v, want internal error and no more", o.Name, err)
			}
		}
	})
}

// TestRPCUnreachableIsUnavailable dials an address without a listener.
func TestRPCUnreachableIsUnavailable(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() // bound until the end, so that no other test gets the port; never accepted
	eachPair(t, func(t *testing.T, p rpcPair) {
		stub := p.dialWith(t, wirelab.Dialing{
			Address: listener.Addr().String(),
			Connect: func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
			},
		})
		for _, o := range routeguide.Operations() {
			exchange, err := o.Draw("", rpcRand(1))
			if err != nil {
				t.Fatal(err)
			}
			want := wirelab.Unavailable
			if _, hole := p.Holes[o.Name]; hole {
				want = wirelab.Unimplemented
			}
			if _, err := exchange.Ask(t.Context(), stub); err == nil || wirelab.CodeOf(err) != want {
				t.Errorf("%s: %v, want %v", o.Name, err, want)
			}
		}
	})
}

// countingConn tells when it is closed.
type countingConn struct {
	net.Conn
	closed func()
}

func (c countingConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// TestRPCConnections counts what a burst of calls on a fresh client opens, and
// that closing the client closes it all.
func TestRPCConnections(t *testing.T) {
	t.Parallel()
	const calls, allowed = 64, 3
	eachPair(t, func(t *testing.T, p rpcPair) {
		var arrived sync.WaitGroup
		most := allowed
		if p.Protocol.Multiplexed {
			most = calls
		}
		arrived.Add(most) // so many calls are in flight at once, or the test hangs
		var once sync.Once
		all := make(chan struct{})
		var mu sync.Mutex
		seen := 0
		s := p.serve(t, scripted{get: func(context.Context, routeguide.Point) (routeguide.Feature, error) {
			mu.Lock()
			if seen++; seen <= most {
				arrived.Done()
			}
			mu.Unlock()
			once.Do(func() { go func() { arrived.Wait(); close(all) }() })
			<-all
			return routeguide.Feature{}, nil
		}}, 0)
		opened, closed := 0, 0
		stub, closer, err := p.client.Dial(t.Context(), wirelab.Dialing{
			Address: s.address, Roots: s.roots, Connections: allowed,
			Connect: func(ctx context.Context, network, address string) (net.Conn, error) {
				var plain net.Dialer
				c, err := plain.DialContext(ctx, network, address)
				if err != nil {
					return nil, err
				}
				mu.Lock()
				opened++
				mu.Unlock()
				return countingConn{c, sync.OnceFunc(func() {
					mu.Lock()
					closed++
					mu.Unlock()
				})}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		var calling sync.WaitGroup
		for range calls {
			calling.Go(func() {
				if _, err := stub.GetFeature(t.Context(), routeguide.Published); err != nil {
					t.Error(err)
				}
			})
		}
		calling.Wait()
		want := 1
		if !p.Protocol.Multiplexed {
			want = allowed
		}
		if err := errors.Join(closer.Close(), s.stop()); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if opened != want || closed != opened {
			t.Errorf("%d calls opened %d connections and closed %d, want %d", calls, opened, closed, want)
		}
	})
}

// TestRPCHolesNeedNoServer: a hole answers without touching its input.
func TestRPCHolesNeedNoServer(t *testing.T) {
	t.Parallel()
	stub, closer, err := bind.ConnectHTTP1().Clients[0].Dial(t.Context(), wirelab.Dialing{Address: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func(c io.Closer) { _ = c.Close() }(closer)
	for _, err := range stub.RouteChat(t.Context(), nil) {
		if wirelab.CodeOf(err) != wirelab.Unimplemented {
			t.Error(err)
		}
	}
}
