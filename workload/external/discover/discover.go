// Package discover makes the description of a service from the service's own answers, or from a file that describes
// it. It knows the readers of all formats, and starts and measures nothing.
package discover

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"wirelab"
	"wirelab/workload/external"
	"wirelab/workload/external/files"
	"wirelab/workload/external/graphqlschema"
	"wirelab/workload/external/grpcschema"
	"wirelab/workload/external/openapi"
	"wirelab/workload/external/request"
)

// Schema is what a server of gRPC says of itself.
type Schema = grpcschema.Schema

// Names of wires in descriptions that are made here.
const (
	restWire  = "rest"
	grpcWire  = "grpc"
	graphWire = "graph"
)

// operationsMost is the maximum number of operations in a generated description: more than a person would read.
const operationsMost = 500

// documentPaths are where services usually have their OpenAPI document.
var documentPaths = []string{ // read only
	"/openapi.json", "/openapi.yaml", "/swagger.json", "/v3/api-docs", "/swagger/v1/swagger.json", "/api/openapi.json",
}

// documentLimit is the most bytes of a document that a service has of itself.
const documentLimit = 32 << 20

// File makes a description of a file.
func File(ctx context.Context, name string, data []byte, from request.Sources) (external.Description, []string, error) {
	base := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	d := external.Description{
		Service:    external.NameOf(base, "service"),
		Operations: map[string]external.OperationText{},
	}
	switch filepath.Ext(name) {
	case ".proto":
		schema, err := grpcschema.Compile(ctx, []string{name}, nil)
		if err != nil {
			return d, nil, err
		}
		return fromGRPC(d, external.WireText{Target: "grpc://localhost:9000", Schema: name}, schema)
	case ".protoset", ".binpb", ".pb":
		schema, err := grpcschema.Protoset(name, data)
		if err != nil {
			return d, nil, err
		}
		return fromGRPC(d, external.WireText{Target: "grpc://localhost:9000", Schema: name}, schema)
	case ".graphql", ".gql":
		schema, err := graphqlschema.Parse(name, data)
		if err != nil {
			return d, nil, err
		}
		return fromGraph(d, external.WireText{Target: "http://localhost:8080/graphql", Kind: external.GraphQL}, schema)
	}
	if files.KindOf(name, data) == files.OpenAPI {
		document, err := openapi.Read(name, data)
		if err != nil {
			return d, nil, err
		}
		return fromOpenAPI(d, external.WireText{Target: serverOf(document)}, document)
	}
	return fromRequests(d, name, data, from)
}

// Target makes a description of what a service says of itself. reflect asks a server of gRPC.
func Target(
	ctx context.Context, name string, wire external.WireText, from external.Sources,
	reflect func(context.Context, external.Wire, external.WireText) (*Schema, error),
) (external.Description, []string, error) {
	d := external.Description{Service: name, Operations: map[string]external.OperationText{}}
	w, err := wire.Reach(ctx, "target", from)
	if err != nil {
		return d, nil, err
	}
	ask, release, err := asking(w, wire)
	if err != nil {
		return d, nil, err
	}
	defer release()
	switch w.Kind {
	case external.GRPC:
		schema, err := reflect(ctx, w, wire)
		if err != nil {
			return d, nil, err
		}
		return fromGRPC(d, wire, schema)
	case external.GraphQL:
		schema, err := graphqlschema.Introspect(ctx, func(ctx context.Context, body []byte) ([]byte, error) {
			return ask(ctx, http.MethodPost, wire.Target, body)
		})
		if err != nil {
			return d, nil, err
		}
		return fromGraph(d, wire, schema)
	case external.HTTP:
		return fromHTTP(ctx, d, wire, ask)
	}
	d.Wires = map[string]external.WireText{string(w.Kind): wire}
	d.Operations["call"] = external.OperationText{Calls: map[string]external.CallText{string(w.Kind): {Path: "/"}}}
	return d, []string{fmt.Sprintf("%s does not describe itself: fill in the requests", w.Kind)}, nil
}

// fromHTTP looks for the OpenAPI document of a service at the usual paths.
func fromHTTP(
	ctx context.Context, d external.Description, wire external.WireText, ask asked,
) (external.Description, []string, error) {
	at, err := url.Parse(wire.Target)
	if err != nil {
		return d, nil, err
	}
	for _, path := range documentPaths {
		found := *at
		found.Path, found.RawQuery = path, ""
		data, err := ask(ctx, http.MethodGet, found.String(), nil)
		switch {
		case err != nil && wirelab.CodeOf(err) == wirelab.NotFound:
			continue
		case err != nil:
			return d, nil, err
		}
		document, err := openapi.Read(found.String(), data)
		if err != nil {
			continue // something else is there
		}
		d, notes, err := fromOpenAPI(d, wire, document)
		return d, append([]string{"from " + found.String()}, notes...), err
	}
	path := at.RequestURI()
	at.Path, at.RawQuery = "", ""
	wire.Target = at.String()
	d.Wires = map[string]external.WireText{restWire: wire}
	d.Operations["get"] = external.OperationText{Calls: map[string]external.CallText{restWire: {Path: path}}}
	return d, []string{
		"the service has no OpenAPI document at the usual paths, so this calls " + path +
			" only: add what else it does",
	}, nil
}

// asked requests a description from a service. A missing one is NotFound.
type asked func(ctx context.Context, method, target string, body []byte) ([]byte, error)

// asking returns what asks the service that a wire leads to, and what gives back what that holds.
func asking(w external.Wire, text external.WireText) (asked, func(), error) {
	to := wirelab.Dialing{Foreign: true}
	if err := w.Trust(&to); err != nil {
		return nil, nil, err
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: to.TLS(), ForceAttemptHTTP2: true}
	// Without it a host that the service redirects to would need that name, too.
	transport.TLSClientConfig.ServerName = text.TLS.Name
	client := &http.Client{Transport: transport}
	return func(ctx context.Context, method, target string, body []byte) ([]byte, error) {
		return send(ctx, client, method, text, target, body)
	}, transport.CloseIdleConnections, nil
}

func send(
	ctx context.Context, client *http.Client, method string, wire external.WireText, target string, body []byte,
) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	for name, value := range wire.Headers {
		r.Header.Set(name, value)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, wirelab.Lost(wirelab.Unavailable, err, "%v", err)
	}
	defer func() { _ = resp.Body.Close() }() // it has been read
	data, err := io.ReadAll(io.LimitReader(resp.Body, documentLimit+1))
	switch {
	case err != nil:
		return nil, wirelab.Lost(wirelab.Unavailable, err, "%s: %v", target, err)
	case len(data) > documentLimit:
		return nil, wirelab.Errorf(wirelab.ResourceExhausted, "%s has more than %d MiB", target, documentLimit>>20)
	case method == http.MethodGet && resp.StatusCode != http.StatusOK:
		return nil, wirelab.Errorf(wirelab.NotFound, "%s: status %d", target, resp.StatusCode)
	}
	return data, nil
}

// fromGRPC has an operation for each method.
func fromGRPC(
	d external.Description, wire external.WireText, schema *grpcschema.Schema,
) (external.Description, []string, error) {
	d.Wires = map[string]external.WireText{grpcWire: wire}
	var notes []string
	for _, service := range schema.Services() {
		if service.Standard {
			continue
		}
		for _, method := range service.Methods {
			message, err := valueOf(method.Example())
			if err != nil {
				return d, nil, err
			}
			name := unique(d.Operations, lowerFirst(after(method.Name(), "/")))
			d.Operations[name] = external.OperationText{Calls: map[string]external.CallText{grpcWire: {
				Call: method.Name(), Message: message,
			}}}
			if len(d.Operations) == operationsMost {
				return d, append(notes, fmt.Sprintf("only the first %d methods are here", operationsMost)), nil
			}
		}
	}
	for name, why := range schema.Broken() {
		notes = append(notes, fmt.Sprintf("%s is left out: %v", name, why))
	}
	slices.Sort(notes)
	if len(d.Operations) == 0 {
		return d, nil, wirelab.Errorf(wirelab.NotFound, "the server has no service besides health and reflection")
	}
	return d, append(notes, "messages have a value for each field: put in those that your service knows"), nil
}

// fromGraph has an operation for each query and mutation.
func fromGraph(
	d external.Description, wire external.WireText, schema *graphqlschema.Schema,
) (external.Description, []string, error) {
	at, err := url.Parse(wire.Target)
	if err != nil {
		return d, nil, err
	}
	path := at.Path
	at.Path = ""
	wire.Target, wire.Kind = at.String(), external.GraphQL
	d.Wires = map[string]external.WireText{graphWire: wire}
	left := 0
	for _, o := range schema.Operations() {
		if o.Kind == "subscription" {
			left++
			continue
		}
		document, text := o.Example()
		variables := map[string]any{}
		if len(text) > 0 {
			value, err := valueOf(text)
			if err != nil {
				return d, nil, err
			}
			variables, _ = value.(map[string]any)
		}
		name := unique(d.Operations, o.Name)
		d.Operations[name] = external.OperationText{Calls: map[string]external.CallText{graphWire: {
			Path: path, Document: document, Variables: variables,
		}}}
		if len(d.Operations) == operationsMost {
			break
		}
	}
	if left > 0 {
		return d, []string{fmt.Sprintf("%d subscriptions are left out: they have no reply that ends", left)}, nil
	}
	return d, nil, nil
}

// fromOpenAPI has a call for each operation of a document.
func fromOpenAPI(
	d external.Description, wire external.WireText, document *openapi.Document,
) (external.Description, []string, error) {
	d.Wires = map[string]external.WireText{restWire: wire}
	notes := slices.Clone(document.Notes)
	for i := range document.Operations {
		o := &document.Operations[i]
		if o.ReplyType == "text/event-stream" {
			notes = append(notes,
				fmt.Sprintf("%s is left out: its reply is a stream of events, which need not end; a wire "+
					"of kind sse reads it", o.Name))
			continue
		}
		call := external.CallText{Method: o.Request.Method, Path: o.Request.URL}
		for _, f := range o.Request.Fields {
			if call.Headers == nil {
				call.Headers = map[string]string{}
			}
			call.Headers[f.Name] = f.Value
		}
		if o.BodyType != "" {
			call.Body = o.Body
			if o.BodyType != "application/json" && call.Headers == nil {
				call.Headers = map[string]string{"Content-Type": o.BodyType}
			}
		}
		for _, c := range o.Credentials {
			if c.In == "header" {
				if call.Headers == nil {
					call.Headers = map[string]string{}
				}
				call.Headers[c.Name] = c.Before + "${TOKEN}"
			}
		}
		var lacks []string
		for _, lack := range o.Lacks {
			lacks = append(lacks, lack.Where)
		}
		name := unique(d.Operations, o.Name)
		if len(lacks) > 0 {
			notes = append(notes, fmt.Sprintf("%s: the document has no example of %s: give rows with such fields", name,
				strings.Join(lacks, ", ")))
		}
		d.Operations[name] = external.OperationText{Calls: map[string]external.CallText{restWire: call}}
		if len(d.Operations) == operationsMost {
			notes = append(notes, fmt.Sprintf("only the first %d operations are here", operationsMost))
			break
		}
	}
	if len(d.Operations) == 0 {
		return d, nil, wirelab.Errorf(wirelab.NotFound, "the document has no operations")
	}
	return d, notes, nil
}

// serverOf is the first server of a document that is a whole URL.
func serverOf(document *openapi.Document) string {
	for _, server := range document.Servers {
		if at, err := url.Parse(server); err == nil && at.Host != "" {
			return server
		}
	}
	return "http://localhost:8080"
}

// fromRequests has one operation whose requests are those of a file.
func fromRequests(
	d external.Description, name string, data []byte, from request.Sources,
) (external.Description, []string, error) {
	all, notes, err := files.Read(name, data, from)
	if err != nil {
		return d, nil, err
	}
	target := "http://localhost:8080"
	for _, r := range all {
		if at, err := url.Parse(r.URL); err == nil && at.Host != "" {
			target = at.Scheme + "://" + at.Host
			break
		}
	}
	d.Wires = map[string]external.WireText{restWire: {Target: target}}
	d.Operations["requests"] = external.OperationText{Rows: name, Calls: map[string]external.CallText{restWire: {}}}
	return d, notes, nil
}

// valueOf is the value of JSON, with whole numbers as they are written.
func valueOf(text []byte) (value any, err error) {
	from := json.NewDecoder(bytes.NewReader(text))
	from.UseNumber()
	if err := from.Decode(&value); err != nil {
		return nil, err
	}
	return plainNumbers(value), nil
}

// plainNumbers replaces numbers by values that YAML writes in the same way.
func plainNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if whole, err := v.Int64(); err == nil {
			return whole
		}
		number, _ := v.Float64() // JSON has no other
		return number
	case map[string]any:
		for name := range v {
			v[name] = plainNumbers(v[name])
		}
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	}
	return value
}

// after is what follows the last sep of a text.
func after(text, sep string) string { return text[strings.LastIndex(text, sep)+1:] }

// lowerFirst is a name with its first letter small.
func lowerFirst(name string) string {
	if name == "" {
		return name
	}
	return strings.ToLower(name[:1]) + name[1:]
}

// unique makes a name that operations can have, and that none has yet.
func unique(taken map[string]external.OperationText, text string) string {
	var name strings.Builder
	upper := false
	for _, r := range text {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		switch {
		case !letter && (r < '0' || r > '9' || name.Len() == 0):
			upper = name.Len() > 0
		case upper:
			name.WriteString(strings.ToUpper(string(r)))
			upper = false
		default:
			name.WriteRune(r)
		}
	}
	base := name.String()
	if base == "" {
		base = "call"
	}
	base = base[:min(len(base), 36)]
	for n, found := 2, base; ; n++ {
		if _, there := taken[found]; !there {
			return found
		}
		found = fmt.Sprintf("%s%d", base, n)
	}
}
