package external

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"wirelab"
	"wirelab/wire/raw"
	"wirelab/workload/external/grpccall"
	"wirelab/workload/external/judge"
	"wirelab/workload/external/request"
)

// port is the client's end of a wire. It makes one call and returns the complete reply, or the error of a call
// without one. A gRPC call that the server ended with another code than OK has both. The reply is valid until the
// next call with the same scratch.
type port interface {
	io.Closer
	call(ctx context.Context, c *prepared, s *scratch) (request.Reply, error)
}

// scratch is what one caller keeps between its calls.
type scratch struct {
	body    []byte
	grpc    grpccall.Reply
	cookies http.CookieJar // nil: none are kept
}

// prepared is a request of an operation, with everything that its wire could prepare in advance.
type prepared struct {
	request.Request
	calls   *Calls
	http    *http.Request // a template, never sent itself; nil for gRPC
	grpc    *grpccall.Request
	streams bool // whether its reply is a gRPC stream
	fields  bool // whether the header fields of its reply are needed
}

// client is the [wirelab.Client] over a wire.
type client struct {
	port
	service *Prepared
	wire    Wire

	mu     sync.Mutex // guards loaded
	loaded map[string]*loaded
}

// loaded is an operation with its requests, shared by all callers.
type loaded struct {
	*Operation
	requests []*prepared
	judge    *judge.Judge
	secrets  []string
	decode   func([]byte) ([]byte, error) // converts a reply to JSON; nil: no conversion
	free     bool                         // no status is prescribed: any that is not a failure is right
	graph    bool                         // GraphQL: a reply with status 200 may be an error
	chain    *chain                       // nil: a single call
}

func (p *Prepared) dial(ctx context.Context, w Wire, to wirelab.Dialing) (wirelab.Client, error) {
	if err := w.Trust(&to); err != nil {
		return nil, err
	}
	port, err := open(ctx, w, to)
	if err != nil {
		return nil, err
	}
	return &client{port: port, service: p, wire: w, loaded: map[string]*loaded{}}, nil
}

// load prepares the requests of an operation for a wire.
func (p *Prepared) load(name string, w Wire) (*loaded, error) {
	i := slices.IndexFunc(p.Operations, func(o Operation) bool { return o.Name == name })
	if i < 0 {
		known := make([]string, len(p.Operations))
		for i := range p.Operations {
			known[i] = p.Operations[i].Name
		}
		return nil, wirelab.UnknownName("operation of "+p.Service, name, known)
	}
	o := &p.Operations[i]
	if why := p.hole(o, w); why != "" {
		return nil, wirelab.Errorf(wirelab.Unimplemented, "%s: %s", name, why)
	}
	calls := o.Calls[w.Name]
	if len(calls.Steps) > 0 {
		chain, err := newChain(w, &calls, p.Secrets)
		return &loaded{Operation: o, chain: chain}, err
	}
	l, err := newLoaded(w, &calls, p.Secrets)
	l.Operation = o
	return l, err
}

// newLoaded prepares requests, and the judge of their replies, which hides secrets in its messages.
func newLoaded(w Wire, calls *Calls, secrets []string) (*loaded, error) {
	l := &loaded{secrets: secrets, graph: w.Kind == GraphQL}
	for _, r := range calls.Requests {
		made, err := w.prepare(r, calls)
		if err != nil {
			return l, err
		}
		l.requests = append(l.requests, made)
	}
	l.free = calls.Rule.Status == "" && calls.Rule.Mode != judge.File
	var err error
	if w.Kind == GRPC {
		if l.decode, err = decoding(calls); err != nil {
			return l, err
		}
	}
	l.judge, err = judgeOf(calls.Rule, l.decode, secrets)
	return l, err
}

// operation returns an operation, loaded once for all callers, so that they share the learnt replies.
func (c *client) operation(name string) (*loaded, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.loaded[name]; l != nil {
		return l, nil
	}
	l, err := c.service.load(name, c.wire)
	if err == nil {
		c.loaded[name] = l
	}
	return l, err
}

// Caller implements [wirelab.Client].
func (c *client) Caller(operation, _ string, seed uint64) (func(context.Context) error, error) {
	l, err := c.operation(operation)
	if err != nil {
		return nil, err
	}
	if l.chain != nil {
		return l.chain.caller(c, seed, nil), nil
	}
	order, next, s := series(len(l.requests), seed), 0, newScratch(c.wire)
	return func(ctx context.Context) error {
		i := order[next%len(order)]
		next++
		return l.check(ctx, c.port, i, s)
	}, nil
}

// check makes one call and judges its reply. Its error contains no secret.
func (l *loaded) check(ctx context.Context, over port, i int, s *scratch) error {
	err := l.checked(ctx, over, i, s)
	if coded := new(wirelab.Error); len(l.secrets) > 0 && errors.As(err, &coded) {
		said := *coded
		said.Message = shortened(wirelab.Hide(said.Message, l.secrets))
		return &said
	}
	return err
}

func (l *loaded) checked(ctx context.Context, over port, i int, s *scratch) error {
	reply, err := over.call(ctx, l.requests[i], s)
	if err != nil && (l.free || reply.Status == 0) {
		return err
	}
	return l.right(i, reply)
}

// right judges the reply to a request.
func (l *loaded) right(i int, reply request.Reply) error {
	if err := refused(&reply); err != nil && l.free {
		return err
	}
	if l.graph {
		if err := graphErrors(reply.Body); err != nil {
			return err
		}
	}
	return l.judge.Check(i, reply)
}

// learntMost is the maximum number of requests of an operation whose first replies are reported.
const learntMost = 64

// Learnt returns the replies to the calls so far, as "OPERATION INDEX DIGEST".
func (c *client) Learnt() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.loaded {
		all = append(all, l.learnt()...)
	}
	return all
}

func (l *loaded) learnt() (all []string) {
	if l.chain == nil {
		return l.answered(l.Name)
	}
	for n, step := range l.chain.steps {
		if step.shape != nil {
			continue // its requests differ from call to call
		}
		all = append(all, step.answered(fmt.Sprintf("%s.%d", l.Name, n+1))...)
	}
	return all
}

// answered returns the lines of one call.
func (l *loaded) answered(name string) (all []string) {
	for index, digest := range l.judge.Digests() {
		if index < learntMost {
			all = append(all, fmt.Sprintf("%s %d %s", name, index, digest))
		}
	}
	return all
}

// learning adds to Lines the replies to their calls.
type learning struct {
	wirelab.Lines
	*loaded
}

// Learnt returns the replies to the calls so far, as "OPERATION INDEX DIGEST".
func (l learning) Learnt() []string { return l.learnt() }

// Steps implements [wirelab.Stepping].
func (c *client) Steps(operation string) []string {
	l, err := c.operation(operation)
	if err != nil || l.chain == nil {
		return nil
	}
	return l.chain.names()
}

// StepCaller implements [wirelab.Stepping].
func (c *client) StepCaller(
	operation, _ string, seed uint64, took []time.Duration,
) (func(context.Context) error, error) {
	l, err := c.operation(operation)
	switch {
	case err != nil:
		return nil, err
	case l.chain == nil || len(took) != len(l.chain.steps):
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "%s has no %d steps", operation, len(took))
	}
	return l.chain.caller(c, seed, took), nil
}

// Follow implements [wirelab.Client]: the effects of foreign calls are unknown.
func (c *client) Follow(
	operation, _ string, _ uint64,
) (call func(context.Context) error, last func() string, err error) {
	return nil, nil, wirelab.Errorf(wirelab.Unimplemented, "%s of %s hands over nothing that can be followed",
		operation,
		c.service.Service)
}

// Feed implements [wirelab.Client]: foreign events have no times of ours.
func (c *client) Feed(operation string, _ int64) (func(context.Context, func(wirelab.Stamp, error) bool) error, error) {
	return nil, wirelab.Errorf(wirelab.Unimplemented, "events of %s of %s do not say when they were due", operation,
		c.service.Service)
}

// Call implements [wirelab.Client]: it makes the first call of an operation. The requests are those of the
// description, so data must be nil. The reply is not judged, except for a status that must be the same each time.
func (c *client) Call(ctx context.Context, operation string, data []byte) (any, []any, error) {
	l, err := c.operation(operation)
	if err != nil {
		return nil, nil, err
	}
	if data != nil {
		return nil, nil, wirelab.Errorf(wirelab.InvalidArgument, "requests of %s are those of its description",
			c.service.Service)
	}
	if l.chain != nil {
		t, err := l.chain.tried(ctx, c.port)
		return t.Request, []any{t.Reply}, err
	}
	s := newScratch(c.wire)
	reply, err := c.call(ctx, l.requests[0], s)
	if err != nil && (l.free || reply.Status == 0) {
		return l.requests[0].Request, nil, err
	}
	reply.Body = slices.Clone(reply.Body)
	if reply.Status < http.StatusInternalServerError && reply.Status != http.StatusTooManyRequests && l.free {
		err = refused(&reply)
	}
	return l.requests[0].Request, []any{reply}, err
}

// dialRaw opens the raw driver.
func (p *Prepared) dialRaw(
	ctx context.Context, w Wire, to wirelab.Dialing, slots int, operation string, seed uint64,
) (wirelab.Lines, error) {
	if err := w.Trust(&to); err != nil {
		return nil, err
	}
	l, err := p.load(operation, w)
	if err != nil {
		return nil, err
	}
	if why := rawHole(l.Operation, w); why != "" {
		return nil, wirelab.Errorf(wirelab.Unimplemented, "the raw driver does not carry %s: %s", operation, why)
	}
	// One scratch serves all of them, because replies are judged one after the other.
	checks, s := make([]wirelab.Check[port], len(l.requests)), newScratch(w)
	for at, i := range series(len(l.requests), seed) {
		checks[at] = func(ctx context.Context, over port) error { return l.check(ctx, over, i, s) }
	}
	driver := raw.Driver(w.over(), nil, func(t *raw.Transport, _, _ string) port { return w.replayed(t) })
	lines, err := driver.Dial(ctx, to, slots, checks)
	if err != nil {
		return nil, err
	}
	return learning{lines, l}, nil
}
