package openapi

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"wirelab/workload/external/request"
)

// Limits of one operation.
const (
	mostPath       = 4_096
	mostParameters = 1_000
)

// methods are in the order in which operations of one path are listed.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"}

// operations reads all operations.
func (d *Document) operations() error {
	if d.doc.Paths == nil || d.doc.Paths.Len() == 0 {
		return request.Faultf(d.Name, 0, "there are no paths; a document has paths: /items: get: …")
	}
	paths := d.doc.Paths.Map()
	seen := map[string]int{}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := paths[path]
		if item == nil {
			continue
		}
		all := item.Operations()
		for _, method := range methods {
			op := all[method]
			if op == nil {
				continue
			}
			if len(d.Operations) >= MostOperations {
				return request.Faultf(d.Name, 0, "there are more than %d operations; take a document with fewer paths",
					MostOperations)
			}
			if len(path) > mostPath || len(op.Parameters)+len(item.Parameters) > mostParameters {
				d.notef("%s %s is left out: it has more than %d parameters, or its path more than %d bytes",
					method, request.Short(path), mostParameters, mostPath)
				continue
			}
			if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " \t\r\n#\x00") {
				d.notef("%s %s is left out: its path is none; a path begins with / and has no space",
					method, request.Short(path))
				continue
			}
			made := d.operation(method, path, item, op)
			if seen[made.Name]++; seen[made.Name] > 1 {
				d.notef("two operations are named %s; the one of %s %s is named by those", request.Short(made.Name),
					method, path)
				made.Name = method + " " + path
				made.Request.Name = made.Name
			}
			d.Operations = append(d.Operations, made)
		}
	}
	if len(d.Operations) == 0 {
		return request.Faultf(d.Name, 0, "there is no operation; a document has paths: /items: get: …")
	}
	return nil
}

// operation reads one.
func (d *Document) operation(method, path string, item *openapi3.PathItem, op *openapi3.Operation) Operation {
	made := Operation{Name: op.OperationID, Summary: op.Summary, Deprecated: op.Deprecated}
	if made.Name == "" {
		made.Name = method + " " + path
	}
	m := &maker{op: &made, fields: map[string]int{}, shown: d.shown, budget: mostValues}
	made.Request = request.Request{Name: made.Name, At: d.Name + ": " + made.Name, Method: method}
	m.parameters(path, parametersOf(item, op))
	m.body(op.RequestBody)
	servers := item.Servers
	if op.Servers != nil {
		servers = *op.Servers
	}
	if own := d.servers(servers); len(own) > 0 && strings.Contains(own[0], "://") {
		made.Request.URL = own[0] + made.Request.URL
	}
	made.Credentials = d.credentials(op)
	d.expect(&made, op)
	return made
}

// parametersOf returns the parameters of an operation with those of its path.
func parametersOf(item *openapi3.PathItem, op *openapi3.Operation) []*openapi3.Parameter {
	var out []*openapi3.Parameter
	for _, list := range []openapi3.Parameters{op.Parameters, item.Parameters} {
		for _, ref := range list {
			if ref == nil || ref.Value == nil {
				continue
			}
			p := ref.Value
			if !slices.ContainsFunc(out, func(o *openapi3.Parameter) bool { return o.Name == p.Name && o.In == p.In }) {
				out = append(out, p)
			}
		}
	}
	return out
}

// credentials returns what the first way of an operation to show who calls asks for.
func (d *Document) credentials(op *openapi3.Operation) []Credential {
	ways := d.doc.Security
	if op.Security != nil {
		ways = *op.Security
	}
	if len(ways) == 0 || d.doc.Components == nil ||
		slices.ContainsFunc(ways, func(w openapi3.SecurityRequirement) bool {
			return len(w) == 0
		}) {
		return nil
	}
	var out []Credential
	for _, name := range slices.Sorted(maps.Keys(ways[0])) {
		ref := d.doc.Components.SecuritySchemes[name]
		if ref == nil || ref.Value == nil {
			continue
		}
		switch s := ref.Value; {
		case s.Type == "apiKey":
			out = append(out, Credential{In: s.In, Name: s.Name})
		case s.Type == "http" && strings.EqualFold(s.Scheme, "basic"):
			out = append(out, Credential{In: "header", Name: "Authorization", Before: "Basic "})
		case s.Type == "http" && !strings.EqualFold(s.Scheme, "bearer"):
			out = append(out, Credential{In: "header", Name: "Authorization"})
		case s.Type == "http" || s.Type == "oauth2" || s.Type == "openIdConnect":
			out = append(out, Credential{In: "header", Name: "Authorization", Before: "Bearer "})
		}
	}
	return out
}

// expect says which reply is right: the first status of success.
func (d *Document) expect(made *Operation, op *openapi3.Operation) {
	if op.Responses == nil {
		return
	}
	var reply *openapi3.ResponseRef
	all := op.Responses.Map()
	for _, code := range slices.Sorted(maps.Keys(all)) {
		if len(code) != 3 || code[0] != '2' || all[code] == nil {
			continue
		}
		reply = all[code]
		made.Status, _ = strconv.Atoi(code)
		break
	}
	if reply == nil {
		if reply = all["default"]; len(all) > 1 {
			// Next to specific error statuses it stands for more of them.
			return
		}
	}
	if reply == nil || reply.Value == nil {
		return
	}
	if kind, content := chosen(reply.Value.Content); content != nil {
		made.ReplyType = kind
		if isJSON(kind) {
			made.reply = content.Schema
		}
	}
}

// chosen returns the media type that is sent or expected if there are several: JSON if it is one of them.
func chosen(content openapi3.Content) (string, *openapi3.MediaType) {
	rank := func(kind string) int {
		switch {
		case kind == "application/json":
			return 0
		case isJSON(kind):
			return 1
		case isForm(kind):
			return 2
		case strings.HasPrefix(kind, "text/"):
			return 3
		}
		return 4
	}
	best := ""
	for _, kind := range slices.Sorted(maps.Keys(content)) {
		if content[kind] != nil && (best == "" || rank(kind) < rank(best)) {
			best = kind
		}
	}
	return best, content[best]
}

// isJSON reports whether a media type is JSON. "*/*" means that any is right.
func isJSON(kind string) bool {
	kind, _, _ = strings.Cut(strings.ToLower(kind), ";")
	kind = strings.TrimSpace(kind)
	return kind == "application/json" || strings.HasSuffix(kind, "+json") || kind == "*/*" || kind == "application/*"
}

func isForm(kind string) bool {
	return strings.HasPrefix(strings.ToLower(kind), "application/x-www-form-urlencoded")
}
