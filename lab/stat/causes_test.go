package stat_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"wirelab/lab/stat"
)

// A tally is bounded in number and in length, and no count is lost.
func TestCausesAreBounded(t *testing.T) {
	t.Parallel()
	var all stat.Causes
	for i := range 10 * stat.CauseLimit {
		all = all.Add(stat.Cause{
			Kind: "unavailable", Cause: fmt.Sprint("cause ", i), Count: 2,
			First: strings.Repeat("ü", 1000),
		})
	}
	sum := uint64(0)
	for _, c := range all {
		sum += c.Count
		if len(c.First) > stat.TextLimit || !utf8.ValidString(c.First) {
			t.Errorf("a message of %d bytes, valid %v", len(c.First), utf8.ValidString(c.First))
		}
	}
	if len(all) != stat.CauseLimit+1 || sum != 20*stat.CauseLimit {
		t.Errorf("%d causes, %d calls", len(all), sum)
	}
	if first := all.Sorted()[0]; first.Cause != stat.OtherCause {
		t.Errorf("the most frequent is %+v", first)
	}
	all = all.Add(stat.Cause{Kind: "unavailable", Cause: "cause 0", Count: 1, First: "later"})
	if c := all[all.Find("unavailable", "cause 0")]; c.Count != 3 || c.First == "later" {
		t.Errorf("the first message is not kept: %+v", c)
	}
}
