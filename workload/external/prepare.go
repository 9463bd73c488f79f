package external

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"wirelab"
	"wirelab/workload/external/grpcschema"
	"wirelab/workload/external/request"
	"wirelab/workload/external/rows"
)

// Sources are the external inputs of a description.
type Sources struct {
	// Read returns the bytes of a file that the description names.
	Read func(ctx context.Context, name string) ([]byte, error)
	// Getenv looks up a variable of the environment.
	Getenv func(name string) string
	// Schema returns the schema of a gRPC wire: by reflection from its server, or from files.
	Schema func(ctx context.Context, wire Wire, text WireText) (*grpcschema.Schema, error)
}

// bytesLimit is the maximum length of all requests of a service together, raw and as JSON: a line to a driver has
// at most 16 MiB. There are at most as many requests as rows.
const bytesLimit = 15 << 20

// preparing is the state while a description is prepared.
type preparing struct {
	Description
	Sources
	env      *environment
	bytes    int                           // of all requests
	encoded  int                           // encoded as JSON, with the expected replies
	requests []request.Request             // of the current operation, from a file with complete requests
	schemas  map[string]*grpcschema.Schema // by wire
	chains   map[string]string             // operations that cannot be called alone, with the chain they are a step of
}

// Prepare renders and encodes every request. secrets are the values that came from the environment: they must not
// be shown anywhere.
func Prepare(ctx context.Context, d Description, from Sources) (p Prepared, secrets []string, err error) {
	if err := d.check(); err != nil {
		return p, nil, err
	}
	w := &preparing{
		Description: d, Sources: from, env: &environment{get: from.Getenv},
		schemas: map[string]*grpcschema.Schema{}, chains: map[string]string{},
	}
	p.Service = d.Service
	for _, name := range slices.Sorted(maps.Keys(d.Wires)) {
		wire, err := d.Wires[name].Read("wires." + name)
		if err != nil {
			return p, nil, err
		}
		wire.Name, wire.MayLoad = name, d.MayLoad
		if wire.TLS, err = w.tls(ctx, "wires."+name, d.Wires[name].TLS); err != nil {
			return p, nil, err
		}
		p.Wires = append(p.Wires, wire)
	}
	if err := w.inChains(); err != nil {
		return p, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(d.Operations)) {
		o, err := w.operation(ctx, name, p.Wires)
		if err != nil {
			return p, nil, err
		}
		p.Operations = append(p.Operations, o)
	}
	p.Secrets = w.env.secrets
	return p, w.env.secrets, p.check()
}

// operation prepares one operation over each wire for which it has a call.
func (w *preparing) operation(ctx context.Context, name string, wires []Wire) (Operation, error) {
	text, field := w.Operations[name], "operations."+name
	w.requests = nil
	table, err := w.table(ctx, field, text.Rows)
	if err != nil {
		return Operation{}, err
	}
	o := Operation{
		Name: name, Kind: wirelab.UnaryCall, Repeatable: true, Calls: map[string]Calls{}, StepOf: w.chains[name],
	}
	switch {
	case len(text.Steps) > 0:
		return o, w.chain(ctx, field, text, wires, table, &o)
	case o.StepOf != "":
		return o, nil
	}
	for _, wire := range wires {
		call, given := text.Calls[wire.Name]
		if !given {
			continue
		}
		calls, err := w.calls(ctx, field+".calls."+wire.Name, wire, call, table)
		if err != nil {
			return o, err
		}
		if o.Kind, err = kindOf(calls); err != nil {
			return o, err
		}
		for i := range calls.Requests {
			o.Repeatable = o.Repeatable && repeatable(calls.Requests[i].Method) && wire.Kind != GRPC
		}
		if calls.Rule, err = w.rule(ctx, field, text, calls); err != nil {
			return o, err
		}
		if err := w.fits(field, calls); err != nil {
			return o, err
		}
		o.Calls[wire.Name] = calls
	}
	if text.Repeatable != nil {
		o.Repeatable = *text.Repeatable
	}
	return o, nil
}

// count adds a request to the totals, and refuses one that exceeds the limits.
func (w *preparing) count(field string, r *request.Request) error {
	w.bytes += len(r.Body) + len(r.URL)
	for _, m := range r.Messages {
		w.bytes += len(m)
	}
	for _, f := range r.Fields {
		w.bytes += len(f.Name) + len(f.Value)
	}
	if w.bytes > bytesLimit {
		return tooLarge(field)
	}
	return nil
}

// fits refuses calls whose line to a driver would be too long.
func (w *preparing) fits(field string, calls Calls) error {
	text, err := json.Marshal(calls)
	if err != nil {
		return bad(field, "%v", err)
	}
	if w.encoded += len(text); w.encoded > bytesLimit {
		return tooLarge(field)
	}
	return nil
}

func tooLarge(field string) error {
	return bad(field, "the requests of the service have more than %d MiB in all, as drivers get them; give "+
		"fewer rows, "+
		"or smaller ones",
		bytesLimit>>20)
}

// repeatable reports whether a request with that method may be sent again (RFC 9110, 9.2.2).
func repeatable(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return false
}

// calls renders the requests of an operation over one wire: one for each row, or one in all.
func (w *preparing) calls(
	ctx context.Context, field string, wire Wire, call CallText, table []rows.Row,
) (calls Calls, err error) {
	if w.requests != nil {
		calls.Messages = call.Messages
		if call, err = w.expanded(field, wire, call); err != nil {
			return calls, err
		}
		return w.recorded(wire, call, w.requests)
	}
	call, making, err := w.ready(ctx, field, wire, call, &calls)
	if err != nil {
		return calls, err
	}
	return calls, making.requests(field, call, table, &calls)
}

// ready prepares everything of a call that does not depend on placeholders.
func (w *preparing) ready(
	ctx context.Context, field string, wire Wire, call CallText, into *Calls,
) (CallText, maker, error) {
	making := maker{wire: wire, target: w.Wires[wire.Name].Target, count: w.count}
	into.Messages = call.Messages
	call, err := w.expanded(field, wire, call)
	if err != nil {
		return call, making, err
	}
	if call.File != "" {
		if making.content, err = w.Read(ctx, call.File); err != nil {
			return call, making, wirelab.Public(err).Behind(field + ".file: ")
		}
	}
	if wire.Kind == GRPC {
		if making.method, err = w.method(ctx, field, wire, call.Call); err != nil {
			return call, making, err
		}
		if into.Method, err = making.method.Marshal(); err != nil {
			return call, making, wirelab.Public(err).Behind(field + ": ")
		}
	}
	return call, making, nil
}

// maker makes the requests of calls over a wire.
type maker struct {
	wire    Wire
	target  string             // URL
	content []byte             // of the file with the body
	method  *grpcschema.Method // nil except for gRPC
	// count is called with each rendered request; nil: no counting.
	count func(field string, r *request.Request) error
}

// requests returns the requests of a call: one for each row, or one in all.
func (w maker) requests(field string, call CallText, table []rows.Row, into *Calls) error {
	if table == nil {
		r, err := w.render(field, call)
		if err == nil && w.count != nil {
			err = w.count(field, &r)
		}
		into.Requests = []request.Request{r}
		return err
	}
	shape, err := newShape(field, call)
	if err != nil {
		return err
	}
	for _, row := range table {
		filled, err := shape.fill(row)
		if err != nil {
			return err
		}
		r, err := w.render(row.At, filled)
		if err != nil {
			return err
		}
		if w.count != nil {
			if err := w.count(field, &r); err != nil {
				return err
			}
		}
		r.At = row.At
		into.Requests = append(into.Requests, r)
	}
	return nil
}

// render makes the request of a call without placeholders.
func (w maker) render(field string, call CallText) (request.Request, error) {
	if w.method != nil {
		return w.grpc(field, call)
	}
	return w.http(field, call)
}

// grpc makes one gRPC request.
func (w maker) grpc(field string, call CallText) (r request.Request, err error) {
	r.Method, r.URL = http.MethodPost, w.method.Path
	text, err := encode(field+".message", call.Message)
	if err != nil {
		return r, err
	}
	if r.Messages, err = w.method.EncodeAll(text); err != nil {
		return r, wirelab.Public(err).Behind(field + ".message: ")
	}
	r.Fields = fieldsOf(call.Headers)
	return r, nil
}

// http makes one HTTP request, also for the protocols over HTTP.
func (w maker) http(field string, call CallText) (r request.Request, err error) {
	base, err := url.Parse(w.target)
	if err != nil {
		return r, bad(field, "%v", err)
	}
	at, err := url.Parse(strings.TrimSuffix(base.EscapedPath(), "/") + call.Path)
	if err != nil || at.Host != "" {
		return r, bad(field+".path", "%.100q is no path; write for example /items?page=1", call.Path)
	}
	if call.Path == "" {
		at.RawQuery = base.RawQuery
	}
	query := at.Query()
	for name, value := range call.Query {
		query.Set(name, value)
	}
	if len(call.Query) > 0 {
		at.RawQuery = query.Encode()
	}
	if at.Path == "" {
		at.Path = "/"
	}
	r.URL = strings.ReplaceAll(at.RequestURI(), " ", "%20") // a path is escaped already, and a query is kept as given
	if strings.ContainsFunc(r.URL, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return r, bad(field+".path",
			"%.100q has a control character in it; write {{.field | urlquery}} for a value of a row",
			r.URL)
	}
	if r.Body, err = w.body(field, call); err != nil {
		return r, err
	}
	if err := w.send(field+".send", call.Send, &r); err != nil {
		return r, err
	}
	r.Method = methodOf(w.wire, call, len(r.Body) > 0)
	r.Fields = withUsual(fieldsOf(call.Headers), w.wire, call, r.Body)
	for _, f := range r.Fields {
		if !request.FieldName(f.Name) || !request.FieldValue(f.Value) {
			return r, bad(field+".headers",
				"%.60q cannot be sent: its name or its value has a character that headers cannot "+
					"have", f.Name)
		}
	}
	if !request.Method(r.Method) {
		return r, bad(field+".method", "%.60q is no method, such as GET", r.Method)
	}
	return r, nil
}

// send encodes the messages of a WebSocket: texts unchanged, {base64: …} as binary ones, anything else as JSON.
func (w maker) send(field string, values []any, into *request.Request) error {
	for i, value := range values {
		m, binary, err := bytesOf(fmt.Sprintf("%s[%d]", field, i), value)
		if err == nil && !binary {
			m, err = encode(field, value)
		}
		if err != nil {
			return err
		}
		into.Messages, into.Binary = append(into.Messages, m), append(into.Binary, binary)
	}
	if !slices.Contains(into.Binary, true) {
		into.Binary = nil
	}
	return nil
}

// bytesOf decodes {base64: …}; ok reports whether the value has this form.
func bytesOf(field string, value any) (data []byte, ok bool, err error) {
	fields, isObject := value.(map[string]any)
	text, given := fields["base64"]
	if !isObject || !given || len(fields) != 1 {
		return nil, false, nil
	}
	coded, isText := text.(string)
	if isText {
		data, err = base64.StdEncoding.DecodeString(coded)
	}
	if !isText || err != nil {
		return nil, true, bad(field+".base64", "%.60q is not base64 (RFC 4648), such as AQID", fmt.Sprint(text))
	}
	return data, true, nil
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

// body returns the body of a request.
func (w maker) body(field string, call CallText) ([]byte, error) {
	switch {
	case w.wire.Kind == GraphQL:
		asked := map[string]any{"query": call.Document}
		if len(call.Variables) > 0 {
			asked["variables"] = call.Variables
		}
		return encode(field+".variables", asked)
	case call.File != "":
		return w.content, nil
	case call.Body != nil:
		return encode(field+".body", call.Body)
	}
	return nil, nil
}

// encode returns a text unchanged, and anything else as JSON.
func encode(field string, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		return []byte(v), nil
	}
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	if err := to.Encode(value); err != nil {
		return nil, bad(field, "%v", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// fieldsOf returns headers as fields, sorted by name.
func fieldsOf(headers map[string]string) (all []request.Field) {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		all = append(all, request.Field{Name: name, Value: headers[name]})
	}
	return all
}

// withUsual adds the fields that a client sends by default.
func withUsual(all []request.Field, wire Wire, call CallText, body []byte) []request.Field {
	add := func(name, value string) {
		if request.Get(all, name) == "" {
			all = append(all, request.Field{Name: name, Value: value})
		}
	}
	switch wire.Kind {
	case WebSocket:
		return all
	case SSE:
		add("Accept", "text/event-stream")
	default:
		add("Accept", "*/*")
	}
	if len(body) > 0 {
		add("Content-Type", contentType(call.File, body))
	}
	return all
}

// contentType returns the content type of a body without a declared one.
func contentType(file string, body []byte) string {
	switch {
	case strings.HasSuffix(file, ".json"), json.Valid(body):
		return "application/json"
	case file == "" && bytes.ContainsRune(body, '='):
		return "application/x-www-form-urlencoded"
	}
	return "application/octet-stream"
}
