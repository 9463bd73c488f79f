package storetest

import (
	"context"
	"strings"
	"testing"

	"wirelab"
	"wirelab/lab/result/resulttest"
	"wirelab/results/admit"
	"wirelab/results/store"
)

// testOrigin checks that the origin of a result is stored next to it, and deleted with it.
func testOrigin(t *testing.T, s store.Store) {
	put(t, s, 0, 2)
	origin := func(n int) string {
		t.Helper()
		found, err := s.Raw(t.Context(), Small(n).ID)
		if err != nil {
			t.Fatal(err)
		}
		return found.Origin
	}
	if got := origin(0); got != "" {
		t.Errorf("no origin was set, and it is %q", got)
	}
	for _, said := range []string{store.Measured, "imported from é.json"} {
		if err := s.SetOrigin(t.Context(), Small(0).ID, said); err != nil {
			t.Fatal(err)
		}
		if got := origin(0); got != said || origin(1) != "" {
			t.Errorf("origin %q, want %q; of the other %q", got, said, origin(1))
		}
	}
	refused(t, "the origin of none", s.SetOrigin(t.Context(), Small(0).ID[:15], "x"), wirelab.NotFound)
	if err := s.Delete(t.Context(), Small(0).ID); err != nil {
		t.Fatal(err)
	}
	put(t, s, 0, 1)
	if got := origin(0); got != "" {
		t.Errorf("of one that was removed it is still %q", got)
	}
}

// outside are the ids of results from outside.
var outside = [2]string{"r-20261121-140512-0a0a", "r-20261121-140512-0b0b"}

// admitted returns a result from outside.
func admitted(t *testing.T, id string) *admit.Admitted {
	t.Helper()
	r := resulttest.Short(2)
	r.ID = id
	text, err := store.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	in, err := admit.Result(text)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// crashing is a store whose process ends after the first change.
type crashing struct {
	store.Store

	gone bool
}

func (c *crashing) PutPacked(ctx context.Context, p store.Packed) error {
	defer func() { c.gone = true }()
	return c.Store.PutPacked(ctx, p)
}

func (c *crashing) SetOrigin(ctx context.Context, id, origin string) error {
	if c.gone {
		return wirelab.Errorf(wirelab.Unavailable, "the process is gone")
	}
	return c.Store.SetOrigin(ctx, id, origin)
}

// testAdmitted checks that no result from outside is stored without its origin, whenever the process ends.
func testAdmitted(t *testing.T, s store.Store) {
	if err := admitted(t, outside[0]).Put(t.Context(), &crashing{Store: s}, "imported from a.json", began); err != nil {
		t.Error(err)
	}
	found, err := s.Raw(t.Context(), outside[0])
	if err != nil || !strings.HasPrefix(found.Origin, "imported from a.json") {
		t.Errorf("origin %q, %v", found.Origin, err)
	}
	err = admitted(t, outside[0]).Put(t.Context(), s, "imported from b.json", began)
	refused(t, "a second time", err, wirelab.Conflict)
	if again, err := s.Raw(t.Context(), outside[0]); err != nil || again.Origin != found.Origin {
		t.Errorf("of one that was refused: origin %q, %v", again.Origin, err)
	}
}

// Torn checks that a result from outside is not stored if its origin cannot be stored. refuse makes the store's
// database refuse each origin; the function that it returns makes it accept them again.
func Torn(t *testing.T, s store.Store, refuse func(t *testing.T) (allow func())) {
	t.Helper()
	// which makes its table
	if err := admitted(t, outside[0]).Put(t.Context(), s, "imported from a.json", began); err != nil {
		t.Fatal(err)
	}
	allow := refuse(t)
	if err := admitted(t, outside[1]).Put(t.Context(), s, "imported from b.json", began); err == nil {
		t.Error("an origin was stored that the database refuses")
	}
	_, err := s.Raw(t.Context(), outside[1])
	refused(t, "a result without its origin", err, wirelab.NotFound)
	allow()
	if err := admitted(t, outside[1]).Put(t.Context(), s, "imported from b.json", began); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
