package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result/explain"
	"wirelab/lab/result/metric"
	"wirelab/results/report"
	"wirelab/results/report/block"
	"wirelab/results/report/svg"
)

// factors returns the charts of why arms differ, if they differ in more than one factor and the effects can be
// estimated.
func (s *sheet) factors() []*figure {
	e := s.explanation()
	if e == nil {
		return nil
	}
	var all []*figure
	for _, l := range e.Loads {
		name := report.LoadName(s.r.Plan, l.Load)
		for i := range l.Metrics {
			x := &l.Metrics[i]
			if !x.Primary || x.Why != "" {
				continue
			}
			m := kinds.MustMetric(x.Metric)
			what := &figure{
				ID: fmt.Sprintf("effects-%d", l.Load+1), Title: "What each factor does to " + m.Title + ": " + name,
				Caption: fmt.Sprintf("All other factors the same, and on average over their levels. Main effects and "+
					"interactions "+
					"of two account for %s of the variation between the arms.%s", report.Percent(x.Explained),
					logarithmic),
				Notes: l.Notes,
			}
			for _, left := range x.Left {
				what.Refused = append(what.Refused, s.r.ArmName(left.Arm)+": "+left.Why)
			}
			with := &figure{
				ID: fmt.Sprintf("interactions-%d", l.Load+1), Title: "Which factors act together: " + name,
				Caption: "How many times more the first factor's step does where the second has its other level. 0 % " +
					"is: they do " +
					"not act together." + logarithmic,
			}
			all = append(all, s.factorPlot(what, m, report.EffectTable(e, m, x), x.Effects, "step"),
				s.factorPlot(with, m, report.InteractionTable(e, x), x.Interactions, "pair of steps"))
			all = append(all, s.shares(m, l, x)...)
		}
	}
	return slices.DeleteFunc(all, func(f *figure) bool { return f == nil })
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	one, rest, _ := strings.Cut(what, " ")
	return fmt.Sprintf("%d %s", n, strings.TrimSpace(one+"s "+rest))
}

// known keeps only the rows of a plot that have a difference. For each reason why others have none it adds a
// sentence, since an axis without marks is no chart.
func (f *figure) known(plot *forest, what string) {
	var unknown report.Groups[string, string]
	plot.rows = slices.DeleteFunc(plot.rows, func(row effect) bool {
		if !row.d.Known {
			unknown.Add(row.why, row.name)
		}
		return !row.d.Known
	})
	f.Refused = append(f.Refused, briefly(unknown.Each(func(why string, rows []string) string {
		return counted(len(rows), what) + " not known: " + why
	}))...)
}

// explanation explains why arms differ. It is nil if they differ in fewer than two factors, or if the effects cannot
// be estimated.
func (s *sheet) explanation() *explain.Explanation {
	if !s.asked {
		s.asked = true
		if e, err := explain.Between(s.r, s.a, "", ""); err == nil && len(e.Factors) > 1 {
			s.explained = e
		}
	}
	return s.explained
}

// explanations returns the verdicts of a factorial experiment, one for each load.
func (s *sheet) explanations() []said {
	e := s.explanation()
	if e == nil || !report.Factorial(s.r) {
		return nil
	}
	all := make([]said, len(e.Loads))
	for i := range e.Loads {
		l := &e.Loads[i]
		all[i] = said{
			Title: "Why they differ: " + report.LoadName(s.r.Plan, l.Load), Tone: "claim",
			Sentences: report.Explained(s.r, e, l), Notes: report.ExplainedNotes(s.r, e, l),
		}
	}
	return all
}

// factorPlot completes a figure of effects with their table; nil if there are none.
func (s *sheet) factorPlot(
	f *figure, m metric.Metric, t *block.Table, all []explain.FactorEffect, what string,
) *figure {
	if t == nil {
		return nil
	}
	t.File = f.ID
	f.tabled(s.table(nil, t))
	plot := forest{practical: report.Practical(s.r)}
	var desc []string
	for i, one := range all {
		d, verdict := orNone(one.Difference), t.Rows[i][len(t.Columns)-1]
		row := effect{name: t.Rows[i][0].Text, d: d, tone: "none"}
		switch {
		case one.Difference == nil || !d.Known && d.Why == "":
			row.why = one.Why
		case !d.Known:
			row.why = d.Why
		default:
			row.word, row.tone = verdict.Text, toneOf(number{d: d})
			row.attrs = []svg.Attr{s.tip(row.name + "\n" + difference(m, d) + "\n" + report.Plural(d.Rounds, "round"))}
		}
		plot.rows = append(plot.rows, row)
		desc = append(desc, row.name+": "+row.change()+" "+row.word)
	}
	f.known(&plot, what)
	if len(plot.rows) > 0 {
		plot.scan()
		f.draw(strings.Join(desc, "; "), plot.paint)
	}
	return f
}

// shares returns charts that split the difference between two arms into parts.
func (s *sheet) shares(m metric.Metric, l explain.LoadExplanation, x *explain.MetricExplanation) []*figure {
	var all []*figure
	for i, at := range x.Attributions {
		from := s.r.ArmName(at.From)
		title := fmt.Sprintf("From %s to %s: whose share of the difference is whose", from, s.r.ArmName(at.To))
		if at.Where != "" {
			title += ", " + at.Where
		}
		f := &figure{ID: fmt.Sprintf("shares-%d-%d", l.Load+1, i+1), Title: title, Notes: at.Notes}
		f.Caption = fmt.Sprintf("Of %s, under %s. Shares add up to the whole, in percent of %s's figure; each is an "+
			"average "+
			"over the orders in which the factors can be changed.", m.Title, report.LoadName(s.r.Plan, l.Load), from)
		all = append(all, f)
		if at.Total == nil {
			f.Refused = []string{at.Why}
			continue
		}
		t := report.ShareTable(s.r, m, &at)
		t.File = f.ID
		f.tabled(s.table(nil, t))
		plot := waterfall{tip: s.tip}
		for _, one := range append([]explain.Share{*at.Total}, at.Shares...) {
			name := cmp.Or(one.Factor, "the whole difference")
			step := strings.Trim(one.LevelFrom+" → "+one.LevelTo, " →")
			plot.rows = append(plot.rows, fall{name: name, detail: step, points: one.Points, whole: one.Factor == ""})
		}
		f.draw(plot.describe(), plot.paint)
	}
	return all
}

// points writes a share of a figure with its sign: "+12.3".
func points(v float64) string {
	return strings.TrimSuffix(percentChange(1+v), " %") + " %"
}

// fall is a row of a waterfall: a part of a difference.
type fall struct {
	name, detail string
	points       explain.Amount
	whole        bool
}

// waterfall shows parts that add up to a whole, each beginning where the one
// above it ends.
type waterfall struct {
	rows []fall
	tip  func(string) svg.Attr
}

func (w waterfall) describe() string {
	var all []string
	for _, r := range w.rows {
		all = append(all, r.name+" "+points(r.points.Value))
	}
	return strings.Join(all, "; ")
}

func (w waterfall) paint(d *svg.Drawing) {
	low, high, sum := 0.0, 0.0, 0.0
	for _, r := range w.rows {
		from := sum
		if r.whole {
			from = 0
		}
		for _, v := range []float64{from + r.points.Low, from + r.points.High, from + r.points.Value} {
			low, high = min(low, v), max(high, v)
		}
		if !r.whole {
			sum += r.points.Value
		}
	}
	said := 0.0
	for _, r := range w.rows {
		said = max(said, svg.Width(points(r.points.Value), smallSize))
	}
	const rowHigh = 44.0
	x := svg.Linear(low, high, 20, d.Width()-said-18)
	sum = 0
	bottom := 4 + rowHigh*float64(len(w.rows))
	for _, t := range svg.Spaced(x.Ticks(6), x.At, func(v float64) string { return strings.TrimSuffix(points(v), "") },
		smallSize, 0, d.Width()) {
		d.Line(t.At, 4, t.At, bottom, svg.Class("grid"))
		d.Text(t.At, bottom+15, smallSize, svg.Middle, t.Label, svg.Class("muted"))
	}
	d.Line(x.At(0), 4, x.At(0), bottom, svg.Class("zero"))
	for i, r := range w.rows {
		y := 4 + rowHigh*float64(i)
		from := sum
		class := "part0"
		if r.whole {
			from, class = 0, "whole"
		} else {
			sum += r.points.Value
			if r.points.Value < 0 {
				class = "part1"
			}
		}
		name := r.name
		if r.detail != "" {
			name += ": " + r.detail
		}
		d.Text(4, y+14, smallSize, svg.Start, svg.Fit(name, smallSize, d.Width()-8), svg.Class("bg"))
		a, b := x.At(from), x.At(from+r.points.Value)
		tip := name + "\n" + points(r.points.Value) + " [" + points(r.points.Low) + ", " + points(r.points.High) + "]"
		d.Group(svg.Class("mark bar "+class), w.tip(tip))
		d.Rect(min(a, b), y+20, max(1, max(a, b)-min(a, b)), 14, svg.Class("fill"))
		lo, hi := x.At(from+r.points.Low), x.At(from+r.points.High)
		d.Line(lo, y+27, hi, y+27, svg.Class("error"))
		d.Line(lo, y+23, lo, y+31, svg.Class("error"))
		d.Line(hi, y+23, hi, y+31, svg.Class("error"))
		d.End()
		d.Text(max(a, b, hi)+7, y+31, smallSize, svg.Start, points(r.points.Value))
	}
	d.Tall(bottom + 22)
}
