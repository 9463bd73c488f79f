package consistency_test

import (
	"strings"
	"testing"

	"wirelab/lab/result"
	"wirelab/lab/result/consistency"
	"wirelab/lab/result/resulttest"
)

// A report of a self-test has tests and no rounds. It was once reported as edited, because its plan has rounds.
func TestSelfTestsAreConsistent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit func(*result.Result)
		says string
	}{
		"whole":           {func(*result.Result) {}, ""},
		"interrupted":     {func(r *result.Result) { r.Ending, r.SelfTest.Tests = result.Interrupted, nil }, ""},
		"no tests":        {func(r *result.Result) { r.SelfTest.Tests = nil }, "without a test"},
		"with rounds":     {func(r *result.Result) { r.Rounds = make([]result.Round, 1) }, "no rounds"},
		"over before":     {func(r *result.Result) { r.Ended = r.Began.Add(-1) }, "before it began"},
		"another ending":  {func(r *result.Result) { r.Ending = result.WidthReached }, "no ending"},
		"passed, refused": {func(r *result.Result) { r.SelfTest.Tests[0].Refused = true }, "nothing was refused"},
	} {
		r := resulttest.Closed()
		r.Rounds, r.Ending = nil, result.RoundsDone
		r.SelfTest = &result.SelfTest{Tests: []result.Tested{{Name: "truth", Pass: true}}}
		c.edit(r)
		var said []string
		for _, flaw := range consistency.Flaws(r) {
			said = append(said, flaw.Path+": "+flaw.Says)
		}
		if c.says == "" && len(said) > 0 || !strings.Contains(strings.Join(said, "; "), c.says) {
			t.Errorf("%s: %q, want %q", name, said, c.says)
		}
	}
}
