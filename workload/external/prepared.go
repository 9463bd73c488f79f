package external

import (
	"bytes"
	"encoding/json"
	"slices"

	"wirelab"
	"wirelab/workload/external/judge"
	"wirelab/workload/external/request"
)

// Kind is the protocol of calls over a transport.
type Kind string

// The kinds.
const (
	HTTP      Kind = "http"
	GRPC      Kind = "grpc"
	GraphQL   Kind = "graphql"
	SSE       Kind = "sse"
	WebSocket Kind = "websocket"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{HTTP, GRPC, GraphQL, SSE, WebSocket} }

// The versions of HTTP.
const (
	HTTP1 = "http1" // HTTP/1.1
	HTTP2 = "http2" // HTTP/2: by prior knowledge without TLS, and by ALPN over TLS
	HTTP3 = "http3"
)

// Prepared is an external service, ready to be called.
type Prepared struct {
	Service    string      `json:"service"`
	Wires      []Wire      `json:"wires"`
	Operations []Operation `json:"operations"`
	// Secrets are values that no error may contain: replies may repeat them.
	Secrets []string `json:"secrets,omitempty"`
}

// Wire is one way to reach the service.
type Wire struct {
	Name    string `json:"name"` // as arms name it: "rest"
	Kind    Kind   `json:"kind"`
	Version string `json:"version"` // of HTTP
	Secure  bool   `json:"secure,omitempty"`
	// Address is where connections go: host:port, or unix:PATH. With a proxy it is the address of the server.
	Address string `json:"address"`
	// Authority is the host that requests name.
	Authority string `json:"authority"`
	Proxy     string `json:"proxy,omitempty"`    // URL of an HTTP proxy; "": none
	MayLoad   string `json:"may_load,omitempty"` // the host that may be loaded, according to the description
	TLS       *TLS   `json:"tls,omitempty"`
	Cookies   bool   `json:"cookies,omitempty"` // keep and send them, separately for each caller
}

// Operation is one operation of the service.
type Operation struct {
	Name string       `json:"name"`
	Kind wirelab.Kind `json:"kind"`
	// Repeatable reports whether the same request may be sent again: by its method, or because the description says
	// so.
	Repeatable bool `json:"repeatable,omitempty"`
	// Calls are its requests by the name of a wire. A missing wire cannot carry it.
	Calls map[string]Calls `json:"calls,omitempty"`
	// StepOf is the chain of which it is a step, if it cannot be called alone: its requests use values from earlier
	// steps.
	StepOf string `json:"step_of,omitempty"`
}

// Calls are the requests of an operation over one wire.
type Calls struct {
	Requests []request.Request `json:"requests,omitempty"`
	// Rule defines a right reply.
	Rule judge.Rule `json:"rule"`
	// Steps make it a chain: see [Step]. A chain has no Requests. Its steps build their requests during the call
	// from Rows and from saved values.
	Steps []Step           `json:"steps,omitempty"`
	Rows  []map[string]any `json:"rows,omitempty"`
	// Messages is how many events of a stream, or messages of a WebSocket, a call reads before it ends. Default: 1.
	Messages int `json:"messages,omitempty"`
	// Method is the serialised descriptor of a gRPC method.
	Method []byte `json:"method,omitempty"`
}

// ParsePrepared parses the output of [json.Marshal].
func ParsePrepared(data []byte) (Prepared, error) {
	var p Prepared
	from := json.NewDecoder(bytes.NewReader(data))
	from.UseNumber() // keep the spelling of numbers
	if err := from.Decode(&p); err != nil {
		return p, wirelab.Errorf(wirelab.InvalidArgument, "prepared service: %v", err)
	}
	return p, p.check()
}

// check refuses values that Prepare cannot have made.
func (p *Prepared) check() error {
	if len(p.Wires) == 0 || len(p.Operations) == 0 {
		return wirelab.Errorf(wirelab.InvalidArgument, "service %q has %d wires and %d operations", p.Service,
			len(p.Wires),
			len(p.Operations))
	}
	for i := range p.Operations {
		for wire, calls := range p.Operations[i].Calls {
			if _, known := p.wire(wire); !known || len(calls.Requests) == 0 && len(calls.Steps) == 0 {
				return wirelab.Errorf(wirelab.InvalidArgument, "operation %s: %d requests over %q",
					p.Operations[i].Name,
					len(calls.Requests), wire)
			}
			if err := checkChain(calls); err != nil {
				return wirelab.Public(err).Behind("operation " + p.Operations[i].Name + ": ")
			}
		}
	}
	return nil
}

// wire returns the wire with a name.
func (p *Prepared) wire(name string) (Wire, bool) {
	i := slices.IndexFunc(p.Wires, func(w Wire) bool { return w.Name == name })
	if i < 0 {
		return Wire{}, false
	}
	return p.Wires[i], true
}

// protocol returns the wire as a protocol of reports and cells.
func (w Wire) protocol() wirelab.Protocol {
	p := wirelab.Protocol{Name: w.Name, Network: "tcp", Secure: w.Secure, Encoding: "as given"}
	switch w.Version {
	case HTTP1:
		p.Transport = "HTTP/1.1"
	case HTTP2:
		p.Transport, p.Multiplexed = "HTTP/2", true
	case HTTP3:
		p.Transport, p.Multiplexed, p.Network = "HTTP/3", true, "udp"
	}
	switch w.Kind {
	case HTTP:
		p.Framing = "HTTP"
	case GRPC:
		p.Framing, p.Encoding = "gRPC", "Protocol Buffers"
	case GraphQL:
		p.Framing, p.Encoding = "GraphQL", "JSON"
	case SSE:
		p.Framing, p.Encoding = "SSE", "text"
	case WebSocket:
		p.Framing = "WebSocket"
	}
	return p
}
