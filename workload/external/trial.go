package external

import (
	"context"
	"slices"

	"wirelab"
	"wirelab/workload/external/judge"
	"wirelab/workload/external/request"
)

// Trial is the result of calls made before any load.
type Trial struct {
	Request request.Request
	Reply   request.Reply
	// Text is the body of the reply for people: as JSON if possible.
	Text []byte
	// Vary are JSON pointers to the differences between the replies to two equal calls. Whole says that they differ
	// completely.
	Vary  []string
	Whole bool
	// Once says that the first call succeeded and the second, equal one failed: the error is that of the second.
	Once bool
}

// Try makes the first call of an operation over a wire. With twice it makes it again and reports the differences
// between the replies. If the status says that the call failed, Try returns an error together with the trial.
func (p *Prepared) Try(
	ctx context.Context, wire string, to wirelab.Dialing, operation string, twice bool,
) (t Trial, err error) {
	w, known := p.wire(wire)
	if !known {
		_, err := p.Cell(wire)
		return t, err
	}
	l, err := p.load(operation, w)
	if err != nil {
		return t, err
	}
	if err := w.Trust(&to); err != nil {
		return t, err
	}
	over, err := open(ctx, w, to)
	if err != nil {
		return t, err
	}
	defer func() { _ = over.Close() }() // the reply has arrived, or failed
	if l.chain != nil {
		if t, err = l.chain.tried(ctx, over); err == nil && twice {
			_, err = l.chain.tried(ctx, over) // the first reply is the judge
		}
		return t, err
	}
	t.Request = l.requests[0].Request
	s := newScratch(w)
	if t.Reply, t.Text, err = l.tried(ctx, over, s); err != nil || !twice {
		return t, err
	}
	again, text, err := l.tried(ctx, over, s)
	if err != nil {
		t.Once = true
		return t, err
	}
	vary, ok := judge.Vary(t.Text, text)
	t.Vary, t.Whole = vary, !ok || again.Status != t.Reply.Status
	return t, nil
}

// tried makes the first call of the operation.
func (l *loaded) tried(ctx context.Context, over port, s *scratch) (reply request.Reply, text []byte, err error) {
	if reply, err = over.call(ctx, l.requests[0], s); err != nil {
		return reply, nil, err
	}
	reply.Body = slices.Clone(reply.Body)
	text = reply.Body
	if l.decode != nil {
		if text, err = l.decode(reply.Body); err != nil {
			return reply, nil, err
		}
	}
	if err := refused(&reply); err != nil && l.free {
		return reply, text, err
	}
	if l.graph {
		err = graphErrors(reply.Body)
	}
	return reply, text, err
}

// Says describes which parts of the replies to an operation over a wire are compared, and which are not.
func (p *Prepared) Says(wire, operation string) string {
	i := slices.IndexFunc(p.Operations, func(o Operation) bool { return o.Name == operation })
	if i < 0 {
		return ""
	}
	calls := p.Operations[i].Calls[wire]
	if len(calls.Steps) > 0 {
		w, _ := p.wire(wire)
		chain, err := newChain(w, &calls, p.Secrets)
		if err != nil {
			return ""
		}
		return chain.says()
	}
	j, err := judge.New(calls.Rule) // requests, which may be many, are not needed for it
	if err != nil {
		return ""
	}
	return j.Says()
}
