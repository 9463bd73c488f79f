package verify

import (
	"bytes"
	"encoding/json"

	"wirelab"
	"wirelab/lab/result"
)

// Alone is the raw part of a file with its digest. It keeps nothing else of the
// file: the printed report takes more memory than the result.
type Alone struct {
	// Raw is without white space, which is not part of the digest.
	Raw    []byte
	digest *string
	must   bool            // whether there must be a digest
	schema json.RawMessage // of the document, which the digest does not cover
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

// Check checks only the raw part, and not what was derived from it, whose words may come from another build. r is the
// decoded raw part.
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

// compact is JSON without white space. It is copied only once from the text that contains it.
type compact []byte

// UnmarshalJSON implements [json.Unmarshaler].
func (c *compact) UnmarshalJSON(text []byte) error {
	var out bytes.Buffer
	out.Grow(len(text))
	err := json.Compact(&out, text)
	*c = bytes.Clone(out.Bytes()) // a copy without the spare capacity left by the white space
	return err
}

// present reports whether a member exists.
type present bool

// UnmarshalJSON implements [json.Unmarshaler].
func (p *present) UnmarshalJSON([]byte) error {
	*p = true
	return nil
}
