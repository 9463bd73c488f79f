// Package openapitest holds a server to the OpenAPI document that it serves: all
// that is served is described and nothing else, and each call that the document
// gives an example of is answered as it says. It knows no workload.
package openapitest

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"wirelab"
	"wirelab/wire/httprpc"
	"wirelab/workload/external"
	"wirelab/workload/external/discover"
)

// Exceptions are what a test does not hold to the document.
type Exceptions struct {
	Undescribed []string          // routes
	Events      []string          // operations whose replies are events: no call gets them
	Read        map[string]string // the parameters of a route that reads its query by itself, by the route
}

// Check holds a handler of package httprpc to its document.
func Check(t *testing.T, handler http.Handler, but Exceptions) {
	t.Helper()
	var kind atomic.Value // the media type of the last reply
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(noting{w, &kind}, r)
	}))
	t.Cleanup(server.Close)
	document := fetched(t, server)
	described, ids := routesOf(t, document)
	served := handler.(*httprpc.Handler).Routes()
	served = slices.DeleteFunc(served, func(route string) bool {
		return slices.Contains(but.Undescribed, route) || route == "GET "+httprpc.PathOpenAPI
	})
	for i, route := range served {
		if strings.HasPrefix(route, "/") { // of any method, of which a document names one
			served[i] = "GET " + route
		}
		if read, ok := but.Read[route]; ok {
			served[i] = route + " " + read
		}
	}
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("described %q\nserved    %q", described, served)
	}

	d, notes, err := discover.Target(t.Context(), "own", external.WireText{Target: server.URL}, external.Sources{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range notes[1:] { // the first says where the document is
		if name, _, out := strings.Cut(note, " is left out: its reply is a stream"); !out ||
			!slices.Contains(but.Events,
				name) {
			t.Errorf("own init notes: %s", note)
		}
	}
	p, _, err := external.Prepare(t.Context(), d, external.Sources{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	schemas := jsonschema.NewCompiler()
	schemas.AssertFormat()
	shut(document)
	if err := schemas.AddResource("service.json", document); err != nil {
		t.Fatal(err)
	}
	called := slices.Clone(but.Events)
	address := strings.TrimPrefix(server.URL, "http://")
	for _, o := range p.Operations {
		called = append(called, o.Name)
		trial, err := p.Try(t.Context(), p.Wires[0].Name, wirelab.Dialing{Address: address, Foreign: true}, o.Name,
			false)
		if err != nil {
			t.Errorf("%s: %v: %s", o.Name, err, trial.Text)
			continue
		}
		if err := fits(schemas, document, ids[o.Name], trial, kind.Load().(string)); err != nil {
			t.Errorf("%s: %v: %s", o.Name, err, trial.Text)
		}
	}
	slices.Sort(called)
	if all := slices.Sorted(maps.Keys(ids)); !slices.Equal(called, all) {
		t.Errorf("called %q\nof     %q", called, all)
	}
}

// noting notes the media type of a reply before any of it is sent.
type noting struct {
	http.ResponseWriter
	kind *atomic.Value
}

// Unwrap lets net/http do what it can do to the writer.
func (n noting) Unwrap() http.ResponseWriter { return n.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (n noting) WriteHeader(status int) {
	n.kind.Store(n.Header().Get("Content-Type"))
	n.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (n noting) Write(data []byte) (int, error) {
	n.kind.Store(n.Header().Get("Content-Type"))
	return n.ResponseWriter.Write(data)
}

// fetched is the document that a server has.
func fetched(t *testing.T, server *httptest.Server) map[string]any {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+httprpc.PathOpenAPI, nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	if reply.StatusCode != http.StatusOK || reply.Header.Get("Content-Type") != httprpc.MediaJSON {
		t.Fatalf("the document: status %d, type %q", reply.StatusCode, reply.Header.Get("Content-Type"))
	}
	value, err := jsonschema.UnmarshalJSON(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	document, ok := value.(map[string]any)
	if !ok || document["openapi"] != "3.1.0" {
		t.Fatalf("the document is of OpenAPI %v, not 3.1.0", document["openapi"])
	}
	return document
}

// place is where an operation stands in a document.
type place struct{ path, method string }

// routesOf lists the routes that are described, as servers list the routes they serve, and where the operations
// stand, by their ids.
func routesOf(t *testing.T, document map[string]any) (routes []string, ids map[string]place) {
	t.Helper()
	ids = map[string]place{}
	paths, _ := document["paths"].(map[string]any)
	for path, item := range paths {
		methods, _ := item.(map[string]any)
		for method := range methods {
			route := strings.ToUpper(method) + " " + path
			parameters, _ := at(document, "paths", path, method, "parameters").([]any)
			var names []string
			for _, parameter := range parameters {
				names = append(names, at(parameter, "name").(string))
			}
			slices.Sort(names)
			routes = append(routes, strings.Join(append([]string{route}, names...), " "))
			id, _ := at(document, "paths", path, method, "operationId").(string)
			if _, twice := ids[id]; twice || id == "" {
				t.Errorf("%s %s has operationId %q, which is none or another's", method, path, id)
			}
			ids[id] = place{path, method}
		}
	}
	slices.Sort(routes)
	return routes, ids
}

// at follows keys into a document; nil where there is nothing.
func at(from any, keys ...string) any {
	for _, key := range keys {
		object, _ := from.(map[string]any)
		from = object[key]
	}
	return from
}

// shut has the schemas in a value refuse the members that they do not describe,
// so that none goes undescribed.
func shut(value any) {
	switch value := value.(type) {
	case map[string]any:
		if _, ok := value["properties"].(map[string]any); ok {
			value["additionalProperties"] = false
		}
		for _, inner := range value {
			shut(inner)
		}
	case []any:
		for _, inner := range value {
			shut(inner)
		}
	}
}

// fits holds a reply to what the document says of it.
func fits(schemas *jsonschema.Compiler, document map[string]any, where place, trial external.Trial, kind string) error {
	status := fmt.Sprint(trial.Reply.Status)
	keys := []string{"paths", where.path, where.method, "responses", status, "content"}
	kinds, _ := at(document, keys...).(map[string]any)
	if _, ok := kinds[kind]; !ok {
		return fmt.Errorf("status %s and type %q are not described", status, kind)
	}
	if kind != httprpc.MediaJSON {
		return nil
	}
	pointer := ""
	for _, key := range append(keys, kind, "schema") {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(key)
	}
	schema, err := schemas.Compile("service.json#" + pointer)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(trial.Reply.Body))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}
