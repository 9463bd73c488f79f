package external

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"wirelab"
	"wirelab/workload/external/request"
)

// bad returns the error of a field.
func bad(field, format string, args ...any) error {
	return wirelab.Public(wirelab.Errorf(wirelab.InvalidArgument, format, args...)).Behind(field + ": ")
}

// check validates the structure of a description; it reads no file and asks no server.
func (d *Description) check() error {
	switch {
	case !serviceName.MatchString(d.Service):
		return bad("service", "%.60q must be a name like shop, of lower-case letters, digits and dashes", d.Service)
	case len(d.Wires) == 0:
		return bad("wires", "there are none; write for example wires: {rest: {target: http://localhost:8080}}")
	case len(d.Operations) == 0:
		return bad("operations",
			"there are none; write for example operations: {list: {calls: {rest: {path: /items}}}}")
	}
	for _, name := range slices.Sorted(maps.Keys(d.Wires)) {
		if !serviceName.MatchString(name) {
			return bad("wires", "%.60q must be a name like rest, of lower-case letters, digits and dashes", name)
		}
		if err := d.Wires[name].check("wires." + name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Operations)) {
		if !operationName.MatchString(name) {
			return bad("operations", "%.60q must be a name like addItem, of letters and digits", name)
		}
		if err := d.checkOperation("operations."+name, d.Operations[name]); err != nil {
			return err
		}
	}
	if d.Start != nil && (len(d.Start.Run) == 0) == (d.Start.Command == "") {
		return bad("start", "give either run or command, such as run: [./shop, --port, $PORT] or command: './shop "+
			"--port "+
			"$PORT'")
	}
	return nil
}

func (w WireText) check(field string) error {
	if _, err := w.Read(field); err != nil {
		return err
	}
	for name, value := range w.Headers {
		if err := checkHeader(field+".headers", name, value); err != nil {
			return err
		}
	}
	return nil
}

// checkHeader refuses an invalid header, and a secret that is written in the file.
func checkHeader(field, name, value string) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ':' }) {
		return bad(field, "%.60q is no name of a header", name)
	}
	if strings.ContainsAny(value, "\r\n\x00") {
		return bad(field+"."+name, "its value has a line break")
	}
	if request.Secret(name) && value != "" && !strings.Contains(value, "${") && !strings.Contains(value, "{{") {
		return bad(field+"."+name, "is a secret, and files are shared: take it from the environment, as in ${TOKEN}")
	}
	return nil
}

// checkOperation validates one operation.
func (d *Description) checkOperation(field string, o OperationText) error {
	if len(o.Calls) == 0 && len(o.Steps) == 0 {
		return bad(field, "it calls nothing; write calls: {%s: {…}}", slices.Sorted(maps.Keys(d.Wires))[0])
	}
	for wire, call := range o.Calls {
		w, known := d.Wires[wire]
		if !known {
			return wirelab.Public(wirelab.UnknownName("wire", wire, slices.Sorted(maps.Keys(d.Wires)))).
				Behind(field + ".calls: ")
		}
		for name, value := range call.Headers {
			if err := checkHeader(field+".calls."+wire+".headers", name, value); err != nil {
				return err
			}
		}
		if err := call.check(field+".calls."+wire, w); err != nil {
			return err
		}
	}
	if err := d.checkSteps(field, o); err != nil {
		return err
	}
	switch o.Expect {
	case "", Learnt, Status, Recorded:
	case Schema:
		if o.Schema == "" {
			return bad(field+".schema", "it is missing; name the file of a JSON Schema")
		}
	default:
		return wirelab.Public(wirelab.UnknownName("expect", string(o.Expect),
			[]string{string(Learnt), string(Status), string(Schema), string(Recorded)})).Behind(field + ".expect: ")
	}
	return nil
}

// check refuses fields that belong to another kind of wire.
func (c CallText) check(field string, w WireText) error {
	read, err := w.Read("")
	if err != nil {
		return err
	}
	switch {
	case c.Messages < 0 || c.Messages > 100_000:
		return bad(field+".messages", "is %d; it must be 1 to 100000", c.Messages)
	case c.Body != nil && c.File != "":
		return bad(field, "body and file are both given; give only one")
	case read.Kind == GRPC && c.Call == "":
		return bad(field+".call", "it is missing; write for example call: shop.Cart/AddItem")
	case read.Kind != GRPC && (c.Call != "" || c.Message != nil):
		return bad(field, "call and message are of gRPC; over %s write path, method and body", read.Kind)
	case read.Kind == GraphQL && c.Document == "":
		return bad(field+".document", "it is missing; write for example document: 'query { items { id } }'")
	case read.Kind != GraphQL && c.Document != "":
		return bad(field, "document is of GraphQL; say kind: graphql of the wire")
	}
	return nil
}

// Read parses a wire; it resolves no secrets and reads no files.
func (w WireText) Read(field string) (Wire, error) {
	at, err := url.Parse(w.Target)
	if err != nil || at.Host == "" {
		return Wire{}, bad(field+".target", "%.100q is no URL with a host, such as http://localhost:8080 or "+
			"grpc://localhost:9000", w.Target)
	}
	if at.User != nil {
		return Wire{}, bad(field+".target", "a name and a password in a URL end up in logs; write headers: "+
			"{Authorization: ${AUTHORIZATION}}")
	}
	wire := Wire{Kind: w.Kind, Version: w.Version, Authority: at.Host, Proxy: w.Proxy, Cookies: w.Cookies}
	usual, version := HTTP, HTTP1
	switch at.Scheme {
	case "http":
	case "https":
		wire.Secure = true
	case "grpc", "grpcs":
		usual, wire.Secure = GRPC, at.Scheme == "grpcs"
	case "ws", "wss":
		usual, wire.Secure = WebSocket, at.Scheme == "wss"
	case "sse":
		usual = SSE
	default:
		return Wire{}, bad(field+".target", "scheme %q is none of http, https, grpc, grpcs, ws, wss, sse", at.Scheme)
	}
	if wire.Kind == "" {
		wire.Kind = usual
	}
	if !slices.Contains(Kinds(), wire.Kind) {
		return Wire{}, bad(field+".kind", "%q is none of http, grpc, graphql, sse, websocket", w.Kind)
	}
	if wire.Kind == GRPC {
		version = HTTP2
	}
	if wire.Version == "" {
		wire.Version = version
	}
	switch {
	case !slices.Contains([]string{HTTP1, HTTP2, HTTP3}, wire.Version):
		return Wire{}, bad(field+".version", "%q is none of http1, http2, http3", w.Version)
	case wire.Kind == GRPC && wire.Version != HTTP2, wire.Kind == WebSocket && wire.Version != HTTP1:
		return Wire{}, bad(field+".version", "%s is not spoken over %s", wire.Kind, wire.Version)
	case wire.Version == HTTP3 && !wire.Secure:
		return Wire{}, bad(field+".target", "HTTP/3 is always over TLS: write https://")
	}
	wire.Address = at.Host
	if at.Port() == "" {
		port := "80"
		if wire.Secure {
			port = "443"
		}
		wire.Address = hostOf(at) + ":" + port
	}
	if w.Unix != "" {
		wire.Address = "unix:" + w.Unix
	}
	return wire, w.checkWay(field, wire)
}

// checkWay refuses a proxy or a socket that the wire would bypass.
func (w WireText) checkWay(field string, wire Wire) error {
	switch {
	case w.Unix != "" && wire.Version == HTTP3:
		return bad(field+".unix", "HTTP/3 needs an address of the network")
	case w.Unix != "" && w.Proxy != "":
		return bad(field+".unix", "a proxy does not reach a socket of this machine; leave one of them out")
	case w.Proxy == "":
		return nil
	case wire.Kind == GRPC || wire.Kind == WebSocket || wire.Version == HTTP3:
		return bad(field+".proxy", "%s over %s is not called through a proxy; leave it out", wire.Kind, wire.Version)
	}
	at, err := url.Parse(w.Proxy)
	if err != nil || at.Scheme != "http" || at.Host == "" {
		return bad(field+".proxy", "it must be the URL of a proxy of HTTP, such as http://localhost:3128")
	}
	if at.User != nil {
		return bad(field+".proxy",
			"a name and a password in a URL end up in logs, and there is no other place for them: "+
				"use a proxy that asks for none")
	}
	return nil
}

// NameOf makes a valid name of a service from a text, such as a host or the name of a file. before is prepended to
// a text that does not begin with a letter.
func NameOf(text, before string) string {
	words := strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	name := strings.Join(words, "-")
	if name == "" || name[0] < 'a' {
		name = before + "-" + name
	}
	return strings.TrimRight(name[:min(len(name), 40)], "-")
}

// hostOf returns the host of a URL in the form of an address, with an IPv6 host in brackets.
func hostOf(at *url.URL) string {
	if strings.Contains(at.Hostname(), ":") {
		return "[" + at.Hostname() + "]"
	}
	return at.Hostname()
}
