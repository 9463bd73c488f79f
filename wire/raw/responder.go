package raw

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// The bounds of what a responder remembers. Beyond them the handler is asked
// each time.
const (
	routesMax  = 1024
	repliesMax = 64 << 10
	keptMax    = 256 << 20 // bytes of requests and replies
)

// responder answers requests from what its handler answered before. It belongs
// to one goroutine.
type responder struct {
	handler http.Handler
	fresh   map[string]bool // paths, or methods and paths, whose replies depend on more than the request
	secure  bool
	major   int
	routes  map[string]*route
	forms   map[string]*form
	replies int
	kept    int // bytes
	scratch []byte
}

func newResponder(handler http.Handler, over Over, fresh []string) *responder {
	r := &responder{
		handler: handler, fresh: map[string]bool{}, secure: over.Secure, major: int(over.Version),
		routes: map[string]*route{}, forms: map[string]*form{},
	}
	for _, path := range fresh {
		r.fresh[path] = true
	}
	return r
}

// askHead is what a request's header says.
type askHead struct {
	length int64 // of the body; -1: not announced
	route  *route
}

// route is what of a request's header decides the reply.
type route struct {
	method, path string
	fields       []field
	replies      map[string]*reply // by body; nil: none is kept
}

// form is a reply's header or trailers but for the length. There is one of
// each in a responder, so that a connection knows those it has said before.
type form struct{ fields []field }

// reply is what a handler answered.
type reply struct {
	head, tail *form // tail: nil where there is none
	body       []byte
	length     bool   // whether the body's length is announced in HTTP/2
	text       []byte // all of it, as HTTP/1.1 has it
	cut        bool   // the handler gave up: so does the connection, or the stream
}

// passing reports whether a field does not decide the reply: it says who asks,
// how long they wait or how the bytes come.
func passing(name string) bool {
	switch name {
	case "user-agent", "call-timeout-ms", "grpc-timeout", "connect-timeout-ms", "content-length", "host",
		":authority", ":scheme", ":method", ":path", "te", "date", "expect", "connection", "transfer-encoding":
		return true
	}
	return false
}

// readHead works out what a block says as a request's header.
func (r *responder) readHead(b *block) (*askHead, error) {
	if b.ask != nil {
		return b.ask, nil
	}
	ask := &askHead{length: -1}
	key := append(append(append(r.scratch[:0], b.get(":method")...), '\n'), b.get(":path")...)
	for i := range b.fields {
		f := &b.fields[i]
		if f.Name == "content-length" {
			n, err := strconv.ParseUint(f.Value, 10, 62)
			if err != nil {
				return nil, breach(reasonProtocol, "content-length %q", f.Value)
			}
			ask.length = int64(n)
		}
		if !passing(f.Name) {
			key = append(append(append(append(key, '\n'), f.Name...), '\n'), f.Value...)
		}
	}
	r.scratch = key
	known, ok := r.routes[string(key)]
	if !ok {
		known = r.newRoute(b.fields)
		if len(r.routes) < routesMax {
			known.replies = map[string]*reply{}
			r.routes[string(key)] = known
		}
		if r.fresh[known.path] || r.fresh[known.method+" "+known.path] {
			known.replies = nil
		}
	}
	ask.route = known
	b.ask = ask
	return ask, nil
}

func (r *responder) newRoute(fields []hpack.HeaderField) *route {
	made := new(route)
	for _, f := range fields {
		switch {
		case f.Name == ":method":
			made.method = f.Value
		case f.Name == ":path":
			made.path = f.Value
		case !passing(f.Name) || f.Name == "te":
			made.fields = append(made.fields, field{f.Name, f.Value})
		}
	}
	return made
}

// answer returns the reply to a request. body is not kept.
func (r *responder) answer(to *route, body []byte) *reply {
	if known, ok := to.replies[string(body)]; ok {
		return known
	}
	got := r.ask(to, body)
	size := len(body) + len(got.body) + len(got.text)
	if to.replies != nil && r.replies < repliesMax && r.kept+size <= keptMax && !got.cut {
		r.replies++
		r.kept += size
		to.replies[string(body)] = got
	}
	return got
}

// ask has the handler answer.
func (r *responder) ask(to *route, body []byte) *reply {
	target, err := url.ParseRequestURI(to.path)
	if err != nil {
		return r.newReply(&recorder{status: http.StatusBadRequest, header: http.Header{}})
	}
	request := &http.Request{
		Method: to.method, URL: target, RequestURI: to.path, Host: "null", RemoteAddr: "127.0.0.1:0",
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Body: io.NopCloser(bytes.NewReader(bytes.Clone(body))), ContentLength: int64(len(body)),
	}
	if r.major == 2 {
		request.Proto, request.ProtoMajor, request.ProtoMinor = "HTTP/2.0", 2, 0
	}
	for _, f := range to.fields {
		request.Header.Add(f.name, f.value)
	}
	heard := &recorder{header: http.Header{}}
	heard.run(r.handler, request)
	return r.newReply(heard)
}

// newReply turns what a handler said into bytes.
func (r *responder) newReply(heard *recorder) *reply {
	if heard.status == 0 {
		heard.freeze(http.StatusOK)
	}
	p := &reply{body: heard.body.Bytes(), cut: heard.cut}
	fields := []field{{":status", strconv.Itoa(heard.status)}}
	var tail []field
	grpc := false
	for name, values := range heard.sent {
		lower := strings.ToLower(name)
		if ofConnection[lower] || lower == "trailer" || strings.HasPrefix(name, http.TrailerPrefix) {
			continue
		}
		for _, value := range values {
			grpc = grpc || lower == "content-type" && strings.HasPrefix(value, "application/grpc")
			fields = append(fields, field{lower, value})
		}
	}
	for name, values := range heard.trailers() {
		for _, value := range values {
			tail = append(tail, field{strings.ToLower(name), value})
		}
	}
	p.length = !grpc
	p.head = r.formOf(fields)
	if len(tail) > 0 {
		p.tail = r.formOf(tail)
	}
	p.text = append(append(strconv.AppendInt([]byte("HTTP/1.1 "), int64(heard.status), 10), ' '),
		http.StatusText(heard.status)...)
	for _, f := range p.head.fields {
		if f.name[0] != ':' {
			p.text = append(append(append(append(p.text, "\r\n"...), http.CanonicalHeaderKey(f.name)...), ": "...),
				f.value...)
		}
	}
	p.text = strconv.AppendInt(append(p.text, "\r\nContent-Length: "...), int64(len(p.body)), 10)
	p.text = append(append(p.text, "\r\n\r\n"...), p.body...)
	return p
}

// formOf returns the one form of these fields. A pseudo field is the first.
func (r *responder) formOf(fields []field) *form {
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	key := r.scratch[:0]
	for _, f := range fields {
		key = append(append(append(append(key, f.name...), '\n'), f.value...), '\n')
	}
	r.scratch = key
	known, ok := r.forms[string(key)]
	if !ok {
		known = &form{fields: fields}
		if len(r.forms) < routesMax {
			r.forms[string(key)] = known
		}
	}
	return known
}
