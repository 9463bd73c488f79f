package bind_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"wirelab"
	"wirelab/wire/conformance"
	"wirelab/workload/routeguide"
	"wirelab/workload/routeguide/bind"
	"wirelab/workload/routeguide/gen"
)

// TestRESTPublishedClients sends what clients of the published service send,
// byte for byte, and reads the replies as they do: protobuf, or JSON by
// protobuf's own rules.
func TestRESTPublishedClients(t *testing.T) {
	t.Parallel()
	address := restServe(t, conformance.Pick(t, bind.HTTP(), "http1-proto"), routeguide.New(), 0).address
	point := &gen.Point{Latitude: routeguide.Published.Latitude, Longitude: routeguide.Published.Longitude}
	inProto, err := proto.Marshal(point)
	if err != nil {
		t.Fatal(err)
	}
	inJSON, err := protojson.Marshal(point)
	if err != nil {
		t.Fatal(err)
	}
	// An unnamed feature at 0, 0 is the message that protobuf's JSON leaves all but empty.
	nowhere, err := protojson.Marshal(&gen.Point{})
	if err != nil {
		t.Fatal(err)
	}
	want := &gen.Feature{Name: routeguide.Features()[0].Name, Location: point}
	for _, c := range []struct {
		why, contentType, accept string
		body                     []byte
		want                     *gen.Feature
		wantType                 string
	}{
		{"the published experiment", "application/protobuf", "", inProto, want, "application/protobuf"},
		{"the same, asked for", "application/protobuf", "application/protobuf", inProto, want, "application/protobuf"},
		{"JSON", "application/json", "", inJSON, want, "application/json"},
		{"JSON without a content type", "", "", inJSON, want, "application/json"},
		{"protobuf for JSON", "application/json", "application/protobuf", inJSON, want, "application/protobuf"},
		{"zeros left out", "application/json", "", nowhere, &gen.Feature{Location: &gen.Point{}}, "application/json"},
		{
			"an empty protobuf body", "application/protobuf", "", nil, &gen.Feature{Location: &gen.Point{}},
			"application/protobuf",
		},
	} {
		status, kind, body := restAsk(t, "POST", "http://"+address+"/v1/route.getFeature", string(c.body),
			"Content-Type",
			c.contentType, "Accept", c.accept)
		var got gen.Feature
		if kind == "application/protobuf" {
			err = proto.Unmarshal([]byte(body), &got)
		} else {
			err = protojson.Unmarshal([]byte(body), &got)
		}
		if status != 200 || kind != c.wantType || err != nil || !proto.Equal(&got, c.want) {
			t.Errorf("%s: %d, %s, %v, %v; want %s, %v", c.why, status, kind, &got, err, c.wantType, c.want)
		}
	}
	status, _, body := restAsk(t, "POST", "http://"+address+"/v1/route.getFeature", `{"latitude":900000001}`)
	const refused = `{"code":400,"message":"point 900000001, 0 is outside ±900000000, ±1800000000","details":{"wirelab.code":"invalid_argument"}}`
	if status != 400 || body != refused {
		t.Errorf("off Earth: %d, %s; want 400, %s", status, body, refused)
	}
}

// TestRESTByHand asks the paths the published service lacks as a person with
// curl would.
func TestRESTByHand(t *testing.T) {
	t.Parallel()
	address := "http://" + restServe(t, conformance.Pick(t, bind.HTTP(), "http1-json"), routeguide.New(), 0).address
	const corner = `{"latitude":409146138,"longitude":-746188906}`
	const named = `{"name":"Berkshire Valley Trailhead, Jefferson","location":` + corner + `}`
	for _, c := range []struct{ why, method, path, body, kind, want string }{
		{
			"list", "POST", "/v1/route.listFeatures", `{"lo":` + corner + `,"hi":` + corner + `}`, "",
			"{\"result\":" + named + "}\n{\"end\":true}\n",
		},
		{"list nothing", "POST", "/v1/route.listFeatures", `{}`, "", "{\"end\":true}\n"},
		{
			"record", "POST", "/v1/route.recordRoute", "{\"result\":" + corner + "}\n{\"end\":true}",
			"application/x-ndjson",
			`{"pointCount":1,"featureCount":1,"distance":0,"elapsedTime":0}`,
		},
		{
			"chat", "POST", "/v1/route.routeChat", "{\"result\":{\"message\":\"hej\"}}\n{\"end\":true}",
			"application/x-ndjson",
			"{\"result\":{\"location\":{\"latitude\":0,\"longitude\":0},\"message\":\"hej\"}}\n{\"end\":true}\n",
		},
		{
			"events", "GET",
			"/v1/route.listFeatures/events?lo.latitude=409146138&lo.longitude=-746188906&hi.latitude=409146138&hi.longitude=-746188906",
			"", "", "data: " + named + "\n\nevent: end\ndata:{}\n\n",
		},
		{"events of nothing", "GET", "/v1/route.listFeatures/events", "", "", "event: end\ndata:{}\n\n"},
	} {
		if status, _, got := restAsk(t, c.method, address+c.path, c.body, "Content-Type", c.kind); status != 200 ||
			got != c.want {
			t.Errorf("%s: %d, %q; want 200, %q", c.why, status, got, c.want)
		}
	}
	for _, query := range []string{
		"lo.latitude=x", "lo.latitude=1&lo.latitude=1", "hi.longitude=2147483648", "hi.longitude=", "lo.latitude=1.0",
	} {
		if status, _, body := restAsk(t, "GET", address+"/v1/route.listFeatures/events?"+query, ""); status != 400 {
			t.Errorf("?%s: %d, %s; want 400", query, status, body)
		}
	}
}

// restAsk sends one request and returns status, content type and body.
func restAsk(t *testing.T, method, url, body string, header ...string) (status int, contentType, reply string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i+1] != "" {
			r.Header.Set(header[i], header[i+1])
		}
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Content-Type"), string(data)
}

// TestRESTConnections counts what a client with many callers opens, and that
// all of it goes through the hooks of Dialing.
func TestRESTConnections(t *testing.T) {
	t.Parallel()
	eachREST(t, func(t *testing.T, b wirelab.Binding[routeguide.Service]) {
		var opened, most, inside atomic.Int64
		service := &puppet{get: func(ctx context.Context) (routeguide.Feature, error) {
			now := inside.Add(1)
			defer inside.Add(-1)
			for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
			}
			return routeguide.Feature{}, ctx.Err()
		}, list: repeated(1, routeguide.Feature{}, routeguide.Feature{}, nil)}
		peer := restServe(t, b, service, 0)
		const connections, callers, calls = 3, 12, 30
		stub := peer.dial(t, func(to *wirelab.Dialing) {
			to.Connections = connections
			to.Connect = func(ctx context.Context, network, address string) (net.Conn, error) {
				opened.Add(1)
				return new(net.Dialer).DialContext(ctx, network, address)
			}
			to.Packets = func() (net.PacketConn, error) {
				opened.Add(1)
				return net.ListenPacket("udp", "127.0.0.1:0")
			}
		})
		var wait sync.WaitGroup
		for range callers {
			wait.Go(func() {
				for range calls {
					var err error
					if _, hole := b.Holes["GetFeature"]; hole {
						for _, err = range stub.ListFeatures(t.Context(), routeguide.Rectangle{}) {
							if err != nil {
								break
							}
						}
					} else {
						_, err = stub.GetFeature(t.Context(), routeguide.Point{})
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wait.Wait()
		// net/http gives a connection up when the reply is there 50 ms before it has noticed that its
		// request is written, which happens where a CPU is long in coming. One in ten calls is far from
		// what a client opens that does not keep its connections.
		limit := int64(connections + callers*calls/10)
		if b.Protocol.Multiplexed {
			limit = 1
		}
		if n := opened.Load(); n < 1 || n > limit {
			t.Errorf("%d connections opened for %d calls; want at most %d", n, callers*calls, limit)
		}
		if n := most.Load(); !b.Protocol.Multiplexed && n > connections {
			t.Errorf("%d calls at once over %d connections", n, connections)
		}
	})
}

// TestRESTConnectionsAreKept has as many calls at once as connections, again
// and again: net/http by itself keeps two and opens the others anew.
func TestRESTConnectionsAreKept(t *testing.T) {
	t.Parallel()
	const connections, rounds = 5, 4
	arrived, goOn := make(chan struct{}), make(chan struct{})
	peer := restServe(t, conformance.Pick(t, bind.HTTP(), "http1-proto"),
		&puppet{get: func(context.Context) (routeguide.Feature, error) {
			arrived <- struct{}{}
			<-goOn
			return routeguide.Feature{}, nil
		}}, 0)
	var opened atomic.Int64
	stub := peer.dial(t, func(to *wirelab.Dialing) {
		to.Connections = connections
		to.Connect = func(ctx context.Context, network, address string) (net.Conn, error) {
			opened.Add(1)
			return new(net.Dialer).DialContext(ctx, network, address)
		}
	})
	for range rounds {
		var round sync.WaitGroup
		for range connections {
			round.Go(func() {
				if _, err := stub.GetFeature(t.Context(), routeguide.Point{}); err != nil {
					t.Error(err)
				}
			})
		}
		for range connections {
			<-arrived
		}
		for range connections {
			goOn <- struct{}{}
		}
		round.Wait()
	}
	// Kept by two, each round opens three anew. One a round may be given up: see above.
	if n := opened.Load(); n < connections || n > connections+rounds {
		t.Errorf("%d connections opened for %d", n, connections)
	}
}
