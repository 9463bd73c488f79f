package report

import (
	"fmt"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/explain"
	"wirelab/lab/result/history"
	"wirelab/lab/result/metric"
)

// SummariseExplained is the short answer to why the arms of a result differ. a is the analysis of r, and e explains
// it.
func SummariseExplained(r *result.Result, a *claim.Analysis, e *explain.Explanation) Summary {
	r, a = Marked(r, a)
	s := summary{r: r, a: a, refusals: &refusals{}}
	for i := range e.Loads {
		s.explained(e, &e.Loads[i], len(e.Loads) > 1)
	}
	s.key(nil)
	s.trust(s.loads())
	id := r.ID
	if id != "" {
		s.Next = []Step{
			{"wirelab report " + id + " -o report.html", "every figure as a page"},
			{"wirelab explain " + id + " --full", "every effect here"},
			{"wirelab results show " + id, "the arms"},
		}
	}
	return s.Summary
}

// explained adds the explanation of the primary metric under one load: the parts of each difference, and the average
// effect of each factor.
func (s *summary) explained(e *explain.Explanation, l *explain.LoadExplanation, several bool) {
	where := ""
	if several {
		where = LoadName(s.r.Plan, l.Load) + ": "
	}
	if len(l.Metrics) == 0 {
		s.Answer = append(s.Answer, where+"Nothing was measured.")
		return
	}
	x := &l.Metrics[0]
	m, err := kinds.MetricByID(x.Metric)
	if err != nil || x.Why != "" {
		s.Answer = append(s.Answer, where+"Nothing can be explained: "+x.Why+".")
		return
	}
	for _, text := range leftOut(s.r, x.Left) {
		s.Refused = append(s.Refused, "refused: "+where+trimmedStop(text))
	}
	for i := range x.Attributions {
		s.attributed(m, &x.Attributions[i], where, i == 0)
	}
	if text := actTogether(x); text != "" {
		s.Answer = append(s.Answer, text)
	}
	if t, ok := effectsTable(e, m, x); ok {
		t.Title = where + t.Title
		s.Tables = append(s.Tables, t)
	}
	s.hidden += len(ExplainedNotes(s.r, e, l)) - len(leftOut(s.r, x.Left))
}

// attributed names the parts of a difference in a sentence, and adds them as a table.
func (s *summary) attributed(m metric.Metric, at *explain.Attribution, where string, table bool) {
	from, to := s.r.ArmName(at.From), s.r.ArmName(at.To)
	if at.Where != "" {
		where += "With " + at.Where + ": "
	}
	if at.Total == nil {
		s.Answer = append(s.Answer,
			fmt.Sprintf("%sThe difference between %s and %s cannot be split into parts: %s.", where, from, to,
				trimmedStop(at.Why)))
		return
	}
	text := where + against(m, to, from, at.Total.Difference)
	var parts []string
	for i := range at.Shares {
		if d := at.Shares[i].Difference; d.Verdict == claim.Better || d.Verdict == claim.Worse {
			parts = append(parts, at.Shares[i].Factor+" "+Points(&at.Shares[i])+" points")
		}
	}
	switch {
	case len(parts) > 0:
		text += ". Of that: " + List(parts)
	case at.Total.Difference.Verdict.Claim():
		text += ". No part of it can be claimed by itself"
	}
	s.Answer = append(s.Answer, text+".")
	if !table {
		return
	}
	t := SummaryTable{Title: Capitalised(m.Title) + " from " + from + " to " + to}
	columns := []SummaryColumn{{Head: "points"}, {Head: "95 % CI"}, {Head: "from → to"}}
	for _, share := range append(append([]explain.Share{}, at.Shares...), *at.Total) {
		name, step := share.Factor, share.LevelFrom+" → "+share.LevelTo
		if name == "" {
			name, step = "together", ""
		}
		t.Names = append(t.Names, name)
		d := share.Difference
		columns[0].Cells = append(columns[0].Cells,
			SummaryCell{Value: Points(&share), Mark: signOf(d.Verdict), Tone: ToneOf(d.Verdict)})
		columns[1].Cells = append(columns[1].Cells, SummaryCell{Value: Interval(d)})
		columns[2].Cells = append(columns[2].Cells, SummaryCell{Value: step})
	}
	t.Columns = columns
	s.Tables = append(s.Tables, t)
}

// actTogether says how many pairs of factors interact.
func actTogether(x *explain.MetricExplanation) string {
	n := 0
	for i := range x.Interactions {
		if d := x.Interactions[i].Difference; d != nil && (d.Verdict == claim.Better || d.Verdict == claim.Worse) {
			n++
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "One pair of factors acts together, so that neither effect is the same at every level of the other."
	}
	return fmt.Sprintf("%d pairs of factors act together, so that one's effect differs by the other's level.", n)
}

// effectsTable lists the effect of each factor, on average over the others.
func effectsTable(e *explain.Explanation, m metric.Metric, x *explain.MetricExplanation) (SummaryTable, bool) {
	t := SummaryTable{Title: Capitalised(m.Title) + ": each factor, on average over the others"}
	columns := []SummaryColumn{{Head: "change"}, {Head: "95 % CI"}}
	for i := range x.Effects {
		if i == shownRows {
			t.More = fmt.Sprintf("and %d more: --full", len(x.Effects)-shownRows)
			break
		}
		f := &x.Effects[i]
		t.Names = append(t.Names, EffectName(e, f))
		change := SummaryCell{Value: strings.TrimSpace(Change(f.Difference))}
		if f.Difference != nil {
			change.Mark, change.Tone = signOf(f.Difference.Verdict), ToneOf(f.Difference.Verdict)
		}
		columns[0].Cells = append(columns[0].Cells, change)
		columns[1].Cells = append(columns[1].Cells, SummaryCell{Value: Interval(f.Difference)})
	}
	t.Columns = columns
	return t, len(t.Names) > 0
}

// SummariseAgreement is the short answer to whether the conclusions of one result hold in another one, measured here.
func SummariseAgreement(was, here *result.Result, a *history.Agreement) Summary {
	marked, _ := Marked(was, nil)
	s := Summary{Answer: []string{Agreed(a)}}
	if n := len(a.Environment); n > 0 {
		s.Answer = append(s.Answer,
			fmt.Sprintf("It is not the same machine or build (%s), so conclusions may rightly differ.",
				Plural(n, "difference")))
	}
	t := SummaryTable{Title: "Primary conclusions"}
	columns := []SummaryColumn{{Head: "original"}, {Head: "here"}, {Head: "conclusion"}}
	several := len(was.Plan.Loads) > 1
	for i := range a.Conclusions {
		c := &a.Conclusions[i]
		if !c.Primary {
			continue
		}
		if len(t.Names) == shownRows {
			t.More = "and more: --full"
			break
		}
		name := marked.ArmName(c.Arm)
		if several {
			name += ", " + tableTitle(was.Plan, c.Load)
		}
		t.Names = append(t.Names, name)
		for k, text := range []string{FoundBriefly(&c.Was), FoundBriefly(&c.Here), Held(c)} {
			columns[k].Cells = append(columns[k].Cells, SummaryCell{Value: text, Tone: holdingTone(c.Holding)})
		}
	}
	t.Columns = columns
	if len(t.Names) > 0 {
		s.Tables = append(s.Tables, t)
	}
	s.Refused = unheld(a)
	s.Trust = []string{fmt.Sprintf("Original %s, %s; here %s, %s.", was.ID, Plural(len(was.Rounds), "round"), here.ID,
		Plural(len(here.Rounds), "round"))}
	if here.ID != "" {
		s.Next = []Step{
			{"wirelab results show " + here.ID, "what was measured here"},
			{"wirelab results show " + here.ID + " --full", "every figure"},
		}
	}
	return s
}

// unheld returns the reasons why conclusions do not hold here, each reason once.
func unheld(a *history.Agreement) []string {
	count := map[string]int{}
	var order []string
	for i := range a.Conclusions {
		c := &a.Conclusions[i]
		if c.Holding == history.Holds {
			continue
		}
		why := string(c.Holding) + ": " + c.Why
		if count[why] == 0 {
			order = append(order, why)
		}
		count[why]++
	}
	if len(order) > shownFindings {
		rest := 0
		for _, why := range order[shownFindings:] {
			rest += count[why]
		}
		order = append(order[:shownFindings], "for other reasons: see --full")
		count[order[shownFindings]] = rest
	}
	for i, why := range order {
		order[i] = Plural(count[why], "conclusion") + " " + why
	}
	return order
}

// SummariseDecisions is the short form of the tables of which way to use when: the best for each need. id is the
// result's.
func SummariseDecisions(id string, tables []DecisionTable) Summary {
	var s Summary
	early := false
	for i := range tables {
		t := &tables[i]
		var rows []string
		untried := 0
		for k := range t.Rows {
			d := &t.Rows[k]
			switch {
			case t.Load < 0 && len(d.First) == 0:
				untried++
				continue
			case d.State == "one run":
				rows = append(rows, d.Need+": "+strings.Join(Texts(d.First), "; "))
			default:
				rows = append(rows, d.Need+": "+d.Lead)
			}
			early = early || strings.Contains(rows[len(rows)-1], earlyMark)
		}
		if len(rows) > 0 {
			s.Points = append(append(s.Points, "When to use which: "+t.Title), rows...)
		}
		if untried > 0 {
			s.Refused = append(s.Refused,
				fmt.Sprintf("not measured: what happens in %s of parts; --full says which commands measure it",
					Plural(untried, "failure")))
		}
	}
	if early {
		s.Key = append(s.Key, earlyMark+" answers before the entry is durable")
	}
	if id != "" {
		s.Next = []Step{
			{"wirelab decide " + id + " --full", "the others, conditions and promises"},
			{"wirelab report " + id + " -o report.html", "the same as a page"},
		}
	}
	return s
}
