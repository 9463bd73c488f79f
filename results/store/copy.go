package store

import (
	"cmp"
	"context"
	"time"

	"wirelab"
	"wirelab/lab/result"
)

// Copy copies a result from one store to another, its text byte for byte. id is a whole id, or a beginning as for
// Get; Copy returns the whole one. copied is false, without an error, if the same result is there already. The errors
// are those of from's Raw and to's Put, Internal for a result that is damaged or was edited in the store, and
// Conflict if another result has its id: then nothing is changed.
func Copy(ctx context.Context, from, to Store, id string) (whole string, copied bool, err error) {
	// Digests first: finding that most results are there already needs no bodies.
	if there, err := to.Digest(ctx, id); err == nil && there != "" {
		if here, err := from.Digest(ctx, id); err == nil && here == there {
			return id, false, nil
		}
	}
	found, err := from.Raw(ctx, id)
	if err != nil {
		return id, false, err
	}
	id = found.Summary.ID
	if found.Damage != "" {
		return id, false, wirelab.Errorf(wirelab.Internal, "result %s is damaged where it is: %s", id, found.Damage)
	}
	digest, err := result.Digest(found.JSON)
	if err != nil {
		return id, false, wirelab.Errorf(wirelab.Internal, "result %s is damaged where it is: %s", id,
			wirelab.Public(err).Message)
	}
	if found.Digest != "" && found.Digest != digest {
		return id, false, wirelab.Errorf(wirelab.Internal,
			"result %s was edited where it is; wirelab verify %s tells more", id, id)
	}
	packed, err := PackText(found.JSON)
	if err != nil {
		return id, false, err
	}
	said := Origin("copied from another store", time.Now(), found.Digest != "")
	packed.Origin = shortened(said + "; there: " + cmp.Or(found.Origin, "how it came there was not recorded"))
	if err = to.PutPacked(ctx, packed); err == nil {
		// the label is copied even if ctx ends
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), besidePatience)
		defer cancel()
		if label := found.Summary.Label; label != "" {
			_, err = to.SetLabel(ctx, id, label)
		}
		return id, true, err
	}
	if wirelab.CodeOf(err) != wirelab.Conflict {
		return id, false, err
	}
	there, err := digestOf(ctx, to, id)
	switch {
	case err != nil && wirelab.CodeOf(err) != wirelab.InvalidArgument:
		// A damaged result at the target (InvalidArgument) counts as another one.
		return id, false, err
	case there == digest:
		return id, false, nil
	}
	return id, false, wirelab.Errorf(wirelab.Conflict,
		"result %s is in both stores, and they differ: %.16s… here, %.16s… there; nothing was changed", id, digest,
		there)
}

// digestOf returns the digest of a result in a store. It computes the digest if none is stored.
func digestOf(ctx context.Context, s Store, id string) (string, error) {
	digest, err := s.Digest(ctx, id)
	if err != nil || digest != "" {
		return digest, err
	}
	found, err := s.Raw(ctx, id)
	if err != nil || found.JSON == nil {
		return "", err
	}
	return result.Digest(found.JSON)
}

// besidePatience is the time limit for copying the label of a result.
const besidePatience = 10 * time.Second

// originLimit is the greatest length of an origin in characters, since a result may be copied again and again.
const originLimit = 400

func shortened(text string) string {
	if all := []rune(text); len(all) > originLimit {
		return string(all[:originLimit-1]) + "…"
	}
	return text
}
