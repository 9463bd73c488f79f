package external

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"wirelab"
	"wirelab/workload/external/grpcschema"
	"wirelab/workload/external/judge"
	"wirelab/workload/external/request"
)

// Observed is a request that a client sent.
type Observed struct {
	Method, URL string // absolute
	Header      http.Header
	Body        []byte
	HTTP2       bool // over HTTP/2 without TLS, else over HTTP/1.1
	// Schema is the file descriptor set of the service, for a gRPC call.
	Schema []byte
}

// ofMessage is the length of the prefix of a gRPC message.
const ofMessage = 5

// Observe describes the service that a client called by the observed requests: for each operation its requests,
// over a wire with the given name. Replies are compared with the first one to the same request.
func Observe(service, wire string, seen map[string][]Observed) (Prepared, error) {
	p := Prepared{Service: service}
	for operation, all := range seen {
		if len(all) == 0 {
			return p, wirelab.Errorf(wirelab.Unimplemented, "no request of %s was seen that is HTTP without TLS",
				operation)
		}
		w, calls, err := observed(wire, all)
		if err != nil {
			return p, err
		}
		if len(p.Wires) == 0 {
			p.Wires = []Wire{w}
		}
		p.Operations = append(p.Operations, Operation{
			Name: operation, Kind: wirelab.UnaryCall, Repeatable: true, Calls: map[string]Calls{wire: calls},
		})
	}
	return p, p.check()
}

func observed(name string, all []Observed) (w Wire, calls Calls, err error) {
	at, err := url.Parse(all[0].URL)
	if err != nil {
		return w, calls, wirelab.Errorf(wirelab.InvalidArgument, "%v", err)
	}
	w = Wire{Name: name, Kind: HTTP, Version: HTTP1, Address: at.Host, Authority: at.Host}
	if all[0].HTTP2 {
		w.Version = HTTP2
	}
	calls.Rule = judge.Rule{Mode: judge.Learnt}
	if strings.HasPrefix(all[0].Header.Get("Content-Type"), "application/grpc") {
		w.Kind = GRPC
		schema, err := grpcschema.Protoset(name, all[0].Schema)
		if err != nil {
			return w, calls, err
		}
		method, err := schema.Find(strings.TrimPrefix(at.Path, "/"))
		if err != nil {
			return w, calls, err
		}
		if method.Kind() != wirelab.UnaryCall {
			return w, calls, wirelab.Errorf(wirelab.Unimplemented,
				"%s is a stream, and was seen as its first message only", method.Name())
		}
		if calls.Method, err = method.Marshal(); err != nil {
			return w, calls, err
		}
	}
	for _, o := range all {
		one, err := o.request(w.Kind)
		if err != nil {
			return w, calls, err
		}
		calls.Requests = append(calls.Requests, one)
	}
	return w, calls, nil
}

// request converts what was observed to a request of a kind of wire.
func (o Observed) request(kind Kind) (r request.Request, err error) {
	at, err := url.Parse(o.URL)
	if err != nil {
		return r, wirelab.Errorf(wirelab.InvalidArgument, "%v", err)
	}
	r = request.Request{Method: o.Method, URL: at.RequestURI(), Body: o.Body}
	if kind == GRPC {
		if len(o.Body) < ofMessage {
			return r, wirelab.Errorf(wirelab.InvalidArgument, "%d bytes are no message of gRPC", len(o.Body))
		}
		r.Body, r.Messages = nil, [][]byte{o.Body[ofMessage:]}
		return r, nil
	}
	for name, values := range o.Header {
		for _, value := range values {
			if !request.OfConnection(name) {
				r.Fields = append(r.Fields, request.Field{Name: name, Value: value})
			}
		}
	}
	slices.SortFunc(r.Fields, func(a, b request.Field) int { return strings.Compare(a.Name+a.Value, b.Name+b.Value) })
	return r, nil
}
