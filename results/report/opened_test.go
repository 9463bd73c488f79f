package report_test

import (
	"strings"
	"testing"

	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
)

// That no connection was opened is said only where none was: of an arm whose figures are
// refused it would be a guess.
func TestNoConnectionIsSaidWhereNoneWas(t *testing.T) {
	t.Parallel()
	const none = "no connection was opened while measuring"
	for _, c := range []struct {
		name           string
		opened, failed uint64
		says, not      string
	}{
		{"none", 0, 0, none, "by "},
		{"none, of an arm whose figures are refused", 0, 1, none, "by "},
		{"some, of an arm whose figures are refused", 27, 1, "connections were opened while measuring, by grpc", none},
	} {
		r := resulttest.Two()
		for n := range r.Rounds {
			for i := range r.Rounds[n].Trials {
				tr := &r.Rounds[n].Trials[i]
				tr.Connections = 0
				if tr.Arm == 1 {
					tr.Connections = c.opened
					tr.Errors, tr.Sent = map[string]uint64{"unavailable": c.failed}, tr.Sent+c.failed
				}
			}
		}
		a := analyse.Result(r)
		notes := strings.Join(report.Notes(&a.Loads[0]), "\n")
		if !strings.Contains(notes, c.says) || strings.Contains(notes, c.not) {
			t.Errorf("%s: %s", c.name, notes)
		}
	}
}
