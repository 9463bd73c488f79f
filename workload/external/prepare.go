package external

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"wirelab"
	"wirelab/workload/external/request"
)

// Sources are what a description needs of the world.
type Sources struct {
	// Read returns the bytes of a file that the description names.
	Read func(ctx context.Context, name string) ([]byte, error)
	// Getenv looks up a variable of the environment.
	Getenv func(name string) string
}

// requestsLimit is the most requests of an operation, and bytesLimit the most bytes that all of a service have.
const (
	requestsLimit = 65_536
	bytesLimit    = 11 << 20 // as JSON they are a third longer, and a line to a driver has at most 16 MiB
)

// preparing is a description while it is prepared.
type preparing struct {
	Description
	Sources
	env   *environment
	bytes int
}

// Prepare renders and encodes every request. secrets are the values that came from the environment: they must be shown
// nowhere.
func Prepare(ctx context.Context, d Description, from Sources) (p Prepared, secrets []string, err error) {
	if err := d.check(); err != nil {
		return p, nil, err
	}
	w := &preparing{Description: d, Sources: from, env: &environment{get: from.Getenv}}
	p.Service = d.Service
	for _, name := range slices.Sorted(maps.Keys(d.Wires)) {
		wire, err := d.Wires[name].read("wires." + name)
		if err != nil {
			return p, nil, err
		}
		wire.Name, wire.MayLoad = name, d.MayLoad
		if wire.TLS, err = w.tls(ctx, "wires."+name, d.Wires[name].TLS); err != nil {
			return p, nil, err
		}
		p.Wires = append(p.Wires, wire)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Operations)) {
		o, err := w.operation(ctx, name, p.Wires)
		if err != nil {
			return p, nil, err
		}
		p.Operations = append(p.Operations, o)
	}
	return p, w.env.secrets, p.check()
}

// operation prepares one operation over each wire that it has a call for.
func (w *preparing) operation(ctx context.Context, name string, wires []Wire) (Operation, error) {
	text, field := w.Operations[name], "operations."+name
	o := Operation{Name: name, Kind: wirelab.UnaryCall, Repeatable: true, Calls: map[string]Calls{}}
	for _, wire := range wires {
		call, given := text.Calls[wire.Name]
		if !given {
			continue
		}
		calls, err := w.calls(ctx, field+".calls."+wire.Name, wire, call)
		if err != nil {
			return o, err
		}
		for i := range calls.Requests {
			r := &calls.Requests[i]
			w.bytes += len(r.Body) + len(r.URL)
			o.Repeatable = o.Repeatable && repeatable(r.Method)
		}
		if w.bytes > bytesLimit {
			return o, bad(field, "the requests have more than %d MiB in all; give fewer rows, or smaller ones", bytesLimit>>20)
		}
		if calls.Rule, err = w.rule(ctx, field, text); err != nil {
			return o, err
		}
		o.Calls[wire.Name] = calls
	}
	if text.Repeatable != nil {
		o.Repeatable = *text.Repeatable
	}
	return o, nil
}

// repeatable is whether a request of that method may be sent again (RFC 9110, 9.2.2).
func repeatable(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return false
}

// calls renders the requests of an operation over one wire.
func (w *preparing) calls(ctx context.Context, field string, wire Wire, call CallText) (Calls, error) {
	calls := Calls{Messages: call.Messages}
	r, err := w.http(ctx, field, wire, call)
	if err != nil {
		return calls, err
	}
	calls.Requests = []request.Request{r}
	return calls, nil
}

// http is one request of HTTP, or of what lies on it.
func (w *preparing) http(ctx context.Context, field string, wire Wire, call CallText) (r request.Request, err error) {
	text := w.Wires[wire.Name]
	base, err := url.Parse(text.Target)
	if err != nil {
		return r, bad(field, "%v", err)
	}
	path, err := w.env.expand(field+".path", call.Path)
	if err != nil {
		return r, err
	}
	at, err := url.Parse(strings.TrimSuffix(base.EscapedPath(), "/") + path)
	if err != nil || at.Host != "" {
		return r, bad(field+".path", "%.100q is no path; write for example /items?page=1", call.Path)
	}
	if path == "" {
		at.RawQuery = base.RawQuery
	}
	query := at.Query()
	for name, value := range call.Query {
		if value, err = w.env.expand(field+".query."+name, value); err != nil {
			return r, err
		}
		query.Set(name, value)
	}
	if len(call.Query) > 0 {
		at.RawQuery = query.Encode()
	}
	if at.Path == "" {
		at.Path = "/"
	}
	r.URL = at.RequestURI()
	if r.Body, err = w.body(ctx, field, wire, call); err != nil {
		return r, err
	}
	for _, value := range call.Send {
		m, err := w.encode(field+".send", value)
		if err != nil {
			return r, err
		}
		r.Messages = append(r.Messages, m)
	}
	r.Method = methodOf(wire, call, len(r.Body) > 0)
	r.Fields, err = w.fields(field, wire, call, r.Body)
	return r, err
}

func methodOf(wire Wire, call CallText, hasBody bool) string {
	switch {
	case call.Method != "":
		return strings.ToUpper(call.Method)
	case wire.Kind == GraphQL, hasBody && wire.Kind == HTTP:
		return http.MethodPost
	}
	return http.MethodGet
}

// body is what a request has as its body.
func (w *preparing) body(ctx context.Context, field string, wire Wire, call CallText) ([]byte, error) {
	switch {
	case wire.Kind == GraphQL:
		asked := map[string]any{"query": call.Document}
		if len(call.Variables) > 0 {
			asked["variables"] = call.Variables
		}
		return w.encode(field+".variables", asked)
	case call.File != "":
		return w.Read(ctx, call.File)
	case call.Body != nil:
		return w.encode(field+".body", call.Body)
	}
	return nil, nil
}

// encode is a text as it is, and anything else as JSON.
func (w *preparing) encode(field string, value any) ([]byte, error) {
	value, err := w.env.within(field, value)
	if err != nil {
		return nil, err
	}
	if text, ok := value.(string); ok {
		return []byte(text), nil
	}
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	if err := to.Encode(value); err != nil {
		return nil, bad(field, "%v", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// fields are the header fields of a request: the call's before the wire's, before the usual ones.
func (w *preparing) fields(field string, wire Wire, call CallText, body []byte) (all []request.Field, err error) {
	add := func(in string, headers map[string]string) error {
		for _, name := range slices.Sorted(maps.Keys(headers)) {
			value, err := w.env.expand(in+"."+name, headers[name])
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(all, func(f request.Field) bool { return strings.EqualFold(f.Name, name) }) {
				all = append(all, request.Field{Name: name, Value: value})
			}
		}
		return nil
	}
	if err = add(field+".headers", call.Headers); err == nil {
		err = add("wires."+wire.Name+".headers", w.Wires[wire.Name].Headers)
	}
	usual := map[string]string{"Accept": "*/*"}
	switch {
	case wire.Kind == SSE:
		usual["Accept"] = "text/event-stream"
	case wire.Kind == GraphQL, json.Valid(body) && call.File == "":
		usual["Content-Type"] = "application/json"
	case len(body) > 0:
		usual["Content-Type"] = contentType(call.File, body)
	}
	if wire.Kind == WebSocket {
		usual = nil
	}
	if len(body) == 0 {
		delete(usual, "Content-Type")
	}
	if err == nil {
		err = add(field, usual)
	}
	return all, err
}

// contentType is that of a body that says none.
func contentType(file string, body []byte) string {
	switch {
	case strings.HasSuffix(file, ".json"), json.Valid(body):
		return "application/json"
	case file == "" && bytes.ContainsRune(body, '='):
		return "application/x-www-form-urlencoded"
	}
	return "application/octet-stream"
}
