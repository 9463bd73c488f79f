// Package admit is the only entry for results from outside: files and uploads. A result that passes is complete, was
// not edited as far as its digest shows, and contradicts neither itself nor any bound. The package knows results and
// their checks. It must not know who brings them.
package admit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"wirelab"
	"wirelab/internal/input"
	"wirelab/lab/result"
	"wirelab/results/report/verify"
	"wirelab/results/store"
)

// Admitted is a result that passed the checks.
type Admitted struct {
	Result *result.Result
	// Text is the result's own text without derived parts. Only white space may differ from the original.
	Text []byte
	// Digest is the digest computed from the text.
	Digest string
	// Sealed reports whether a digest came with the result, so that an edit would have been found.
	Sealed bool
}

// Result reads a result, or a document that contains one, and checks it. The errors are InvalidArgument, and
// Unimplemented for a result of a later schema.
func Result(text []byte) (*Admitted, error) {
	text, err := input.UTF8(text)
	if err != nil {
		return nil, err
	}
	file, err := verify.Open(text)
	if err != nil {
		return nil, err
	}
	r, err := store.Decode(file.Raw)
	if err != nil {
		return nil, err
	}
	checked, err := file.Check(r)
	if err != nil {
		return nil, err
	}
	if first, more := wrong(checked); first != "" {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"the result contradicts itself or was edited: %s%s; wirelab verify tells all", first, more)
	}
	return &Admitted{Result: r, Text: file.Raw, Digest: checked.Digest, Sealed: checked.Sealed}, nil
}

// Put stores the result's text unchanged. how says how it came here, such as "imported from x.json". Put may be
// called only once: it releases the text before the store works, to save memory.
func (a *Admitted) Put(ctx context.Context, s store.Store, how string, now time.Time) error {
	if a.Text == nil {
		return wirelab.Errorf(wirelab.Internal, "result %s was put already, and its text is gone", a.Result.ID)
	}
	p, err := store.PackDecoded(a.Result, a.Text, a.Digest)
	a.Text = nil
	if err != nil {
		return err
	}
	p.Origin = store.Origin(how, now, a.Sealed)
	return s.PutPacked(ctx, p)
}

// wrong returns the first failed check, and how many more there are.
func wrong(v *verify.Verification) (first, more string) {
	if v.Holds() {
		return "", ""
	}
	d := v.Differences[0]
	says := d.Says
	if says == "" {
		says = fmt.Sprintf("stored %v, computed %v", d.Stored, d.Computed)
	}
	first = fmt.Sprintf("%.80s: %.200s", d.Path, strings.ToValidUTF8(says, ""))
	if n := v.Total() - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return first, more
}
