package report

import (
	"fmt"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/results/report/block"
)

// MainMetrics returns the metrics that a load is judged by.
func MainMetrics(r *result.Result, l *claim.LoadAnalysis) *block.Metrics {
	return metricsBlock(r, l, "main", Shown(l))
}

// OtherMetrics returns the metrics that are not among [MainMetrics].
func OtherMetrics(r *result.Result, l *claim.LoadAnalysis) *block.Metrics {
	return metricsBlock(r, l, "others", Secondary(l))
}

func metricsBlock(r *result.Result, l *claim.LoadAnalysis, id string, metrics []metric.Metric) *block.Metrics {
	b := &block.Metrics{ID: id}
	for a := range l.Arms {
		arm := block.Arm{Name: l.Arms[a].Name, About: Arm(r, a), Floored: l.Arms[a].Floor.Known}
		if len(l.Arms) > 1 {
			arm.Place = Place(l, a)
		}
		b.Arms = append(b.Arms, arm)
	}
	for _, m := range metrics {
		row := l.Row(m.ID)
		unit := RowUnit(m, row)
		column := block.Metric{
			ID: m.ID, Title: m.Title, Short: m.Short, Unit: unit.Name, Primary: row.Primary, Counted: m.Counted,
		}
		for a, c := range row.Cells {
			column.Figures = append(column.Figures, measuredOf(l, m, unit, a, c))
		}
		b.Columns = append(b.Columns, column)
	}
	return b
}

// measuredOf returns an arm's figure of a metric with everything that the formats show of it.
func measuredOf(l *claim.LoadAnalysis, m metric.Metric, unit Unit, a int, c claim.Cell) block.Measured {
	arm := &l.Arms[a]
	f := block.Measured{
		Value: Value(c.Estimate, unit), Marks: Marks(arm, m), Bounds: BoundsOf(c.Estimate, unit),
		Floor: FloorText(arm, m, unit), Key: fmt.Sprintf("%d/%d/%s", l.Load, a, m.ID),
	}
	f.Text = With(c.Estimate, unit) + f.Marks
	if f.Floor != "" {
		v, _ := Floor(arm, m)
		f.FloorText = With(claim.Estimate{Known: true, Value: v}, unit)
		if _, refused := IsRefused(f.Floor); refused {
			f.FloorText = Refused(f.FloorText)
		}
	}
	if !c.Estimate.Known {
		f.Why = c.Estimate.Why
	}
	switch d := c.Difference; {
	case d != nil:
		f.Change, f.Interval, f.Verdict = Change(d), Interval(d), Verdict(m, d)
		f.Tone, f.Sign = ToneOf(d.Verdict), Sign(d.Verdict)
	case !c.Estimate.Known && arm.Spoiled(m) != "":
		f.Verdict, f.Tone = string(arm.Spoiled(m)), block.Bad
	}
	return f
}

// BoundsOf writes the bounds of an estimate: "[23.5, 24.6]", "exact"; "" if there are none.
func BoundsOf(e claim.Estimate, u Unit) string {
	switch {
	case !e.Interval():
		return ""
	case e.Low == e.High:
		return "exact"
	}
	return "[" + Significant(e.Low/u.Size, 3) + ", " + Significant(e.High/u.Size, 3) + "]"
}

// SignsLegend explains the signs of verdicts.
const SignsLegend = "* difference claimed, = equivalent, ? undecided, ! nothing claimed"

// Sign writes a verdict as one character.
func Sign(v claim.Verdict) string {
	switch v {
	case claim.Better, claim.Worse:
		return "*"
	case claim.Equivalent:
		return "="
	case claim.Inconclusive:
		return "?"
	case claim.Unmeasured:
		return ""
	}
	return "!"
}

// RateTable compares the rate that an open loop was asked for with the rate that it reached; nil for other loads.
func RateTable(l *claim.LoadAnalysis) *block.Table {
	head := ShapeOf(l.Kind).answered
	if !l.Open || head == "" {
		return nil
	}
	planned, answered := armColumn{head: "planned /s"}, armColumn{head: head}
	for a := range l.Arms {
		planned.cells = append(planned.cells, Significant(l.Arms[a].Planned, 3))
		answered.cells = append(answered.cells, Answered(&l.Arms[a]))
	}
	return armTable(l, block.Table{ID: "rates", Title: "Rates"}, []armColumn{planned, answered})
}
