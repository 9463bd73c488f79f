package verify

import "testing"

// Earlier programs printed a unit without a figure. That does not count as an edited figure. Ranges stay.
func TestUnitsOfNothing(t *testing.T) {
	t.Parallel()
	const was, is = "20/s – –ns –/s –ms† | –kB | 5–10 s, 10–20 Bytes, –Box", "20/s – – – –† | – | 5–10 s, 10–20 " +
		"Bytes, –Box"
	if got := Reworded(was); got != is {
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

// Sentences of earlier programs are not taken for edits, wherever their lines break; other figures in them are.
func TestEarlierSentences(t *testing.T) {
	t.Parallel()
	was := []any{
		"the soonest answer to the caller, for half of all", "  → log-grpc (20.1 ms); 2 of them cannot be told",
		"apart", "checked   452 replies right; wrong or failed ones from 1 of the", "arms, see below",
		"gRPC × JSON cannot be told: no arm has it, and it stands among all comparisons", "made.",
	}
	is := []any{
		"fastest answer to the caller, for half of all entries",
		"  → log-grpc (20.1 ms); 2 of them cannot be told apart",
		"checked   452 replies right; 1 of the arms had wrong or failed ones, see below",
		"gRPC × JSON cannot be estimated: no arm has it, and it remains after correction for all comparisons made.",
	}
	if !sameLines(was, is) {
		t.Errorf("%q is not %q", Reworded(running(was)), running(is))
	}
	is[1] = "  → log-grpc (20.2 ms); 2 of them cannot be told apart"
	if sameLines(was, is) {
		t.Error("another figure in it is not found")
	}
}
