package verify

import "testing"

// A unit without a figure, as earlier programs printed it, is no figure that somebody edited; ranges stay.
func TestUnitsOfNothing(t *testing.T) {
	t.Parallel()
	const was, is = "20/s – –ns –/s –ms† | –kB | 5–10 s, 10–20 Bytes, –Box", "20/s – – – –† | – | 5–10 s, 10–20 " +
		"Bytes, –Box"
	if got := reworded(was); got != is {
		t.Errorf("%q, want %q", got, is)
	}
	if !sameLines([]any{"20/s  –    –ns  5"}, []any{"20/s  –      –  5"}) ||
		sameLines([]any{"20/s  –    –ns  5"}, []any{"20/s  –      –  6"}) {
		t.Error("the same lines differ, or other ones do not")
	}
	if !sameLines([]any{"made again1 of 3 rounds was made again"}, []any{"remade    1 of 3 rounds was made again"}) {
		t.Error("the name of a line, as it was for some days, is taken for an edit")
	}
}
