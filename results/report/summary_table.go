package report

import (
	"fmt"
	"slices"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
)

// looked returns the metrics that most readers look for first, the primary metric before the others. Client cost is
// shown only if it was asked for.
func looked(l *claim.LoadAnalysis) []metric.Metric {
	shape := ShapeOf(l.Kind)
	if shape.looked == nil {
		return Main(l)
	}
	ids := shape.looked(l)
	if len(l.Libraries) > 0 {
		ids = append(ids, plan.ClientCPU)
	}
	return metrics(l, ids)
}

// load adds the table of one load: a row for each arm.
func (s *summary) load(l *claim.LoadAnalysis) {
	if Empty(l) {
		return
	}
	rows := rowsOf(l)
	t := SummaryTable{Title: tableTitle(s.r.Plan, l.Load)}
	if n := len(rows) - shownRows; n > 0 {
		rows = rows[:shownRows]
		t.More = fmt.Sprintf("and %d more: --full", n)
	}
	for _, arm := range rows {
		t.Names = append(t.Names, l.Arms[arm].Name)
	}
	for _, m := range looked(l) {
		row := l.Row(m.ID)
		if untold(l, m, row) {
			continue
		}
		unit := RowUnit(m, row)
		c := SummaryColumn{Head: heads(l, m), Unit: unit.Name}
		for _, arm := range rows {
			c.Cells = append(c.Cells, s.cell(l, m, arm, Value(row.Cells[arm].Estimate, unit), c.Head))
		}
		t.Columns = append(t.Columns, c)
	}
	if c, ok := s.bytes(l, rows); ok {
		t.Columns = append(t.Columns, c)
	}
	s.Tables = append(s.Tables, t)
}

// tableTitle names a load in as few words as distinguish it from the others.
func tableTitle(p plan.Plan, load int) string {
	name := LoadName(p, load)
	for _, calls := range []string{"call ", "calls "} {
		name = strings.Replace(name, calls+"in flight", "in flight", 1)
	}
	return Capitalised(name)
}

// rowsOf returns the arms in the order in which they are shown: as they were named, or the first and then the best if
// there are many.
func rowsOf(l *claim.LoadAnalysis) []int {
	rows := make([]int, len(l.Arms))
	for i := range rows {
		rows[i] = i
	}
	if len(rows) <= shownRows {
		return rows
	}
	place := func(arm int) int {
		switch {
		case arm == 0:
			return 0
		case l.Arms[arm].Place == 0:
			return len(l.Arms) + 1
		}
		return l.Arms[arm].Place
	}
	slices.SortStableFunc(rows, func(a, b int) int { return place(a) - place(b) })
	return rows
}

// untold reports whether a metric other than the primary one has no figure for a reason that is no refusal, for
// example because no server was started here.
func untold(l *claim.LoadAnalysis, m metric.Metric, row *claim.Row) bool {
	if m.ID == l.Primary || m.Quantile > 0 || worthShowing(m, *row) {
		return false
	}
	return !slices.ContainsFunc(l.Arms, func(arm claim.ArmState) bool { return arm.Rounds > 0 && gated(&arm, m) })
}

// cell returns one arm's figure, or the number of the reason why there is none.
func (s *summary) cell(l *claim.LoadAnalysis, m metric.Metric, arm int, value, head string) SummaryCell {
	c := l.Row(m.ID).Cells[arm]
	if !c.Estimate.Known {
		none := SummaryCell{Value: Absent, Mark: s.refusals.add(s.r.Plan, l, m, arm, head)}
		if c.Estimate.ShownRefused() != nil {
			none.Value = Value(c.Estimate, RowUnit(m, l.Row(m.ID)))
		}
		return none
	}
	found := SummaryCell{Value: value, Mark: Marks(&l.Arms[arm], m)}
	d := c.Difference
	if d == nil {
		return found
	}
	found.Tone = ToneOf(d.Verdict)
	switch first := l.Row(m.ID).Cells[0].Estimate; {
	case d.Known:
		found.Change, found.Sign = briefChange(d), signOf(d.Verdict)
	case d.Verdict == claim.TooFew:
		found.Sign = signOpen
	case !first.Known:
		found.Change = Absent + s.refusals.add(s.r.Plan, l, m, 0, head)
	case d.Why != "":
		found.Change = Absent
	}
	return found
}

// briefChange writes a difference in the width of a column: "+32", "−4.1".
func briefChange(d *claim.Difference) string {
	if d.Ratio >= manifold {
		return "×" + Significant(d.Ratio, 2)
	}
	if 100*(d.Ratio-1) >= 10 || 100*(d.Ratio-1) <= -10 || decimals(d) == 0 {
		return change(d.Ratio, 0)
	}
	return change(d.Ratio, decimals(d))
}

// manifold is the ratio from which on "× 12" is easier to read than a percentage.
const manifold = 10

// bytes returns the bytes of a request in both directions. The sign is shown only if both directions have the same
// verdict.
func (s *summary) bytes(l *claim.LoadAnalysis, rows []int) (SummaryColumn, bool) {
	sent, received := l.Row(plan.WireSent), l.Row(plan.WireReceived)
	if sent == nil || received == nil || !ShapeOf(l.Kind).bytes {
		return SummaryColumn{}, false
	}
	m, err := kinds.MetricOf(l, plan.WireSent)
	if err != nil {
		return SummaryColumn{}, false
	}
	total := func(arm int) (float64, bool) {
		a, b := sent.Cells[arm].Estimate, received.Cells[arm].Estimate
		return a.Value + b.Value, a.Known && b.Known
	}
	var all []float64
	for arm := range l.Arms {
		if v, ok := total(arm); ok {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return SummaryColumn{}, false
	}
	unit := UnitFor(metric.Size, all...)
	column := SummaryColumn{Head: "bytes", Unit: unit.Name}
	first, compared := total(0)
	for _, arm := range rows {
		v, ok := total(arm)
		if !ok {
			column.Cells = append(column.Cells,
				SummaryCell{Value: Absent, Mark: s.refusals.add(s.r.Plan, l, m, arm, column.Head)})
			continue
		}
		cell := SummaryCell{Value: Significant(v/unit.Size, 3)}
		a, b := sent.Cells[arm].Difference, received.Cells[arm].Difference
		if compared && first > 0 && a != nil && b != nil && a.Known && b.Known {
			cell.Change = change(v/first, 0)
			if a.Verdict == b.Verdict {
				cell.Sign, cell.Tone = signOf(a.Verdict), ToneOf(a.Verdict)
			}
		}
		column.Cells = append(column.Cells, cell)
	}
	return column, true
}

// matrix adds one table for many loads: a row for each load, a column for each arm, with the primary metric.
func (s *summary) matrix(loads []*claim.LoadAnalysis) {
	t := SummaryTable{Whole: true}
	same := loads[0].Primary
	for _, l := range loads {
		if l.Primary != same {
			same = ""
		}
	}
	if m, err := kinds.MetricOf(loads[0], same); err == nil {
		t.Title = Capitalised(m.Title)
	}
	decides := SummaryColumn{Head: "decided by"}
	pace := samePace(s.r.Plan, loads)
	if pace != "" && t.Title != "" {
		t.Title += ", " + pace
	}
	kept := loads[:min(len(loads), 2*shownRows)]
	if n := len(loads) - len(kept); n > 0 {
		t.More = fmt.Sprintf("and %d more: --full", n)
	}
	arms := make([]SummaryColumn, len(s.r.Plan.Arms))
	for _, l := range kept {
		m, err := kinds.MetricOf(l, l.Primary)
		row := l.Row(l.Primary)
		if err != nil || row == nil {
			continue
		}
		t.Names = append(t.Names, amongLoads(s.r.Plan, l, pace))
		decides.Cells = append(decides.Cells, SummaryCell{Value: m.Short})
		for arm := range arms {
			if arm >= len(l.Arms) {
				continue
			}
			c := s.cell(l, m, arm, With(row.Cells[arm].Estimate, RowUnit(m, row)), m.Short)
			c.Change = "" // the figures are next to each other
			arms[arm].Head = l.Arms[arm].Name
			arms[arm].Cells = append(arms[arm].Cells, c)
		}
	}
	if same == "" {
		t.Columns = append(t.Columns, decides)
	}
	t.Columns = append(t.Columns, arms...)
	if len(t.Names) > 0 {
		s.Tables = append(s.Tables, t)
	}
}

// samePace returns how calls arrive, if that is the same under several loads that differ in their operation; else "".
func samePace(p plan.Plan, loads []*claim.LoadAnalysis) string {
	pace := ""
	for i, l := range loads {
		if severalOf(p, l.Load) == "" || i > 0 && paceName(p.Loads[l.Load]) != pace {
			return ""
		}
		pace = paceName(p.Loads[l.Load])
	}
	return pace
}
