package bind_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"iter"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/internal/certs"
	"wirelab/wire/conformance"
	"wirelab/workload/routeguide"
	"wirelab/workload/routeguide/bind"
)

// restBindings are the protocols of plain HTTP.
func restBindings() []wirelab.Binding[routeguide.Service] {
	all := slices.DeleteFunc(bind.HTTP(), func(b wirelab.Binding[routeguide.Service]) bool { return b.Missing != "" })
	return append(all, bind.SSE(), bind.SSEH2C())
}

// restPeer is a running server of one protocol.
type restPeer struct {
	binding wirelab.Binding[routeguide.Service]
	address string
	roots   *x509.CertPool
	stop    func() error // ends it and returns what Serve returned; may be called twice
}

// restServe serves service on loopback until the test ends or stop is called.
func restServe(
	t *testing.T, b wirelab.Binding[routeguide.Service], service routeguide.Service, drain time.Duration,
) restPeer {
	t.Helper()
	peer := restPeer{binding: b}
	at := wirelab.Endpoint{Drain: drain}
	if b.Protocol.Network == "udp" {
		packets, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at.Packets, peer.address = packets, packets.LocalAddr().String()
	} else {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at.Listener, peer.address = listener, listener.Addr().String()
	}
	if b.Protocol.Secure {
		certificate, pem, err := certs.Issue("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		if peer.roots, err = certs.Trust(pem); err != nil {
			t.Fatal(err)
		}
		at.Certificate = &certificate
	}
	// Not t.Context(): that ends before cleanups run, and a test wants to say when.
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Servers[0].Serve(ctx, at, service) }()
	peer.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := peer.stop(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return peer
}

// dial returns a stub that is closed when the test ends.
func (p restPeer) dial(t *testing.T, change ...func(*wirelab.Dialing)) routeguide.Service {
	t.Helper()
	to := wirelab.Dialing{Address: p.address, Roots: p.roots, Connections: 2}
	for _, c := range change {
		c(&to)
	}
	stub, closer, err := p.binding.Clients[0].Dial(t.Context(), to)
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

// eachREST runs test for every protocol.
func eachREST(t *testing.T, test func(t *testing.T, b wirelab.Binding[routeguide.Service])) {
	t.Helper()
	for _, b := range restBindings() {
		t.Run(b.Protocol.Name, func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
}

// TestRESTAnswersLikeTheReference asks every operation of every protocol, by
// several callers at once.
func TestRESTAnswersLikeTheReference(t *testing.T) {
	t.Parallel()
	eachREST(t, func(t *testing.T, b wirelab.Binding[routeguide.Service]) {
		stub := restServe(t, b, routeguide.New(), 0).dial(t)
		var callers sync.WaitGroup
		for caller := range uint64(4) {
			callers.Go(func() {
				r := rand.New(rand.NewPCG(caller, 7))
				for _, o := range routeguide.Operations() {
					for range 20 {
						exchange, err := o.Draw("", r)
						if err != nil {
							t.Error(err)
							return
						}
						err = exchange.Expect(t.Context(), routeguide.New())(t.Context(), stub)
						if why, hole := b.Holes[o.Name]; hole {
							if err == nil || wirelab.CodeOf(err) != wirelab.Unimplemented ||
								wirelab.Public(err).Message != why {
								t.Errorf("%s is a hole and answers %v, want its reason", o.Name, err)
							}
							break
						}
						if err != nil {
							t.Errorf("%s of %s (caller %d): %v", o.Name, exchange.Request(), caller, err)
						}
					}
				}
			})
		}
		callers.Wait()
	})
}

// restCalls are requests the reference refuses.
func restCalls(ctx context.Context) map[string]map[string]func(routeguide.Service) error {
	bad := routeguide.Point{Latitude: routeguide.LatitudeLimit + 1}
	record := func(points iter.Seq2[routeguide.Point, error]) func(routeguide.Service) error {
		return func(s routeguide.Service) error {
			_, err := s.RecordRoute(ctx, points)
			return err
		}
	}
	chat := func(notes iter.Seq2[routeguide.RouteNote, error]) func(routeguide.Service) error {
		return func(s routeguide.Service) error {
			for _, err := range s.RouteChat(ctx, notes) {
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	return map[string]map[string]func(routeguide.Service) error{
		"GetFeature": {"off Earth": func(s routeguide.Service) error {
			_, err := s.GetFeature(ctx, bad)
			return err
		}},
		"ListFeatures": {"off Earth": func(s routeguide.Service) error {
			for _, err := range s.ListFeatures(ctx, routeguide.Rectangle{Hi: bad}) {
				return err
			}
			return nil
		}},
		"RecordRoute": {
			"off Earth":    record(repeated(3, routeguide.Published, bad, nil)),
			"one too many": record(repeated(routeguide.RouteLimit, routeguide.Published, routeguide.Published, nil)),
			"far too many": record(repeated(10*routeguide.RouteLimit, routeguide.Published, routeguide.Published, nil)),
			"broken input": record(repeated(3, routeguide.Published, bad,
				wirelab.Errorf(wirelab.NotFound, "no more map"))),
		},
		"RouteChat": {
			"off Earth":    chat(repeated(3, routeguide.RouteNote{}, routeguide.RouteNote{Location: bad}, nil)),
			"not UTF-8":    chat(repeated(3, routeguide.RouteNote{}, routeguide.RouteNote{Message: "\xff"}, nil)),
			"one too many": chat(places(routeguide.RouteLimit + 1)),
			"broken input": chat(repeated(3, routeguide.RouteNote{}, routeguide.RouteNote{},
				wirelab.Errorf(wirelab.NotFound, "no more ink"))),
		},
	}
}

// repeated is n times item and then last, with err.
func repeated[T any](n int, item, last T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for range n {
			if !yield(item, nil) {
				return
			}
		}
		yield(last, err)
	}
}

// places returns n notes, each at a different place, so that each has one reply.
func places(n int32) iter.Seq2[routeguide.RouteNote, error] {
	return func(yield func(routeguide.RouteNote, error) bool) {
		for i := range n {
			if !yield(routeguide.RouteNote{Location: routeguide.Point{Latitude: i}}, nil) {
				return
			}
		}
	}
}

// TestRESTErrorsAreTheReferences compares code and message.
func TestRESTErrorsAreTheReferences(t *testing.T) {
	t.Parallel()
	eachREST(t, func(t *testing.T, b wirelab.Binding[routeguide.Service]) {
		stub := restServe(t, b, routeguide.New(), 0).dial(t)
		for operation, calls := range restCalls(t.Context()) {
			if _, hole := b.Holes[operation]; hole {
				continue
			}
			for name, call := range calls {
				var want, got *wirelab.Error
				if !errors.As(call(routeguide.New()), &want) {
					t.Fatalf("%s %s: the reference does not fail", operation, name)
				}
				if err := call(stub); !errors.As(err, &got) || *got != *want {
					t.Errorf("%s %s: %v, want %v", operation, name, err, want)
				}
			}
		}
	})
}

// TestRESTCodesCross sends every code, with a message that is awkward in JSON,
// alone and after an item.
func TestRESTCodesCross(t *testing.T) {
	t.Parallel()
	const text = "50 % of „ö\n\x00𝄞 \" \\ \r\n data: x"
	eachREST(t, func(t *testing.T, b wirelab.Binding[routeguide.Service]) {
		service := &puppet{}
		stub := restServe(t, b, service, 0).dial(t)
		for _, code := range wirelab.Codes() {
			want := &wirelab.Error{Code: code, Message: text}
			for items := range 2 {
				service.set(want, repeated(items, routeguide.Feature{Name: "item"}, routeguide.Feature{}, error(want)))
				if _, hole := b.Holes["GetFeature"]; !hole {
					if _, err := stub.GetFeature(t.Context(), routeguide.Point{}); !sameError(err, want) {
						t.Errorf("GetFeature: %v, want %v", err, want)
					}
				}
				if _, hole := b.Holes["ListFeatures"]; !hole {
					got := 0
					var last error
					for _, err := range stub.ListFeatures(t.Context(), routeguide.Rectangle{}) {
						if last = err; err == nil {
							got++
						}
					}
					if !sameError(last, want) || got != items {
						t.Errorf("ListFeatures: %v after %d items, want %v after %d", last, got, want, items)
					}
				}
			}
		}
	})
}

func sameError(got error, want *wirelab.Error) bool {
	var coded *wirelab.Error
	return errors.As(got, &coded) && *coded == *want
}

// puppet answers as it was last set to.
type puppet struct {
	routeguide.Service
	get func(context.Context) (routeguide.Feature, error) // set before serving

	mu   sync.Mutex // guards all below
	err  error
	list iter.Seq2[routeguide.Feature, error]
}

func (p *puppet) set(err error, list iter.Seq2[routeguide.Feature, error]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err, p.list = err, list
}

func (p *puppet) GetFeature(ctx context.Context, _ routeguide.Point) (routeguide.Feature, error) {
	if p.get != nil {
		return p.get(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return routeguide.Feature{}, p.err
}

func (p *puppet) ListFeatures(context.Context, routeguide.Rectangle) iter.Seq2[routeguide.Feature, error] {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list
}

// TestRESTSpeaksItsVersionOnly offers each secure server the other versions by ALPN.
func TestRESTSpeaksItsVersionOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		binding wirelab.Binding[routeguide.Service]
		speaks  string
	}{{
		conformance.Pick(t, bind.HTTP(), "http1-tls-proto"), "http/1.1",
	}, {conformance.Pick(t, bind.HTTP(), "http2-proto"), "h2"}} {
		t.Run(c.binding.Protocol.Name, func(t *testing.T) {
			t.Parallel()
			peer := restServe(t, c.binding, routeguide.New(), 0)
			dial := func(max uint16, offer ...string) (string, error) {
				conn, err := tls.Dial("tcp", peer.address, &tls.Config{
					RootCAs: peer.roots, NextProtos: offer, MinVersion: tls.VersionTLS12, MaxVersion: max,
				})
				if err != nil {
					return "", err
				}
				defer conn.Close()
				if got := conn.ConnectionState().NegotiatedProtocol; got != "" {
					return got, nil
				}
				// crypto/tls lets a client of HTTP/1.1 in without a protocol.
				if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
					return "", err
				}
				_, err = conn.Read(make([]byte, 1))
				return "", err
			}
			if got, err := dial(tls.VersionTLS13, "h2", "http/1.1"); err != nil || got != c.speaks {
				t.Errorf("offered both, the server took %q, %v; want %q", got, err, c.speaks)
			}
			for _, other := range []string{"h2", "http/1.1"} {
				if got, err := dial(tls.VersionTLS13, other); other != c.speaks && err == nil {
					t.Errorf("offered %s alone, the server took %q; want a refusal", other, got)
				}
			}
			if _, err := dial(tls.VersionTLS12, c.speaks); err == nil {
				t.Error("the server takes TLS 1.2")
			}
		})
	}
}
