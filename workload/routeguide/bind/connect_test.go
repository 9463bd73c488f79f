package bind_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"wirelab"
	wireconnect "wirelab/wire/connect"
	"wirelab/workload/routeguide"
	"wirelab/workload/routeguide/bind"
	"wirelab/workload/routeguide/gen"
	"wirelab/workload/routeguide/gen/genconnect"
)

// TestConnectMessageLimit is the same limit on the Connect protocol.
func TestConnectMessageLimit(t *testing.T) {
	t.Parallel()
	for _, b := range []wirelab.Binding[routeguide.Service]{bind.Connect(), bind.ConnectHTTP1()} {
		over := wireconnect.H2C
		if !b.Protocol.Multiplexed {
			over = wireconnect.HTTP1
		}
		s := rpcPair{b, b.Servers[0], b.Clients[0]}.serve(t, routeguide.New(), 0)
		client := wireconnect.Dial(wirelab.Dialing{Address: s.address}, over)
		defer client.Close()
		huge := connect.NewRequest(&gen.RouteNote{Message: strings.Repeat("x", wireconnect.MaxMessage)})
		for side, options := range map[string][]connect.ClientOption{
			"client's limit": wireconnect.ClientOptions(),
			"server's limit": {connect.WithAcceptCompression("gzip", nil, nil)},
		} {
			url := client.BaseURL() + genconnect.RouteGuideGetFeatureProcedure
			_, err := connect.NewClient[gen.RouteNote, gen.Feature](client, url, options...).CallUnary(t.Context(),
				huge)
			if err == nil || wirelab.CodeOf(wireconnect.Decode(err)) != wirelab.ResourceExhausted {
				t.Errorf("%s, %s: %v, want resource_exhausted", b.Protocol.Name, side, err)
			}
		}
		_, err := connect.NewClient[gen.Point, gen.Feature](client, client.BaseURL()+"/routeguide.RouteGuide/Teleport",
			wireconnect.ClientOptions()...).CallUnary(t.Context(), connect.NewRequest(&gen.Point{}))
		if err == nil || wirelab.CodeOf(wireconnect.Decode(err)) != wirelab.Unimplemented {
			t.Errorf("%s: unknown procedure: %v, want unimplemented", b.Protocol.Name, err)
		}
	}
}

// gzipSpy fails the test when either side so much as offers compression.
type gzipSpy struct {
	http.RoundTripper
	t *testing.T
}

// Do implements [connect.HTTPClient].
func (s gzipSpy) Do(request *http.Request) (*http.Response, error) {
	response, err := s.RoundTrip(request)
	if err == nil {
		for where, header := range map[string]http.Header{"request": request.Header, "response": response.Header} {
			for name, values := range header {
				if strings.Contains(strings.Join(values, ","), "gzip") {
					s.t.Errorf("%s has %s: %s", where, name, values)
				}
			}
		}
	}
	return response, err
}

// TestConnectNeverCompresses looks at the headers of both protocols, also when
// the client asks for gzip.
func TestConnectNeverCompresses(t *testing.T) {
	t.Parallel()
	b := bind.Connect()
	s := rpcPair{b, b.Servers[0], b.Clients[0]}.serve(t, routeguide.New(), 0)
	client := wireconnect.Dial(wirelab.Dialing{Address: s.address}, wireconnect.H2C)
	defer client.Close()
	for _, more := range [][]connect.ClientOption{nil, {connect.WithGRPC()}} {
		spy := gzipSpy{roundTripper(client.Do), t}
		calls := genconnect.NewRouteGuideClient(spy, client.BaseURL(), append(wireconnect.ClientOptions(), more...)...)
		if _, err := calls.GetFeature(t.Context(), connect.NewRequest(&gen.Point{})); err != nil {
			t.Error(err)
		}
		list, err := calls.ListFeatures(t.Context(), connect.NewRequest(&gen.Rectangle{}))
		if err != nil {
			t.Fatal(err)
		}
		for list.Receive() {
		}
		if err := errors.Join(list.Err(), list.Close()); err != nil {
			t.Error(err)
		}
		var got http.Header
		asking := genconnect.NewRouteGuideClient(roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := client.Do(r)
			if err == nil {
				got = response.Header
			}
			return response, err
		}), client.BaseURL(), more...)
		if _, err := asking.GetFeature(t.Context(), connect.NewRequest(&gen.Point{})); err != nil {
			t.Error(err)
		}
		if got.Get("Content-Encoding")+got.Get("Grpc-Encoding") != "" {
			t.Errorf("compressed because the client offered it: %v", got)
		}
	}
}

// roundTripper is a function as both of the interfaces that want one.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
func (f roundTripper) Do(r *http.Request) (*http.Response, error)        { return f(r) }
