package analyse_test

import (
	"strings"
	"testing"

	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
)

// The advice for an arm that was removed can be followed: an external server cannot be run with "wirelab serve".
func TestTakenOutSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for target, says := range map[string]string{
		"":               "wirelab serve",
		"localhost:8080": "look whether the server still runs",
	} {
		r := resulttest.Troubled()
		r.Plan.Arms[4].Target = target
		a := analyse.Result(r)
		fix := ""
		for _, c := range a.Loads[0].Arms[4].Failed() {
			if c.Gate == result.InPlay {
				fix = c.Fix
			}
		}
		if !strings.Contains(fix, says) {
			t.Errorf("target %q: %q", target, fix)
		}
	}
}
