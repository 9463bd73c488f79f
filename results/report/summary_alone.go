package report

import (
	"fmt"
	"slices"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	phrases "wirelab/lab/result/words"
)

// alone reports whether there is only one arm, and it makes calls. Then there is nothing to compare: the reader asks
// how fast it answers, how long the slowest calls take, and what failed.
func (s *summary) alone(loads []*claim.LoadAnalysis) bool {
	if len(s.r.Plan.Arms) != 1 || len(loads) == 0 {
		return false
	}
	for _, l := range loads {
		if of := ShapeOf(l.Kind).alone; of == nil || !of(l) || len(l.Libraries) > 0 || Empty(l) {
			return false
		}
	}
	return true
}

// aloneLooked returns the metrics for a single arm, the most important first.
func aloneLooked(l *claim.LoadAnalysis) []metric.Metric {
	ids := []string{
		plan.Throughput, plan.ResponseP50, plan.ResponseP90, plan.ResponseP99, plan.ResponseP999,
		plan.ServerCPU, plan.DatabaseCPU,
	}
	if l.Open {
		ids = ids[1:]
	}
	var found []metric.Metric
	for _, m := range metrics(l, append(ids, l.Primary)) {
		c := l.Row(m.ID).Cells[0].Estimate
		switch {
		case c.Known, c.Refused != nil:
		case m.ID == plan.ResponseP999: // this metric exists only once there are enough calls
			continue
		case m.Quantile == 0 && m.ID != plan.Throughput && !gated(&l.Arms[0], m): // it could not be measured
			continue
		}
		found = append(found, m)
	}
	return found
}

// single adds the only table of a single arm: a row for each load.
func (s *summary) single(loads []*claim.LoadAnalysis) {
	t := SummaryTable{}
	kept := loads[:min(len(loads), 2*shownRows)]
	if n := len(loads) - len(kept); n > 0 {
		t.More = fmt.Sprintf("and %d more: --full", n)
	}
	var shown []metric.Metric
	for _, l := range kept {
		t.Names = append(t.Names, tableTitle(s.r.Plan, l.Load))
		for _, m := range aloneLooked(l) {
			if !untold(l, m, l.Row(m.ID)) {
				shown = metrics(l, append(ids(shown), m.ID))
			}
		}
	}
	for _, m := range shown {
		var values []float64
		for _, l := range kept {
			if row := l.Row(m.ID); row != nil && row.Cells[0].Estimate.Known {
				values = append(values, row.Cells[0].Estimate.Value)
			}
		}
		unit := Unit{Size: 1}
		if len(values) > 0 {
			unit = UnitFor(m.Dimension, values...)
		}
		c := SummaryColumn{Head: heads(kept[0], m), Unit: unit.Name}
		for _, l := range kept {
			if l.Row(m.ID) == nil {
				c.Cells = append(c.Cells, SummaryCell{})
				continue
			}
			c.Cells = append(c.Cells, s.cell(l, m, 0, Value(l.Row(m.ID).Cells[0].Estimate, unit), c.Head))
		}
		t.Columns = append(t.Columns, c)
	}
	if c, ok := s.bytes(kept[0], []int{0}); ok && len(kept) == 1 {
		t.Columns = append(t.Columns, c)
	}
	s.Tables = append(s.Tables, t)
}

func ids(of []metric.Metric) []string {
	all := make([]string, len(of))
	for i, m := range of {
		all[i] = m.ID
	}
	return all
}

// aloneSaid describes the result of the arm under each load, or under the load with the most answers if there are
// many.
func (s *summary) aloneSaid(loads []*claim.LoadAnalysis) []string {
	if len(loads) > detailed {
		most := loads[0]
		for _, l := range loads {
			if row := l.Row(plan.Throughput); row != nil &&
				row.Cells[0].Estimate.Value > most.Row(plan.Throughput).Cells[0].Estimate.Value {
				most = l
			}
		}
		if row := most.Row(plan.Throughput); row == nil || !row.Cells[0].Estimate.Known {
			return nil
		}
		return []string{s.aloneUnder(most) + " That is the most of these loads."}
	}
	var said []string
	for _, l := range loads {
		said = append(said, s.aloneUnder(l))
		if text := aloneFailed(l); text != "" {
			said = append(said, text)
		}
	}
	return said
}

// aloneUnder describes the arm under a load: how many calls it answers, how long they take, and what one costs.
func (s *summary) aloneUnder(l *claim.LoadAnalysis) string {
	known := func(id string) (string, claim.Estimate, bool) {
		m, err := kinds.MetricOf(l, id)
		if err != nil || l.Row(id) == nil || !l.Row(id).Cells[0].Estimate.Known {
			return "", claim.Estimate{}, false
		}
		e := l.Row(id).Cells[0].Estimate
		return With(e, RowUnit(m, l.Row(id))) + Marks(&l.Arms[0], m), e, true
	}
	name := l.Arms[0].Name
	var did []string
	if rate, e, ok := known(plan.Throughput); ok {
		m, _ := kinds.MetricOf(l, plan.Throughput)
		did = append(did, "answers "+strings.Replace(rate, "/s", "", 1)+" requests per second"+bounds(e,
			RowUnit(m, l.Row(plan.Throughput))))
	}
	var times []string
	if p50, _, ok := known(plan.ResponseP50); ok {
		times = append(times, "half of them within "+p50)
	}
	if p99, _, ok := known(plan.ResponseP99); ok {
		times = append(times, "99 % within "+p99)
	}
	var text string
	switch {
	case len(did) == 0 && len(times) == 0:
		return fmt.Sprintf("%s, %s%s.%s", Load(s.r.Plan, l.Load), nothingShown(&l.Arms[0]), s.aloneWhy(l),
			costs(l, known))
	case len(did) == 0:
		text = name + " answers " + strings.Replace(List(times), "of them", "of its calls", 1)
	case len(times) == 0:
		text = name + " " + did[0]
	default:
		text = name + " " + did[0] + ", " + List(times)
	}
	return Load(s.r.Plan, l.Load) + ", " + text + "." + costs(l, known)
}

// nothingShown says that an arm has neither a rate nor times. If failed calls are the cause, it says so first.
func nothingShown(arm *claim.ArmState) string {
	for _, c := range arm.Failed() {
		if found, _, ok := strings.Cut(c.Detail, ": "); ok && c.Gate == result.Answers {
			return found + ", so that no figure of " + arm.Name + " is shown"
		}
	}
	return "no rate and no time of " + arm.Name + " can be shown"
}

// costs writes what a call costs the server, if that is known.
func costs(l *claim.LoadAnalysis, known func(string) (string, claim.Estimate, bool)) string {
	cpu, e, ok := known(plan.ServerCPU)
	if !ok {
		return ""
	}
	m, _ := kinds.MetricOf(l, plan.ServerCPU)
	return " One costs the server " + cpu + " of CPU" + bounds(e, RowUnit(m, l.Row(plan.ServerCPU))) + "."
}

// aloneWhy refers to the reasons why an arm has neither a rate nor times.
func (s *summary) aloneWhy(l *claim.LoadAnalysis) string {
	var marks []string
	for _, m := range aloneLooked(l) {
		if mark := s.refusals.markOf(s.r.Plan, l, 0, heads(l, m)); mark != "" && !slices.Contains(marks, mark) {
			marks = append(marks, mark)
		}
	}
	if len(marks) == 0 {
		return ""
	}
	return " (" + List(marks) + " below)"
}

// aloneFailed says what failed, if the failures refuse no figure. If they do, the text of the check says it.
func aloneFailed(l *claim.LoadAnalysis) string {
	arm := &l.Arms[0]
	if len(arm.Causes) == 0 || len(arm.Invalid()) > 0 {
		return ""
	}
	var total uint64
	var parts []string
	for _, c := range arm.Causes {
		total += c.Count
		parts = append(parts, phrases.Thousands(c.Count)+" "+c.Cause)
	}
	if len(parts) > shownFindings {
		parts = append(parts[:shownFindings], "others")
	}
	return fmt.Sprintf("%s failed: %s.", Plural(int(total), "call"),
		List(parts)) //nolint:gosec // so many calls are never made
}
