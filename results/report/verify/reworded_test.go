package verify_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// A document that a program of before wrote holds, though our words have changed since; and one in which a
// figure of such a sentence was edited does not.
func TestDocumentInOtherWords(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/lateness.json")
	if err != nil {
		t.Fatal(err)
	}
	if v := check(t, decoded(t, string(text))); !v.Holds() || len(v.Unchecked) > 0 {
		t.Errorf("an untouched document of before does not hold: %+v", v)
	}
	for was, is := range map[string]string{
		"3.66ms": "3.67ms", "6.2 %": "0.2 %",
		"nothing can be compared": "grpc is the cheapest",
	} {
		if !strings.Contains(string(text), was) {
			t.Fatalf("the document does not say %q", was)
		}
		if v := check(t, decoded(t, strings.ReplaceAll(string(text), was, is))); v.Holds() ||
			!strings.Contains(fmt.Sprint(v.Differences), is) {
			t.Errorf("%q edited to %q: %+v", was, is, v.Differences)
		}
	}
}
