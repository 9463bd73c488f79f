package html

import (
	"fmt"
	"math"
	"strings"
	"time"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/lab/stat"
	"wirelab/results/report"
	"wirelab/results/report/svg"
)

// spectral is one quantile on a line of a spectrum.
type spectral struct {
	q, v, low, high float64
	// earned is false if too few calls are beyond it for a statement.
	earned bool
}

// x returns the position of a quantile, 1/(1−q), with which each further nine has the same length.
func (p spectral) x() float64 { return 1 / (1 - p.q) }

// spectra has the lines of one arm.
type spectra struct {
	arm                      int
	response, service, floor []spectral
	marked                   []number // the quantiles of the analysis
}

// quantiles returns the quantiles at which spectra are drawn: twelve per nine, up to the one with ten of n calls
// beyond it.
func quantiles(n uint64) []float64 {
	all := []float64{0.01}
	for k := 1; k <= 72; k++ {
		x := math.Pow(10, float64(k)/12)
		if x > 2 && all[len(all)-1] < 0.5 {
			all = append(all, 0.5)
		}
		if x > float64(n)/10 {
			break
		}
		all = append(all, 1-1/x)
	}
	return all
}

// spectrumOf computes a line, without what a gate refuses.
func spectrumOf(arm *claim.ArmState, histograms []*stat.Histogram, service bool) []spectral {
	var calls uint64
	var rounds []*stat.Histogram
	for _, h := range histograms {
		if h.Count() > 0 {
			calls, rounds = calls+h.Count(), append(rounds, h)
		}
	}
	var qs []float64
	for _, q := range quantiles(calls) {
		if arm.Spoiled(metric.Metric{ID: "quantile", Dimension: metric.Time, Quantile: q, Service: service}) == "" {
			qs = append(qs, q)
		}
	}
	if len(qs) < 2 || len(rounds) == 0 {
		return nil
	}
	var line []spectral
	estimates, err := stat.QuantileIntervals(rounds, qs, stat.DefaultAlpha)
	if err != nil { // a single round: a line without a band
		for _, q := range qs {
			v := float64(rounds[0].Quantile(q))
			line = append(line, spectral{q: q, v: v, low: v, high: v, earned: stat.Tail(q, rounds).OK()})
		}
		return line
	}
	for i, q := range qs {
		e := estimates[i]
		line = append(line, spectral{q: q, v: e.Value, low: e.Low, high: e.High, earned: stat.Tail(q, rounds).OK()})
	}
	return line
}

// spectraOf computes an arm's lines.
func (s *sheet) spectraOf(l *claim.LoadAnalysis, arm int) spectra {
	one := spectra{arm: arm}
	var response, service []*stat.Histogram
	floor := &stat.Histogram{}
	for _, t := range report.Trials(s.r, l.Load, arm) {
		response, service = append(response, t.Response), append(service, t.Service)
		if t.Floor != nil {
			floor.Merge(t.Floor.Service)
		}
	}
	one.response = spectrumOf(&l.Arms[arm], response, false)
	if l.Open {
		one.service = spectrumOf(&l.Arms[arm], service, true)
	}
	if len(one.response) > 0 {
		for _, q := range quantiles(floor.Count()) {
			if v := float64(floor.Quantile(q)); v > 0 && stat.Tail(q, []*stat.Histogram{floor}).OK() {
				one.floor = append(one.floor, spectral{q: q, v: v, earned: true})
			}
		}
	}
	for _, id := range lookOf(l).quantiles {
		if m, err := kinds.MetricOf(l, id); err == nil && l.Row(id) != nil {
			one.marked = append(one.marked, s.numbers(l, m)[arm])
		}
	}
	return one
}

// spectrum is the chart of response times by quantile.
func (s *sheet) spectrum(l *claim.LoadAnalysis) *figure {
	look := lookOf(l)
	if len(look.quantiles) == 0 {
		return nil
	}
	median, _ := kinds.MetricOf(l, look.quantiles[0]) // known: it is one of our metrics
	ns := s.numbers(l, median)
	if len(ns) == 0 {
		return nil
	}
	arms, refused := shown(l, func(a int) (bool, string) { return ns[a].e.Known, ns[a].refused() })
	f := &figure{
		ID: fmt.Sprintf("spectrum-%d", l.Load+1), Title: look.title, Caption: look.caption(l.Open), Refused: refused,
	}
	all := make([]spectra, len(arms))
	var desc []string
	for i, a := range arms {
		all[i] = s.spectraOf(l, a)
		desc = append(desc, fmt.Sprintf("%s: median %s", l.Arms[a].Name, ns[a].value()))
	}
	sp := spectrum{lines: all, name: s.r.ArmName, id: f.ID}
	if !sp.scan() {
		if len(refused) == 0 {
			return nil
		}
		f.Caption = "Nothing can be drawn."
	} else {
		f.draw(strings.Join(desc, "; "), sp.paint)
		if !sp.faceted() {
			f.Legend = s.legend(arms)
		}
	}
	s.spectrumTable(l, f, all)
	return f
}

// spectrumTable shows the quantiles of the analysis. The download has every point that is drawn.
func (s *sheet) spectrumTable(l *claim.LoadAnalysis, f *figure, all []spectra) {
	f.Head = []string{"arm", "p50", "p90", "p99", "p99.9", "floor p50"}
	for a := range l.Arms {
		row := []cell{words(l.Arms[a].Name)}
		for _, id := range lookOf(l).quantiles {
			m, err := kinds.MetricOf(l, id)
			if err != nil || l.Row(id) == nil {
				continue
			}
			n := s.numbers(l, m)[a]
			c := n.cell(n.value())
			if !n.e.Known {
				c.Text = "refused"
			}
			if in := n.interval(); in != "" {
				c.Text += " " + in
			}
			row = append(row, c)
		}
		floor := report.Absent
		if l.Arms[a].Floor.Known {
			floor = report.Duration(time.Duration(l.Arms[a].Floor.P50))
		}
		f.Rows = append(f.Rows, append(row, figures(floor)))
	}
	raw := [][]string{{"arm", "what", "quantile", "ns", "low_ns", "high_ns", "earned"}}
	for _, one := range all {
		for _, line := range []struct {
			what   string
			points []spectral
		}{{"response", one.response}, {"service", one.service}, {"floor", one.floor}} {
			for _, p := range line.points {
				raw = append(raw, []string{
					l.Arms[one.arm].Name, line.what, exact(math.Round(p.q*1e7) / 1e7), exact(math.Round(p.v)),
					exact(math.Round(p.low)), exact(math.Round(p.high)), fmt.Sprint(p.earned),
				})
			}
		}
	}
	f.data(s.file("spectrum", l), raw)
}

// spectrum is the plot: all arms in one panel, or one panel for each if there are too many to tell apart.
type spectrum struct {
	id        string
	lines     []spectra
	name      func(arm int) string
	low, high float64 // ns
	far       float64 // the highest 1/(1−q)
}

// together is the greatest number of arms in one panel.
const together = 5

func (sp *spectrum) faceted() bool { return len(sp.lines) > together }

// scan determines the ends of the axes; false if there is nothing to draw.
func (sp *spectrum) scan() bool {
	sp.low, sp.high, sp.far = math.Inf(1), 0, 10
	for _, one := range sp.lines {
		for _, points := range [][]spectral{one.response, one.service, one.floor} {
			for _, p := range points {
				if p.v <= 0 {
					continue
				}
				sp.low, sp.high = min(sp.low, p.v), max(sp.high, p.v)
				sp.far = max(sp.far, p.x())
				if p.earned && p.high > 0 && p.high < 20*p.v {
					sp.high = max(sp.high, p.high)
				}
			}
		}
	}
	return sp.high > 0
}

func (sp *spectrum) paint(d *svg.Drawing) {
	if !sp.faceted() {
		high := min(0.62*d.Width(), 380)
		p := panel{left: sp.axisWidth(), right: d.Width() - 14, top: 10, bottom: 10 + high}
		x, y := sp.axes(d, p, true, true)
		for _, one := range sp.lines {
			sp.arm(d, one, x, y, true)
		}
		d.Tall(p.bottom + 24)
		return
	}
	sp.panels(d)
}

// axisWidth returns the space that the labels of the vertical axis need.
func (sp *spectrum) axisWidth() float64 {
	w := 0.0
	for _, t := range svg.Log(sp.low, sp.high, 1, 0).Round(0).Ticks(7) {
		w = max(w, svg.Width(timeLabel(t), smallSize))
	}
	return w + 12
}

// panels draws a panel for each arm, with all others in grey behind it.
func (sp *spectrum) panels(d *svg.Drawing) {
	left := sp.axisWidth()
	ps := panels{top: 4, left: left, least: 135, most: 4, high: 104, head: 34, foot: 24, gap: 12}
	behind := sp.id + "-" + itoa(int(d.Width())) + "-all"
	var origin panel
	d.Tall(ps.draw(d, len(sp.lines), func(i int, p panel, first bool) {
		one := sp.lines[i]
		if i == 0 {
			origin = p
			d.Define(behind)
			x, y := sp.scales(p)
			for _, other := range sp.lines {
				d.Path(places(other.response, x, y, true), false, svg.Class("line behind"))
			}
			d.Defined()
		}
		p.title(d, sp.name(one.arm), p.right-p.left)
		x, y := sp.axes(d, p, first, true)
		moved := fmt.Sprintf("translate(%.1f %.1f)", p.left-origin.left, p.top-origin.top)
		d.Use(behind, svg.Attr{Name: "transform", Value: moved})
		sp.arm(d, one, x, y, true)
	}))
}

func (sp *spectrum) scales(p panel) (x, y svg.Scale) {
	return svg.Log(1, sp.far, p.left, p.right), svg.Log(sp.low, sp.high, p.bottom, p.top).Round(0)
}

// axes draws the axes of a panel.
func (sp *spectrum) axes(d *svg.Drawing, p panel, labelled, quantiled bool) (x, y svg.Scale) {
	x, y = sp.scales(p)
	for _, t := range y.Ticks(max(2, int((p.bottom-p.top)/44))) {
		d.Line(p.left, y.At(t), p.right, y.At(t), svg.Class("grid"))
		if labelled {
			d.Text(p.left-8, y.At(t)+4, smallSize, svg.End, timeLabel(t), svg.Class("muted"))
		}
	}
	if quantiled {
		for _, t := range svg.Spaced([]float64{2, 100, 1000, 10, 10000, 100000}, x.At, nines, smallSize, p.left-4,
			min(p.right+4, d.Width())) {
			d.Line(t.At, p.top, t.At, p.bottom+4, svg.Class("grid"))
			d.Text(t.At, p.bottom+17, smallSize, svg.Middle, t.Label, svg.Class("muted"))
		}
	}
	return x, y
}

// nines names a position on the axis of quantiles: "p99.9".
func nines(x float64) string {
	return "p" + strings.TrimSuffix(fmt.Sprintf("%.6g", 100*(1-1/x)), ".0")
}

func timeLabel(ns float64) string {
	if ns <= 0 {
		return "0"
	}
	u := report.UnitFor(metric.Time, ns*1.0001)
	return report.Significant(ns/u.Size, 2) + " " + u.Name
}

// arm draws one arm's lines.
func (sp *spectrum) arm(d *svg.Drawing, one spectra, x, y svg.Scale, marks bool) {
	class := series(one.arm) + dashed(one.arm)
	d.Group(svg.Attr{Name: "data-s", Value: itoa(one.arm)}, svg.Class("of"))
	var low, high []svg.Point
	for _, p := range one.response {
		if p.earned {
			low, high = append(low, svg.Point{X: x.At(p.x()), Y: y.At(p.low)}),
				append(high, svg.Point{X: x.At(p.x()), Y: y.At(p.high)})
		}
	}
	d.Band(low, high, svg.Class("area "+series(one.arm)))
	d.Path(places(one.floor, x, y, true), false, svg.Class("line floor "+series(one.arm)))
	d.Path(places(one.service, x, y, true), false, svg.Class("line service "+series(one.arm)))
	d.Path(places(one.response, x, y, false), false, svg.Class("line unearned"))
	d.Path(places(one.response, x, y, true), false, svg.Class("line "+class))
	for _, n := range one.marked {
		if marks && n.e.Known {
			d.Mark(shape(one.arm), x.At(1/(1-n.metric.Quantile)), y.At(n.e.Value), 3.4,
				append([]svg.Attr{svg.Class("dot hover " + series(one.arm))}, n.attrs()...)...)
		}
	}
	d.End()
}

// places returns the points of a line: those that are earned, or the rest, starting with the last earned one.
func places(line []spectral, x, y svg.Scale, earned bool) []svg.Point {
	var all []svg.Point
	for i, p := range line {
		if p.v > 0 && (p.earned == earned || !earned && i+1 < len(line) && !line[i+1].earned) {
			all = append(all, svg.Point{X: x.At(p.x()), Y: y.At(p.v)})
		}
	}
	return all
}
