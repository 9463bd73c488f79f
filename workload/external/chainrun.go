package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http/cookiejar"
	"slices"
	"strings"
	"time"

	"wirelab"
	"wirelab/workload/external/grpcschema"
	"wirelab/workload/external/judge"
	"wirelab/workload/external/request"
	"wirelab/workload/external/rows"
)

// chain is an operation of several calls, ready to run over a wire. All callers share it.
type chain struct {
	wire  Wire
	steps []*chained
	rows  []rows.Row // at least one; empty if no step needs them during the call
}

// chained is a step.
type chained struct {
	*loaded        // its requests: one for each row, or one in all; none if they are built during the call
	name, text     string
	call           *Calls
	saves          []source
	fields, parsed bool // whether header fields and the body are read
	target         string
	// shape and maker build the request during the call; nil if it is known in advance.
	shape *shape
	maker maker
}

func newChain(w Wire, calls *Calls, secrets []string) (*chain, error) {
	c := &chain{wire: w}
	for i := range chainLength(*calls) {
		row := rows.Row{At: fmt.Sprintf("row %d", i+1)}
		if i < len(calls.Rows) {
			row.Fields = calls.Rows[i]
		}
		c.rows = append(c.rows, row)
	}
	for i := range calls.Steps {
		s, err := newChained(w, i, &calls.Steps[i], secrets)
		if err != nil {
			return nil, wirelab.Public(err).Behind(stepText(i, calls.Steps[i].Call) + ": ")
		}
		c.steps = append(c.steps, s)
	}
	return c, nil
}

func newChained(w Wire, i int, step *Step, secrets []string) (*chained, error) {
	s := &chained{name: step.Call, text: stepText(i, step.Call), call: &step.Calls, target: step.Target}
	var err error
	if s.loaded, err = newLoaded(w, &step.Calls, secrets); err != nil {
		return nil, err
	}
	if s.saves, err = sourcesOf(step.Save); err != nil {
		return nil, err
	}
	for _, from := range s.saves {
		s.fields, s.parsed = s.fields || from.header != "", s.parsed || from.header == ""
	}
	for _, r := range s.requests {
		r.fields = s.fields
	}
	s.maker = maker{wire: w, target: step.Target, content: step.Content}
	if w.Kind == GRPC {
		if s.maker.method, err = grpcschema.ParseMethod(step.Calls.Method); err != nil {
			return nil, err
		}
	}
	if step.Text != nil {
		s.shape, err = newShape(s.text, *step.Text)
	}
	return s, err
}

// names returns the names of the steps.
func (c *chain) names() []string {
	all := make([]string, len(c.steps))
	for i, s := range c.steps {
		all[i] = s.name
	}
	return all
}

// caller returns a function that runs the chain, with the next row each time. took is nil, or has an element for
// each step.
func (c *chain) caller(over *client, seed uint64, took []time.Duration) func(context.Context) error {
	order, next := series(len(c.rows), seed), 0
	s := c.session(over.port)
	return func(ctx context.Context) error {
		i := order[next%len(order)]
		next++
		return s.run(ctx, i, took, nil)
	}
}

// session is the state of one run of a chain: its identity to the service, and the saved values.
type session struct {
	*chain
	over    port
	scratch *scratch
	fields  map[string]any // of the row, and those saved
	saved   map[string]any
}

func (c *chain) session(over port) *session {
	return &session{
		chain: c, over: over, scratch: newScratch(c.wire), fields: map[string]any{},
		saved: map[string]any{},
	}
}

// run goes through the chain once, as a user that the service does not know yet. If each is not nil, it is called
// with each reply.
func (s *session) run(
	ctx context.Context, i int, took []time.Duration, each func(*chained, *prepared, request.Reply),
) error {
	clear(s.saved)
	clear(s.fields)
	maps.Copy(s.fields, s.rows[i].Fields)
	clear(took)
	if s.scratch.cookies != nil {
		s.scratch.cookies, _ = cookiejar.New(nil) // without options it cannot fail
	}
	for n, step := range s.steps {
		made, at, err := s.request(step, i)
		if err != nil {
			return s.failed(step, made, err)
		}
		began := time.Now()
		reply, err := s.over.call(ctx, made, s.scratch)
		if took != nil {
			took[n] = time.Since(began)
		}
		if err == nil {
			err = s.right(step, at, made, reply)
		}
		if err == nil {
			err = s.save(step, reply)
		}
		if err != nil {
			return s.failed(step, made, err)
		}
		if each != nil {
			each(step, made, reply)
		}
	}
	return nil
}

// request returns the request of a step, and the index by which its reply is judged.
func (s *session) request(step *chained, i int) (*prepared, int, error) {
	if step.shape == nil {
		at := i
		if len(step.requests) == 1 {
			at = 0
		}
		return step.requests[at], at, nil
	}
	unfit := func(what string) (*prepared, int, error) {
		return nil, i, wirelab.Caused(unsaved, wirelab.InvalidArgument,
			"what earlier steps saved makes no request of it: %s", what)
	}
	// The errors of fill could show a part of a secret, so they are not shown.
	filled, err := step.shape.fill(rows.Row{At: s.rows[i].At, Fields: s.fields})
	if err != nil {
		return unfit("a value has not the form that its place needs")
	}
	if s.wire.Kind != GRPC && filled.Path != "" && filled.Path[0] != '/' {
		return unfit("its path does not begin with a slash")
	}
	for _, value := range filled.Headers {
		if !request.FieldValue(value) {
			return unfit("a value in a header has a line break, or what else no header can have")
		}
	}
	r, err := step.maker.render(step.text, filled)
	if err != nil {
		return unfit("its path is none of this service, or its message does not fit the schema")
	}
	made, err := s.wire.prepare(r, step.call)
	if err != nil {
		return unfit("its path or a field cannot be sent")
	}
	made.fields = step.fields
	return made, i, nil
}

// right judges the reply to a step.
func (s *session) right(step *chained, at int, made *prepared, reply request.Reply) error {
	err := step.right(at, reply)
	var wrong *wirelab.Mismatch
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return s.mismatch(step, at, made, reply, wrong)
	case step.graph: // its error shows the beginning of a text
		if secrets, few := s.secrets(step, made, &reply); few {
			reply.Body = hideIn(reply.Body, secrets)
			if again := step.right(at, reply); again != nil && !errors.As(again, &wrong) {
				return again
			}
		}
	}
	return err
}

// save saves the values of a reply that later steps use.
func (s *session) save(step *chained, reply request.Reply) error {
	if len(step.saves) == 0 {
		return nil
	}
	body, err := step.document(reply.Body)
	if err != nil {
		return wirelab.Caused(unsaved, wirelab.Internal, "the reply cannot be read, so that nothing of it can be saved")
	}
	for _, from := range step.saves {
		value, err := from.find(reply, body, s.wire, step.target)
		if err != nil {
			return err
		}
		s.saved[from.name], s.fields[from.name] = value, value
	}
	return nil
}

// document returns a body as JSON, if the step uses it.
func (c *chained) document(body []byte) ([]byte, error) {
	if !c.parsed {
		return nil, nil
	}
	return c.readable(body)
}

// readable returns a body as JSON, or unchanged if any body is allowed.
func (c *chained) readable(body []byte) ([]byte, error) {
	if c.decode == nil {
		return body, nil
	}
	return c.decode(body)
}

// Limits of the search for secrets after a failed call. Text beyond them is not shown.
const (
	secretsMost = 256
	maskedMost  = 1 << 20
)

// secrets returns the texts that must not be shown: saved values, including those of this step, and cookies. few
// reports whether there are few enough to search for.
func (s *session) secrets(step *chained, made *prepared, reply *request.Reply) (all []string, few bool) {
	for _, value := range s.saved {
		all = secretTexts(all, value)
	}
	if reply != nil {
		all = append(all, step.within(*reply, s.wire)...)
	}
	if s.scratch.cookies != nil && made != nil && made.http != nil {
		for _, cookie := range s.scratch.cookies.Cookies(made.http.URL) {
			all = append(all, cookie.Value)
		}
	}
	return all, len(all) <= secretsMost
}

// within returns the values that the step would save from a reply, as far as they are there.
func (c *chained) within(reply request.Reply, w Wire) (all []string) {
	body, err := c.document(reply.Body)
	if err != nil {
		return nil
	}
	for _, from := range c.saves {
		if value, err := from.find(reply, body, w, c.target); err == nil {
			all = secretTexts(all, value)
		}
	}
	return all
}

// failed returns the error of a step, without saved values.
func (s *session) failed(step *chained, made *prepared, err error) error {
	var wrong *wirelab.Mismatch
	if errors.As(err, &wrong) {
		// without secrets: see mismatch
		return &wirelab.Mismatch{Got: "to " + step.text + ": " + wrong.Got, Want: wrong.Want}
	}
	coded := *wirelab.Public(err)
	if secrets, few := s.secrets(step, made, nil); few {
		coded.Message = hideCut(coded.Message, secrets)
	} else {
		coded.Message = "the call failed (what it was told is not shown: it may have what was saved)"
	}
	return coded.Behind(step.text + ": ")
}

// mismatch reports how a reply is wrong, without values saved from it or from an earlier one. The existing error
// text may show part of such a value, so the comparison is repeated without them.
func (s *session) mismatch(
	step *chained, at int, made *prepared, reply request.Reply, wrong *wirelab.Mismatch,
) *wirelab.Mismatch {
	secrets, few := s.secrets(step, made, &reply)
	first, known := step.judge.Kept(at)
	if known {
		secrets = append(secrets, step.within(first, s.wire)...)
	}
	if len(secrets) == 0 {
		return wrong
	}
	masked := func(body []byte) []byte {
		text, err := step.readable(body)
		if err != nil || len(text) > maskedMost || !few || len(secrets) > 2*secretsMost {
			return nil
		}
		return hideIn(text, secrets)
	}
	rule := judge.Rule{Mode: judge.Status, Status: step.call.Rule.Status}
	if compared := step.call.Rule.Mode; compared == judge.Learnt && known {
		rule.Mode, rule.Ignore = judge.File, step.call.Rule.Ignore
		rule.Replies = []request.Reply{{Status: first.Status, Body: masked(first.Body)}}
	}
	again, err := judge.New(rule)
	if err == nil {
		var shown *wirelab.Mismatch
		if errors.As(again.Check(0, request.Reply{Status: reply.Status, Body: masked(reply.Body)}), &shown) {
			if rule.Mode == judge.File && !strings.HasPrefix(shown.Want, "status ") {
				// The value in the first reply was saved by a session that is gone.
				shown.Want = "what the first reply has there (not shown)"
				if strings.HasPrefix(shown.Got, "none at ") {
					shown.Got = "without something that the first has"
				}
			}
			return shown
		}
	}
	if rule.Mode == judge.Status { // the status is right, so the form is wrong
		where, _, _ := strings.Cut(wrong.Got, " is wrong")
		return &wirelab.Mismatch{
			Got:  hideCut(where, secrets) + " is not that of its schema",
			Want: "one of the JSON Schema",
		}
	}
	return &wirelab.Mismatch{
		Got: "with other saved values (not shown)",
		Want: "those of the first reply; if they differ from reply to reply, write ignore: [" +
			strings.Join(step.pointers(), ", ") + "] in operation " + step.name,
	}
}

// pointers returns where in the body the step finds the values it saves.
func (c *chained) pointers() (all []string) {
	for _, from := range c.saves {
		if from.header == "" {
			all = append(all, from.text)
		}
	}
	slices.Sort(all)
	return all
}

// tried runs the chain for people: it returns the request and the reply of the last step, and the bodies of all
// replies as an array, without saved values.
func (c *chain) tried(ctx context.Context, over port) (t Trial, err error) {
	s := c.session(over)
	t.Text = []byte{'['}
	err = s.run(ctx, 0, nil, func(step *chained, made *prepared, reply request.Reply) {
		secrets, few := s.secrets(step, made, &reply)
		text, err := step.readable(reply.Body)
		if err != nil || !few || len(text) > maskedMost {
			text = []byte("(not shown)")
		}
		if text = hideIn(text, secrets); !json.Valid(text) {
			text, _ = json.Marshal(string(text)) // a string can always be encoded
		}
		if len(t.Text) > 1 {
			t.Text = append(t.Text, ',')
		}
		t.Text = append(t.Text, text...)
		t.Request = step.hiding(made.Request, secrets, few)
		t.Reply = request.Reply{Status: reply.Status, Proto: reply.Proto, Body: text}
	})
	t.Text = append(t.Text, ']')
	return t, err
}

// says describes which parts of each reply are compared, and which are not.
func (c *chain) says() string {
	all := make([]string, len(c.steps))
	for i, s := range c.steps {
		all[i] = s.text + ": " + s.judge.Says()
		if s.shape != nil && s.call.Rule.Mode == judge.Status {
			all[i] += ", since its request has what earlier steps saved"
		}
	}
	return strings.Join(all, "; ")
}

// hiding returns a request without saved values.
func (c *chained) hiding(r request.Request, secrets []string, few bool) request.Request {
	if c.shape == nil {
		return r // it was known in advance
	}
	if !few {
		return request.Request{Method: r.Method}
	}
	r.URL, r.Body = hide(r.URL, secrets), hideIn(r.Body, secrets)
	r.Fields = slices.Clone(r.Fields)
	for i := range r.Fields {
		r.Fields[i].Value = hide(r.Fields[i].Value, secrets)
	}
	if r.Messages != nil {
		r.Messages = [][]byte{} // in an encoded message a text may have any form
	}
	return r
}
