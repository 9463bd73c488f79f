package paragraph_test

import (
	"slices"
	"testing"

	"wirelab/internal/paragraph"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                         nil,
		"  \n ":                    nil,
		"one two\nthree four":      {"one two", "three four"},
		"a anunbreakableword b":    {"a", "anunbreakableword", "b"},
		"a limit of 70 % is here":  {"a limit of", "70 % is", "here"},
		"it took a 12.5 ms, b":     {"it took a", "12.5 ms, b"},
		"in between [1, 20] s.":    {"in between", "[1, 20] s."},
		"the unit is ms or s here": {"the unit", "is ms or s", "here"}, // a unit without a number is a word
		"äöüäöüäöüä b":             {"äöüäöüäöüä", "b"},                // columns, not bytes
		"äöüäöüäö b":               {"äöüäöüäö b"},
	} {
		if got := paragraph.Wrap(text, 10); !slices.Equal(got, want) {
			t.Errorf("%q: %q; want %q", text, got, want)
		}
	}
}
