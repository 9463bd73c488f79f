package measure

import (
	"fmt"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/results/report"
)

// FewArms says why an experiment ended that has too few arms left.
func FewArms(r *result.Result) string {
	why := ""
	for i := range r.Arms {
		if out := r.Arms[i].Out; out != "" {
			why = fmt.Sprintf(": %s %s", r.ArmName(i), out)
			break
		}
	}
	what := "too few arms are left to compare"
	if len(r.Plan.Arms) == 1 {
		what = "the measurement was given up"
	}
	return what + why
}

// SoFar says how far an experiment got that was interrupted.
func SoFar(r *result.Result) string {
	whole := len(r.Rounds)
	if whole > 0 && r.Rounds[whole-1].Cut {
		whole--
		return fmt.Sprintf("%s and %d trials of the next", CompleteRounds(whole), len(r.Rounds[whole].Trials))
	}
	return CompleteRounds(whole)
}

// CompleteRounds is "1 complete round", or another number of them.
func CompleteRounds(n int) string { return strings.Replace(report.Rounds(n), " r", " complete r", 1) }

// Unanswered is the error of a result that does not answer for some arm: nil where the metric
// that decides has a figure everywhere. That there is none must not pass for an answer: a check
// refuses it, nothing was measured, or there were too few calls, which more rounds mend.
func Unanswered(r *result.Result, found *claim.Analysis) (refused, lacking string) {
	var without, few missing
	for i := range found.Loads {
		l := &found.Loads[i]
		primary := kinds.Primary(r.Plan, r.Plan.Loads[l.Load])
		row := l.Row(primary.ID)
		for n, arm := range l.Arms {
			switch why := arm.Why(primary); {
			case why != "":
				without.add(arm.Name, l.Name, why)
			case row == nil:
				few.add(arm.Name, l.Name, primary.Title+" was not measured")
			case !row.Cells[n].Estimate.Known && arm.Rounds > 0:
				few.add(arm.Name, l.Name, primary.Title+": "+row.Cells[n].Estimate.Why)
			}
		}
	}
	return without.String(), few.String()
}

// missing are arms without an answer, told by the first reason: the report has them all.
type missing struct {
	first string
	n     int
}

func (m *missing) add(arm, load, why string) {
	if m.n++; m.n == 1 {
		m.first = fmt.Sprintf("%s (%s): %s", arm, load, why)
	}
}

// String implements fmt.Stringer.
func (m missing) String() string {
	if m.n > 1 {
		return fmt.Sprintf("%s (and %d more)", m.first, m.n-1)
	}
	return m.first
}
