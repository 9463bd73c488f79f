package external

import (
	"context"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"wirelab"
	"wirelab/workload/external/files"
	"wirelab/workload/external/request"
	"wirelab/workload/external/rows"
)

// table reads the rows of an operation; nil: it has none.
func (w *preparing) table(ctx context.Context, field, name string) ([]rows.Row, error) {
	if name == "" {
		return nil, nil
	}
	data, err := w.Read(ctx, name)
	if err != nil {
		return nil, wirelab.Public(err).Behind(field + ".rows: ")
	}
	var table []rows.Row
	switch filepath.Ext(name) {
	case ".csv", ".ndjson", ".jsonl":
	default:
		return nil, w.whole(field, name, data)
	}
	if filepath.Ext(name) == ".csv" {
		table, err = rows.ReadCSV(name, data)
	} else {
		table, err = rows.ReadNDJSON(name, data)
	}
	if err == nil && len(table) == 0 {
		err = bad(field+".rows", "%s has no rows", name)
	}
	return table, err
}

// whole reads a file of complete requests.
func (w *preparing) whole(field, name string, data []byte) error {
	all, _, err := files.Read(name, data, request.Sources{
		Open: func(name string) ([]byte, error) { return w.Read(context.Background(), name) },
		Lookup: func(name string) (string, bool) {
			value := w.Getenv(name)
			return value, value != ""
		},
	})
	if err == nil && len(all) == 0 {
		err = bad(field+".rows", "%s has no requests", name)
	}
	w.requests = all
	return err
}

// recorded returns the requests of a file in the form that is sent over a wire: to the host of the wire, instead of
// the recorded one.
func (w *preparing) recorded(wire Wire, call CallText, all []request.Request) (Calls, error) {
	calls := Calls{Messages: call.Messages}
	hosts := map[string]bool{}
	for _, r := range all {
		at, err := url.Parse(r.URL)
		if err != nil {
			return calls, bad(r.At, "%v", err)
		}
		hosts[at.Host] = true
		if len(hosts) > 1 && at.Host != wire.Authority {
			continue // for another service: recordings of pages contain requests to many
		}
		r.URL = at.RequestURI()
		r.Fields = slices.DeleteFunc(slices.Clone(r.Fields), func(f request.Field) bool {
			return request.OfConnection(f.Name) || strings.EqualFold(f.Name, "host") ||
				strings.EqualFold(f.Name, "accept-encoding")
		})
		for _, f := range fieldsOf(call.Headers) {
			r.Fields = append(slices.DeleteFunc(r.Fields,
				func(was request.Field) bool { return strings.EqualFold(was.Name, f.Name) }), f)
		}
		calls.Requests = append(calls.Requests, r)
	}
	return calls, nil
}

// shape is a call whose texts contain placeholders for values of a row.
type shape struct {
	call   CallText
	path   *rows.Template
	texts  map[string]*rows.Template // headers and query, by "header NAME" and "query NAME"
	values map[string]rows.Shape     // "body", "message", "send", "variables"
}

// newShape parses the templates of a call.
func newShape(field string, call CallText) (*shape, error) {
	s := &shape{call: call, texts: map[string]*rows.Template{}, values: map[string]rows.Shape{}}
	var err error
	if s.path, err = rows.Parse(field+".path", call.Path); err != nil {
		return nil, err
	}
	for kind, texts := range map[string]map[string]string{"header ": call.Headers, "query ": call.Query} {
		for name, text := range texts {
			if s.texts[kind+name], err = rows.Parse(field+": "+kind+name, text); err != nil {
				return nil, err
			}
		}
	}
	for name, value := range map[string]any{
		"body": call.Body, "message": call.Message, "send": call.Send, "variables": call.Variables,
	} {
		if s.values[name], err = rows.ParseValue(field+"."+name, value); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// fill returns the call with the values of a row.
func (s *shape) fill(row rows.Row) (CallText, error) {
	call := s.call
	var err error
	if call.Path, err = s.path.Text(row); err != nil {
		return call, err
	}
	call.Headers, call.Query = maps.Clone(call.Headers), maps.Clone(call.Query)
	for _, key := range slices.Sorted(maps.Keys(s.texts)) {
		text, err := s.texts[key].Text(row)
		if err != nil {
			return call, err
		}
		if name, header := strings.CutPrefix(key, "header "); header {
			call.Headers[name] = text
		} else {
			call.Query[strings.TrimPrefix(key, "query ")] = text
		}
	}
	if call.Body, err = s.values["body"].Value(row); err != nil {
		return call, err
	}
	if call.Message, err = s.values["message"].Value(row); err != nil {
		return call, err
	}
	send, err := s.values["send"].Value(row)
	if err != nil {
		return call, err
	}
	call.Send, _ = send.([]any)
	variables, err := s.values["variables"].Value(row)
	if err != nil {
		return call, err
	}
	call.Variables, _ = variables.(map[string]any)
	return call, nil
}

// expanded returns a call with ${NAME} replaced, and with the headers of its wire.
func (w *preparing) expanded(field string, wire Wire, call CallText) (CallText, error) {
	var err error
	expand := func(in string, value string) string {
		if err != nil {
			return value
		}
		value, err = w.env.expand(in, value)
		return value
	}
	within := func(in string, value any) any {
		if err != nil {
			return value
		}
		value, err = w.env.within(in, value)
		return value
	}
	if call.Path, err = w.env.path(field+".path", call.Path); err != nil {
		return call, err
	}
	headers, query := map[string]string{}, map[string]string{}
	for name, value := range w.Wires[wire.Name].Headers {
		headers[name] = expand("wires."+wire.Name+".headers."+name, value)
	}
	for name, value := range call.Headers {
		for other := range headers {
			if strings.EqualFold(other, name) {
				delete(headers, other) // the header of the call takes precedence
			}
		}
		headers[name] = expand(field+".headers."+name, value)
	}
	for name, value := range call.Query {
		query[name] = expand(field+".query."+name, value)
	}
	call.Headers, call.Query = headers, query
	call.Body, call.Message = within(field+".body", call.Body), within(field+".message", call.Message)
	if send, ok := within(field+".send", call.Send).([]any); ok {
		call.Send = send
	}
	if variables, ok := within(field+".variables", call.Variables).(map[string]any); ok {
		call.Variables = variables
	}
	return call, err
}

// fields returns the names that the call uses, one for each placeholder.
func (s *shape) fields() []string {
	all := s.path.Fields()
	for _, name := range slices.Sorted(maps.Keys(s.texts)) {
		all = append(all, s.texts[name].Fields()...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		all = append(all, s.values[name].Fields()...)
	}
	return all
}
