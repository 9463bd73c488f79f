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

// SoFar says how far an interrupted experiment got.
func SoFar(r *result.Result) string {
	whole := len(r.Rounds)
	if whole > 0 && r.Rounds[whole-1].Cut {
		whole--
		return fmt.Sprintf("%s and %d trials of the next", CompleteRounds(whole), len(r.Rounds[whole].Trials))
	}
	return CompleteRounds(whole)
}

// CompleteRounds writes a number of rounds: "1 complete round", "3 complete rounds".
func CompleteRounds(n int) string { return strings.Replace(report.Rounds(n), " r", " complete r", 1) }

// Unanswered returns the reasons why a result does not answer for some arm; both are "" if the primary metric has a
// figure for every arm. A missing figure must not pass for an answer. Either a check refuses it, or nothing was
// measured, or there were too few calls, which more rounds would correct.
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

// missing collects the arms without an answer, and the first reason. The report has all reasons.
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
