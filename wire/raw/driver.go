package raw

import (
	"context"
	"crypto/tls"
	"hash/maphash"
	"slices"
	"time"

	"wirelab"
)

// Version is a version of HTTP.
type Version uint8

// The versions.
const (
	HTTP1 Version = 1 // HTTP/1.1
	HTTP2 Version = 2 // in the clear with prior knowledge, or by ALPN over TLS
)

// Over is the wire under the calls.
type Over struct {
	Version Version
	Secure  bool // TLS 1.3
}

// scheme is that of URLs.
func (o Over) scheme() string {
	if o.Secure {
		return "https"
	}
	return "http"
}

// protocolName is what the TLS handshake asks for.
func (o Over) protocolName() string {
	if o.Version == HTTP2 {
		return "h2"
	}
	return "http/1.1"
}

// openTime is how long a broken connection may take to open again.
const openTime = 5 * time.Second

// plan is what a driver is made of.
type plan struct {
	over        Over // HTTP
	to          wirelab.Dialing
	slots       int
	connections int
	series      []*exchange
	judge       *judge  // HTTP
	script      *script // HTTP/2
	tape        *Tape   // frames
}

// learner writes down the request that a call makes.
type learner interface {
	learn(ctx context.Context, deadline time.Duration, check func(context.Context) error) (request, error)
}

// Driver returns the raw driver of a binding: over is its wire, holes are the operations it cannot carry (those
// answered while they are sent), and stub returns the binding's client of the server at scheme://address, changed
// only to send through t.
func Driver[S any](
	over Over, holes map[string]string, stub func(t *Transport, scheme, address string) S,
) *wirelab.Raw[S] {
	return &wirelab.Raw[S]{
		Holes: holes,
		Dial: func(ctx context.Context, to wirelab.Dialing, slots int,
			series []wirelab.Check[S],
		) (wirelab.Lines, error) {
			transport := new(Transport)
			service := stub(transport, over.scheme(), to.Address)
			p, err := newPlan(ctx, over, to, slots, transport, checksOf(series, service))
			if err != nil {
				return nil, err
			}
			return openLines(ctx, p)
		},
	}
}

// checksOf are the checks of a series, performed against a stub.
func checksOf[S any](series []wirelab.Check[S], stub S) []func(context.Context) error {
	checks := make([]func(context.Context) error, len(series))
	for i, check := range series {
		checks[i] = func(ctx context.Context) error { return check(ctx, stub) }
	}
	return checks
}

// newPlan is what a driver over HTTP is made of.
func newPlan(
	ctx context.Context, over Over, to wirelab.Dialing, slots int,
	transport *Transport, checks []func(context.Context) error,
) (*plan, error) {
	p := &plan{
		over: over, to: to, slots: slots, connections: to.ConnectionCount(),
		judge: newJudge(transport, int(over.Version)),
	}
	if err := p.learn(ctx, transport, checks); err != nil {
		return nil, err
	}
	if over.Version == HTTP2 {
		p.script = newScript(p.series, over.scheme(), p.series[0].host)
	}
	return p, nil
}

// learn learns the requests and works out what can be known before the first call.
func (p *plan) learn(ctx context.Context, from learner, checks []func(context.Context) error) error {
	switch {
	case p.slots < 1 || len(checks) == 0:
		return wirelab.Errorf(wirelab.InvalidArgument, "%d slots for a series of %d calls", p.slots, len(checks))
	case p.over.Version != HTTP2 && p.slots > p.connections:
		return wirelab.Errorf(wirelab.InvalidArgument,
			"%d calls at once over %d connections: each carries one call at a time", p.slots, p.connections)
	}
	known := map[uint64][]*exchange{}
	seed := maphash.MakeSeed()
	for i, check := range checks {
		q, err := from.learn(ctx, p.to.Deadline, check)
		if err != nil {
			return wirelab.Errorf(wirelab.CodeOf(err), "call %d of the series: %v", i, err)
		}
		if len(p.series) > 0 && (q.method != p.series[0].method || q.host != p.series[0].host) {
			return wirelab.Errorf(wirelab.Unimplemented, "a series with both %s of %s and %s of %s",
				q.method, q.host, p.series[0].method, p.series[0].host)
		}
		if len(p.series) > 0 {
			q.sameDeadline(p.series[0].request)
		}
		// One exchange for all that ask the same: each keeps the reply it accepted,
		// and a large one 256 times would be more than a machine has.
		sum := q.sum(seed)
		if at := slices.IndexFunc(known[sum], func(x *exchange) bool { return x.same(q) }); at >= 0 {
			p.series = append(p.series, known[sum][at])
			continue
		}
		x := &exchange{request: q, check: check, text: q.frame}
		if p.over.Version == HTTP1 {
			x.text = x.text1()
		}
		p.series = append(p.series, x)
		known[sum] = append(known[sum], x)
	}
	return nil
}

// newClient makes the client's end of a connection that carries up to calls calls.
func (p *plan) newClient(calls int, heads heads, ended func(*call, error), again func(*call, error, bool)) client {
	switch {
	case p.tape != nil:
		return &connFramed{tape: p.tape, ended: ended}
	case p.over.Version == HTTP2:
		return newConn2(p.judge, p.script, calls, ended, again)
	}
	return &conn1{judge: p.judge, heads: heads, ended: ended}
}

// tlsConfig is a client's.
func (p *plan) tlsConfig(host string) *tls.Config {
	c := p.to.TLS()
	if c.ServerName == "" {
		c.ServerName = host
	}
	c.NextProtos = []string{p.over.protocolName()}
	c.DynamicRecordSizingDisabled = true // small records first would only be more of them
	return c
}
