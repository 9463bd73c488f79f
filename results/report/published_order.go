package report

import (
	"fmt"
	"slices"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
)

// PublishedPart is the text about published figures under one heading.
type PublishedPart struct {
	Title string
	Lines []string
}

// PublishedParts says what may be concluded from published figures: whether their order holds here, which of their
// flaws are here as well, the size of a flaw if two arms show it, what else differs, and the notes of the plan. For a
// plan without such figures it returns only its notes.
func PublishedParts(r *result.Result, a *claim.Analysis) []PublishedPart {
	if len(a.Loads) == 0 {
		return nil
	}
	parts := []PublishedPart{
		{Title: "The published order, measured here", Lines: orders(r, a)},
		{Title: "What the source recommends", Lines: Advice(r, a)},
		{Title: "The effect of flaws, measured here", Lines: contrasts(r, a)},
	}
	if len(r.Plan.Published) > 0 {
		parts = append(append(parts, flawParts(r, a)...),
			PublishedPart{Title: "What else differs", Lines: differences(r)})
	}
	notes := slices.Clone(r.Plan.Notes)
	for _, f := range r.Plan.Published {
		line := f.Row + ": no such arm: " + strings.TrimSuffix(f.Missing, ".") + "."
		if f.Missing != "" && !slices.Contains(notes, line) {
			notes = append(notes, line)
		}
	}
	parts = append(parts, PublishedPart{Title: "To know", Lines: notes})
	return slices.DeleteFunc(parts, func(p PublishedPart) bool { return len(p.Lines) == 0 })
}

// orders compares the order of published figures with ours, in a sentence for each quantity that several arms have.
func orders(r *result.Result, a *claim.Analysis) []string {
	lines, _ := ordersOf(r, a)
	return lines
}

// PublishedBrief says in one line how the order of published figures compares with ours; "" if there are none.
func PublishedBrief(r *result.Result, a *claim.Analysis) string {
	lines, how := ordersOf(r, a)
	switch {
	case !HasPublished(r) || len(a.Loads) == 0:
		return ""
	case len(lines) == 0:
		return "Figures published elsewhere: see --full."
	case len(lines) == 1:
		return "Elsewhere: " + lines[0] + " See --full."
	}
	count := map[pairing]int{}
	for _, one := range how {
		count[one]++
	}
	var parts []string
	for _, one := range []struct {
		how  pairing
		what string
	}{
		{sameOrder, "the same here"},
		{otherOrder, "another here"},
		{notApart, "in part the same here"},
		{unknownPair, "not known here"},
	} {
		if count[one.how] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[one.how], one.what))
		}
	}
	return fmt.Sprintf("Of %d published orders of arms: %s. See --full.", len(lines),
		strings.Join(parts, ", "))
}

// ordersOf returns a sentence for each order of published figures, and how it compares with ours.
func ordersOf(r *result.Result, a *claim.Analysis) (lines []string, outcomes []pairing) {
	all := slices.DeleteFunc(figures(r, a), func(one figure) bool { return one.f.Missing != "" })
	for i, one := range all {
		if slices.IndexFunc(all, one.alike) < i {
			continue
		}
		group := slices.DeleteFunc(slices.Clone(all[i:]), func(other figure) bool { return !one.alike(other) })
		if len(group) > 1 {
			line, how := order(r, group)
			lines, outcomes = append(lines, line), append(outcomes, how)
		}
	}
	return lines, outcomes
}

// pairing says how two arms compare here whose order was published.
type pairing int

const (
	unknownPair pairing = iota
	sameOrder
	otherOrder
	notApart
)

// order compares the published order of one quantity with ours.
func order(r *result.Result, group []figure) (string, pairing) {
	more := kinds.MustMetric(group[0].q.metric).Higher
	slices.SortStableFunc(group, func(x, y figure) int { return ahead(x.q.value, y.q.value, more) })
	names := make([]string, len(group))
	for i, one := range group {
		names[i] = cmpName(one.f)
	}
	said := map[pairing][]string{}
	pairs := 0
	for i, x := range group {
		for _, y := range group[i+1:] {
			if x.q.value == y.q.value || touch(x.f, y.f) {
				continue // the source does not say which is first
			}
			pairs++
			how := compare(r, x, y, more)
			said[how] = append(said[how], cmpName(y.f)+" before "+cmpName(x.f))
		}
	}
	what := publishedOf(group[0])
	line := what + ", published: " + strings.Join(names, ", then ") + ". "
	switch {
	case pairs == 0:
		return what + ", published: no two can be told apart.", unknownPair
	case len(said[sameOrder]) == pairs:
		return line + "It is the same here.", sameOrder
	case len(said[otherOrder]) == pairs:
		return line + "It is the other way round here.", otherOrder
	case len(said[notApart]) == pairs:
		return line + "Here no two of them can be told apart.", notApart
	case len(said[unknownPair]) == pairs:
		return line + "Here nothing can be said about it: " + lacking(r, group) + ".", unknownPair
	}
	text := line + fmt.Sprintf("Here %d of %s are the same", len(said[sameOrder]), Plural(pairs, "pair"))
	if len(said[otherOrder]) > 0 {
		text += "; the other way round: " + List(said[otherOrder])
	}
	if n := len(said[notApart]); n > 0 {
		text += fmt.Sprintf("; %d cannot be told apart", n)
	}
	if len(said[unknownPair]) > 0 {
		text += fmt.Sprintf("; %d have no figure here (%s)", len(said[unknownPair]), lacking(r, group))
	}
	return text + ".", choose(len(said[otherOrder]) > 0, otherOrder, notApart)
}

// cmpName is the name of a row within a sentence.
func cmpName(f plan.Published) string {
	if f.Arm != "" {
		return f.Arm
	}
	return f.Row
}

// publishedOf names the quantity of figures: "throughput of GetPerson at 4 calls in flight".
func publishedOf(one figure) string {
	m := kinds.MustMetric(one.q.metric)
	text := strings.ToUpper(m.Title[:1]) + m.Title[1:]
	if one.f.GapP99 > 0 {
		text = "The p99 of gaps against that of delivery"
	}
	if one.f.Operation != "" {
		text += " of " + one.f.Operation
	}
	if one.f.Load > 0 && one.l != nil {
		text += " with " + one.l.Name
	}
	return text
}

// ahead orders two values, the better one first.
func ahead(x, y float64, more bool) int {
	switch {
	case x == y:
		return 0
	case (x > y) == more:
		return -1
	}
	return 1
}

// touch reports whether the published intervals of two rates touch.
func touch(x, y plan.Published) bool {
	low, high := max(x.Rate-x.PlusMinus, y.Rate-y.PlusMinus), min(x.Rate+x.PlusMinus, y.Rate+y.PlusMinus)
	return x.PlusMinus+y.PlusMinus > 0 && low <= high
}

// compare compares two arms here of which x was published as the better one. It uses the verdict if one of them is
// the first arm, else their intervals.
func compare(r *result.Result, x, y figure, more bool) pairing {
	if x.l == nil || x.arm < 0 || y.arm < 0 || x.arm == y.arm {
		return unknownPair
	}
	row := x.l.Row(x.q.metric)
	if row == nil {
		return unknownPair
	}
	for _, swap := range []bool{false, true} {
		first, other := x.arm, y.arm
		if swap {
			first, other = other, first
		}
		if d := row.Cells[other].Difference; first == 0 && d != nil {
			switch d.Verdict {
			case claim.Better:
				return choose(!swap, otherOrder, sameOrder)
			case claim.Worse:
				return choose(!swap, sameOrder, otherOrder)
			case claim.Equivalent, claim.Inconclusive:
				return notApart
			}
			return unknownPair
		}
	}
	ours, theirs := x.estimate(r), y.estimate(r)
	switch {
	case !ours.Interval() || !theirs.Interval() || min(ours.Rounds, theirs.Rounds) < claim.MinRounds:
		return unknownPair
	case max(ours.Low, theirs.Low) <= min(ours.High, theirs.High):
		return notApart
	}
	return choose(ahead(ours.Value, theirs.Value, more) < 0, sameOrder, otherOrder)
}

// lacking says which of our arms have no figure, or too few rounds for a claim.
func lacking(r *result.Result, group []figure) string {
	var refused, without []string
	for _, one := range group {
		switch name := cmpName(one.f); {
		case one.estimate(r).Known:
		case one.l == nil || one.arm < 0 || one.l.Arms[one.arm].Rounds == 0:
			without = append(without, name)
		default:
			refused = append(refused, name)
		}
	}
	var parts []string
	if len(refused) > 0 {
		parts = append(parts, "there is no valid figure for "+List(refused))
	}
	if len(without) > 0 {
		parts = append(parts, List(without)+choose(len(without) > 1, " were", " was")+" not measured")
	}
	if len(parts) == 0 {
		return fmt.Sprintf("fewer than %d rounds", claim.MinRounds)
	}
	return strings.Join(parts, "; ")
}

// contrasts gives the size of flaws here, where one arm has them and another has not.
func contrasts(r *result.Result, a *claim.Analysis) []string {
	var lines []string
	for _, c := range r.Plan.Contrasts {
		with, without := armAt(r, c.With), armAt(r, c.Without)
		for i := range a.Loads {
			l := &a.Loads[i]
			row := l.Row(l.Primary)
			if with < 0 || without < 0 || row == nil {
				continue
			}
			line := contrast(l, row, c, row.Cells[with].Estimate, row.Cells[without].Estimate)
			if len(a.Loads) > 1 {
				line = LoadName(r.Plan, l.Load) + ": " + line
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// contrast gives the size of a flaw under one load.
func contrast(l *claim.LoadAnalysis, row *claim.Row, c plan.Contrast, with, without claim.Estimate) string {
	m, err := kinds.MetricOf(l, row.Metric)
	subject := c.With + " against " + c.Without + " (" + strings.Join(c.Flaws, ", ") + ")"
	switch {
	case err != nil || !with.Known || !without.Known:
		return subject + ": size unknown, since one of them has no valid figure."
	case !with.Interval() || !without.Interval() || min(with.Rounds, without.Rounds) < claim.MinRounds:
		return fmt.Sprintf("%s: size unknown with fewer than %d rounds.", subject, claim.MinRounds)
	}
	// The widest interval that both intervals allow. That of the pairs would be narrower.
	low, high := with.Low/without.High, with.High/without.Low
	if low <= 1 && high >= 1 {
		return fmt.Sprintf("%s: too little to be seen in the %s (%s to %s ×).", subject, m.Title, Significant(low, 3),
			Significant(high, 3))
	}
	direction := "better"
	if ahead(with.Value, without.Value, m.Higher) > 0 {
		direction = "worse"
	}
	unit := UnitFor(m.Dimension, with.Value, without.Value)
	return fmt.Sprintf("%s: %s × the %s, which is %s (%s to %s ×; %s against %s).", subject,
		Significant(with.Value/without.Value, 3), m.Title, direction, Significant(low, 3), Significant(high, 3),
		With(with, unit), With(without, unit))
}

// armAt returns the index of the arm with a name; −1 if there is none, or if the name is empty.
func armAt(r *result.Result, name string) int {
	for i := range r.Plan.Arms {
		if name != "" && r.ArmName(i) == name {
			return i
		}
	}
	return -1
}

// Advice compares published recommendations with what was measured, in a sentence for each.
func Advice(r *result.Result, a *claim.Analysis) []string {
	var lines []string
	for _, d := range r.Plan.Advice {
		lines = append(lines, d.Use+" → "+strings.TrimSuffix(d.Says, ".")+". Here: "+advised(r, a, d)+".")
	}
	return lines
}

// advised gives what was measured about a recommendation.
func advised(r *result.Result, a *claim.Analysis, d plan.Advice) string {
	if d.Missing != "" {
		return "no measurement shows this, " + strings.TrimSuffix(d.Missing, ".")
	}
	arm, over := armAt(r, d.Arm), armAt(r, d.Over)
	at := slices.IndexFunc(a.Loads, func(l claim.LoadAnalysis) bool { return l.Load == max(d.Load, 1)-1 })
	if arm < 0 || over < 0 || at < 0 {
		return "not measured"
	}
	l := &a.Loads[at]
	id := d.Metric
	if id == "" {
		id = l.Primary
	}
	m, err := kinds.MetricOf(l, id)
	row := l.Row(id)
	if err != nil || row == nil {
		return "not measured"
	}
	x := figure{l: l, arm: arm, q: quantity{metric: id, dimension: m.Dimension}}
	y := figure{l: l, arm: over, q: x.q}
	unit := UnitFor(m.Dimension, row.Cells[arm].Estimate.Value, row.Cells[over].Estimate.Value)
	values := fmt.Sprintf("%s of %s %s, of %s %s", m.Title, d.Arm, With(row.Cells[arm].Estimate, unit), d.Over,
		With(row.Cells[over].Estimate, unit))
	how := compare(r, x, y, m.Higher)
	switch {
	case how == unknownPair:
		return "nothing can be said, since one of the arms has no valid figure, or there are too few rounds"
	case how == notApart && d.Either:
		return "it holds: no difference is claimed (" + values + ")"
	case how == notApart:
		return "not shown here: no difference is claimed (" + values + ")"
	case d.Either:
		return "it does not hold: " + choose(how == sameOrder, d.Arm, d.Over) + " is better (" + values + ")"
	case how == sameOrder:
		return "it holds (" + values + ")"
	}
	return "it does not hold: the other is better (" + values + ")"
}

// choose returns a if first is true, else b.
func choose[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}
