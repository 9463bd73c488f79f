package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	phrases "wirelab/lab/result/words"
)

// answer says in sentences what may be claimed. If nothing may be claimed, the first sentence says so.
func (s *summary) answer(loads []*claim.LoadAnalysis) {
	var said []string
	measured := slices.ContainsFunc(loads, func(l *claim.LoadAnalysis) bool { return !Empty(l) })
	switch {
	case !measured && len(s.Answer) == 0:
		why := "nothing was measured"
		if len(loads) > 0 {
			why = nothing(loads[0])
		}
		said = append(said, "Nothing can be claimed: "+why+".")
	case !measured: // the text for the curve or the capacity says it already
	case len(s.r.Plan.Arms) > 1 && !s.claims(loads):
		text, all := s.noClaim(loads)
		said = append(said, text)
		measured = !all
	}
	switch {
	case measured && s.alone(loads):
		said = append(said, s.aloneSaid(loads)...)
	case measured:
		if len(loads) > detailed {
			said = append(said, s.many(loads)...)
		} else {
			for i, l := range loads {
				sentences := s.sentences(l)
				if i > 0 && len(sentences) > 1 && said[len(said)-1] == sentences[1] {
					said = said[:len(said)-1] // a sentence that holds for both is said once
				}
				said = append(said, sentences...)
			}
		}
	}
	s.Answer = append(said, s.Answer...)
	if s.r.Ending == result.Interrupted {
		s.Answer = append(s.Answer, "The run was interrupted after "+Plural(s.a.Rounds, "round")+".")
	}
}

// claims reports whether the summary shows any claim.
func (s *summary) claims(loads []*claim.LoadAnalysis) bool {
	return slices.ContainsFunc(loads, func(l *claim.LoadAnalysis) bool {
		return slices.ContainsFunc(looked(l), func(m metric.Metric) bool { return claimed(l, m.ID) })
	})
}

// noClaim returns the first sentence if nothing can be claimed. all reports whether it says everything.
func (s *summary) noClaim(loads []*claim.LoadAnalysis) (text string, all bool) {
	for _, l := range loads {
		if row := l.Row(l.Primary); row != nil {
			for _, c := range row.Cells {
				if d := c.Difference; d != nil && d.Verdict == claim.TooFew {
					return "Nothing can be claimed yet: " + d.Why + ".", true
				}
			}
		}
	}
	if s.refusals.someRefused() {
		return "Nothing can be claimed: too many figures were refused (reasons below).", false
	}
	return "Nothing can be claimed yet: no difference is clear.", false
}

// sentences describes how the arms compare under a load, and says so if all times were refused.
func (s *summary) sentences(l *claim.LoadAnalysis) []string {
	if l.Slow && !Empty(l) {
		return []string{slowSentence(s.r.Plan, l)}
	}
	if Empty(l) {
		return []string{Load(s.r.Plan, l.Load) + ", " + nothing(l) + "."}
	}
	m, err := kinds.MetricOf(l, l.Primary)
	row := l.Row(l.Primary)
	if err != nil || row == nil || len(row.Cells) == 0 {
		return nil
	}
	said := []string{Load(s.r.Plan, l.Load) + ", " + s.decided(l, m, row) + promises(l) + "."}
	if text := s.speed(l); text != "" {
		said = append(said, text)
	}
	return said
}

// decided describes how the arms compare by the primary metric.
func (s *summary) decided(l *claim.LoadAnalysis, m metric.Metric, row *claim.Row) string {
	first := row.Cells[0].Estimate
	switch {
	case !first.Known:
		return fmt.Sprintf("nothing can be compared in %s: %s has no figure%s", m.Title, l.Arms[0].Name,
			s.because(l, m, 0))
	case len(row.Cells) == 1:
		return fmt.Sprintf("the %s of %s is %s%s", m.Title, l.Arms[0].Name,
			With(first, RowUnit(m, row))+Marks(&l.Arms[0], m), bounds(first, RowUnit(m, row)))
	case len(row.Cells) == 2:
		if !row.Cells[1].Estimate.Known {
			return fmt.Sprintf("nothing can be compared in %s: %s has no figure%s", m.Title, l.Arms[1].Name,
				s.because(l, m, 1))
		}
		return against(m, l.Arms[1].Name, l.Arms[0].Name, row.Cells[1].Difference)
	}
	return s.ranked(l, m, row)
}

// because refers to the reason for a missing figure, or gives it.
func (s *summary) because(l *claim.LoadAnalysis, m metric.Metric, arm int) string {
	if mark := s.refusals.markOf(s.r.Plan, l, arm, heads(l, m)); mark != "" {
		return " (" + mark + " below)"
	}
	return ": " + trimmedStop(l.Row(m.ID).Cells[arm].Estimate.Why)
}

// ranked describes more than two arms: which is best, how much it differs from the first one named, and which differs
// most in the other direction.
func (s *summary) ranked(l *claim.LoadAnalysis, m metric.Metric, row *claim.Row) string {
	best, shared := champion(l)
	w, base := words(m), l.Arms[0].Name
	top := w.best
	if slices.ContainsFunc(l.Arms, func(a claim.ArmState) bool { return a.Place == 0 }) {
		top += " of those with a figure"
	}
	figure := func(arm int) string {
		return With(row.Cells[arm].Estimate, RowUnit(m, row)) + Marks(&l.Arms[arm], m) + w.of
	}
	var parts []string
	switch {
	case best == 0:
		parts = append(parts, fmt.Sprintf("%s %s: %s", base, top, figure(0)))
	case best > 0:
		text := fmt.Sprintf("%s %s: %s", l.Arms[best].Name, top, figure(best))
		if d := row.Cells[best].Difference; d != nil && d.Verdict == claim.Better {
			text += ", " + amount(d) + " " + lessOrMore(d) + " than " + base + sure(d)
		}
		parts = append(parts, text)
	case len(shared) > 1 && len(shared) <= listed && len(shared) < len(l.Arms):
		parts = append(parts, fmt.Sprintf("%s %s, with no clear difference between them", List(names(l, shared)),
			strings.Replace(top, "is ", "are ", 1)))
	case len(shared) > 1:
		parts = append(parts, fmt.Sprintf("%d of %d arms share the first place in %s", len(shared), len(l.Arms),
			m.Title))
	}
	if best < 0 && len(shared) == 0 {
		if arm := extreme(row, claim.Better); arm > 0 {
			parts = append(parts, against(m, l.Arms[arm].Name, base, row.Cells[arm].Difference))
		}
	}
	if arm := extreme(row, claim.Worse); arm > 0 {
		parts = append(parts, against(m, l.Arms[arm].Name, base, row.Cells[arm].Difference))
	}
	if open := withVerdict(l, row, claim.Inconclusive); len(open) > 0 && len(parts) < 2 {
		parts = append(parts, "no clear difference yet from "+base+" for "+fewNames(open))
	}
	if len(parts) == 0 {
		return "nothing can be claimed about " + m.Title + ": " + counts(row)
	}
	return strings.Join(parts, "; ")
}

// counts says how many arms have no claim, and why.
func counts(row *claim.Row) string {
	few, open, none := 0, 0, 0
	for _, c := range row.Cells[1:] {
		switch d := c.Difference; {
		case !c.Estimate.Known || d == nil:
			none++
		case d.Verdict == claim.TooFew:
			few++
		default:
			open++
		}
	}
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{few, "too few rounds"}, {open, "no clear difference"}, {none, "no figure"}} {
		switch {
		case p.n == 1:
			parts = append(parts, "1 arm has "+p.what)
		case p.n > 1:
			parts = append(parts, fmt.Sprintf("%d arms have %s", p.n, p.what))
		}
	}
	return List(parts)
}

func withVerdict(l *claim.LoadAnalysis, row *claim.Row, v claim.Verdict) []string {
	var all []string
	for arm, c := range row.Cells {
		if c.Difference != nil && c.Difference.Verdict == v {
			all = append(all, l.Arms[arm].Name)
		}
	}
	return all
}

func fewNames(all []string) string {
	if len(all) > listed {
		return fmt.Sprintf("%d arms", len(all))
	}
	return List(all)
}

// extreme returns the arm with the given verdict that differs most from the first; 0 if no arm has that verdict.
func extreme(row *claim.Row, v claim.Verdict) int {
	arm, most := 0, 0.0
	for i, c := range row.Cells {
		if d := c.Difference; d != nil && d.Known && d.Verdict == v {
			if far := math.Abs(math.Log(d.Ratio)); far > most {
				arm, most = i, far
			}
		}
	}
	return arm
}

// against describes how one arm differs from another: "grpc costs the server 32 % more CPU per request than
// http1-json (95 % CI 30 to 33 %)".
func against(m metric.Metric, name, base string, d *claim.Difference) string {
	switch {
	case d == nil:
		return name + " is not compared with " + base
	case d.Verdict == claim.Better || d.Verdict == claim.Worse:
		return comparedBy(m, name, base, amount(d), d.Ratio > 1) + sure(d)
	case d.Verdict == claim.Equivalent && d.Exact:
		return fmt.Sprintf("%s and %s have the same %s", name, base, m.Title)
	case d.Verdict == claim.Equivalent:
		return fmt.Sprintf("%s and %s have the same %s, within %s", name, base, m.Title, Margin(d.Margin))
	case d.Verdict == claim.Inconclusive:
		low, high, _ := strings.Cut(strings.Trim(Interval(d), "[]"), ", ")
		text := fmt.Sprintf("there is no clear difference in %s between %s and %s yet (%s, 95 %% CI %s to %s)", m.Title,
			name, base, Change(d), low, high)
		if d.More > 0 && d.More <= manyRounds {
			text += fmt.Sprintf("; about %s more rounds would decide", phrases.Thousands(uint64(d.More)))
		}
		return text
	}
	return fmt.Sprintf("nothing is claimed about %s in %s: %s", name, m.Title, trimmedStop(d.Why))
}

// comparedBy writes a claim without its interval.
func comparedBy(m metric.Metric, name, base, by string, more bool) string {
	word := map[bool]string{true: "more", false: "less"}[more]
	fewer := map[bool]string{true: "more", false: "fewer"}[more]
	where := map[string]string{
		plan.ServerCPU: "the server", plan.EventServerCPU: "the server", plan.ClientCPU: "the client",
		plan.EventClientCPU: "the client",
		plan.DatabaseCPU:    "the database", plan.EventDatabaseCPU: "the database",
		plan.BackendCPU: "server and database",
	}[m.ID]
	per := strings.TrimPrefix(m.Title[strings.LastIndex(m.Title, " per ")+1:], "per ")
	switch {
	case where != "" && strings.Contains(m.Title, " per "):
		if strings.HasPrefix(m.Title, "broker") {
			where = "the broker"
		}
		return fmt.Sprintf("%s costs %s %s %s CPU per %s than %s", name, where, by, word, per, base)
	case m.ID == plan.Throughput:
		return fmt.Sprintf("%s answers %s %s requests per second than %s", name, by, fewer, base)
	case m.ID == plan.MessageRate, m.ID == plan.DeliveredRate:
		return fmt.Sprintf("%s moves %s %s messages than %s", name, by, fewer, base)
	}
	long := map[bool]string{true: "higher", false: "lower"}[more]
	if m.Dimension == metric.Time {
		long = map[bool]string{true: "longer", false: "shorter"}[more]
	}
	return fmt.Sprintf("the %s is %s %s with %s than with %s", m.Title, by, long, name, base)
}

// amount writes the size of a claimed difference without its sign: "32 %".
func amount(d *claim.Difference) string {
	if d.Ratio >= manifold {
		return Significant(d.Ratio, 2) + " times"
	}
	return strings.TrimLeft(briefChange(d), "+−") + " %"
}

func lessOrMore(d *claim.Difference) string {
	if d.Ratio > 1 {
		return "more"
	}
	return "less"
}

// sure writes the interval of a claim, low end first.
func sure(d *claim.Difference) string {
	if d.Exact {
		return " (exact)"
	}
	low, high, n := d.Low, d.High, decimals(d)
	if !strings.Contains(briefChange(d), ".") {
		n = 0
	}
	if d.Ratio >= manifold {
		return fmt.Sprintf(" (95 %% CI ×%s to ×%s)", Significant(low, 2), Significant(high, 2))
	}
	if d.Ratio < 1 {
		low, high = high, low
	}
	return fmt.Sprintf(" (95 %% CI %s to %s %%)", unsigned(low, n), unsigned(high, n))
}

// speed answers the second question about two arms: how many requests a server answers, or what they cost at a given
// rate. For any number of arms it says that no time is known if all times were refused.
func (s *summary) speed(l *claim.LoadAnalysis) string {
	timed := func(m metric.Metric) bool { return m.Quantile > 0 || m.ID == plan.Throughput }
	shown, known := 0, 0
	refused := ""
	for _, m := range looked(l) {
		if !timed(m) || m.ID == l.Primary {
			continue
		}
		for arm, c := range l.Row(m.ID).Cells {
			if shown++; c.Estimate.Known {
				known++
			} else if mark := s.refusals.markOf(s.r.Plan, l, arm, heads(l, m)); mark != "" &&
				!strings.Contains(refused, mark) && gated(&l.Arms[arm], m) {
				refused += mark
			}
		}
	}
	if shown > 0 && known == 0 && refused != "" {
		return "Which is faster is not known: every time was refused (" + refused + " below)."
	}
	if len(l.Arms) != 2 {
		return ""
	}
	id := plan.Throughput
	if l.Open {
		id = plan.ServerCPU
	}
	m, err := kinds.MetricOf(l, id)
	row := l.Row(id)
	if err != nil || id == l.Primary || row == nil || row.Cells[1].Difference == nil ||
		!row.Cells[1].Difference.Verdict.Claim() {
		return ""
	}
	return capital(capitalisedUnlessName(against(m, l.Arms[1].Name, l.Arms[0].Name, row.Cells[1].Difference),
		l.Arms[1].Name)) + "."
}

// capitalisedUnlessName puts a capital at the beginning of a sentence. A name keeps its spelling.
func capitalisedUnlessName(text, name string) string {
	if strings.HasPrefix(text, name) {
		return text
	}
	return Capitalised(text)
}

// many says of several loads under how many of them each arm is first.
func (s *summary) many(loads []*claim.LoadAnalysis) []string {
	var won Groups[string, string]
	none := 0
	for _, l := range loads {
		best, _ := champion(l)
		if best < 0 {
			none++
			continue
		}
		won.Add(l.Arms[best].Name, amongLoads(s.r.Plan, l, ""))
	}
	if len(won.Keys) == 0 {
		return []string{fmt.Sprintf("No arm is alone in the first place under any of the %d loads.", len(loads))}
	}
	slices.SortStableFunc(won.Keys, func(a, b string) int { return len(won.Of[b]) - len(won.Of[a]) })
	parts := won.Each(func(name string, under []string) string {
		if len(under) == len(loads) {
			return fmt.Sprintf("%s is first under all %d loads", name, len(under))
		}
		text := fmt.Sprintf("%s is first under %d of %d loads", name, len(under), len(loads))
		return text + choose(len(under) <= listed, " ("+List(under)+")", "")
	})
	if none > 0 {
		parts = append(parts, fmt.Sprintf("under %d no arm is alone in the first place", none))
	}
	return []string{strings.Join(parts, "; ") + "."}
}
