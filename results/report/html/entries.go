package html

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"wirelab/lab/kind/entries"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/stat"
	"wirelab/results/report"
	"wirelab/results/report/svg"
)

// stage is one of the events of an entry whose time is measured.
type stage struct {
	name    string
	of      func(*result.Trial) *stat.Histogram
	metrics [4]string // p50, p90, p99, p99.9; "" if the analysis has none
}

// entryStages returns the stages of accepted entries, in the order of a pipeline with a queue.
func entryStages() []stage {
	followed := func(of func(*result.Followed) *stat.Histogram) func(*result.Trial) *stat.Histogram {
		return func(t *result.Trial) *stat.Histogram {
			followed := entries.Of(t)
			return of(&followed)
		}
	}
	return []stage{
		{
			"accepted", func(t *result.Trial) *stat.Histogram { return t.Response },
			[4]string{plan.ResponseP50, plan.ResponseP90, plan.ResponseP99, plan.ResponseP999},
		},
		{
			"confirmed", followed(func(f *result.Followed) *stat.Histogram { return f.ConfirmedAfter }),
			[4]string{plan.ConfirmedP50, "", plan.ConfirmedP99, ""},
		},
		{
			"stored", followed(func(f *result.Followed) *stat.Histogram { return f.StoredAfter }),
			[4]string{plan.StoredP50, plan.StoredP90, plan.StoredP99, plan.StoredP999},
		},
	}
}

// entriesWaited are entries that were accepted and not stored.
func entriesWaited(t *result.Trial) waited {
	f := entries.Of(t)
	w := waited{merged: 1, drained: time.Duration(f.Drained)}
	for _, one := range f.Backlog {
		wide := make([]int64, len(one))
		for i, n := range one {
			wide[i] = int64(n)
		}
		w.lists = append(w.lists, wide)
	}
	return w
}

// staged has the lines of an arm, one for each stage. A stage without a line was never reached, or is refused.
type staged struct {
	arm    int
	lines  [][]spectral
	marked [][]number // for each line
}

// stagesOf computes an arm's lines.
func (s *sheet) stagesOf(l *claim.LoadAnalysis, arm int) staged {
	one := staged{arm: arm}
	for _, st := range lookOf(l).stages() {
		var all []*stat.Histogram
		for _, t := range report.Trials(s.r, l.Load, arm) {
			if h := st.of(t); h != nil {
				all = append(all, h)
			}
		}
		var marked []number
		for _, id := range st.metrics {
			if m, err := kinds.MetricOf(l, id); err == nil && l.Row(id) != nil {
				marked = append(marked, s.numbers(l, m)[arm])
			}
		}
		one.lines, one.marked = append(one.lines, spectrumOf(&l.Arms[arm], all, false)), append(one.marked, marked)
	}
	return one
}

// stagePlot is the chart of when entries were accepted, confirmed and stored; nil if entries were not followed.
func (s *sheet) stagePlot(l *claim.LoadAnalysis) *figure {
	look := lookOf(l)
	if len(look.stages()) == 0 {
		return nil
	}
	f := &figure{ID: fmt.Sprintf("stages-%d", l.Load+1), Title: "Accepted, confirmed and stored, by percentile"}
	f.Caption = "From when an entry was due, on the same axes for all arms, with the interval from leaving out each " +
		"round. Grey: fewer than 100 entries lie beyond. Where a call returns once its entry is stored, stored comes " +
		"first: the reply has yet to travel."
	if look.stagesTitle != "" {
		f.Title, f.Caption = look.stagesTitle, look.stagesCaption
	}
	sp := stagePlot{name: s.r.ArmName, lines: &spectrum{id: f.ID}, stages: look.stages()}
	var all []staged
	var desc []string
	for a := range l.Arms {
		if !slices.ContainsFunc(report.Trials(s.r, l.Load, a), followed) {
			continue
		}
		one := s.stagesOf(l, a)
		all = append(all, one)
		if one.lines[0] == nil && one.lines[2] == nil {
			f.Refused = append(f.Refused, l.Arms[a].Name+": "+refusedBy(one.marked))
			continue
		}
		var said []string
		for i, st := range look.stages() {
			sp.lines.lines = append(sp.lines.lines, spectra{response: one.lines[i]})
			switch {
			case one.lines[i] == nil:
				f.Notes = append(f.Notes, l.Arms[a].Name+": nothing to be drawn of "+st.name)
			case len(one.marked[i]) > 0:
				said = append(said, st.name+" "+one.marked[i][0].value())
			}
		}
		desc = append(desc, l.Arms[a].Name+": medians: "+strings.Join(said, ", "))
		sp.arms = append(sp.arms, one)
	}
	if len(all) == 0 {
		return nil
	}
	if sp.lines.scan() {
		f.draw(strings.Join(desc, "; "), sp.paint)
	} else {
		f.Caption = "Nothing can be drawn."
	}
	s.stageTable(l, f, all)
	return f
}

// followed reports whether what a trial sent was followed to its end.
func followed(t *result.Trial) bool {
	_, _, ok := kinds.Followed(t)
	return ok
}

// refusedBy says why none of an arm's times is known.
func refusedBy(marked [][]number) string {
	for _, all := range marked {
		for _, n := range all {
			if why := n.refused(); why != "" {
				return why
			}
		}
	}
	return "nothing was measured"
}

// stageTable shows the quantiles of the analysis. The download has every point that is drawn.
func (s *sheet) stageTable(l *claim.LoadAnalysis, f *figure, all []staged) {
	f.Head = []string{"arm", "", "p50", "p90", "p99", "p99.9"}
	raw := [][]string{{"arm", "what", "quantile", "ns", "low_ns", "high_ns", "earned"}}
	for _, one := range all {
		for i, st := range lookOf(l).stages() {
			row := []cell{words(map[bool]string{true: l.Arms[one.arm].Name}[i == 0]), words(st.name)}
			for _, id := range st.metrics {
				m, err := kinds.MetricOf(l, id)
				if err != nil || l.Row(id) == nil {
					row = append(row, figures(""))
					continue
				}
				n := s.numbers(l, m)[one.arm]
				c := n.cell(n.value())
				if !n.e.Known {
					c.Text, c.Instead = "refused", "refused"
				} else if in := n.interval(); in != "" {
					c.Text += " " + in
				}
				row = append(row, c)
			}
			f.Rows = append(f.Rows, row)
			for _, p := range one.lines[i] {
				raw = append(raw,
					[]string{
						l.Arms[one.arm].Name, st.name, exact(roundTo(p.q, 1e7)), exact(roundTo(p.v, 1)),
						exact(roundTo(p.low, 1)), exact(roundTo(p.high, 1)), fmt.Sprint(p.earned),
					})
			}
		}
	}
	if len(raw) > 1 {
		f.data(s.file("stages", l), raw)
	}
}

// stagePlot has a panel for each arm, with a line for each stage. The panels of a spectrum cannot be used: their
// lines have the colours of arms.
type stagePlot struct {
	arms   []staged
	name   func(arm int) string
	lines  *spectrum // the axes
	stages []stage
}

func (sp *stagePlot) paint(d *svg.Drawing) {
	left, named := sp.lines.axisWidth(), 0.0
	for _, st := range sp.stages {
		named = max(named, svg.BoldWidth(st.name, smallSize))
	}
	named += 16
	ps := panels{left: left, least: 270, most: 3, high: 150, head: 34, foot: 26, gap: 8}
	d.Tall(2 + ps.draw(d, len(sp.arms), func(i int, p panel, first bool) {
		p.title(d, sp.name(sp.arms[i].arm), p.right-p.left-4)
		p.right -= named
		x, y := sp.lines.axes(d, p, first, true)
		sp.arm(d, sp.arms[i], x, y, p)
	}))
}

// arm draws an arm's lines, each with its name at its end.
func (sp *stagePlot) arm(d *svg.Drawing, one staged, x, y svg.Scale, p panel) {
	var ends []ending
	for i, st := range sp.stages {
		line := one.lines[i]
		if len(line) == 0 {
			continue
		}
		class := fmt.Sprintf("stage%d", i)
		var low, high []svg.Point
		for _, p := range line {
			if p.earned {
				low, high = append(low, svg.Point{X: x.At(p.x()), Y: y.At(p.low)}),
					append(high, svg.Point{X: x.At(p.x()), Y: y.At(p.high)})
			}
		}
		d.Band(low, high, svg.Class("area "+class))
		d.Path(places(line, x, y, false), false, svg.Class("line unearned"))
		d.Path(places(line, x, y, true), false, svg.Class("line "+class))
		for _, n := range one.marked[i] {
			if n.e.Known {
				d.Mark(i, x.At(1/(1-n.metric.Quantile)), y.At(n.e.Value), 3,
					append([]svg.Attr{svg.Class("dot hover " + class)}, n.attrs()...)...)
			}
		}
		last := line[len(line)-1]
		ends = append(ends, ending{from: svg.Point{X: x.At(last.x()), Y: y.At(last.v)}, name: st.name, class: class})
	}
	spread(ends, p.top+4, p.bottom-2)
	for _, e := range ends {
		d.Path([]svg.Point{
			{X: e.from.X + 2, Y: e.from.Y},
			{X: max(p.right, e.from.X+2), Y: e.from.Y},
			{X: p.right + 8, Y: e.at},
		}, false, svg.Class("leader "+e.class))
		d.Text(p.right+11, e.at+4, smallSize, svg.Start, e.name, svg.Class("named "+e.class))
	}
}

// ending is the label at the end of a line.
type ending struct {
	from        svg.Point
	name, class string
	at          float64 // vertical middle of the label
}

// spread moves labels apart, close to where their lines end, and between top and bottom.
func spread(all []ending, top, bottom float64) {
	const apart = 13
	for i := range all {
		all[i].at = all[i].from.Y
	}
	order := sorted(all)
	for i, e := range order {
		e.at = max(e.at, top)
		if i > 0 {
			e.at = max(e.at, order[i-1].at+apart)
		}
	}
	for i := len(order) - 1; i >= 0; i-- {
		limit := bottom - apart*float64(len(order)-1-i)
		order[i].at = min(order[i].at, limit)
	}
}
