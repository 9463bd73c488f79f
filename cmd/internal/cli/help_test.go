package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A command line that is too long continues on the next line as a shell reads it: never inside single quotes, and a flag
// stays with its value.
func TestExamplesCanBeCopied(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"  mill turn":                     "  mill turn\n",
		"  mill turn low --fast high now": "  mill turn low \\\n      --fast high now\n",
		"  mill turn x y --fast high one": "  mill turn x y \\\n      --fast high one\n",
		"  mill 'a b c d e f g h i j'":    "  mill \\\n      'a b c d e f g h i j'\n",
	} {
		if got := examples(line, 27); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestRefold(t *testing.T) {
	t.Parallel()
	text := "one two three\nfour\n\n  name  what it is for\n  short\n"
	if got := Refold(text, 40); got != text {
		t.Errorf("%q was not left as it fits", got)
	}
	if got, want := Refold(text, 13),
		"one two three\nfour\n\n  name  what\n        it is\n        for\n  short\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Flags that few need are left out, and where they are is said.
func TestCommonFlagsFirst(t *testing.T) {
	t.Parallel()
	c := &cobra.Command{Use: "mill", Long: "Grinds.", RunE: func(*cobra.Command, []string) error { return nil }}
	for _, name := range strings.Fields("a b c d e f g h i j k l m n rare") {
		c.Flags().Bool(name+"-flag", false, "does "+name)
	}
	GroupFlags(c, []FlagGroup{{"Seldom", []string{"rare-flag", "not-there"}}})
	Explain(c, "And more.")
	for _, all := range []bool{false, true} {
		var b strings.Builder
		if err := WriteHelp(&b, c, Columns, all); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"does rare", "Seldom:", "And more."} {
			if strings.Contains(b.String(), part) != all {
				t.Errorf("all %v, but %q: %s", all, part, b.String())
			}
		}
		if strings.Contains(b.String(), "mill --help-all") == all {
			t.Errorf("all %v: %s", all, b.String())
		}
	}
}
