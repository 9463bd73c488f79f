// Package transfer copies results from one store to another, and reports the outcome. It knows stores. It must not
// know what is in a result.
package transfer

import (
	"context"
	"fmt"
	"os"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/results/measure"
	"wirelab/results/store"
)

// Done is the outcome of a push or pull, as JSON.
type Done struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Selected is how many results there were to copy.
	Selected int `json:"selected"`
	// Copied are the ids of the results that were copied, Present of those that were there already.
	Copied  []string `json:"copied"`
	Present []string `json:"present"`
	// Failed are the results that could not be copied, with the reasons, conflicts included.
	Failed      []notCopied `json:"failed"`
	Interrupted bool        `json:"interrupted"`
}

type notCopied struct {
	ID       string `json:"id"`
	Conflict bool   `json:"conflict"`
	Why      string `json:"why"`
}

// Copy copies results from one place to another: those with the given ids, or those that a filter selects. It calls
// begin when copying begins; the functions that begin returns receive the progress and the end. stopped reports that
// the rest cannot be copied either.
func Copy(
	ctx context.Context, from, to string, ids []string, f store.Filter, begin func() (far func(string), done func()),
) (done *Done, stopped, err error) {
	if from == to {
		return nil, nil, wirelab.Errorf(wirelab.InvalidArgument,
			"%s is the own store, too: give --results or $WIRELAB_STORE another one", measure.ShownPlace(to))
	}
	if !measure.IsDatabase(from) {
		// Opening it would create an empty store, and find nothing in it.
		if _, err := os.Stat(from); err != nil {
			return nil, nil, fault.Read("no store to copy from", from, err)
		}
	}
	source, err := measure.OpenStoreAt(ctx, from)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = fault.Both(err, source.Close()) }()
	target, err := measure.OpenStoreAt(ctx, to)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = fault.Both(err, target.Close()) }()
	done = &Done{
		From: measure.ShownPlace(from), To: measure.ShownPlace(to), Selected: len(ids), Copied: []string{},
		Present: []string{}, Failed: []notCopied{},
	}
	far, copied := begin()
	stopped = CopyAll(ctx, source, target, ids, f, done, far)
	copied()
	done.Interrupted = ctx.Err() != nil
	return done, stopped, nil
}

// CopyAll copies the results with the given ids, or those that a filter selects. An error means that the rest cannot
// be copied either.
func CopyAll(ctx context.Context, from, to store.Store, ids []string, f store.Filter, done *Done,
	far func(string),
) error {
	each := func(id string) error {
		whole, copied, err := store.Copy(ctx, from, to, id)
		switch {
		case err == nil && copied:
			done.Copied = append(done.Copied, whole)
		case err == nil:
			done.Present = append(done.Present, whole)
		case ctx.Err() != nil || !ofOneResult(err):
			return err
		default:
			done.Failed = append(done.Failed,
				notCopied{whole, wirelab.CodeOf(err) == wirelab.Conflict, fault.Describe(err)})
		}
		far(fmt.Sprintf("%d of %d", len(done.Copied)+len(done.Present)+len(done.Failed), done.Selected))
		return nil
	}
	if len(ids) > 0 {
		for _, name := range ids {
			id, err := measure.Latest(ctx, from, name)
			if err == nil {
				err = each(id)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	total, err := from.Total(ctx, f)
	if err != nil {
		return err
	}
	most := total.Results
	if f.Limit > 0 {
		most = min(most, f.Limit)
	}
	done.Selected = most
	for f.Limit = min(most, transferPage); f.Limit > 0; f.Limit = min(most, transferPage) {
		list, err := from.List(ctx, f)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, m := range list {
			if err := each(m.ID); err != nil {
				return err
			}
		}
		most -= len(list)
		f.After = list[len(list)-1].Cursor()
	}
	return nil
}

// transferPage is how many results are listed at once.
const transferPage = 500

// ofOneResult reports whether an error concerns only one result, so that others may still be copied. A store that is
// full or not reachable takes none of them.
func ofOneResult(err error) bool {
	switch wirelab.CodeOf(err) {
	case wirelab.Conflict, wirelab.NotFound, wirelab.InvalidArgument, wirelab.Internal, wirelab.Unimplemented:
		return true
	}
	return false
}
