// Package admit is the one way in for results that come from outside: files and uploads. What passes is whole, was not
// edited as far as its digest tells, and contradicts neither itself nor any bound. It knows results and their checks,
// not who brings them.
package admit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"wirelab"
	"wirelab/input"
	"wirelab/report/verify"
	"wirelab/result"
	"wirelab/store"
)

// Admitted is a result that was let in.
type Admitted struct {
	Result *result.Result
	// Text is the result's own text, as it came but for white space, without what follows from it.
	Text []byte
	// Digest is that of the text, as it was computed.
	Digest string
	// Sealed is whether a digest came with it, so that an edit would have been found.
	Sealed bool
}

// Result reads a result, or a document that holds one, and lets it in if nothing speaks against it. The errors are
// InvalidArgument, and Unimplemented for one of a later schema.
func Result(text []byte) (*Admitted, error) {
	text, err := input.UTF8(text)
	if err != nil {
		return nil, err
	}
	raw, _, err := verify.Split(text)
	if err != nil {
		return nil, err
	}
	r, err := store.Decode(raw)
	if err != nil {
		return nil, err
	}
	checked, err := verify.Raw(text, r)
	if err != nil {
		return nil, err
	}
	if first, more := wrong(checked); first != "" {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"the result contradicts itself or was edited: %s%s; wirelab verify tells all", first, more)
	}
	// Without the white space that a file has for those who look at it: it is no part of what the digest is of.
	var compact bytes.Buffer
	compact.Grow(len(raw))
	if err := json.Compact(&compact, raw); err != nil {
		return nil, err
	}
	return &Admitted{Result: r, Text: compact.Bytes(), Digest: checked.Digest, Sealed: checked.Sealed}, nil
}

// Put stores the result with its text as it is, and says that it came by a way such as "imported from x.json".
func (a *Admitted) Put(ctx context.Context, s store.Store, how string, now time.Time) error {
	p, err := store.PackDecoded(a.Result, a.Text, a.Digest)
	if err != nil {
		return err
	}
	if err := s.PutPacked(ctx, p); err != nil {
		return err
	}
	return s.SetOrigin(ctx, a.Result.ID, store.Origin(how, now, a.Sealed))
}

// wrong says the first that does not hold, and how much more there is.
func wrong(v *verify.Verification) (first, more string) {
	if v.Holds() {
		return "", ""
	}
	d := v.Differences[0]
	first = fmt.Sprintf("%.80s: %.200s", d.Path, strings.ToValidUTF8(d.Says, ""))
	if n := v.Total() - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return first, more
}
