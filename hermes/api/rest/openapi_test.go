package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"wirelab/hermes/api/rest"
)

// specification is the API's description, to which every exchange of every test is held.
type specification struct {
	document map[string]any
	compiler *jsonschema.Compiler

	mu      sync.Mutex // guards all below
	schemas map[string]*jsonschema.Schema
	asked   map[string]bool // "POST /v1/publish 200": what tests have seen
}

// loaded is what loadSpec gave, for when all tests are over.
var loaded *specification

var loadSpec = sync.OnceValues(func() (*specification, error) {
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	s := &specification{
		document: document.(map[string]any), compiler: jsonschema.NewCompiler(),
		schemas: map[string]*jsonschema.Schema{}, asked: map[string]bool{},
	}
	s.compiler.AssertFormat()
	loaded = s
	return s, s.compiler.AddResource("door.json", document)
})

func spec(t testing.TB) *specification {
	t.Helper()
	s, err := loadSpec()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// at follows keys into the document; nil where there is nothing. References are followed.
func (s *specification) at(from any, keys ...string) any {
	for _, key := range keys {
		object, ok := from.(map[string]any)
		if !ok {
			return nil
		}
		from = object[key]
		if object, ok = from.(map[string]any); !ok {
			continue
		}
		if reference, ok := object["$ref"].(string); ok {
			from = s.at(s.document, strings.Split(strings.TrimPrefix(reference, "#/"), "/")...)
		}
	}
	return from
}

// valid holds a JSON text to the schema at a pointer of the document.
func (s *specification) valid(pointer string, text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	schema, ok := s.schemas[pointer]
	if !ok {
		var err error
		if schema, err = s.compiler.Compile("door.json#" + pointer); err != nil {
			return err
		}
		s.schemas[pointer] = schema
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("no JSON: %w", err)
	}
	return schema.Validate(value)
}

func (s *specification) fits(schema string, text []byte) error {
	return s.valid("/components/schemas/"+schema, text)
}

// operation finds the path of a request among those described.
func (s *specification) operation(r *http.Request) (path string, item, operation map[string]any) {
	have := strings.Split(r.URL.EscapedPath(), "/")
	for path, item := range s.document["paths"].(map[string]any) {
		want := strings.Split(path, "/")
		if len(want) != len(have) {
			continue
		}
		same := true
		for i := range want {
			same = same && (want[i] == have[i] || strings.HasPrefix(want[i], "{") && have[i] != "")
		}
		if !same {
			continue
		}
		item := item.(map[string]any)
		method := strings.ToLower(r.Method)
		if method == "head" {
			method = "get"
		}
		operation, _ := item[method].(map[string]any)
		return path, item, operation
	}
	return "", nil, nil
}

func pointer(parts ...string) string {
	for i := range parts {
		parts[i] = strings.NewReplacer("~", "~0", "/", "~1").Replace(parts[i])
	}
	return "/" + strings.Join(parts, "/")
}

// check holds an exchange to the description: a reply must be one of those that
// it knows, of its form; and what succeeded must have been asked as it says.
func (s *specification) check(r *http.Request, body string, a answer) error {
	if s == nil {
		return nil // see undescribed
	}
	path, item, operation := s.operation(r)
	success := a.status < 300
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	if operation == nil || a.status >= 400 {
		if success {
			return fmt.Errorf("it is not described")
		}
		if kind != "application/problem+json" || r.Method == http.MethodHead {
			return fmt.Errorf("a failure of type %q", kind)
		}
		var p struct{ Status int }
		if err := json.Unmarshal([]byte(a.body), &p); err != nil || p.Status != a.status {
			return fmt.Errorf("a failure that says status %d: %w", p.Status, err)
		}
		s.saw(r, path, a.status)
		return s.fits("Problem", []byte(a.body))
	}
	method, status := strings.ToLower(r.Method), strconv.Itoa(a.status)
	if method == "head" {
		return nil
	}
	response, ok := s.at(operation, "responses", status).(map[string]any)
	if !ok {
		return fmt.Errorf("status %s is not described", status)
	}
	s.saw(r, path, a.status)
	content, _ := response["content"].(map[string]any)
	switch media, ok := content[kind].(map[string]any); {
	case content == nil && (a.body != "" || kind != ""):
		return fmt.Errorf("a body of type %q, which is not described", kind)
	case content != nil && !ok:
		return fmt.Errorf("a body of type %q is not described", kind)
	case ok && media["schema"] != nil && kind == kindJSON:
		if err := s.valid(pointer("paths", path, method, "responses", status, "content", kind, "schema"),
			[]byte(a.body)); err != nil {
			return err
		}
	}
	if !success {
		return nil
	}
	return s.request(r, path, item, operation, body)
}

// saw notes that an operation answered with a status.
func (s *specification) saw(r *http.Request, path string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[r.Method+" "+path+" "+strconv.Itoa(status)] = true
}

// request holds what was asked, with success, to the description.
func (s *specification) request(r *http.Request, path string, item, operation map[string]any, body string) error {
	known := map[string]bool{}
	for _, list := range []any{item["parameters"], operation["parameters"]} {
		all, _ := list.([]any)
		for i := range all {
			if p, ok := s.at(map[string]any{"p": all[i]}, "p").(map[string]any); ok && p["in"] == "query" {
				known[p["name"].(string)] = true
			}
		}
	}
	for name := range r.URL.Query() {
		if !known[name] {
			return fmt.Errorf("parameter %s is not described", name)
		}
	}
	if body == "" {
		if s.at(operation, "requestBody", "required") == true && r.Header.Get("Content-Type") == kindJSON {
			return fmt.Errorf("a body is described as needed")
		}
		return nil
	}
	kind := r.Header.Get("Content-Type")
	if s.at(operation, "requestBody", "content", kind) == nil {
		return fmt.Errorf("a request of type %q is not described", kind)
	}
	if kind != kindJSON {
		return nil
	}
	return s.valid(pointer("paths", path, strings.ToLower(r.Method), "requestBody", "content", kind, "schema"),
		[]byte(body))
}

// Everything that is served is described, and nothing else; the description is
// whole in itself.
func TestEveryRouteIsDescribed(t *testing.T) {
	t.Parallel()
	s := start(t, rest.Config{})
	var described []string
	ids := map[string]bool{}
	for path, item := range s.spec.document["paths"].(map[string]any) {
		for method, operation := range item.(map[string]any) {
			if method == "parameters" {
				continue
			}
			described = append(described, strings.ToUpper(method)+" "+path)
			id, _ := s.spec.at(operation, "operationId").(string)
			if id == "" || ids[id] {
				t.Errorf("%s %s has id %q, which is none or another's", method, path, id)
			}
			ids[id] = true
		}
	}
	slices.Sort(described)
	if served := rest.Routes(); !slices.Equal(described, served) {
		t.Errorf("described %q\nserved    %q", described, served)
	}
	if got := s.want(s.ask("GET", "/v1/openapi.json", ""), 200, `"3.1.0"`); !json.Valid([]byte(got.body)) {
		t.Error("the description is no JSON")
	}
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	for rest := string(text); ; {
		_, after, ok := strings.Cut(rest, `"$ref": "#/`)
		if !ok {
			break
		}
		name, _, _ := strings.Cut(after, `"`)
		if rest = after; s.spec.at(s.spec.document, strings.Split(name, "/")...) == nil {
			t.Errorf("a reference to %s, which is not there", name)
		}
	}
}

// undescribed is for a test that asks what the description leaves open.
func undescribed() *specification { return nil }

// unseen lists the replies that are described as a success and was in no reply. Streams are read over
// connections, and their events held to the description one by one.
func (s *specification) unseen() (missing []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, item := range s.document["paths"].(map[string]any) {
		for method, operation := range item.(map[string]any) {
			if method == "parameters" {
				continue
			}
			for status, response := range s.at(operation, "responses").(map[string]any) {
				seen := strings.ToUpper(method) + " " + path + " " + status
				if status != "default" && !s.asked[seen] && s.at(response, "content", "text/event-stream") == nil {
					missing = append(missing, seen)
				}
			}
		}
	}
	slices.Sort(missing)
	return missing
}
