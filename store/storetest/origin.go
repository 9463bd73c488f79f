package storetest

import (
	"testing"

	"wirelab"
	"wirelab/store"
)

// testOrigin checks that from where a result came is kept beside it, and goes with it.
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
		t.Errorf("nobody said it, and it is %q", got)
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
