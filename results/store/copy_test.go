package store_test

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"wirelab"
	"wirelab/results/store"
	"wirelab/results/store/sqlite"
	"wirelab/results/store/storetest"
)

func openFile(t *testing.T) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "results.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// altered is a store that has one result in another form than was put.
type altered struct {
	store.Store
	stored store.Stored
}

func (a altered) Raw(t context.Context, id string) (store.Stored, error) {
	found, err := a.Store.Raw(t, id)
	if a.stored.JSON != nil {
		found.JSON = a.stored.JSON
	}
	if a.stored.Damage != "" {
		found.JSON, found.Damage = nil, a.stored.Damage
	}
	return found, err
}

func TestCopy(t *testing.T) {
	t.Parallel()
	from, to := openFile(t), openFile(t)
	text, err := store.Encode(storetest.Sample(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := from.PutText(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	id := storetest.Sample(0).ID
	for i, want := range []bool{true, false, false} {
		name := []string{id[:15], id, id[:15]}[i] // by a beginning, too
		whole, copied, err := store.Copy(t.Context(), from, to, name)
		if err != nil || whole != id || copied != want {
			t.Errorf("copy %d: %q, %t, %v", i, whole, copied, err)
		}
	}
	got, err := to.Raw(t.Context(), id)
	if err != nil || !bytes.Equal(got.JSON, text) {
		t.Errorf("not byte for byte: %v", err)
	}
	// And back, where it came from.
	if _, copied, err := store.Copy(t.Context(), to, from, id); err != nil || copied {
		t.Errorf("back: %t, %v", copied, err)
	}
	if _, _, err := store.Copy(t.Context(), from, to, "r-1"); err == nil || wirelab.CodeOf(err) != wirelab.NotFound {
		t.Errorf("one that is not there: %v", err)
	}
}

// Of two results with one id neither is lost.
func TestCopyRefuses(t *testing.T) {
	t.Parallel()
	from, to := openFile(t), openFile(t)
	mine, theirs := storetest.Small(0), storetest.Small(0)
	theirs.Command = "another"
	if err := from.Put(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	if err := to.Put(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	_, copied, err := store.Copy(t.Context(), from, to, mine.ID)
	if copied || err == nil || wirelab.CodeOf(err) != wirelab.Conflict {
		t.Errorf("copied %t, %v", copied, err)
	}
	for s, want := range map[*sqlite.Store]string{from: mine.Command, to: theirs.Command} {
		if r, err := s.Get(t.Context(), mine.ID); err != nil || r.Command != want {
			t.Errorf("%v, %v; want %q", r, err, want)
		}
	}
	other := openFile(t)
	edited, err := store.Encode(theirs)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoilt := range map[string]store.Stored{
		"edited": {JSON: edited}, "damaged": {Damage: "torn"},
		"no JSON": {JSON: []byte("{")},
	} {
		if _, _, err := store.Copy(t.Context(), altered{from, spoilt}, other, mine.ID); err == nil ||
			wirelab.CodeOf(err) != wirelab.Internal {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n, err := other.Total(t.Context(), store.Filter{}); err != nil || n.Results != 0 {
		t.Errorf("%d came over, %v", n.Results, err)
	}
}
