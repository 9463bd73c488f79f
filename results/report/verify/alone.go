package verify

import (
	"bytes"
	"encoding/json"

	"wirelab"
	"wirelab/lab/result"
)

// Alone is the raw part of a file with what tells whether it was edited. Nothing
// else of the file is held: what was printed of a result takes more memory than the result.
type Alone struct {
	// Raw is without the white space that a file has for those who look at it:
	// it is no part of what the digest is of.
	Raw    []byte
	digest *string
	must   bool            // whether there has to be a digest
	schema json.RawMessage // of a document, which no digest is of
}

// Open reads a file, which is a document or a result alone. An error is InvalidArgument.
func Open(data []byte) (*Alone, error) {
	var p struct {
		Schema  json.RawMessage
		Digest  *string
		Result  compact
		Rescued bool
		Printed present
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "not a result: %s", result.NotJSON(data, err))
	}
	if p.Result != nil {
		return &Alone{p.Result, p.Digest, bool(p.Printed) || p.Rescued, bytes.Clone(p.Schema)}, nil
	}
	if err := p.Result.UnmarshalJSON(data); err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "not a result: %v", err)
	}
	return &Alone{Raw: p.Result}, nil
}

// Check checks the raw part alone, and not what was made of it, whose words may be those of another build.
// r is what was decoded of it.
func (a *Alone) Check(r *result.Result) (*Verification, error) {
	v := &Verification{ID: r.ID, Checked: []string{}, Differences: []Difference{}}
	if a.schema != nil {
		if err := v.compare("schema", a.schema, result.Schema); err != nil {
			return nil, err
		}
	}
	if err := v.digest(a.Raw, a.digest, a.must); err != nil {
		return nil, err
	}
	v.Consistent(r)
	return v, nil
}

// compact is JSON without white space, copied only once out of what it is part of.
type compact []byte

// UnmarshalJSON implements [json.Unmarshaler].
func (c *compact) UnmarshalJSON(text []byte) error {
	var out bytes.Buffer
	out.Grow(len(text))
	err := json.Compact(&out, text)
	*c = bytes.Clone(out.Bytes()) // without the room that the white space would have had
	return err
}

// present is whether a member is there.
type present bool

// UnmarshalJSON implements [json.Unmarshaler].
func (p *present) UnmarshalJSON([]byte) error {
	*p = true
	return nil
}
