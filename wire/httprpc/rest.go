package httprpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"wirelab/wire/status"
)

// manner says with which statuses a handler reports failures of HTTP itself.
type manner struct {
	path, content, accept, body, transport int
}

// The manners. The first is that of the RPC style's origin; the second is HTTP's.
var (
	rpcManner = manner{ // read only
		path: http.StatusNotImplemented, content: statusContent, accept: statusContent,
		body: statusContent, transport: statusTransport,
	}
	restManner = manner{ // read only
		path: http.StatusNotFound, content: http.StatusUnsupportedMediaType, accept: http.StatusNotAcceptable,
		body: http.StatusBadRequest, transport: http.StatusBadRequest,
	}
)

// place is a segment of the paths of a handler, and all that go on from there.
type place struct {
	words    map[string]*place
	variable *place           // every segment that is none of words and not empty
	names    []string         // of the variables on the way here, in their order
	methods  map[string]Route // empty: nothing is here, only further on
	allow    string           // the methods, for a caller who used another
}

// splitPath returns the segments of a path that begins with a slash.
func splitPath(path string) []string { return strings.Split(strings.TrimPrefix(path, "/"), "/") }

// variable returns the name of a segment in braces.
func variable(part string) (name string, ok bool) {
	inner, open := strings.CutPrefix(part, "{")
	name, closed := strings.CutSuffix(inner, "}")
	return name, open && closed && name != ""
}

// NewREST returns a handler of resources: by path, what can be done there, a
// route for each method. A segment of a path in braces is a variable, as in
// /person/{id}/links; a word goes before a variable, and what was not found
// behind it is not looked for behind the other. HEAD is answered where GET is.
// It panics on routes that cannot be told apart or would not read their path's
// variables: mistakes in the source.
func NewREST(resources map[string][]Route) *Handler {
	h := NewHandler(nil)
	h.manner = restManner
	h.root = new(place)
	for path, routes := range resources {
		at := h.root
		for _, part := range splitPath(path) {
			at = at.further(part)
		}
		if at.methods != nil || len(routes) == 0 {
			panic("httprpc: " + path + " is the path of two resources, or of none")
		}
		at.methods = map[string]Route{}
		for _, route := range routes {
			at.add(path, route)
		}
	}
	return h
}

// further returns the place of the next segment of a path, made if need be. It
// panics where a segment has two names: a mistake in the source.
func (p *place) further(part string) *place {
	name, ok := variable(part)
	if !ok {
		if p.words[part] == nil {
			if p.words == nil {
				p.words = map[string]*place{}
			}
			p.words[part] = &place{names: p.names}
		}
		return p.words[part]
	}
	if p.variable == nil {
		p.variable = &place{names: append(slices.Clone(p.names), name)}
	} else if known := p.variable.names[len(p.names)]; known != name {
		panic("httprpc: a segment is both {" + known + "} and {" + name + "}")
	}
	return p.variable
}

// add adds a route at path to its place. It panics on what [NewREST] does.
func (p *place) add(path string, route Route) {
	const most = 64 // bits of readURL's set
	if _, twice := p.methods[route.Method]; twice || len(route.parameters) > most {
		panic(fmt.Sprintf("httprpc: %s %s is there twice, or has %d parameters", route.Method, path,
			len(route.parameters)))
	}
	for i, name := range route.parameters {
		if slices.Contains(route.parameters[:i], name) {
			panic("httprpc: " + route.Method + " " + path + " reads " + name + " twice")
		}
	}
	for _, name := range p.names {
		if !slices.Contains(route.parameters, name) {
			panic("httprpc: " + route.Method + " " + path + " does not read " + name)
		}
	}
	p.methods[route.Method] = route
	if route.Method == http.MethodGet {
		p.methods[http.MethodHead] = route
	}
	methods := make([]string, 0, len(p.methods))
	for method := range p.methods {
		methods = append(methods, method)
	}
	slices.Sort(methods)
	p.allow = strings.Join(methods, ", ")
}

// routes adds the routes at a place of a path, and below it.
func (p *place) routes(all []string, path string) []string {
	for method, route := range p.methods {
		if method != http.MethodHead {
			all = append(all, route.listed(path))
		}
	}
	for word, next := range p.words {
		all = next.routes(all, path+"/"+word)
	}
	if next := p.variable; next != nil {
		all = next.routes(all, path+"/{"+next.names[len(next.names)-1]+"}")
	}
	return all
}

// find returns the place of a URL's path, nil if there is none, and the values
// of its variables.
func (p *place) find(at *url.URL) (found *place, variables []string, err error) {
	// Where RawPath is empty no segment was escaped but as it would be by us,
	// so that no escaped slash is among those of Path.
	path, escaped := at.RawPath, true
	if path == "" {
		path, escaped = at.Path, false
	}
	path, ok := strings.CutPrefix(path, "/")
	if !ok {
		return nil, nil, nil
	}
	for part := range strings.SplitSeq(path, "/") {
		if escaped {
			if part, err = url.PathUnescape(part); err != nil {
				return nil, nil, status.Errorf(status.InvalidArgument, "the path has a broken escape")
			}
		}
		next := p.words[part]
		if next == nil && p.variable != nil && part != "" {
			next = p.variable
			variables = append(variables, part)
		}
		if next == nil {
			return nil, nil, nil
		}
		p = next
	}
	if len(p.methods) == 0 {
		return nil, nil, nil
	}
	return p, variables, nil
}

// resource finds the route of a call by path and method.
func (c *Call) resource() (Route, error) {
	r := c.Request
	c.exact = r.Method == http.MethodHead // which has the length of what it leaves out
	found, variables, err := c.handler.root.find(r.URL)
	if err != nil {
		return Route{}, err
	}
	if found == nil {
		return Route{}, c.noPath()
	}
	route, ok := found.methods[r.Method]
	if !ok {
		return Route{}, c.noMethod(found.allow)
	}
	if route.parameters == nil && r.URL.RawQuery != "" {
		if err := eachPair(r.URL.RawQuery,
			func(name, _ string) error { return unknownParameter(name, nil) }); err != nil {
			return Route{}, err
		}
	}
	c.place, c.variables = found, variables
	return route, nil
}

// Enveloped has the handler's failures in JSON begin with "error":true, by which
// clients of an envelope that has it in every reply tell them, and returns it.
func (h *Handler) Enveloped() *Handler {
	h.enveloped = true
	return h
}

// Get is the route of a call whose request is in its URL, for [NewREST].
func Get[Req, Rep any](
	parameters []Parameter[Req], replies Forms[Rep], call func(context.Context, Req) (Rep, error),
) Route {
	return inURL(http.MethodGet, parameters, replies, call)
}

// Delete is [Get] of a call that removes what its request names.
func Delete[Req, Rep any](
	parameters []Parameter[Req], replies Forms[Rep], call func(context.Context, Req) (Rep, error),
) Route {
	return inURL(http.MethodDelete, parameters, replies, call)
}

func inURL[Req, Rep any](
	method string, parameters []Parameter[Req], replies Forms[Rep], call func(context.Context, Req) (Rep, error),
) Route {
	gives := replies.offers()
	usual := gives.first().mediaType()
	return Route{Method: method, parameters: names(parameters), Answer: func(ctx context.Context, c *Call) error {
		if err := c.negotiate(usual, gives); err != nil {
			return err
		}
		if err := c.withoutBody(); err != nil {
			return err
		}
		req, err := readURL(parameters, c.place, c.variables, c.Request.URL.RawQuery)
		if err != nil {
			return err
		}
		c.unhurry(ctx)
		out, _ := encodingOf(c.reply)
		return reply(ctx, c, &replies, out, req, call)
	}}
}

// withoutBody refuses a request that has a body.
func (c *Call) withoutBody() error {
	switch length := c.Request.ContentLength; {
	case length == 0:
		return nil
	case length < 0: // of unknown length, as every request of HTTP/3 is that does not announce one
		n, err := io.ReadFull(c.Request.Body, make([]byte, 1))
		if n == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return refuse(c.handler.manner.transport, status.Canceled, "the request's body could not be read")
		}
	}
	return status.Errorf(status.InvalidArgument, "a %s has no body here: its request is in the URL", c.Request.Method)
}

// CallGet returns the stub of a [Get] route at path, in which the parameters
// are that are its variables. It panics if one is missing: a mistake in the source.
func CallGet[Req, Rep any](
	c *Client, path string, parameters []Parameter[Req], codec Codec[Rep],
) func(context.Context, Req) (Rep, error) {
	return callInURL(c, http.MethodGet, path, parameters, codec)
}

// CallDelete returns the stub of a [Delete] route, as [CallGet] does.
func CallDelete[Req, Rep any](
	c *Client, path string, parameters []Parameter[Req], codec Codec[Rep],
) func(context.Context, Req) (Rep, error) {
	return callInURL(c, http.MethodDelete, path, parameters, codec)
}

func callInURL[Req, Rep any](
	c *Client, method, path string, parameters []Parameter[Req], codec Codec[Rep],
) func(context.Context, Req) (Rep, error) {
	want := codec.Encoding.mediaType()
	ask := asking(c, method, path, parameters, want)
	return func(ctx context.Context, req Req) (rep Rep, err error) {
		r, err := ask(ctx, &req)
		if err != nil {
			return rep, err
		}
		resp, err := c.Do(r, want) //nolint:bodyclose // readReply closes it
		if err != nil {
			return rep, err
		}
		return readReply(ctx, c, resp, &codec)
	}
}

// Asking returns what makes the requests of a route whose request is in its
// URL, for a caller that accepts one type, ready for [Client.Do]. They share
// their header. It panics as [CallGet] does.
func Asking[Req any](
	c *Client, path string, parameters []Parameter[Req], accept string,
) func(context.Context, *Req) (*http.Request, error) {
	return asking(c, http.MethodGet, path, parameters, accept)
}

func asking[Req any](
	c *Client, method, path string, parameters []Parameter[Req], accept string,
) func(context.Context, *Req) (*http.Request, error) {
	blank := c.Request(method, path, "", accept)
	target := newTemplate(path, parameters)
	return func(ctx context.Context, req *Req) (*http.Request, error) {
		at, err := target.fill(blank.URL, req)
		if err != nil {
			return nil, err
		}
		r := blank.WithContext(ctx)
		r.URL = at
		return r, nil
	}
}
