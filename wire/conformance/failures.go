package conformance

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"wirelab"
)

// failure is an error the service is made to answer, and what must arrive.
type failure struct {
	name string
	err  error
	want *wirelab.Error
}

// injectedSecret is the text of an error that no one classified.
const injectedSecret = "injected secret: dial tcp 10.0.0.1"

// failures are every code, the messages that headers and trailers carry
// wrongly, and an error whose text must not be shown.
func failures() []failure {
	coded := func(name string, code wirelab.Code, message string) failure {
		err := &wirelab.Error{Code: code, Message: message}
		return failure{name, err, err}
	}
	var all []failure
	for _, code := range wirelab.Codes() {
		all = append(all, coded("code "+code.String(), code, "told with "+code.String()))
	}
	return append(
		all,
		coded("a message with signs that headers escape", wirelab.Conflict, `100% of "a+b", <c>, d\e; f: g`),
		coded("a message beyond ASCII", wirelab.NotFound, "keine Straße, 没有 🧭"),
		coded("a message of two lines", wirelab.InvalidArgument, "one\ntwo\r\nGrpc-Status: 0"),
		coded("a long message", wirelab.PermissionDenied, strings.Repeat("long ", 300)+"end"),
		failure{"an unclassified error", errors.New(injectedSecret), &wirelab.Error{
			Code:    wirelab.Internal,
			Message: "internal error",
		}},
	)
}

// errors checks that every failure of the service reaches the caller of every
// operation whole: its code and its message, and no text that was not meant
// for the caller. A workload's own requests provoke few of the codes, and a
// table with a wrong line would not be noticed by them.
func (c *cell[S]) errors(r reporter) {
	var next atomic.Pointer[failure]
	g := c.raise(r, c.workload.Hooked(wirelab.Hooks{Before: func(context.Context, string) error {
		if f := next.Load(); f != nil {
			return f.err
		}
		return nil
	}}), setup{})
	if g == nil {
		return
	}
	defer g.lower(r)
	for _, o := range c.live() {
		e, _, ok := c.drawn(r, o)
		if !ok {
			return
		}
		for _, f := range failures() {
			next.Store(&f)
			if fault := differ(g.ask(e), answer{err: f.want}); fault != "" {
				r.Errorf("%s, %s: %s", o.Name, f.name, fault)
			}
		}
	}
	c.lateErrors(r)
}

// lateErrors checks that a stream which fails after items tells how.
func (c *cell[S]) lateErrors(r reporter) {
	if !c.streams() {
		return
	}
	for _, f := range failures() {
		items := 0
		g := c.raise(r, c.workload.Hooked(wirelab.Hooks{Item: func(context.Context) error {
			if items++; items > itemsRead {
				return f.err
			}
			return nil
		}}), setup{})
		if g == nil {
			return
		}
		ctx, cancel := g.call()
		c.exchanges.Add(1)
		err := c.suite.Behaviour.Read(ctx, g.stub, func() bool { return true })
		cancel()
		got := answer{}
		if err != nil {
			got.err = wirelab.Public(err)
		}
		if fault := differ(got, answer{err: f.want}); fault != "" {
			r.Errorf("%s, %s after %d items: %s", c.suite.Behaviour.Stream, f.name, itemsRead, fault)
		}
		g.lower(r)
	}
}
