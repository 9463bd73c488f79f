// Package openapi reads descriptions of services in the form of OpenAPI: 3.0 and 3.1, and 2.0, which was named Swagger.
// It says which operations there are, makes a request of each from the examples that the document has, and never
// invents a value: what has no example is named, and has a place in the request. It reads the document alone: no other
// file and no network.
package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v4"

	"wirelab/workload/external/request"
)

// Limits of the input.
const (
	MostBytes      = 32 << 20
	MostOperations = 16_384
)

// Document is what a file says.
type Document struct {
	// Name is the file's, and Version the one of OpenAPI, such as "3.0.3".
	Name    string
	Version string
	Title   string
	// Servers are the URLs of the service, with the values that the document has for their variables. They may be
	// paths: then the service is where the document was got.
	Servers    []string
	Operations []Operation
	// Notes are on what was left out.
	Notes []string

	doc *openapi3.T
	// schemas are the components that replies refer to, once they were needed.
	schemas map[string]any
	// shown says which schemas have an example in them.
	shown map[*openapi3.Schema]bool
}

// Operation is one call that the service has.
type Operation struct {
	// Name is the operationId, or "GET /items/{id}" of one without.
	Name       string
	Summary    string
	Deprecated bool
	// Request is what one call sends: the required parts, and other parts of the body that have an example. Its URL
	// is a path below one of the servers, or absolute if the operation has its own server. It is complete if Lacks
	// is empty; otherwise it has placeholders for the missing values, as in templates: "/items/{{.id}}".
	Request request.Request
	// Body is what the body is made of, as JSON has it, and BodyType its media type; "": there is no body.
	Body     any
	BodyType string
	// Lacks are the required values that the document has no example for.
	Lacks []Lack
	// Credentials are what the service asks for besides.
	Credentials []Credential
	// Status is that of the reply to expect; 0: the document does not say. ReplyType is its media type; "": it has no
	// body.
	Status    int
	ReplyType string

	reply *openapi3.SchemaRef
}

// Lack is a required value that has no example.
type Lack struct {
	// Where is what lacks: "path id", "query page", "header X-Kind", "cookie a", "body" or "body.items.sku".
	Where string
	// Field is the name that its place in the request has: {{.Field}}.
	Field string
}

// Credential is what shows who is calling.
type Credential struct {
	// In is "header", "query" or "cookie", and Name the one of the field or parameter.
	In   string
	Name string
	// Before stands before the secret: "Bearer " or "Basic ".
	Before string
}

// dialect finds which form a document has, without reading it as a whole.
var dialect = regexp.MustCompile(`(?m)(?:^|["'{,]\s*)(swagger|openapi)["']?\s*:\s*["']?([0-9]+\.[0-9]+(?:\.[0-9]+)?)`)

// Dialect returns which form a text has: "swagger" or "openapi", and the version; "": it is neither.
func Dialect(data []byte) (kind, version string) {
	m := dialect.FindSubmatch(data)
	if m == nil {
		return "", ""
	}
	return string(m[1]), string(m[2])
}

// Read reads a document, in JSON or YAML.
func Read(name string, data []byte) (*Document, error) {
	if len(data) > MostBytes {
		return nil, request.Faultf(name, 0, "the document has %d MiB; at most %d are read, so take one with its $ref "+
			"kept, or fewer paths", len(data)>>20, MostBytes>>20)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	kind, version := Dialect(data)
	var doc *openapi3.T
	var err error
	switch {
	case kind == "openapi" && strings.HasPrefix(version, "3."):
		doc, err = load(data)
	case kind == "swagger" && version == "2.0":
		doc, err = loadSwagger(data)
	case kind == "":
		return nil, request.Faultf(name, 1,
			`there is no version of OpenAPI; a document begins with "openapi: 3.0.3" or `+
				`"swagger: '2.0'"`)
	default:
		return nil, request.Faultf(name, 1, "the version is %s %s; OpenAPI 3.0, 3.1 and Swagger 2.0 are read", kind,
			version)
	}
	if err != nil {
		return nil, explained(name, data, err)
	}
	d := &Document{
		Name: name, Version: version, doc: doc, schemas: map[string]any{},
		shown: map[*openapi3.Schema]bool{},
	}
	if doc.Info != nil {
		d.Title = doc.Info.Title
	}
	d.Servers = d.servers(doc.Servers)
	if err := d.operations(); err != nil {
		return nil, err
	}
	return d, nil
}

// load reads a document of version 3. A fault of the library is one of the document for who reads it.
func load(data []byte) (doc *openapi3.T, err error) {
	defer recovered(&err)
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		// The library reads all documents as YAML, which takes four times the memory. Its errors are better, so
		// that a document with a fault is read again.
		doc := new(openapi3.T)
		if json.Unmarshal(data, doc) == nil && newLoader().ResolveRefsIn(doc, nil) == nil {
			return doc, nil
		}
	}
	return newLoader().LoadFromData(data)
}

// newLoader returns a loader that reads no other file.
func newLoader() *openapi3.Loader {
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = false
	return loader
}

// loadSwagger reads a document of version 2.
func loadSwagger(data []byte) (doc *openapi3.T, err error) {
	defer recovered(&err)
	if !json.Valid(data) {
		var value any
		if err := yaml.Unmarshal(data, &value); err != nil {
			return nil, err
		}
		if data, err = json.Marshal(plain(value, 0)); err != nil {
			return nil, err
		}
	}
	var old openapi2.T
	if err := json.Unmarshal(data, &old); err != nil {
		return nil, err
	}
	return openapi2conv.ToV3WithLoader(&old, newLoader(), nil)
}

// recovered turns a panic of the library into an error: the document comes from anywhere.
func recovered(err *error) {
	if fault := recover(); fault != nil {
		*err = fmt.Errorf("the document cannot be read (%v)", fault)
	}
}

var (
	external = regexp.MustCompile(`["']?\$ref["']?\s*:\s*["']?([^#"'\s{][^"'\s]*)`)
	lineOf   = regexp.MustCompile(`\bline (\d+)(?:, column \d+)?:?\s*`)
)

// explained returns the error for one of the library.
func explained(name string, data []byte, err error) error {
	for _, at := range external.FindAllSubmatchIndex(data, 16) {
		ref := string(data[at[2]:at[3]])
		if strings.ContainsAny(ref, "./") {
			return request.Faultf(name, 1+bytes.Count(data[:at[2]], []byte("\n")),
				"$ref is %q, which is not in this document, "+
					"and no other file and no network is read; join the files first, as redocly bundle does",
				request.Short(ref))
		}
	}
	text := err.Error()
	line := 0
	var syntax *json.SyntaxError
	if asSyntax(data, &syntax) {
		line = 1 + bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
		text = "the JSON is broken: " + syntax.Error()
	} else if m := lineOf.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
	}
	if cut := strings.IndexByte(text, '\n'); cut >= 0 {
		text = text[:cut]
	}
	const most = 300
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return request.Faultf(name, line, "%s; correct the document, as a validator of OpenAPI shows it", text)
}

// asSyntax reports whether data is meant as JSON and is not, and where.
func asSyntax(data []byte, syntax **json.SyntaxError) bool {
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] != '{' {
		return false
	}
	var unread json.RawMessage
	fault := new(json.SyntaxError)
	ok := errors.As(json.Unmarshal(data, &unread), &fault)
	*syntax = fault
	return ok
}

// servers returns the URLs of servers.
func (d *Document) servers(all openapi3.Servers) []string {
	var out []string
	for _, s := range all {
		if s == nil || s.URL == "" {
			continue
		}
		target := s.URL
		for name, v := range s.Variables {
			if v == nil {
				continue
			}
			value := v.Default
			if value == "" && len(v.Enum) > 0 {
				value = v.Enum[0]
			}
			if value != "" {
				target = strings.ReplaceAll(target, "{"+name+"}", value)
			}
		}
		if strings.ContainsAny(target, "{}") {
			d.notef("the server %q is left out: a variable in it has no value", request.ShownURL(target))
			continue
		}
		if target = strings.TrimSuffix(target, "/"); target != "" && !slices.Contains(out, target) {
			out = append(out, target)
		}
	}
	return out
}

func (d *Document) notef(format string, args ...any) {
	const most = 100
	if len(d.Notes) < most {
		d.Notes = append(d.Notes, d.Name+": "+fmt.Sprintf(format, args...))
	} else if len(d.Notes) == most {
		d.Notes = append(d.Notes, d.Name+": there are more notes")
	}
}
