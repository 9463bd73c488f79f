package report

import (
	"fmt"
	"slices"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result/claim"
)

// listed is how many arms a sentence names individually.
const listed = 4

// Sentence is the verdict on a load by its primary metric: "With 1 call in flight, http1-proto is cheapest on the
// server: 24.1 µs of CPU per request; grpc costs 32.4 % more (95 % CI 31.6 to 33.2)."
func Sentence(p plan.Plan, l *claim.LoadAnalysis) string {
	if l.Slow && !Empty(l) {
		return slowSentence(p, l)
	}
	l = marked(l)
	m, err := kinds.MetricOf(l, l.Primary)
	row := l.Row(l.Primary)
	if err != nil || row == nil || len(row.Cells) == 0 || Empty(l) {
		return Load(p, l.Load) + ", " + nothing(l) + "."
	}
	unit, w := RowUnit(m, row), words(m)
	first := row.Cells[0].Estimate
	start := Load(p, l.Load) + ", "
	switch {
	case !first.Known:
		return start + "nothing can be compared: " + l.Arms[0].Name + ": " + first.Why + "."
	case len(row.Cells) == 1:
		return start + fmt.Sprintf("%s's %s: %s%s.", l.Arms[0].Name, m.Title, With(first, unit)+Marks(&l.Arms[0], m),
			bounds(first, unit))
	}
	best, shared := champion(l)
	figure := With(first, unit) + Marks(&l.Arms[0], m) + w.of
	top := w.best
	if slices.ContainsFunc(l.Arms, func(a claim.ArmState) bool { return a.Place == 0 }) {
		top += " of those that are valid"
	}
	switch {
	case best == 0:
		start += fmt.Sprintf("%s %s: %s; ", l.Arms[0].Name, top, figure)
	case best > 0:
		start += fmt.Sprintf("%s %s; against %s (%s), ", l.Arms[best].Name, top, l.Arms[0].Name, figure)
	case len(shared) > 1 && len(shared) < len(l.Arms):
		start += fmt.Sprintf("%s share the first place; against %s (%s), ", List(names(l, shared)), l.Arms[0].Name,
			figure)
	default:
		start += fmt.Sprintf("against %s (%s), ", l.Arms[0].Name, figure)
	}
	return start + strings.Join(others(l, row, w), "; ") + promises(l) + "."
}

// champion returns the only arm in first place, or −1, and the arms that share first place. A single first arm is
// better than every other one: each other arm was proved worse than some arm, and following these proofs leads to the
// first arm.
func champion(l *claim.LoadAnalysis) (best int, shared []int) {
	for a, arm := range l.Arms {
		if arm.Place == 1 {
			shared = append(shared, a)
		}
	}
	if len(shared) == 1 && len(l.Arms) > 1 {
		return shared[0], shared
	}
	return -1, shared
}

func names(l *claim.LoadAnalysis, arms []int) []string {
	all := make([]string, len(arms))
	for i, a := range arms {
		all[i] = l.Arms[a].Name
	}
	return all
}

// List joins words: "a, b and c".
func List(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// others describes how each arm differs from the first. If there are many arms, it gives only the direction.
func others(l *claim.LoadAnalysis, row *claim.Row, w worded) []string {
	var said []string
	count := map[claim.Verdict]int{}
	for _, c := range row.Cells {
		if c.Difference != nil {
			count[c.Difference.Verdict]++
		}
	}
	if few := row.Cells[1].Difference; count[claim.TooFew] == len(row.Cells)-1 && few != nil {
		return []string{"nothing is claimed yet: " + few.Why}
	}
	if len(row.Cells)-1 <= listed {
		for a, c := range row.Cells {
			if c.Difference != nil {
				said = append(said, phrase(w, l.Arms[a].Name, c.Difference))
			}
		}
		return said
	}
	m, _ := kinds.MetricOf(l, row.Metric) // Sentence has looked it up already
	for _, v := range []claim.Verdict{
		claim.Better, claim.Worse, claim.Equivalent, claim.Inconclusive, claim.TooFew,
		claim.Unmeasured, claim.Unsteady, claim.Invalid,
	} {
		var named []string
		for a, c := range row.Cells {
			if c.Difference != nil && c.Difference.Verdict == v {
				named = append(named, l.Arms[a].Name)
			}
		}
		if len(named) > 0 {
			said = append(said, Word(m, v)+": "+List(named))
		}
	}
	return said
}

// bounds writes an estimate's interval: " (95 % CI 23.5 to 24.6)".
func bounds(e claim.Estimate, u Unit) string {
	if !e.Interval() || e.Low == e.High {
		return ""
	}
	return fmt.Sprintf(" (95 %% CI %s to %s)", Significant(e.Low/u.Size, 3), Significant(e.High/u.Size, 3))
}
