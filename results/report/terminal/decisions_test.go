package terminal_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
	"wirelab/results/report/terminal"
)

// The table of when to use which way is equal to the reviewed one. It is the same in the
// report and alone, and it keeps to the width with and without colours.
func TestDecisions(t *testing.T) {
	t.Parallel()
	r := resulttest.FourWays(12)
	a := analyse.Result(r)
	tables := report.Decisions(r, &a, nil)
	for _, columns := range []int{64, 80, 120} {
		var alone, color, whole strings.Builder
		for _, c := range []struct {
			to    *strings.Builder
			style terminal.Style
		}{{&alone, terminal.Style{Width: columns}}, {&color, terminal.Style{Width: columns, Color: true}}} {
			if err := terminal.WriteDecisions(c.to, tables, c.style); err != nil {
				t.Fatal(err)
			}
		}
		for line := range strings.Lines(alone.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
				t.Errorf("%d columns in %d: %q", n, columns, line)
			}
		}
		bare := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(color.String(), "")
		if bare = regexp.MustCompile(`(?m) +$`).ReplaceAllString(bare, ""); bare != alone.String() ||
			bare == color.String() {
			t.Errorf("%d columns: colour changes more than colours", columns)
		}
		if columns != 80 {
			continue
		}
		if err := terminal.WriteAnalysed(&whole, r, &a, terminal.Style{Width: columns}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(whole.String(), alone.String()) {
			t.Error("the report has another table than there is by itself")
		}
		golden(t, "decisions-80", alone.String())
	}
}
