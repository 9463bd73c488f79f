package html

import (
	"slices"
	"strings"

	"wirelab/lab/kind/capacity"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/results/report"
	"wirelab/results/report/svg"
)

// said is a verdict that does not belong to one load: on a curve, on capacities, or from a self-test.
type said struct {
	Title, Tone string
	Sentences   []string
	Figure      *figure
	Notes       []string
}

// first returns the verdicts that come before those of loads.
func (s *sheet) first() []said {
	var all []said
	if t := s.r.SelfTest; t != nil {
		one := said{Title: "Trials of wirelab itself", Tone: "claim"}
		if len(t.Failed()) > 0 {
			one.Tone = "bad"
		}
		for _, test := range t.Tests {
			word := "passed"
			switch {
			case test.Refused:
				word = "shows nothing"
			case !test.Pass:
				word = "failed"
			}
			one.Sentences = append(one.Sentences, test.Name+" "+word+": "+test.Found+" (required: "+test.Required+")")
		}
		all = append(all, one)
	}
	if found := capacity.Of(s.a); len(found.Arms) > 0 {
		c := &found
		all = append(all, said{
			Title: "Capacity: the highest rate that keeps " + strings.ReplaceAll(c.Objective, ",", ", "), Tone: "claim",
			Sentences: report.CapacitySentences(c),
			Figure:    s.capacity(c), Notes: append(report.CapacityNotes(s.r, c), report.CapacityMethod(s.r)),
		})
	}
	all = append(all, s.explanations()...)
	for i := range s.a.Curves {
		c := &s.a.Curves[i]
		all = append(all, said{
			Title: report.Titled(report.CurveTitle(c)), Tone: "claim",
			Sentences: append(report.CurveSentences(c), report.CurveSetting(c)),
			Figure:    s.curve(i), Notes: append(report.CurveNotes(s.r, c), report.CurveLegend),
		})
	}
	return all
}

// capacity shows the arms' capacities, and what each round found.
func (s *sheet) capacity(c *claim.CapacityAnalysis) *figure {
	f := &figure{
		ID: "capacity", Title: "Capacities",
		Caption: "Bar: the mean of the rounds with its 95 % interval; dots: what each round found. From 0.",
	}
	table, shown := s.table(nil, report.CapacityTable(c)), s.table(nil, report.CapacityTable(s.shown.Capacity))
	f.Head = slices.Concat(table.Head, []string{""})
	raw := [][]string{{"arm", "kind", "rate", "low", "high", "bound", "closed_loop", "rounds", "why"}}
	plot := capacities{tip: s.tip}
	for i := range c.Arms {
		arm := &c.Arms[i]
		plot.arms = append(plot.arms, arm)
		if !arm.Rate.Known {
			f.Refused = append(f.Refused, arm.Name+": "+report.CapacityOf(arm)+strings.TrimSuffix(": "+arm.Why, ": "))
		}
		rate := s.curveCell("capacity/"+itoa(i), arm.Name+" · capacity", metric.Frequency,
			s.shown.Capacity.Arms[i].Rate)
		row := table.Rows[i]
		if arm.Rate.Known {
			rate.Text = row[1].Text
		}
		row[1], row[5] = rate, shown.Rows[i][5] // with visible refused values
		f.Rows = append(f.Rows, append(row, words(arm.Why)))
		raw = append(raw, []string{
			arm.Name, string(arm.Kind), rate.V, rate.Low, rate.High, exact(arm.Bound),
			closedOf(arm), itoa(len(arm.Rounds)), arm.Why,
		})
	}
	f.data(s.file("capacity", nil), raw)
	if plot.scan() {
		f.draw(report.Capacities(c), plot.paint)
	}
	return f
}

// closedOf returns an arm's result in the closed loop; "" if that is refused.
func closedOf(arm *claim.ArmCapacity) string {
	if arm.Closed.Refused != nil {
		return ""
	}
	return exact(arm.Closed.Value)
}

// capacities is the plot.
type capacities struct {
	arms []*claim.ArmCapacity
	tip  func(string) svg.Attr
	most float64
}

func (c *capacities) scan() bool {
	for _, a := range c.arms {
		c.most = max(c.most, a.Rate.Value, a.Rate.High, a.Bound)
		for _, r := range a.Rounds {
			if v, ok := r.Found.Value(); ok {
				c.most = max(c.most, v)
			}
		}
	}
	return c.most > 0
}

func (c *capacities) paint(d *svg.Drawing) {
	const high, thick = 52.0, 16.0
	said := 0.0
	for _, a := range c.arms {
		said = max(said, svg.Width(report.CapacityOf(a), smallSize))
	}
	x := svg.Linear(0, c.most, 4, d.Width()-10)
	bottom := 4 + high*float64(len(c.arms))
	for _, t := range svg.Spaced(x.Ticks(5), x.At, func(v float64) string {
		if v == 0 {
			return "0"
		}
		return report.Rate(v, 2)
	}, smallSize, 0, d.Width()) {
		d.Line(t.At, 4, t.At, bottom, svg.Class("grid"))
		d.Text(t.At, bottom+16, smallSize, svg.Middle, t.Label, svg.Class("muted"))
	}
	for i, a := range c.arms {
		y := 4 + high*float64(i)
		d.Rect(0, y+3, d.Width(), 16, svg.Class("paper"))
		d.Text(4, y+15, fontSize, svg.Start, svg.Fit(a.Name, fontSize, d.Width()-said-30))
		d.Text(d.Width()-4, y+15, smallSize, svg.End, report.CapacityOf(a), svg.Class("muted"))
		at := y + 22
		if a.Rate.Known {
			d.Group(svg.Class("mark bar "+series(i)), svg.Attr{Name: "data-n", Value: "capacity/" + itoa(i)},
				c.tip(a.Name+"\ncapacity "+report.CapacityOf(a)+"\n"+report.Plural(len(a.Rounds), "round")))
			d.Rect(x.At(0), at, x.At(a.Rate.Value)-x.At(0), thick, svg.Class("fill"))
			if a.Rate.Interval() {
				d.Line(x.At(a.Rate.Low), at+thick/2, x.At(a.Rate.High), at+thick/2, svg.Class("error"))
				d.Line(x.At(a.Rate.Low), at+3, x.At(a.Rate.Low), at+thick-3, svg.Class("error"))
				d.Line(x.At(a.Rate.High), at+3, x.At(a.Rate.High), at+thick-3, svg.Class("error"))
			}
			d.End()
		}
		for _, r := range a.Rounds {
			if v, ok := r.Found.Value(); ok {
				d.Mark(shape(i), x.At(v), at+thick+5, 2.4, svg.Class("dot hover "+series(i)),
					c.tip(a.Name+", round "+itoa(r.Round)+"\n"+report.Rate(v, 3)+"\n"+report.Plural(r.Probes, "probe")))
			}
		}
	}
	d.Line(x.At(0), 4, x.At(0), bottom, svg.Class("zero"))
	d.Tall(bottom + 24)
}
