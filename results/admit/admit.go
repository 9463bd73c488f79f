// Package admit is the one way in for results that come from outside: files and uploads. What passes is whole, was not
// edited as far as its digest tells, and contradicts neither itself nor any bound. It knows results and their checks,
// not who brings them.
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

// Put stores the result with its text as it is, and says that it came by a way such as "imported from x.json". It lets
// go of the text before the store works, and so can be called once.
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

// wrong says the first that does not hold, and how much more there is.
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
