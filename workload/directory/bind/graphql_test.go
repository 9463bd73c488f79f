package bind_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/directory"
	"wirelab/workload/directory/bind"
)

// serveGraphQL serves a service until the test ends.
func serveGraphQL(t testing.TB, service directory.Service) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- bind.GraphQL().Servers[0].Serve(ctx, wirelab.Endpoint{Listener: listener}, service) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve returned %v", err)
		}
	})
	return listener.Addr().String()
}

// requestCounter counts the requests that leave a client.
type requestCounter struct {
	net.Conn
	requests *atomic.Int64
}

func (c requestCounter) Write(data []byte) (int, error) {
	c.requests.Add(int64(bytes.Count(data, []byte("POST /graphql HTTP/1.1\r\n"))))
	return c.Conn.Write(data)
}

// dialGraphQL returns a stub of a binding and the number of its requests so far.
func dialGraphQL(
	t testing.TB, b wirelab.Binding[directory.Service], address string,
) (directory.Service, *atomic.Int64) {
	t.Helper()
	requests := new(atomic.Int64)
	stub, closer, err := b.Clients[0].Dial(t.Context(), wirelab.Dialing{
		Address: address,
		Connect: func(ctx context.Context, network, address string) (net.Conn, error) {
			var plain net.Dialer
			conn, err := plain.DialContext(ctx, network, address)
			return requestCounter{conn, requests}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closer.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return stub, requests
}

func composition(id string) directory.Composition {
	ask := directory.Composition{
		Limit: 4, Persons: [4]string{"1", "2", "3", "4"}, Links: [2]string{"1", "3"}, New: directory.Newcomer(),
	}
	ask.New.ID = id
	return ask
}

// A composition is one round trip where its wire can ask for all at once, and
// eight where it makes the calls; what comes of it is the same (mt-F05).
func TestGraphQLRoundTrips(t *testing.T) {
	t.Parallel()
	want, err := directory.New().ProgramComposition(t.Context(), composition("a"))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		binding wirelab.Binding[directory.Service]
		trips   int64
	}{{bind.GraphQL(), 8}, {bind.GraphQLComposed(), 1}} {
		stub, requests := dialGraphQL(t, k.binding, serveGraphQL(t, directory.New()))
		for n := int64(1); n <= 3; n++ {
			ask := composition(fmt.Sprint("a", n))
			got, err := stub.ProgramComposition(t.Context(), ask)
			if err != nil {
				t.Fatalf("%s: %v", k.binding.Protocol.Name, err)
			}
			want.List = want.List.With(ask.New) // for its room
			want.List.Persons = append(slices.Clip(want.List.Persons[:4]), ask.New)
			want.List.Count = 5
			if !got.Equal(want) {
				t.Errorf("%s: %+v, want %+v", k.binding.Protocol.Name, got, want)
			}
			if requests.Load() != n*k.trips {
				t.Errorf("%s: %d requests for %d compositions, want %d each", k.binding.Protocol.Name, requests.Load(),
					n, k.trips)
			}
		}
		if _, err := stub.GetPerson(t.Context(), directory.PersonID{ID: "1"}); err != nil ||
			requests.Load() != 3*k.trips+1 {
			t.Errorf("%s: GetPerson: %v, %d requests", k.binding.Protocol.Name, err, requests.Load())
		}
	}
}

// recorder is a service that records created persons, and fails as configured.
type recorder struct {
	directory.Service
	mu      sync.Mutex
	fails   map[string]error // by call and id
	created []string
}

func (r *recorder) fail(key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fails[key]
}

func (r *recorder) ListPersons(ctx context.Context, page directory.Page) (directory.PersonList, error) {
	if err := r.fail("list"); err != nil {
		return directory.PersonList{}, err
	}
	return r.Service.ListPersons(ctx, page)
}

func (r *recorder) GetPerson(ctx context.Context, id directory.PersonID) (directory.Person, error) {
	if err := r.fail("get " + id.ID); err != nil {
		return directory.Person{}, err
	}
	return r.Service.GetPerson(ctx, id)
}

func (r *recorder) GetPersonLinks(ctx context.Context, id directory.PersonID) (directory.PersonLinkList, error) {
	if err := r.fail("links " + id.ID); err != nil {
		return directory.PersonLinkList{}, err
	}
	return r.Service.GetPersonLinks(ctx, id)
}

func (r *recorder) CreatePerson(ctx context.Context, person directory.Person) (directory.Person, error) {
	r.mu.Lock()
	r.created = append(r.created, person.ID)
	r.mu.Unlock()
	return r.Service.CreatePerson(ctx, person)
}

// TestGraphQLCompositionFails checks that a document fails as its eight calls would: with the error of the first
// failing call in order, whichever finished first, and no person is created after it.
func TestGraphQLCompositionFails(t *testing.T) {
	t.Parallel()
	coded := func(code wirelab.Code) error { return wirelab.Errorf(code, "told with %v", code) }
	cases := []struct {
		why   string
		fails map[string]error
		ask   func(*directory.Composition)
		code  wirelab.Code
	}{
		{"an unknown person", nil, func(c *directory.Composition) { c.Persons[2] = "absent" }, wirelab.NotFound},
		{"an unknown person's links", nil, func(c *directory.Composition) { c.Links[1] = "absent" }, wirelab.NotFound},
		{"an existing person", nil, func(c *directory.Composition) { c.New.ID = "1" }, wirelab.Conflict},
		{"an unknown person, and an existing person", nil, func(c *directory.Composition) {
			c.Persons[3], c.New.ID = "absent", "1"
		}, wirelab.NotFound},
		{"an id that is none", nil, func(c *directory.Composition) { c.Persons[0] = "a/b" }, wirelab.InvalidArgument},
		{"text that is none", nil, func(c *directory.Composition) { c.New.Gender = "\xff" }, wirelab.InvalidArgument},
		{"a limit that is none", nil, func(c *directory.Composition) { c.Limit = -1 }, wirelab.InvalidArgument},
		{"the list", map[string]error{"list": coded(wirelab.Unavailable)}, nil, wirelab.Unavailable},
		{"every read", map[string]error{
			"links 3": coded(wirelab.Conflict), "links 1": coded(wirelab.Internal), "get 4": coded(wirelab.Canceled),
			"get 3": coded(wirelab.NotFound), "get 2": coded(wirelab.Unavailable),
			"get 1": coded(wirelab.PermissionDenied),
			"list":  coded(wirelab.ResourceExhausted),
		}, nil, wirelab.ResourceExhausted},
		{"every read but the first two", map[string]error{
			"links 3": coded(wirelab.Conflict), "links 1": coded(wirelab.Internal), "get 4": coded(wirelab.Canceled),
			"get 3": coded(wirelab.NotFound), "get 2": coded(wirelab.Unavailable),
		}, nil, wirelab.Unavailable},
		{
			"the links",
			map[string]error{"links 3": coded(wirelab.Conflict), "links 1": coded(wirelab.PermissionDenied)},
			nil,
			wirelab.PermissionDenied,
		},
	}
	tries := 40 // the reads of a document run at once, so that their order is chance
	if testing.Short() {
		tries = 8
	}
	for _, k := range cases {
		for _, w := range []struct {
			binding wirelab.Binding[directory.Service]
			times   int
		}{{bind.GraphQL(), 1}, {bind.GraphQLComposed(), tries}} {
			b := w.binding
			service := &recorder{Service: directory.New(), fails: k.fails}
			stub, _ := dialGraphQL(t, b, serveGraphQL(t, service))
			ask := composition("new")
			if k.ask != nil {
				k.ask(&ask)
			}
			for range w.times {
				got, err := stub.ProgramComposition(t.Context(), ask)
				if err == nil || wirelab.CodeOf(err) != k.code || !got.Equal(directory.Aggregation{}) {
					t.Errorf("%s, %s: %v, %+v; want %v", k.why, b.Protocol.Name, err, got, k.code)
				}
			}
			if k.code != wirelab.Conflict && len(service.created) > 0 {
				t.Errorf("%s, %s: created %v after a failure", k.why, b.Protocol.Name, service.created)
			}
		}
	}
}

// dataSet returns a service with the data set of a name.
func dataSet(t testing.TB, name string) directory.Service {
	t.Helper()
	for _, d := range directory.Data() {
		if d.Name == name {
			return d.New()
		}
	}
	t.Fatalf("no data set %q", name)
	return nil
}

// The largest page passes every limit, alone and in a composition.
func TestGraphQLLargest(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	service := dataSet(t, "10000")
	want, err := service.ListPersons(t.Context(), directory.Page{})
	if err != nil {
		t.Fatal(err)
	}
	stub, _ := dialGraphQL(t, bind.GraphQLComposed(), serveGraphQL(t, service))
	for _, limit := range []int32{0, directory.PageLimit} {
		if limit == 0 && testing.Short() {
			continue // which is the same
		}
		list, err := stub.ListPersons(t.Context(), directory.Page{Limit: limit})
		if err != nil || !list.Equal(want) {
			t.Fatalf("a page of %d: %v, %d persons", limit, err, list.Count)
		}
		ask := composition("new-" + strconv.Itoa(int(limit)))
		ask.Limit = limit
		sum, err := stub.ProgramComposition(t.Context(), ask)
		if err != nil || !sum.List.Equal(want.With(ask.New)) {
			t.Fatalf("a composition with a page of %d: %v, %d persons", limit, err, sum.List.Count)
		}
	}
}

// bulky is a service whose lists are larger than any wire takes.
type bulky struct{ directory.Service }

func (b bulky) ListPersons(context.Context, directory.Page) (directory.PersonList, error) {
	p := directory.Newcomer()
	p.Picture = &directory.Picture{Large: strings.Repeat("x", wirelab.MessageLimit/4)}
	return directory.PersonList{Persons: []directory.Person{p, p, p, p}, Count: 4}, nil
}

// TestGraphQLReplyLimit checks that a reply that exceeds the limit is an error, and is not sent.
func TestGraphQLReplyLimit(t *testing.T) {
	t.Parallel()
	address := serveGraphQL(t, bulky{directory.New()})
	_, _, text := post(t, address, "", document(t, "{ listPersons { persons { picture { large } } } }", nil))
	if len(text) > 1<<10 || !strings.Contains(text, `"resource_exhausted"`) {
		t.Errorf("answers %d bytes: %.200s", len(text), text)
	}
	if _, _, text := post(t, address, "", document(t, "{ listPersons { count } }",
		nil)); text != `{"data":{"listPersons":{"count":4}}}` {
		t.Errorf("answers %.200s", text)
	}
}

// post posts a body and returns status, type and text of the reply.
func post(t testing.TB, address, accept string, body []byte) (status int, mediaType, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/graphql",
		bytes.NewReader(body))
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

// document is the body of a request.
func document(t testing.TB, query string, variables any) []byte {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestGraphQLLimits sends hostile and mistaken requests: each gets a short error with the reason, and the server
// continues.
func TestGraphQLLimits(t *testing.T) {
	t.Parallel()
	address := serveGraphQL(t, dataSet(t, "10000"))
	const exhausted, invalid = "resource_exhausted", "invalid_argument"
	type vars = map[string]any
	const create = "mutation($p: PersonInput!) { createPerson(person: $p) { id } }"
	aliases := func(n int, field string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, " a%d: %s", i, field)
		}
		return "{" + b.String() + " }"
	}
	bomb := "{ getPerson(id: \"1\") { ...F0 } }"
	for i := range 40 {
		bomb += fmt.Sprintf(" fragment F%d on Person { ...F%d ...F%d }", i, i+1, i+1)
	}
	bomb += " fragment F40 on Person { id }"
	cases := []struct {
		why    string
		body   []byte
		status int
		has    string // what the reply must have: a code, or a text
	}{
		{"a deeply nested query", document(t, "query { "+strings.Repeat("getPersonLinks(id: \"1\") { links { p1 { ",
			30)+strings.Repeat("} } } ", 30)+"}", nil), 400, exhausted},
		{"a query nested beyond all", document(t, strings.Repeat("{a", 1<<20), nil), 400, exhausted},
		{
			"the directory under many names", document(t, aliases(20, "listPersons { persons { id } }"), nil), 400,
			exhausted,
		},
		{"a huge number of names", document(t, aliases(100_000, "getPerson(id: 1) { id }"), nil), 400, exhausted},
		{
			"a few names", document(t, aliases(3, "getPerson(id: 1) { id }"), nil), 200,
			`{"data":{"a0":{"id":"1"},"a1":{"id":"1"},"a2":{"id":"1"}}}`,
		},
		{
			"a fragment in itself", document(t, `{ getPerson(id: "1") { ...F } } fragment F on Person { ...F }`, nil),
			400, invalid,
		},
		{
			"fragments in a ring",
			document(t,
				`{ getPerson(id: "1") { ...F } } fragment F on Person { ...G } fragment G on Person { id ...F }`, nil),
			400, invalid,
		},
		{"fragments that double", document(t, bomb, nil), 400, exhausted},
		{"a list where there is to be one", document(t, "query($id: ID!) { getPerson(id: $id) { id } }",
			vars{"id": []int{1}}), 400, invalid},
		{"an oversized list there", document(t, "query($id: ID!) { getPerson(id: $id) { id } }",
			vars{"id": make([]int, 1_000_000)}), 400, exhausted},
		{
			"an oversized unused list", document(t, "{ getPerson(id: 1) { id } }", vars{"x": make([]int, 20_000)}),
			400, exhausted,
		},
		{
			"an oversized list in the document",
			document(t, "{ getPerson(id: ["+strings.Repeat("1,", 5000)+"]) { id } }", nil),
			400, exhausted,
		},
		{"a list of lists of null for a variable", document(t, "query($id: [[ID]]) { getPerson(id: $id) { id } }",
			vars{"id": []any{nil}}), 400, invalid},
		{
			"an oversized document", document(t, "{ getPerson(id: 1) { id } }"+strings.Repeat(" ", 17<<10), nil), 400,
			exhausted,
		},
		{"a batch", []byte(`[{"query":"{ getPerson(id: 1) { id } }"}]`), 400, "batches are not taken"},
		{"introspection", document(t, "{ __schema { types { name } } }", nil), 200, `{"name":"Person"}`},
		{
			"introspection of a type", document(t, `{ __type(name: "Person") { name } }`, nil), 200,
			`{"data":{"__type":{"name":"Person"}}}`,
		},
		{"introspection by powers", document(t, "{ __schema { types "+strings.Repeat("{ fields { type ",
			3)+"{ name }"+strings.Repeat("} }", 3)+" } }", nil), 400, invalid},
		{"introspection under many names", document(t, aliases(500, "__type(name: 1) { name }"), nil), 400, exhausted},
		{"deep introspection", document(t, "{ __schema { types "+strings.Repeat("{ fields { type ",
			12)+"{ name }"+strings.Repeat("} }", 12)+"} }", nil), 400, exhausted},
		{"deferring", document(t, `{ getPersonLinks(id: "1") { ... @defer { count } } }`, nil), 400, "@defer"},
		{"a thousand mistakes", document(t, "{ "+strings.Repeat("x ", 290)+"}", nil), 400, invalid},
		{
			"a text that is too long",
			document(t, create, vars{"p": vars{"id": "a", "gender": strings.Repeat("x", 257)}}),
			200, invalid,
		},
		{"a body that is no JSON", []byte(strings.Repeat("x", 1<<20)), 400, invalid},
		{"an id of a hundred thousand", document(t, "query($id: ID!) { getPerson(id: $id) { id } }",
			vars{"id": strings.Repeat("x", 100_000)}), 200, invalid},
		{"an unknown person", document(t, `{ getPerson(id: "absent") { id } }`, nil), 200, "not_found"},
		{"an existing person", document(t, create, vars{"p": vars{"id": "1"}}), 200, "conflict"},
		{"a person without an id", document(t, create, vars{"p": vars{}}), 400, invalid},
		{
			"a post code beyond 32 bits",
			document(t, create, vars{"p": vars{"id": "a", "location": vars{"postCode": 1 << 31}}}),
			200, invalid,
		},
		{
			"nothing of a person but the id", document(t,
				"mutation($p: PersonInput!) { createPerson(person: $p) { id name { first } location { city postCode } "+
					"picture { "+
					"large } } }",
				vars{"p": vars{"id": "only", "name": nil}}), 200,
			`{"data":{"createPerson":{"id":"only","name":{"first":""},"location":{"city":"","postCode":0},"picture":null}}}`,
		},
		{
			"a picture of nothing", document(t,
				"mutation($p: PersonInput!) { createPerson(person: $p) { picture { large } } }",
				vars{"p": vars{"id": "seen", "picture": vars{}}}), 200,
			`{"data":{"createPerson":{"picture":{"large":""}}}}`,
		},
		{
			"reading what was created in the same document", document(t,
				`mutation { createPerson(person: {id: "first"}) { id } query { getPerson(id: "first") { id } } }`, nil),
			200,
			`{"data":{"createPerson":{"id":"first"},"query":{"getPerson":{"id":"first"}}}}`,
		},
		{
			"a default page is the whole", document(t, `{ listPersons { count next } }`, nil), 200,
			`{"data":{"listPersons":{"count":10000,"next":"10000"}}}`,
		},
	}
	for _, k := range cases {
		t.Run(k.why, func(t *testing.T) {
			t.Parallel()
			status, mediaType, text := post(t, address, "application/graphql-response+json", k.body)
			if status != k.status || mediaType != "application/graphql-response+json" ||
				!strings.Contains(text, k.has) {
				t.Errorf("status %d, type %q, %.300s; want %d, %s", status, mediaType, text, k.status, k.has)
			}
			if len(text) > 16<<10 || !json.Valid([]byte(text)) {
				t.Errorf("the reply to %d bytes has %d: %.300s", len(k.body), len(text), text)
			}
		})
	}
}

// Callers that know application/json alone get no status that they would take
// for the transport's, as the standard asks.
func TestGraphQLMediaTypes(t *testing.T) {
	t.Parallel()
	address := serveGraphQL(t, directory.New())
	wrong := document(t, "{ getPerson { id } }", nil)
	for accept, want := range map[string]struct {
		status    int
		mediaType string
	}{
		"":                 {400, "application/graphql-response+json"},
		"*/*":              {400, "application/graphql-response+json"},
		"application/json": {200, "application/json"},
		"application/json, application/graphql-response+json": {400, "application/graphql-response+json"},
	} {
		if status, mediaType, text := post(t, address, accept, wrong); status != want.status ||
			mediaType != want.mediaType {
			t.Errorf("accept %q: status %d, type %q: %s", accept, status, mediaType, text)
		}
	}
}

// FuzzGraphQLServer posts any text: the server must answer in JSON, and live.
func FuzzGraphQLServer(f *testing.F) {
	address := serveGraphQL(f, directory.New())
	for _, seed := range []string{
		`{"query":"{ getPerson(id: 1) { id } }"}`,
		`{"query":"query($id: ID!) { getPersonLinks(id: $id) { links { p1 { ...F } } } } fragment F on Person { id picture { large } }","variables":{"id":"1"}}`,
		`{"query":"mutation($p: PersonInput!) { query { listPersons(limit: 1) { next } } createPerson(person: $p) { id } }","variables":{"p":{"id":"x","name":{"first":"\u0000"}}}}`,
		`{"query":"{ listPersons(limit: -1) { ... @skip(if: true) { count } __typename } }"}`, `[]`, `null`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		status, mediaType, text := post(t, address, "application/graphql-response+json", body)
		if status >= 500 || strings.Contains(mediaType, "json") && !json.Valid([]byte(text)) ||
			strings.Contains(text, `"internal"`) {
			t.Fatalf("status %d, type %q: %s", status, mediaType, text)
		}
	})
}
