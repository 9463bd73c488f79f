package html

import (
	"fmt"
	"math"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/results/report"
	"wirelab/results/report/svg"
)

// paired is the difference of an arm from the first in one round.
type paired struct {
	round int // from 1
	ratio float64
	tip   svg.Attr
	clean bool // no gate failed in this round
}

// roundsOf returns the rounds in which an arm and the first arm both have the metric.
func (s *sheet) roundsOf(l *claim.LoadAnalysis, m metric.Metric, arm int) []paired {
	spoiled := map[int][]string{}
	for _, state := range []*claim.ArmState{&l.Arms[0], &l.Arms[arm]} {
		for _, c := range state.Checks {
			for _, r := range c.Rounds {
				if !r.OK && c.Gate != result.AboveFloor {
					spoiled[r.Round] = append(spoiled[r.Round], string(c.Gate))
				}
			}
		}
	}
	var all []paired
	for n := range s.r.Rounds {
		var a, b *result.Trial
		for i := range s.r.Rounds[n].Trials {
			switch t := &s.r.Rounds[n].Trials[i]; {
			case t.Load != l.Load:
			case t.Arm == 0 && a == nil:
				a = t
			case t.Arm == arm && b == nil:
				b = t
			}
		}
		if a == nil || b == nil || !m.Earned(a) || !m.Earned(b) {
			continue
		}
		x, okA := m.Value(a)
		y, okB := m.Value(b)
		if !okA || !okB || x <= 0 || y <= 0 {
			continue
		}
		p := paired{round: n + 1, ratio: y / x, clean: len(spoiled[n+1]) == 0}
		tip := fmt.Sprintf("%s, round %d: %s\nslices at places %s of the round\nhypervisor %s, others %s of the CPUs",
			l.Arms[arm].Name, n+1, percentChange(p.ratio), orders(b.Order), report.Percent(s.r.Rounds[n].Noise.Steal),
			report.Percent(s.r.Rounds[n].Noise.Others))
		if !p.clean {
			tip += "\nin this round alone failed: " + strings.Join(unique(spoiled[n+1]), ", ")
		}
		p.tip = s.tip(tip)
		all = append(all, p)
	}
	return all
}

func unique(all []string) []string {
	var kept []string
	seen := map[string]bool{}
	for _, text := range all {
		if !seen[text] {
			seen[text], kept = true, append(kept, text)
		}
	}
	return kept
}

// orders lists places: "3, 8, 14".
func orders(places []int) string {
	const most = 10
	var text []string
	for i, p := range places {
		if i == most {
			text = append(text, "…")
			break
		}
		text = append(text, itoa(p+1))
	}
	return strings.Join(text, ", ")
}

func percentChange(ratio float64) string {
	return report.Change(&claim.Difference{Known: true, Ratio: ratio, Low: ratio, High: ratio})
}

// rounds is the plot of every round's paired differences, in the order in which they ran.
func (s *sheet) rounds(l *claim.LoadAnalysis) *figure {
	m, err := kinds.MetricOf(l, l.Primary)
	if err != nil || len(l.Arms) < 2 || s.a.Rounds < 2 {
		return nil
	}
	ns := s.numbers(l, m)
	f := &figure{
		ID:    fmt.Sprintf("rounds-%d", l.Load+1),
		Title: "Round by round: " + m.Title + " against " + l.Arms[0].Name,
	}
	f.Caption = "Each dot is one round's paired difference, in the order they ran; the band is the interval of " +
		"all. A " +
		"slope would be drift; hollow dots are rounds in which a check failed by itself."
	rp := roundPlot{practical: report.Practical(s.r), rounds: len(s.r.Rounds), name: s.r.ArmName}
	raw := [][]string{{"round", "arm", "ratio", "clean", "seed"}}
	f.Head = []string{"arm", "rounds", "smallest", "largest", "all rounds", "95 % CI", "verdict"}
	for a := 1; a < len(l.Arms); a++ {
		n := ns[a]
		if n.d == nil || !n.d.Known {
			f.Refused = append(f.Refused, l.Arms[a].Name+": "+why(n))
			continue
		}
		points := s.roundsOf(l, m, a)
		low, high := math.Inf(1), 0.0
		for _, p := range points {
			low, high = min(low, p.ratio), max(high, p.ratio)
			raw = append(raw, []string{
				itoa(p.round), l.Arms[a].Name, exact(p.ratio), fmt.Sprint(p.clean),
				fmt.Sprint(s.r.Plan.Seed),
			})
		}
		if len(points) == 0 {
			continue
		}
		rp.arms = append(rp.arms, armRounds{n: n, points: points})
		c := n.cell(report.Change(n.d))
		f.Rows = append(f.Rows,
			[]cell{
				words(l.Arms[a].Name), figures(itoa(len(points))), figures(percentChange(low)),
				figures(percentChange(high)), c, figures(report.Interval(n.d)), words(n.verdict()),
			})
	}
	if len(rp.arms) == 0 {
		return nil
	}
	rp.scan()
	f.data(s.file("rounds", l), raw)
	f.draw(fmt.Sprintf("Paired differences of %s in %s, one panel for each arm.", report.Plural(len(rp.arms), "arm"),
		report.Plural(rp.rounds, "round")), rp.paint)
	return f
}

// armRounds is one panel.
type armRounds struct {
	n      number
	points []paired
}

type roundPlot struct {
	arms      []armRounds
	practical float64
	rounds    int
	name      func(int) string
	low, high float64
}

func (rp *roundPlot) scan() {
	rp.low, rp.high = 1/(1+2*rp.practical), 1+2*rp.practical
	for _, one := range rp.arms {
		rp.low, rp.high = min(rp.low, one.n.d.Low), max(rp.high, one.n.d.High)
		for _, p := range one.points {
			rp.low, rp.high = min(rp.low, p.ratio), max(rp.high, p.ratio)
		}
	}
	pad := math.Pow(rp.high/rp.low, 0.06)
	rp.low, rp.high = rp.low/pad, rp.high*pad
}

func (rp *roundPlot) paint(d *svg.Drawing) {
	left := 0.0
	for _, r := range []float64{rp.low, rp.high} {
		left = max(left, svg.Width(ratioLabel(r), smallSize))
	}
	left += 16
	ps := panels{left: left, least: 220, most: 3, high: 92, head: 34, foot: 22, gap: 16}
	if len(rp.arms) == 1 {
		ps.high = 150
	}
	d.Tall(8 + ps.draw(d, len(rp.arms), func(i int, p panel, first bool) {
		p.title(d, rp.name(rp.arms[i].n.arm), p.right-p.left)
		rp.panel(d, p, rp.arms[i], first)
	}))
}

// panel draws one arm's rounds.
func (rp *roundPlot) panel(d *svg.Drawing, p panel, one armRounds, labelled bool) {
	x := svg.Linear(1, float64(max(rp.rounds, 2)), p.left+8, p.right-8)
	y := svg.Log(rp.low, rp.high, p.bottom, p.top)
	d.Rect(p.left, y.At(1+rp.practical), p.right-p.left, y.At(1/(1+rp.practical))-y.At(1+rp.practical),
		svg.Class("band"))
	d.Rect(p.left, y.At(one.n.d.High), p.right-p.left, max(1, y.At(one.n.d.Low)-y.At(one.n.d.High)),
		svg.Class("area s"+itoa(one.n.arm%colours)))
	for _, t := range verticalTicks(y) {
		d.Line(p.left, t.At, p.right, t.At, svg.Class("grid"))
		if labelled {
			d.Text(p.left-8, t.At+4, smallSize, svg.End, t.Label, svg.Class("muted"))
		}
	}
	d.Line(p.left, y.At(1), p.right, y.At(1), svg.Class("zero"))
	d.Group(svg.Attr{Name: "data-s", Value: itoa(one.n.arm)})
	for _, pt := range one.points {
		class := "dot hover " + series(one.n.arm)
		if !pt.clean {
			class = "ring hover " + series(one.n.arm)
		}
		d.Mark(shape(one.n.arm), x.At(float64(pt.round)), y.At(pt.ratio), 2.8, svg.Class(class), pt.tip)
	}
	d.End()
	for _, t := range svg.Spaced([]float64{1, float64(rp.rounds)}, x.At, func(v float64) string { return itoa(int(v)) },
		smallSize, p.left-8, p.right+8) {
		d.Text(t.At, p.bottom+14, smallSize, svg.Middle, t.Label, svg.Class("muted"))
	}
	d.Text((p.left+p.right)/2, p.bottom+14, smallSize, svg.Middle, "round", svg.Class("muted"))
}

// verticalTicks returns round percentages on a vertical scale of ratios, with enough distance for their labels.
func verticalTicks(y svg.Scale) []svg.Tick {
	const apart = 17
	var kept []svg.Tick
	for _, r := range ratioCandidates(y) {
		at := y.At(r)
		free := true
		for _, k := range kept {
			free = free && math.Abs(k.At-at) >= apart
		}
		if free {
			kept = append(kept, svg.Tick{At: at, Label: ratioLabel(r)})
		}
	}
	return kept
}
