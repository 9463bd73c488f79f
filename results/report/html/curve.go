package html

import (
	"fmt"
	"math"
	"strings"

	"wirelab/lab/kind/capacity"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/results/report"
	"wirelab/results/report/svg"
)

// curve returns the chart of response time over offered rate for one operation.
func (s *sheet) curve(i int) *figure {
	c := &s.a.Curves[i]
	f := &figure{ID: fmt.Sprintf("curve-%d", i+1), Title: "p50 and p99 over offered rate: " + c.Operation}
	f.Caption = "Solid: p99; dashed: p50; bands: 95 % intervals. Ring: the knee, where most is done for the time it " +
		"takes. Shaded: rates that an arm does not keep up with; there, times grow as long as a slice lasts."
	plot := curvePlot{curve: c, limits: s.limits(), tip: s.tip}
	plot.capacities = capacity.Of(s.a).Arms
	for a, arm := range c.Arms {
		known, reason := false, ""
		for _, p := range arm.Points {
			known = known || p.P50.Known || p.P99.Known
			if reason == "" {
				reason = p.Why
			}
		}
		if !known {
			f.Refused = append(f.Refused, arm.Name+": "+reason)
			continue
		}
		plot.arms = append(plot.arms, a)
	}
	s.curveTable(f, &s.shown.Curves[i], i)
	if plot.scan() {
		f.draw(plot.describe(), plot.paint)
		if !plot.faceted() {
			f.Legend = s.legend(plot.arms)
		}
	}
	for _, arm := range c.Arms {
		f.Notes = append(f.Notes, arm.Name+": "+curveWords(arm))
	}
	return f
}

// limits returns the times that the result's objective limits, if it has one.
func (s *sheet) limits() []capacity.TimeBound {
	o, err := capacity.ParseObjective(capacity.SearchOf(s.r).Objective)
	if err != nil {
		return nil
	}
	return o.Times
}

// curveWords describes an arm's knee, saturation and collapse.
func curveWords(arm claim.ArmCurve) string {
	place := func(what string, p claim.Place) string {
		if !p.Known {
			return what + " not found (" + p.Why + ")"
		}
		text := what + " at " + perSecond(p.Rate)
		if p.Low != p.High && p.Low > 0 {
			text += " [" + report.Significant(p.Low, 3) + ", " + report.Significant(p.High, 3) + "]"
		}
		return text
	}
	words := []string{place("knee", arm.Knee), place("saturation", arm.Saturation)}
	if arm.Collapse.Known {
		words = append(words, place("collapse", arm.Collapse))
	}
	if arm.Most.Known {
		words = append(words, "at most "+perSecond(arm.Most.Value)+" answered")
	}
	return strings.Join(words, "; ")
}

func perSecond(rate float64) string { return report.Significant(rate, 3) + "/s" }

func (s *sheet) curveTable(f *figure, c *claim.Curve, i int) {
	f.Head = []string{
		"arm", "offered", "answered /s", "95 % CI", "p50", "95 % CI", "p99", "95 % CI", "server CPU/req", "cores",
		"", "",
	}
	raw := [][]string{{
		"arm", "offered", "achieved", "achieved_low", "achieved_high", "p50_ns", "p50_low", "p50_high",
		"p99_ns", "p99_low", "p99_high", "overloaded", "at_least", "failed_share", "refused",
	}}
	for a, arm := range c.Arms {
		table := s.table(nil, report.CurveTable(c, a))
		for k, p := range arm.Points {
			said := p.Why
			switch {
			case said != "":
				said = "refused: " + said
			case p.Overloaded:
				said = "overloaded"
			}
			if p.AtLeast {
				said = strings.TrimPrefix(said+"; times are lower bounds", "; ")
			}
			from := table.Rows[k]
			row := []cell{words(arm.Name), from[0]}
			line := []string{arm.Name, exact(c.Levels[k].Offered)}
			for at, one := range []struct {
				id string
				d  metric.Dimension
				e  claim.Estimate
			}{{"achieved", metric.Frequency, p.Achieved}, {"p50", metric.Time, p.P50}, {"p99", metric.Time, p.P99}} {
				v := s.curveCell(fmt.Sprintf("curve/%d/%d/%d/%s", i, a, k, one.id),
					arm.Name+" at "+perSecond(c.Levels[k].Offered)+" · "+one.id, one.d, one.e)
				if one.e.Known {
					v.Text = from[at+1].Text
				}
				row = append(row, v, figures(estimateInterval(one.d, one.e)))
				line = append(line, v.V, v.Low, v.High)
			}
			f.Rows = append(f.Rows, append(append(row, from[6:]...), from[5], words(said)))
			raw = append(raw, append(line, fmt.Sprint(p.Overloaded), fmt.Sprint(p.AtLeast), exact(p.Failed), p.Why))
		}
	}
	f.data(s.file(f.ID, nil), raw)
}

// curveCell returns a cell for an estimate that is not a metric of a load.
func (s *sheet) curveCell(key, what string, d metric.Dimension, e claim.Estimate) cell {
	u := report.UnitFor(d, e.Value)
	c := cell{Text: report.With(e, u), Right: true, Key: key, Rounds: itoa(e.Rounds)}
	tip := what + "\n" + c.Text
	if !e.Known {
		if one := e.ShownRefused(); one != nil {
			c.Text = report.With(e, report.UnitFor(d, one.Value))
		} else {
			c.Text = "refused"
		}
		c.Instead, c.Why, c.Class, c.Tip = "refused", e.Why, "refused", s.tip(what+"\nrefused: "+e.Why).Value
		return c
	}
	c.V = exact(e.Value)
	if e.Interval() {
		c.Low, c.High = exact(e.Low), exact(e.High)
		tip += "  95 % CI " + estimateInterval(d, e)
	}
	c.Tip = s.tip(tip + "\n" + report.Plural(e.Rounds, "round")).Value
	return c
}

func estimateInterval(d metric.Dimension, e claim.Estimate) string {
	return report.BoundsOf(e, report.UnitFor(d, e.Value))
}

// curvePlot is the plot of a curve.
type curvePlot struct {
	curve      *claim.Curve
	arms       []int
	limits     []capacity.TimeBound
	tip        func(string) svg.Attr
	capacities []claim.ArmCapacity
	low, high  float64 // ns
	from, to   float64 // calls per second
}

func (c *curvePlot) faceted() bool { return len(c.arms) > 3 }

func (c *curvePlot) scan() bool {
	c.low, c.high = math.Inf(1), 0
	for _, a := range c.arms {
		for _, p := range c.curve.Arms[a].Points {
			for _, e := range []claim.Estimate{p.P50, p.P99} {
				if e.Known && e.Value > 0 {
					c.low, c.high = min(c.low, e.Value), max(c.high, e.Value)
					if e.Interval() && e.High < 10*e.Value {
						c.high = max(c.high, e.High)
					}
				}
			}
		}
	}
	for _, l := range c.limits {
		c.low, c.high = min(c.low, float64(l.Limit)), max(c.high, float64(l.Limit))
	}
	c.from, c.to = c.curve.Levels[0].Offered, c.curve.Levels[len(c.curve.Levels)-1].Offered
	return c.high > 0
}

func (c *curvePlot) describe() string {
	var all []string
	for _, a := range c.arms {
		all = append(all, c.curve.Arms[a].Name+": "+curveWords(c.curve.Arms[a]))
	}
	return strings.Join(all, "; ")
}

func (c *curvePlot) paint(d *svg.Drawing) {
	left := 0.0
	for _, t := range svg.Log(c.low, c.high, 1, 0).Round(0).Ticks(7) {
		left = max(left, svg.Width(timeLabel(t), smallSize))
	}
	left += 12
	if !c.faceted() {
		p := panel{left: left, right: d.Width() - 10, top: 10, bottom: 10 + min(0.6*d.Width(), 360)}
		x, y := c.axes(d, p, true)
		for _, a := range c.arms {
			c.arm(d, a, x, y, p)
		}
		d.Text((p.left+p.right)/2, p.bottom+34, smallSize, svg.Middle, "offered, calls per second", svg.Class("muted"))
		d.Tall(p.bottom + 42)
		return
	}
	ps := panels{left: left, least: 220, most: 3, high: 120, head: 34, foot: 26, gap: 14}
	bottom := ps.draw(d, len(c.arms), func(i int, p panel, first bool) {
		p.title(d, c.curve.Arms[c.arms[i]].Name, p.right-p.left)
		x, y := c.axes(d, p, first)
		c.arm(d, c.arms[i], x, y, p)
	})
	middle := (left + d.Width()) / 2
	d.Text(middle, bottom+10, smallSize, svg.Middle, "offered, calls per second", svg.Class("muted"))
	d.Tall(bottom + 18)
}

// axes draws a panel's axes, and the lines of the objective.
func (c *curvePlot) axes(d *svg.Drawing, p panel, labelled bool) (x, y svg.Scale) {
	y = svg.Log(c.low, c.high, p.bottom, p.top).Round(0)
	pad := (p.right - p.left) * 0.03
	x = svg.Linear(c.from, c.to, p.left+pad, p.right-pad)
	if c.to > 16*c.from {
		x = svg.Log(c.from, c.to, p.left+pad, p.right-pad)
	}
	for _, t := range y.Ticks(max(2, int((p.bottom-p.top)/44))) {
		d.Line(p.left, y.At(t), p.right, y.At(t), svg.Class("grid"))
		if labelled {
			d.Text(p.left-8, y.At(t)+4, smallSize, svg.End, timeLabel(t), svg.Class("muted"))
		}
	}
	for _, t := range svg.Spaced(x.Ticks(6), x.At, func(v float64) string { return report.Significant(v, 3) },
		smallSize, p.left-4, p.right+6) {
		d.Line(t.At, p.bottom, t.At, p.bottom+4, svg.Class("grid"))
		d.Text(t.At, p.bottom+17, smallSize, svg.Middle, t.Label, svg.Class("muted"))
	}
	for _, l := range c.limits {
		at := y.At(float64(l.Limit))
		d.Line(p.left, at, p.right, at, svg.Class("limit"))
		d.Text(p.left+4, at-4, smallSize, svg.Start, l.Name+" < "+report.Duration(l.Limit), svg.Class("muted bg"))
	}
	return x, y
}

// arm draws an arm's lines.
func (c *curvePlot) arm(d *svg.Drawing, a int, x, y svg.Scale, p panel) {
	arm := c.curve.Arms[a]
	d.Group(svg.Attr{Name: "data-s", Value: itoa(a)}, svg.Class("of"))
	if arm.Saturation.Known {
		from := x.At(arm.Saturation.Rate)
		if arm.Saturation.Low > 0 {
			from = (from + x.At(arm.Saturation.Low)) / 2
		}
		d.Rect(from, p.top, p.right-from, p.bottom-p.top, svg.Class("over "+series(a)))
	}
	for _, one := range []struct {
		class, name string
		of          func(claim.Point) claim.Estimate
	}{
		{"line p50 " + series(a), "p50", func(p claim.Point) claim.Estimate { return p.P50 }},
		{"line " + series(a) + dashed(a), "p99", func(p claim.Point) claim.Estimate { return p.P99 }},
	} {
		var line, low, high []svg.Point
		flush := func() {
			d.Band(low, high, svg.Class("area "+series(a)))
			d.Path(line, false, svg.Class(one.class))
			line, low, high = nil, nil, nil
		}
		for k, point := range arm.Points {
			e := one.of(point)
			if !e.Known || e.Value <= 0 {
				flush()
				continue
			}
			at := x.At(c.curve.Levels[k].Offered)
			line = append(line, svg.Point{X: at, Y: y.At(e.Value)})
			if e.Interval() {
				low, high = append(low, svg.Point{X: at, Y: y.At(e.Low)}),
					append(high, svg.Point{X: at, Y: y.At(e.High)})
			}
		}
		flush()
		for k, point := range arm.Points {
			e := one.of(point)
			at := x.At(c.curve.Levels[k].Offered)
			if !e.Known || e.Value <= 0 {
				continue
			}
			if one.name == "p99" && arm.Knee.Known && arm.Knee.Level == k {
				d.Mark(0, at, y.At(e.Value), 8, svg.Class("ring "+series(a)))
			}
			tip := fmt.Sprintf("%s at %s offered\n%s %s %s\nanswered %s\n%s", arm.Name,
				perSecond(c.curve.Levels[k].Offered), one.name,
				report.With(e, report.UnitFor(metric.Time, e.Value)), estimateInterval(metric.Time, e),
				report.With(point.Achieved, report.UnitFor(metric.Frequency, 1)), report.Plural(e.Rounds, "round"))
			d.Mark(shape(a), at, y.At(e.Value), 3.2, svg.Class("dot hover "+series(a)), c.tip(tip))
		}
	}
	if a < len(c.capacities) && c.capacities[a].Rate.Known && len(c.limits) > 0 {
		e, at := c.capacities[a].Rate, y.At(float64(c.limits[len(c.limits)-1].Limit))
		d.Line(x.At(e.Low), at, x.At(e.High), at, svg.Class("whisker "+series(a)))
		d.Mark(2, x.At(e.Value), at, 5, svg.Class("dot hover "+series(a)),
			c.tip(arm.Name+"\ncapacity "+perSecond(e.Value)+" "+estimateInterval(metric.Frequency, e)))
	}
	d.End()
}
