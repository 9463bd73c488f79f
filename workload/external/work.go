package external

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"wirelab"
	"wirelab/wire/raw"
	"wirelab/workload/external/request"
)

// Client libraries.
const (
	netHTTP  = "net/http"
	quicGo   = "quic-go"
	grpcGo   = "grpc-go"
	coderWeb = "coder/websocket"
)

// library returns the client library of the wire.
func (w Wire) library() string {
	switch {
	case w.Kind == GRPC:
		return grpcGo
	case w.Kind == WebSocket:
		return coderWeb
	case w.Version == HTTP3:
		return quicGo
	}
	return netHTTP
}

// Work returns the service as a work: a cell for each of its wires. Cells cannot be served, because the servers are
// not ours.
func (p *Prepared) Work() wirelab.Work {
	work := wirelab.Work{Name: p.Service}
	for i := range p.Operations {
		o := &p.Operations[i]
		work.Operations = append(work.Operations, wirelab.OperationInfo{
			Name: o.Name, Kind: o.Kind, Requests: []string{wirelab.Drawn},
		})
	}
	for _, w := range p.Wires {
		work.Cells = append(work.Cells, p.cell(w))
	}
	return work
}

// Cell returns the cell of a wire.
func (p *Prepared) Cell(wire string) (wirelab.Cell, error) {
	w, known := p.wire(wire)
	if !known {
		names := make([]string, len(p.Wires))
		for i := range p.Wires {
			names[i] = p.Wires[i].Name
		}
		return wirelab.Cell{}, wirelab.UnknownName("wire of "+p.Service, wire, names)
	}
	return p.cell(w), nil
}

func (p *Prepared) cell(w Wire) wirelab.Cell {
	cell := wirelab.Cell{
		Workload: p.Service, Protocol: w.protocol(), Client: w.library(), Usual: true, Style: wirelab.Generic,
		Holes: map[string]string{}, RawHoles: map[string]string{},
		Dial: func(ctx context.Context, to wirelab.Dialing) (wirelab.Client, error) { return p.dial(ctx, w, to) },
	}
	for i := range p.Operations {
		o := &p.Operations[i]
		if why := p.hole(o, w); why != "" {
			cell.Holes[o.Name] = why
		} else if why := rawHole(o, w); why != "" {
			cell.RawHoles[o.Name] = why
		}
	}
	if w.rawHole() == "" {
		cell.DialRaw = func(
			ctx context.Context, to wirelab.Dialing, slots int, operation, _ string, seed uint64,
		) (wirelab.Lines, error) {
			return p.dialRaw(ctx, w, to, slots, operation, seed)
		}
	}
	return cell
}

// hole returns why a wire cannot carry an operation; "" if it can.
func (p *Prepared) hole(o *Operation, w Wire) string {
	if _, carried := o.Calls[w.Name]; carried {
		return ""
	}
	if o.StepOf != "" {
		return fmt.Sprintf("it is a step of %s, and its request has what an earlier step saves: measure %s",
			o.StepOf, o.StepOf)
	}
	return fmt.Sprintf("the description of %s gives it no call over %s", p.Service, w.Name)
}

// rawHole returns why the raw driver cannot carry any operation over the wire; "" if it can.
func (w Wire) rawHole() string {
	switch {
	case w.Version == HTTP3:
		return "it does not speak HTTP/3"
	case w.Kind == WebSocket, w.Kind == SSE:
		return "it reads replies that are whole, and this is a stream"
	case strings.HasPrefix(w.Address, "unix:"):
		return "it connects to addresses of the network, and this is a socket in the file system"
	case w.Proxy != "":
		return "it does not go through proxies"
	case w.Cookies:
		return "it keeps no cookies"
	}
	return ""
}

// rawHole returns why the raw driver cannot carry an operation over a wire; "" if it can.
func rawHole(o *Operation, w Wire) string {
	if why := w.rawHole(); why != "" {
		return why
	}
	of := o.Calls[w.Name]
	calls := of.Requests
	switch {
	case len(of.Steps) > 0:
		return "a chain of calls has requests that are not known beforehand"
	case o.Kind == wirelab.BidiStream:
		return "requests and replies of a bidirectional stream go at once"
	case slices.ContainsFunc(calls, func(r request.Request) bool { return r.Method != calls[0].Method }):
		return "its requests have several methods"
	case w.Kind != GRPC && slices.ContainsFunc(calls,
		func(r request.Request) bool { return request.Get(r.Fields, "Accept-Encoding") != "" }):
		return "it asks for no compressed replies, and the header Accept-Encoding does"
	}
	return ""
}

// RawWhy returns why the raw driver cannot carry an operation over a wire; "" if it can.
func (p *Prepared) RawWhy(operation, wire string) string {
	w, _ := p.wire(wire)
	i := slices.IndexFunc(p.Operations, func(o Operation) bool { return o.Name == operation })
	if i < 0 {
		return ""
	}
	return rawHole(&p.Operations[i], w)
}

// series returns the order in which a caller sends the requests of an operation: all of them, starting with one
// that its seed selects.
func series(n int, seed uint64) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = int((seed + uint64(i)) % uint64(n))
	}
	return order
}

// over returns the wire of the raw driver.
func (w Wire) over() raw.Over {
	over := raw.Over{Version: raw.HTTP1, Secure: w.Secure}
	if w.Version == HTTP2 {
		over.Version = raw.HTTP2
	}
	return over
}
