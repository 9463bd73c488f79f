package html

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/results/report"
	"wirelab/results/report/svg"
)

// verdict comes first for a load: the sentence, and its chart.
type verdict struct {
	ID, Load, Sentence string
	Tone               string // class: "claim", "open" or "bad"
	// Value is the figure if there is nothing to compare.
	Value  *cell
	Forest *figure
}

func (s *sheet) verdicts() []verdict {
	var all []verdict
	explained := false
	for i := range s.a.Loads {
		l := &s.a.Loads[i]
		if report.InCurve(s.a, l.Load) {
			continue
		}
		v := verdict{
			ID: fmt.Sprintf("load-%d", i+1), Load: report.LoadName(s.r.Plan, l.Load),
			Sentence: report.Sentence(s.r.Plan, l), Tone: tone(l),
		}
		m, err := kinds.MetricOf(l, l.Primary)
		if ns := s.numbers(l, m); err == nil && len(ns) == 1 && ns[0].e.Known {
			c := ns[0].cell(ns[0].value())
			v.Value = &c
		}
		if err == nil && len(l.Arms) > 1 && !report.Empty(l) && !l.Slow {
			v.Forest = s.forest(l, m)
			if explained {
				v.Forest.Caption = "" // the same as that of the first
			}
			explained = explained || v.Forest.Caption != ""
		}
		all = append(all, v)
	}
	return all
}

// tone returns the state of a load's verdict as a word for the style sheet.
func tone(l *claim.LoadAnalysis) string {
	row := l.Row(l.Primary)
	if row == nil || len(row.Cells) == 0 || !row.Cells[0].Estimate.Known {
		return "bad"
	}
	for _, c := range row.Cells {
		if c.Difference != nil && c.Difference.Verdict.Claim() {
			return "claim"
		}
	}
	return "open"
}

// forest shows the difference of each arm from the first in a metric.
func (s *sheet) forest(l *claim.LoadAnalysis, m metric.Metric) *figure {
	ns := s.numbers(l, m)
	reference := ns[0]
	f := &figure{
		ID:    fmt.Sprintf("forest-%d", l.Load+1),
		Title: fmt.Sprintf("%s against %s", report.Titled(m.Title), l.Arms[0].Name),
	}
	f.Caption = fmt.Sprintf("Dot: the difference from %s (%s); bar: its 95 %% interval. Shaded: ±%s, below which no "+
		"difference is claimed. Left of the line is less.%s",
		l.Arms[0].Name, reference.value(), strings.TrimPrefix(report.Margin(report.Practical(s.r)), "±"), logarithmic)
	forest, ns := s.against(l, m)
	if forest.empty() {
		f.Caption = "" // there is no dot and no axis
	}
	desc := make([]string, len(ns))
	for i, n := range ns {
		desc[i] = n.state().Name + ": " + difference(m, orNone(n.d))
	}
	f.Views = Draw(f.ID, f.Title, strings.Join(desc, "; "), views(false)[:2], forest.paint)
	f.Head = []string{"place", "arm", m.Short, "95 % CI", "difference", "95 % CI", "verdict", "p, adjusted", "rounds"}
	raw := [][]string{{
		"place", "arm", "metric", "value", "low", "high", "unit", "ratio", "ratio_low", "ratio_high",
		"verdict", "p", "p_adjusted", "rounds",
	}}
	for _, n := range append([]number{reference}, ns...) {
		c := n.cell(n.value())
		row := []cell{
			figures(report.Place(l, n.arm)), words(n.state().Name), c, figures(n.interval()), figures(""),
			figures(""), words(n.verdict()), figures(""), figures(strconv.Itoa(n.e.Rounds)),
		}
		line := []string{
			report.Place(l, n.arm), n.state().Name, m.ID, c.V, c.Low, c.High, report.BaseUnit(m.Dimension),
			c.Ratio, c.RatioLow, c.RatioHigh, "", "", "", strconv.Itoa(n.e.Rounds),
		}
		if d := n.d; d != nil {
			row[4].Text, row[5].Text = report.Change(d), report.Interval(d)
			line[10] = string(d.Verdict)
			if d.Known && !d.Exact {
				row[7].Text = probability(d.Adjusted)
				line[11], line[12] = exact(d.P), exact(d.Adjusted)
			}
		}
		f.Rows, raw = append(f.Rows, row), append(raw, line)
	}
	f.data(s.file("differences", l), raw)
	return f
}

// against returns the differences from the first arm, the best first: the plot, and the numbers in the same order.
func (s *sheet) against(l *claim.LoadAnalysis, m metric.Metric) (forest, []number) {
	ns := slices.Clone(s.numbers(l, m)[1:])
	slices.SortStableFunc(ns, func(a, b number) int { return byEffect(a, b, m.Higher) })
	plot := forest{practical: report.Practical(s.r)}
	for _, n := range ns {
		one := effect{name: n.state().Name, word: n.verdict(), tone: toneOf(n), attrs: n.attrs(), d: orNone(n.d)}
		if !one.d.Known {
			one.why = "refused: " + why(n)
		}
		plot.rows = append(plot.rows, one)
	}
	plot.scan()
	return plot, ns
}

func orNone(d *claim.Difference) *claim.Difference {
	if d == nil {
		return &claim.Difference{Verdict: claim.Unmeasured}
	}
	return d
}

// byEffect orders numbers, the better first and those without a figure last.
func byEffect(a, b number, higher bool) int {
	rank := func(n number) float64 {
		switch {
		case n.d == nil || !n.d.Known:
			return math.Inf(1)
		case higher:
			return -n.d.Ratio
		}
		return n.d.Ratio
	}
	switch x, y := rank(a), rank(b); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// logarithmic explains the axis of a plot of ratios.
const logarithmic = " The axis is logarithmic: half and double are equally far from the line."

// probability writes a p-value.
func probability(p float64) string {
	if p < 0.0001 {
		return "< 0.0001"
	}
	return report.Significant(p, 2)
}

// effect is a row of a forest plot.
type effect struct {
	name, word, tone string
	why              string // why there is no difference
	d                *claim.Difference
	attrs            []svg.Attr
}

// change writes the difference in figures.
func (e effect) change() string {
	if !e.d.Known {
		return ""
	}
	return strings.TrimSpace(report.Change(e.d) + " " + report.Interval(e.d))
}

// forest is the plot: rows of differences over one axis of ratios.
type forest struct {
	rows      []effect
	practical float64
	low, high float64 // ratios
}

// scan determines the ends of the axis.
func (f *forest) scan() {
	f.low, f.high = 1/(1+2.5*f.practical), 1+2.5*f.practical
	for _, n := range f.rows {
		if d := n.d; d.Known {
			for _, v := range []float64{d.Ratio, d.Low, d.High} {
				if v > 1e-6 && v < 1e6 && (v == d.Ratio || report.Bounded(d)) {
					f.low, f.high = min(f.low, v), max(f.high, v)
				}
			}
		}
	}
	pad := math.Pow(f.high/f.low, 0.05)
	f.low, f.high = f.low/pad, f.high*pad
}

const (
	fontSize  = 12.0
	smallSize = 11.0
)

// paint draws the plot. Names are left of the axis if there is space, and above it on a narrow page.
func (f *forest) paint(d *svg.Drawing) {
	var named, said float64
	for _, n := range f.rows {
		named = max(named, svg.Width(n.name, fontSize))
		said = max(said, svg.Width(n.change(), smallSize), svg.BoldWidth(n.word, smallSize))
	}
	stacked := d.Width() < 500 || named+said > 0.6*d.Width()
	left, right := named+14, d.Width()-said-12
	high, top := 36.0, 6.0
	if stacked {
		left, right, high = 4, d.Width()-4, 58
	}
	scale := svg.Log(f.low, f.high, left+6, right-6)
	bottom := top + high*float64(len(f.rows))
	if !f.empty() {
		f.axis(d, scale, left, right, top, bottom)
	}
	for i, n := range f.rows {
		y := top + high*float64(i)
		if i > 0 {
			d.Line(0, y, d.Width(), y, svg.Class("rule"))
		}
		if stacked {
			f.stackedRow(d, n, scale, y)
			continue
		}
		d.Text(4, y+high/2+4, fontSize, svg.Start, n.name)
		if !n.d.Known {
			lines := svg.Wrap(n.why, smallSize, right-left-12, 2)
			d.Rect(left, y+1, right-left, high-2, svg.Class("paper"))
			for j, line := range lines {
				d.Text(left+6, y+high/2+4-6.5*float64(len(lines)-1)+13*float64(j), smallSize, svg.Start, line,
					svg.Class("refused"))
			}
			d.Text(right+10, y+high/2+4, smallSize, svg.Start, n.word, svg.Class("word "+n.tone))
			continue
		} else {
			f.whisker(d, n, scale, y+high/2)
			d.Text(right+10, y+high/2-2, smallSize, svg.Start, n.change())
		}
		d.Text(right+10, y+high/2+12, smallSize, svg.Start, n.word, svg.Class("word "+n.tone))
	}
	if f.empty() {
		d.Tall(bottom + 2)
		return
	}
	d.Tall(bottom + 22)
}

// empty reports whether no row has a difference: an axis without marks is no chart.
func (f *forest) empty() bool {
	return !slices.ContainsFunc(f.rows, func(n effect) bool { return n.d.Known })
}

// axis draws ticks, the line of no difference, and the band of differences that are too small to be claimed.
func (f *forest) axis(d *svg.Drawing, scale svg.Scale, left, right, top, bottom float64) {
	d.Rect(scale.At(1/(1+f.practical)), top, scale.At(1+f.practical)-scale.At(1/(1+f.practical)), bottom-top,
		svg.Class("band"))
	for _, t := range ratioTicks(scale, left, right) {
		d.Line(t.At, top, t.At, bottom, svg.Class("grid"))
		d.Text(t.At, bottom+15, smallSize, svg.Middle, t.Label, svg.Class("muted"))
	}
	d.Line(scale.At(1), top-4, scale.At(1), bottom+2, svg.Class("zero"))
}

// stackedRow draws a row on a narrow page: the name and the verdict above the axis, the figures below.
func (f *forest) stackedRow(d *svg.Drawing, n effect, scale svg.Scale, y float64) {
	d.Rect(0, y+2, d.Width(), 18, svg.Class("paper"))
	word := svg.FitBold(n.word, smallSize, 0.6*d.Width())
	room := d.Width() - svg.BoldWidth(word, smallSize) - 20
	d.Text(4, y+16, fontSize, svg.Start, svg.Fit(n.name, fontSize, room), svg.Class("bg"))
	d.Text(d.Width()-4, y+16, smallSize, svg.End, word, svg.Class("word bg "+n.tone))
	if !n.d.Known {
		d.Rect(0, y+20, d.Width(), 34, svg.Class("paper"))
		for i, line := range svg.Wrap(n.why, smallSize, d.Width()-8, 2) {
			d.Text(4, y+33+14*float64(i), smallSize, svg.Start, line, svg.Class("refused bg"))
		}
		return
	}
	f.whisker(d, n, scale, y+30)
	d.Rect(0, y+40, d.Width(), 14, svg.Class("paper"))
	d.Text(4, y+50, smallSize, svg.Start, n.change(), svg.Class("muted bg"))
}

// why says why there is no difference.
func why(n number) string {
	switch {
	case n.d != nil && n.d.Why != "":
		return n.d.Why
	case n.e.Why != "":
		return n.e.Why
	}
	return "not measured"
}

// whisker draws a difference with its interval. Claims are filled, other differences are hollow.
func (f *forest) whisker(d *svg.Drawing, n effect, scale svg.Scale, y float64) {
	class := n.tone
	low, high := n.d.Low, n.d.High
	if !report.Bounded(n.d) {
		low, high = n.d.Ratio, n.d.Ratio // there is no interval to draw
	}
	d.Group(append([]svg.Attr{svg.Class("mark " + class)}, n.attrs...)...)
	d.Rect(scale.At(low)-6, y-9, scale.At(high)-scale.At(low)+12, 18, svg.Class("hit"))
	d.Line(scale.At(low), y, scale.At(high), y, svg.Class("whisker"))
	for _, end := range []float64{low, high} {
		d.Line(scale.At(end), y-4, scale.At(end), y+4, svg.Class("whisker"))
	}
	d.Mark(map[string]int{"better": 0, "worse": 2, "same": 1}[class], scale.At(n.d.Ratio), y, 5, svg.Class("point"))
	d.End()
}

// toneOf returns the class of a difference's verdict.
func toneOf(n number) string {
	if n.d == nil {
		return "none"
	}
	switch n.d.Verdict {
	case claim.Better:
		return "better"
	case claim.Worse:
		return "worse"
	case claim.Equivalent:
		return "same"
	case claim.Inconclusive, claim.TooFew:
		return "open"
	}
	return "none"
}

// ratioTicks returns round percentages on a scale of ratios, with no difference first.
func ratioTicks(scale svg.Scale, from, to float64) []svg.Tick {
	return svg.Spaced(ratioCandidates(scale), scale.At, ratioLabel, smallSize, from, to)
}

// ratioCandidates returns the ratios for ticks, the most important first.
func ratioCandidates(scale svg.Scale) []float64 {
	ratios := []float64{1}
	for _, p := range []float64{
		100000, 10000, 5000, 2000, 1000, 500, 200, 100, 50, 20, 10, 30, 40, 5, 2, 1, 0.5, 0.2,
		0.1, 70, 150, 300, 700, 1500, 3000, 60, 80,
	} {
		ratios = append(ratios, 1+p/100)
		if p < 100 {
			ratios = append(ratios, 1-p/100)
		}
		if p == 100 {
			ratios = append(ratios, 0.01, 0.1, 0.2)
		}
	}
	return slices.DeleteFunc(ratios, func(r float64) bool { return !scale.Has(r) })
}

// ratioLabel writes a ratio as a change: "+20 %".
func ratioLabel(ratio float64) string {
	switch p := math.Round(1000*(ratio-1)) / 10; {
	case p == 0:
		return "0 %"
	case p > 0:
		return "+" + short(p, 6) + " %"
	default:
		return short(p, 6) + " %"
	}
}
