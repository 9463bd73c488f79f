package edgevalues

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// named fails unless every edge value has its own name and a reason.
func named[T any](t *testing.T, list string, values []Value[T]) {
	t.Helper()
	seen := map[string]bool{}
	for _, v := range values {
		if !regexp.MustCompile(`^[A-Za-z0-9-]+$`).MatchString(v.Name) || seen[v.Name] {
			t.Errorf("%s: name %q is malformed or there twice", list, v.Name)
		}
		seen[v.Name] = true
		if len(strings.Fields(v.Why)) < 3 {
			t.Errorf("%s: %s has no reason", list, v.Name)
		}
	}
}

func TestEveryTrapHasANameAndAReason(t *testing.T) {
	t.Parallel()
	named(t, "Ints", Ints())
	named(t, "Int32s", Int32s())
	named(t, "Texts", Texts())
	named(t, "TextsUpTo", TextsUpTo(4096))
	named(t, "BrokenTexts", BrokenTexts())
	named(t, "Times", Times())
}

func TestTextsAreUTF8AndBrokenTextsAreNot(t *testing.T) {
	t.Parallel()
	for _, v := range Texts() {
		if !utf8.ValidString(v.Value) {
			t.Errorf("%s is not UTF-8", v.Name)
		}
	}
	for _, v := range BrokenTexts() {
		if utf8.ValidString(v.Value) {
			t.Errorf("%s is UTF-8", v.Name)
		}
	}
}

func TestTextsUpToKeepsTheLimit(t *testing.T) {
	t.Parallel()
	longest := 0
	for _, v := range TextsUpTo(100) {
		longest = max(longest, len(v.Value))
	}
	if longest != 100 {
		t.Errorf("longest text has %d bytes, want 100", longest)
	}
}

func TestTimesAreInUTC(t *testing.T) {
	t.Parallel()
	for _, v := range Times() {
		if v.Value.Location().String() != "UTC" {
			t.Errorf("%s is in %s", v.Name, v.Value.Location())
		}
	}
}
