package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"wirelab"
	"wirelab/workload/external/request"
)

// maxSchema is the size in bytes of a JSON Schema.
const maxSchema = 1 << 20

// nothing loads no schema: a rule travels between machines, and must mean the same on each.
type nothing struct{}

// Load implements [jsonschema.URLLoader].
func (nothing) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not in the schema; put what it refers to into its $defs", url)
}

// compile reads a JSON Schema.
func compile(text json.RawMessage) (*jsonschema.Schema, error) {
	if len(text) == 0 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "mode %q, and no JSON Schema is given", Schema)
	}
	if len(text) > maxSchema {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "JSON Schema of more than %d bytes", maxSchema)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "JSON Schema is no JSON: %v", err)
	}
	const name = "mem:///reply"
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(nothing{})
	if err := compiler.AddResource(name, document); err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "JSON Schema: %s", line(err))
	}
	compiled, err := compiler.Compile(name)
	if err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "JSON Schema: %s", line(err))
	}
	return compiled, nil
}

// line is an error's text as one line, shortened.
func line(err error) string { return shortened(err.Error()) }

// shortened is a text as one line.
func shortened(text string) string {
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "mem:///reply", "")
	if len(text) > 4*shownMost {
		text = strings.ToValidUTF8(text[:4*shownMost], "") + "…"
	}
	return text
}

// checkSchema decides a reply by the schema; a right one is kept, so that its equals need not be read.
func (j *Judge) checkSchema(index int, known *reply, got *request.Reply) error {
	if err := j.checkStatus(got); err != nil {
		return err
	}
	text, err := j.decode(got.Body)
	var value any
	if err == nil {
		value, err = jsonschema.UnmarshalJSON(bytes.NewReader(text))
	}
	if err != nil {
		return &wirelab.Mismatch{Got: "that is no JSON: " + shown(j.told(got.Body)), Want: "one of the JSON Schema"}
	}
	if err := j.schema.Validate(value); err != nil {
		return j.wrong(err)
	}
	if known == nil && j.used.Load() < MaxKept/2 {
		_, _ = j.keep(index, got.Status, got.Body) // without room the next is read again
	}
	return nil
}

// wrong returns the error for a reply that violates the schema: the deepest violation, which is the most precise.
func (j *Judge) wrong(err error) error {
	var breach *jsonschema.ValidationError
	if !errors.As(err, &breach) {
		return &wirelab.Mismatch{Got: j.line(err), Want: "one of the JSON Schema"}
	}
	for len(breach.Causes) > 0 {
		breach = breach.Causes[0]
	}
	at := ""
	for _, name := range breach.InstanceLocation {
		at += "/" + token([]byte(name))
	}
	if at == "" {
		at = "the whole"
	}
	what := *breach
	what.Causes = nil
	_, text, ok := strings.Cut(j.line(&what), "': ")
	if !ok {
		text = j.line(&what)
	}
	return &wirelab.Mismatch{Got: fmt.Sprintf("whose %.180s is wrong: %s", at, text), Want: "one of the JSON Schema"}
}

// line is an error's text as one line, shortened, without secrets.
func (j *Judge) line(err error) string { return shortened(string(j.told([]byte(err.Error())))) }
