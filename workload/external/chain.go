package external

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"wirelab"
	"wirelab/workload/external/request"
	"wirelab/workload/external/rows"
)

// Limits of a chain.
const (
	stepsLimit = 32 // steps of a chain
	savesLimit = 32 // values that a step saves
	// placesLimit is the maximum number of placeholders for saved values in one step's call, and savedLimit the
	// maximum length of each value in bytes: so a request built during a call has at most 4 MiB of them.
	placesLimit = 64
	savedLimit  = 64 << 10
)

// Step is one call of a chain, over one wire.
type Step struct {
	Call string            `json:"call"` // the name of the operation
	Save map[string]string `json:"save,omitempty"`
	// Calls has its requests: one for each row of the chain, or one in all. None: they are built from Text during
	// the call.
	Calls Calls `json:"calls"`
	// Text may contain placeholders for values that earlier steps saved, and for fields of a row. Target is the URL
	// of the wire, and Content the contents of the file that Text names.
	Text    *CallText `json:"text,omitempty"`
	Target  string    `json:"target,omitempty"`
	Content []byte    `json:"content,omitempty"`
}

// savedName is the syntax of names of saved values.
var savedName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,39}$`)

// checkSteps validates the structure of a chain; an operation without steps passes.
func (d *Description) checkSteps(field string, o OperationText) error {
	switch {
	case len(o.Steps) == 0:
		return nil
	case len(o.Calls) > 0:
		return bad(field, "it has calls and steps; give only steps, and put the calls into another operation")
	case len(o.Steps) > stepsLimit:
		return bad(field+".steps", "there are %d; a chain has at most %d", len(o.Steps), stepsLimit)
	case o.Expect != "" || o.Schema != "" || o.Status != "" || len(o.Ignore) > 0:
		return bad(field, "what a right reply is, is said of the operations that are the steps; leave expect, ignore, "+
			"schema and status out here")
	}
	for i, s := range o.Steps {
		at := fmt.Sprintf("%s.steps: step %d", field, i+1)
		of, known := d.Operations[s.Call]
		if !known {
			unknown := wirelab.UnknownName("operation", s.Call, slices.Sorted(maps.Keys(d.Operations)))
			return wirelab.Public(unknown).Behind(at + ": ")
		}
		if len(of.Steps) > 0 {
			return bad(at, "%s is a chain itself: a chain has calls only", s.Call)
		}
		if len(s.Save) > savesLimit {
			return bad(at, "it saves %d values; a step saves at most %d", len(s.Save), savesLimit)
		}
		if _, err := sourcesOf(s.Save); err != nil {
			return wirelab.Public(err).Behind(fmt.Sprintf("%s (%s): save: ", at, s.Call))
		}
	}
	for wire := range d.Wires {
		if d.carries(o.Steps, wire) {
			return nil
		}
	}
	return bad(field+".steps",
		"no wire has a call for each of them; give each of these operations one over the same wire")
}

// carries reports whether a wire has a call for each step.
func (d *Description) carries(steps []StepText, wire string) bool {
	return !slices.ContainsFunc(steps, func(s StepText) bool {
		_, has := d.Operations[s.Call].Calls[wire]
		return !has
	})
}

// inChains finds the operations that cannot be called alone: steps of a chain that have placeholders without rows
// for them.
func (w *preparing) inChains() error {
	for _, name := range slices.Sorted(maps.Keys(w.Operations)) {
		for _, s := range w.Operations[name].Steps {
			of := w.Operations[s.Call]
			if of.Rows != "" || w.chains[s.Call] != "" {
				continue
			}
			for wire, call := range of.Calls {
				shape, err := newShape("operations."+s.Call+".calls."+wire, call)
				if err != nil {
					return err
				}
				if len(shape.fields()) > 0 {
					w.chains[s.Call] = name
				}
			}
		}
	}
	return nil
}

// chain prepares a chain over each wire that has a call for all of its steps.
func (w *preparing) chain(
	ctx context.Context, field string, text OperationText, wires []Wire, table []rows.Row, o *Operation,
) error {
	if w.requests != nil {
		return bad(field+".rows", "%s has requests; rows of a chain are NDJSON or CSV, of values for its steps",
			text.Rows)
	}
	for _, wire := range wires {
		if !w.carries(text.Steps, wire.Name) {
			continue
		}
		var calls Calls
		late := map[string]bool{}  // fields of rows that are used during the call
		saved := map[string]bool{} // by earlier steps
		for i, s := range text.Steps {
			at := fmt.Sprintf("%s.steps: step %d (%s)", field, i+1, s.Call)
			step, uses, err := w.step(ctx, at, s, wire, table, saved)
			if err != nil {
				return err
			}
			for _, name := range uses {
				late[name] = step.Text != nil && !saved[name] || late[name]
			}
			for name := range s.Save {
				if slices.ContainsFunc(table, func(r rows.Row) bool { _, has := r.Fields[name]; return has }) {
					return bad(at, "it saves %s, and the rows have a field of that name: give it another", name)
				}
				saved[name] = true
			}
			o.Repeatable = o.Repeatable && step.repeatable(wire)
			calls.Steps = append(calls.Steps, step)
		}
		for _, row := range table {
			kept := map[string]any{}
			for name, is := range late {
				if is {
					kept[name] = row.Fields[name]
					w.bytes += len(name) + len(fmt.Sprint(kept[name]))
				}
			}
			calls.Rows = append(calls.Rows, kept)
		}
		if err := w.fits(field, calls); err != nil {
			return err
		}
		o.Calls[wire.Name] = calls
	}
	if text.Repeatable != nil {
		o.Repeatable = *text.Repeatable
	}
	return nil
}

// step prepares one step: its requests, unless they need values that earlier steps save. uses are the fields that
// it uses.
func (w *preparing) step(
	ctx context.Context, field string, text StepText, wire Wire, table []rows.Row, saved map[string]bool,
) (step Step, uses []string, err error) {
	step = Step{Call: text.Call, Save: text.Save}
	of := w.Operations[text.Call]
	call, making, err := w.ready(ctx, field, wire, of.Calls[wire.Name], &step.Calls)
	if err != nil {
		return step, nil, err
	}
	step.Target = making.target
	shape, err := newShape(field, call)
	if err != nil {
		return step, nil, err
	}
	uses = shape.fields()
	places := 0
	for _, name := range uses {
		if saved[name] {
			places++
		} else if err := given(field, name, table, saved); err != nil {
			return step, nil, err
		}
	}
	switch {
	case places > placesLimit:
		return step, nil, bad(field,
			"what earlier steps saved is in %d places of it; at most %d are filled in each call",
			places, placesLimit)
	case places > 0:
		if of.Expect == "" && len(of.Ignore) == 0 {
			of.Expect = Status
		}
		if of.Expect == Recorded {
			return step, nil, bad(field,
				"its request has what earlier steps saved, so that no recorded reply is of it: "+
					"let %s expect status, schema or learnt", text.Call)
		}
		step.Text, step.Content = &call, making.content
		w.bytes += len(making.content)
	case len(uses) > 0:
		err = making.requests(field, call, table, &step.Calls)
	default:
		err = making.requests(field, call, nil, &step.Calls)
	}
	if err == nil {
		step.Calls.Rule, err = w.rule(ctx, field, of, step.Calls)
	}
	return step, uses, err
}

// given returns the error for a field that a step uses and that is neither in every row nor saved; else nil.
func given(field, name string, table []rows.Row, saved map[string]bool) error {
	for _, row := range table {
		if _, has := row.Fields[name]; !has {
			return bad(field, "%s has no field %q, and no earlier step saves it", row.At, name)
		}
	}
	if table != nil {
		return nil
	}
	what := "no earlier step saves anything"
	if len(saved) > 0 {
		what = "earlier steps save " + strings.Join(slices.Sorted(maps.Keys(saved)), ", ")
	}
	return bad(field, "it asks for {{.%s}}, and %s; let an earlier step save it, or give the chain rows", name, what)
}

// repeatable reports whether the step may be sent again.
func (s *Step) repeatable(wire Wire) bool {
	if wire.Kind == GRPC {
		return false
	}
	if s.Text != nil {
		return repeatable(methodOf(wire, *s.Text, s.Text.Body != nil || s.Text.File != ""))
	}
	return !slices.ContainsFunc(s.Calls.Requests, func(r request.Request) bool { return !repeatable(r.Method) })
}

// checkChain refuses a chain that Prepare cannot have made.
func checkChain(calls Calls) error {
	wrong := func(i int, what string) error {
		return wirelab.Errorf(wirelab.InvalidArgument, "step %d: %s", i+1, what)
	}
	if len(calls.Steps) > stepsLimit {
		return wrong(len(calls.Steps)-1, "too many")
	}
	n := chainLength(calls)
	for i, s := range calls.Steps {
		switch {
		case len(s.Calls.Steps) > 0:
			return wrong(i, "a chain itself")
		case s.Text == nil && len(s.Calls.Requests) != 1 && len(s.Calls.Requests) != n:
			return wrong(i, fmt.Sprintf("%d requests", len(s.Calls.Requests)))
		}
		if _, err := sourcesOf(s.Save); err != nil {
			return wirelab.Public(err).Behind(fmt.Sprintf("step %d: save: ", i+1))
		}
	}
	return nil
}

// chainLength returns the number of different runs of a chain: one for each row, or one in all.
func chainLength(calls Calls) int { return max(1, len(calls.Rows)) }

// Texts renders the requests in the form that is sent; those of a chain's steps with placeholders for saved values.
func (c Calls) Texts(w Wire) (all []string) {
	for _, r := range c.Requests {
		all = append(all, Text(w, r))
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		if s.Text != nil {
			all = append(all, stepText(i, s.Call)+"\n"+s.shown(w))
			continue
		}
		for _, r := range s.Calls.Requests {
			all = append(all, stepText(i, s.Call)+"\n"+Text(w, r))
		}
	}
	return all
}

// shown renders a request with its placeholders.
func (s *Step) shown(w Wire) string {
	call := s.Text
	r := request.Request{URL: call.Path, Fields: fieldsOf(call.Headers)}
	r.Method = methodOf(w, *call, call.Body != nil || call.File != "")
	for _, name := range slices.Sorted(maps.Keys(call.Query)) {
		between := "?"
		if strings.Contains(r.URL, "?") {
			between = "&"
		}
		r.URL += between + name + "=" + call.Query[name]
	}
	content := call.Body
	switch w.Kind {
	case GRPC:
		r.Method, r.URL, content = "POST", "/"+strings.TrimPrefix(call.Call, "/"), call.Message
	case GraphQL:
		content = map[string]any{"query": call.Document, "variables": call.Variables}
	}
	r.Body, _ = encode("", content) // cannot fail: content was decoded from YAML
	if call.File != "" {
		r.Body = s.Content
	}
	return Text(w, r)
}

// stepText returns the name of a step for people.
func stepText(i int, call string) string { return fmt.Sprintf("step %d (%s)", i+1, call) }
