package bind_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/routeguide"
	"wirelab/workload/routeguide/bind"
)

// serveBinding serves the reference over a binding until the test ends.
func serveBinding(t testing.TB, b wirelab.Binding[routeguide.Service]) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Servers[0].Serve(ctx, wirelab.Endpoint{Listener: listener}, routeguide.New()) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve returned %v", err)
		}
	})
	return listener.Addr().String()
}

// graphqlPost posts a body and returns status, type and text of the reply.
func graphqlPost(t testing.TB, method, address, accept string, body []byte) (status int, mediaType, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+address+"/graphql", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", accept)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	data, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, reply.Header.Get("Content-Type"), string(data)
}

func graphqlBody(t testing.TB, query string, variables any) []byte {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// What a client that is not ours may send, well or badly (duh-D01, R10).
func TestGraphQLRequests(t *testing.T) {
	t.Parallel()
	address := serveBinding(t, bind.GraphQL())
	const (
		response = "application/graphql-response+json"
		get      = "query($at: PointInput) { getFeature(at: $at) { name location { latitude longitude } } }"
		origin   = `{"data":{"getFeature":{"name":"","location":{"latitude":0,"longitude":0}}}}`
	)
	type vars = map[string]any
	fields := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "f%d: getFeature { name } ", i)
		}
		return "{ " + b.String() + "}"
	}
	cases := []struct {
		why, query string
		variables  any
		status     int
		want       string // the whole text, or its code where it is one word
	}{
		{"an absent argument is 0, 0", "{ getFeature { name location { latitude longitude } } }", nil, 200, origin},
		{"an absent variable is 0, 0", get, vars{}, 200, origin},
		{"a null variable is 0, 0", get, vars{"at": nil}, 200, origin},
		{"absent coordinates are 0, 0", get, vars{"at": vars{}}, 200, origin},
		{
			"the published point", get,
			vars{"at": vars{"latitude": routeguide.Published.Latitude, "longitude": routeguide.Published.Longitude}},
			200,
			`{"data":{"getFeature":{"name":"Berkshire Valley Trailhead, Jefferson","location":{"latitude":409146138,"longitude":-746188906}}}}`,
		},
		{"a point outside", get, vars{"at": vars{"latitude": 900_000_001}}, 200, "invalid_argument"},
		{"a number beyond 32 bits", get, vars{"at": vars{"latitude": 1 << 40}}, 200, "invalid_argument"},
		{"a fraction", get, vars{"at": vars{"latitude": 1.5}}, 400, "invalid_argument"},
		{"text for a number", get, vars{"at": vars{"latitude": "x"}}, 400, "invalid_argument"},
		{"an unknown variable's field", get, vars{"at": vars{"lat": 1}}, 400, "invalid_argument"},
		{"an unknown field", "{ getFeature { nickname } }", nil, 400, "invalid_argument"},
		{"half a query", "{ getFeature {", nil, 400, "invalid_argument"},
		{"no query", "", nil, 400, "invalid_argument"},
		{
			"introspection", "{ __schema { queryType { name } } }", nil, 200,
			`{"data":{"__schema":{"queryType":{"name":"Query"}}}}`,
		},
		{"a query of many fields", fields(160), nil, 400, "resource_exhausted"},
		{"a query of many tokens", fields(400), nil, 400, "resource_exhausted"},
		{"a subscription without a stream", "subscription { listFeatures { name } }", nil, 200, "invalid_argument"},
	}
	for _, k := range cases {
		t.Run(k.why, func(t *testing.T) {
			t.Parallel()
			status, mediaType, text := graphqlPost(t, "POST", address, response, graphqlBody(t, k.query, k.variables))
			if status != k.status || mediaType != response {
				t.Errorf("status %d, type %q, want %d: %s", status, mediaType, k.status, text)
			}
			if strings.HasPrefix(k.want, "{") && text != k.want ||
				!strings.Contains(text, `"code":"`+k.want+`"`) && !strings.HasPrefix(k.want, "{") {
				t.Errorf("answers %s, want %s", text, k.want)
			}
		})
	}
	for why, k := range map[string]struct {
		method string
		body   []byte
		status int
	}{
		"GET is off":             {"GET", nil, 405},
		"a body above the limit": {"POST", bytes.Repeat([]byte(" "), wirelab.MessageLimit+1), 429},
		"a body that is no JSON": {"POST", []byte("{"), 400},
		"an empty body":          {"POST", nil, 400},
	} {
		if status, _, text := graphqlPost(t, k.method, address, response, k.body); status != k.status {
			t.Errorf("%s: status %d, want %d: %s", why, status, k.status, text)
		}
	}
}

func TestGraphQLSubscriptions(t *testing.T) {
	t.Parallel()
	address := serveBinding(t, bind.GraphQL())
	const events = "text/event-stream"
	cases := []struct {
		why, query string
		status     int
		has        string
	}{
		{
			"absent corners are 0, 0, where there is nothing", "subscription { listFeatures { name } }", 200,
			"event: complete\ndata: \n\n",
		},
		{"a null corner", "subscription { listFeatures(in: {lo: null}) { name } }", 200, "event: complete\ndata: \n\n"},
		{
			"a corner outside", "subscription { listFeatures(in: {lo: {latitude: 900000001}}) { name } }", 200,
			`"code":"invalid_argument"`,
		},
		{
			"a query", "{ getFeature { name } }", 200,
			`data: {"data":{"getFeature":{"name":""}}}` + "\n\nevent: complete\n",
		},
		{"half a query", "subscription {", 400, `"code":"invalid_argument"`},
	}
	for _, k := range cases {
		status, _, text := graphqlPost(t, "POST", address, events, graphqlBody(t, k.query, nil))
		if status != k.status || !strings.Contains(text, k.has) {
			t.Errorf("%s: status %d, %s", k.why, status, text)
		}
	}
	if status, _, text := graphqlPost(t, "POST", address, events, []byte("{")); status != 400 {
		t.Errorf("a body that is no JSON: status %d, %s", status, text)
	}
}

// FuzzGraphQLServer posts any text: the server must answer in JSON or events, and live.
func FuzzGraphQLServer(f *testing.F) {
	address := serveBinding(f, bind.GraphQL())
	for _, seed := range []string{
		`{"query":"{ getFeature { name } }"}`,
		`{"query":"query($at: PointInput) { getFeature(at: $at) { name } }","variables":{"at":{"latitude":1}}}`,
		`{"query":"subscription { listFeatures(in: {lo: {latitude: 1}}) { name } }"}`, `{"query":7}`,
		`{"variables":[]}`, `null`, ``,
		`{"query":"{ ...F } fragment F on Query { ...F }"}`,
		`{"query":"{ getFeature { ... on Feature { name } } }","operationName":"x"}`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, subscribe bool) {
		accept := "application/graphql-response+json"
		if subscribe {
			accept = "text/event-stream"
		}
		status, mediaType, text := graphqlPost(t, "POST", address, accept, body)
		if status >= 500 || strings.Contains(mediaType, "json") && !json.Valid([]byte(text)) {
			t.Fatalf("status %d, type %q: %s", status, mediaType, text)
		}
	})
}
