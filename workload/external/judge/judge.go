package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"wirelab"
	"wirelab/workload/external/request"
)

// The bounds of a judge.
const (
	// MaxRequests is how many distinct requests there may be.
	MaxRequests = 65_536
	// MaxKept is the size in bytes of all replies that are kept to compare others with.
	MaxKept = 64 << 20

	chunk     = 256 // replies that room is made for at once
	perReply  = 128 // overhead of a stored reply, in bytes
	keptLarge = 1 << 20
)

// Mode is how a right reply is known.
type Mode string

// The modes.
const (
	Learnt Mode = "learnt" // from the first good reply to each request
	Status Mode = "status" // by its status alone
	Schema Mode = "schema" // by a JSON Schema
	File   Mode = "file"   // from replies that were recorded
)

// Rule says what a right reply is. It is plain data, so that it can be sent to drivers.
type Rule struct {
	Mode Mode `json:"mode"`
	// Status is what a good reply has: a number such as "200", a class such as "2xx", a code of gRPC such as
	// "NOT_FOUND", or several with commas between them. "": 2xx or OK; a learnt or recorded one exactly.
	Status string `json:"status,omitempty"`
	// Ignore are JSON pointers to parts that are not compared, with * for any name or index: /items/*/id.
	Ignore []string `json:"ignore,omitempty"`
	// Schema is a JSON Schema. What it refers to must be in it.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Replies are the recorded replies, by the index of their request. One of status 0 says nothing of the status.
	Replies []request.Reply `json:"replies,omitempty"`
}

// Judge decides replies. It is safe for concurrent use.
type Judge struct {
	rule   Rule
	ignore *patterns
	status []span
	schema *jsonschema.Schema // nil unless it is the mode
	decode func([]byte) ([]byte, error)
	hide   func(string) string // takes secrets out of what errors say

	kept    [MaxRequests / chunk]atomic.Pointer[[chunk]atomic.Pointer[reply]]
	used    atomic.Int64 // bytes of the stored replies
	writers sync.Pool    // of *writer
}

// reply is one to compare others with. It does not change, but for form.
type reply struct {
	status int
	body   []byte
	form   atomic.Pointer[[]byte] // the one form of body, once it was needed
}

// Option is a setting of a judge that no rule can hold.
type Option func(*Judge)

// Decoding has bodies that are not JSON be read as JSON where their bytes are not equal.
func Decoding(decode func(body []byte) ([]byte, error)) Option {
	return func(j *Judge) { j.decode = decode }
}

// Hiding makes errors show what hide returns for a reply. It is applied before the reply is shortened, since a
// secret cut in two would not be found.
func Hiding(hide func(string) string) Option { return func(j *Judge) { j.hide = hide } }

// told is what errors say of a body.
func (j *Judge) told(body []byte) []byte {
	if j.hide == nil {
		return body
	}
	return []byte(j.hide(string(body)))
}

// New returns the judge of a rule.
func New(rule Rule, options ...Option) (*Judge, error) {
	j := &Judge{rule: rule, decode: func(body []byte) ([]byte, error) { return body, nil }}
	for _, o := range options {
		o(j)
	}
	var err error
	if j.status, err = parseStatus(rule.Status); err != nil {
		return nil, err
	}
	if j.ignore, err = parsePointers(rule.Ignore); err != nil {
		return nil, err
	}
	j.writers.New = func() any { return &writer{ignore: j.ignore} }
	switch rule.Mode {
	case Learnt:
	case Status, Schema:
		if len(rule.Ignore) > 0 {
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"mode %q compares no content, so there is nothing to ignore: leave the JSON pointers out", rule.Mode)
		}
	case File:
		err = j.record(rule.Replies)
	default:
		return nil, wirelab.UnknownName("mode of comparing replies", string(rule.Mode),
			[]string{string(Learnt), string(Status), string(Schema), string(File)})
	}
	if rule.Mode == Schema {
		j.schema, err = compile(rule.Schema)
	}
	j.rule.Replies, j.rule.Schema = nil, nil // they are taken in
	return j, err
}

// record keeps recorded replies.
func (j *Judge) record(replies []request.Reply) error {
	if len(replies) == 0 {
		return wirelab.Errorf(wirelab.InvalidArgument, "mode %q, and no reply is recorded: record some, or take %q",
			File,
			Learnt)
	}
	if len(replies) > MaxRequests {
		return wirelab.Errorf(wirelab.InvalidArgument, "%d recorded replies; at most %d", len(replies), MaxRequests)
	}
	for i, r := range replies {
		if _, err := j.keep(i, r.Status, r.Body); err != nil {
			return err
		}
	}
	return nil
}

// keep keeps a reply to a request, unless there is one; it returns the one that is there.
func (j *Judge) keep(index, status int, body []byte) (*reply, error) {
	slot := &j.kept[index/chunk]
	if slot.Load() == nil {
		slot.CompareAndSwap(nil, new([chunk]atomic.Pointer[reply]))
	}
	size := int64(len(body) + perReply)
	if j.used.Add(size) > MaxKept {
		j.used.Add(-size)
		return nil, wirelab.Errorf(wirelab.ResourceExhausted,
			"the replies to compare with have more than %d MiB: send fewer distinct requests, ask for smaller "+
				"replies, "+
				"or compare by status or schema", MaxKept>>20)
	}
	made := &reply{status: status, body: bytes.Clone(body)}
	if !slot.Load()[index%chunk].CompareAndSwap(nil, made) {
		j.used.Add(-size)
		made = j.known(index)
	}
	return made, nil
}

// known is the reply that is kept of a request; nil: none is.
func (j *Judge) known(index int) *reply {
	slot := j.kept[index/chunk].Load()
	if slot == nil {
		return nil
	}
	return slot[index%chunk].Load()
}

// Check decides the reply to the request of that index, of all distinct ones: nil if it is right, a
// [*wirelab.Mismatch], or another error where it cannot be decided. The reply stays the caller's.
func (j *Judge) Check(index int, got request.Reply) error {
	if index < 0 || index >= MaxRequests {
		return wirelab.Errorf(wirelab.InvalidArgument, "request %d; at most %d distinct ones are judged", index,
			MaxRequests)
	}
	if j.rule.Mode == Status {
		return j.checkStatus(&got)
	}
	want := j.known(index)
	if want != nil && want.status == got.Status && bytes.Equal(want.body, got.Body) {
		return nil
	}
	switch {
	case j.rule.Mode == Schema:
		return j.checkSchema(index, want, &got)
	case want != nil:
		return j.compare(want, &got)
	case j.rule.Mode == File:
		return wirelab.Errorf(wirelab.InvalidArgument, "no reply to request %d is recorded", index)
	}
	if err := j.checkStatus(&got); err != nil {
		return err
	}
	want, err := j.keep(index, got.Status, got.Body)
	if err != nil || want.status == got.Status && bytes.Equal(want.body, got.Body) {
		return err
	}
	return j.compare(want, &got) // another one was first
}

// checkStatus decides by the status alone.
func (j *Judge) checkStatus(got *request.Reply) error {
	for _, s := range j.status {
		if s.from <= got.Status && got.Status <= s.to {
			return nil
		}
	}
	return &wirelab.Mismatch{Got: j.ofStatus(got), Want: "status " + spansText(j.status)}
}

// ofStatus shows a reply by its status, and how its body begins: that is where a service says what is wrong.
func (j *Judge) ofStatus(got *request.Reply) string {
	text := "of status " + statusText(got.Status)
	if len(got.Body) > 0 {
		text += " with " + shown(j.told(got.Body))
	}
	return text
}

// compare decides a reply that has not the very bytes of the wanted one.
func (j *Judge) compare(want *reply, got *request.Reply) error {
	switch {
	case j.rule.Status != "" || j.rule.Mode == File && want.status == 0:
		if err := j.checkStatus(got); err != nil {
			return err
		}
	case got.Status != want.status:
		return &wirelab.Mismatch{Got: j.ofStatus(got), Want: "status " + statusText(want.status)}
	}
	if bytes.Equal(want.body, got.Body) {
		return nil
	}
	w, ok := j.writers.Get().(*writer)
	if !ok {
		w = &writer{ignore: j.ignore}
	}
	defer j.release(w)
	wanted, formed := j.formOf(want, w)
	var form []byte
	if formed {
		if form, formed = j.form(got.Body, w); formed && bytes.Equal(form, wanted) {
			return nil
		}
	}
	if !formed {
		form, wanted = got.Body, want.body
	}
	if form, wanted = j.told(form), j.told(wanted); bytes.Equal(form, wanted) {
		return &wirelab.Mismatch{Got: "that differs in a secret", Want: "the same"}
	}
	g, s := differ(form, wanted, formed)
	return &wirelab.Mismatch{Got: g, Want: s}
}

// release gives a writer back, unless it has grown large.
func (j *Judge) release(w *writer) {
	w.text = nil
	if cap(w.out)+cap(w.scratch) <= keptLarge {
		j.writers.Put(w)
	}
}

// form is the one form of a body; false: it has none.
func (j *Judge) form(body []byte, w *writer) ([]byte, bool) {
	text, err := j.decode(body)
	if err != nil {
		return nil, false
	}
	return w.canonical(text)
}

// formOf is the one form of a reply, which is kept as long as there is room.
func (j *Judge) formOf(r *reply, w *writer) ([]byte, bool) {
	if known := r.form.Load(); known != nil {
		return *known, true
	}
	form, ok := j.form(r.body, w)
	if !ok {
		return nil, false
	}
	form = bytes.Clone(form)
	size := int64(len(form))
	if j.used.Add(size) > MaxKept || !r.form.CompareAndSwap(nil, &form) {
		j.used.Add(-size)
	}
	return form, true
}

// Says describes for people which parts are compared, and which are not.
func (j *Judge) Says() string {
	status := "status"
	if j.rule.Status != "" {
		status = "status (" + spansText(j.status) + ")"
	}
	without := ""
	if n := len(j.rule.Ignore); n > 0 {
		const few = 3
		without = " without "
		for i, p := range j.rule.Ignore[:min(n, few)] {
			if i > 0 {
				without += ", "
			}
			without += fmt.Sprintf("%.60s", p)
		}
		if n > few {
			without += fmt.Sprintf(" and %d more", n-few)
		}
	}
	switch j.rule.Mode {
	case Status:
		return "replies not compared beyond their status (" + spansText(j.status) + ")"
	case Schema:
		return status + " and form of replies checked by a JSON Schema; their values not compared beyond it"
	case File:
		return status + " and body of replies compared with recorded ones" + without + "; header fields not compared"
	}
	return status + " and body of replies compared with the first to the same request" + without +
		"; header fields not compared"
}
