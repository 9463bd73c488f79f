package terminal

import (
	"fmt"
	"math"
	"strings"

	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/results/report"
)

// The size of a plot: its height in lines and its greatest width in columns. A wider curve is no clearer.
const (
	plotHeight   = 16
	plotWidthMax = 100
	plotMargin   = 9 // for the labels of the axis, with the axis
)

// letter returns an arm's letter: upper case for p99, lower case for p50. If there are more arms than letters, the
// rest share the last one.
func letter(arm int) rune { return 'A' + rune(min(arm, 25)) }

// scale maps values to a number of steps, logarithmically.
type scale struct {
	low, high float64
	steps     int
	linear    bool
}

func (s scale) at(v float64) int {
	from, to, x := s.low, s.high, v
	if !s.linear {
		from, to, x = math.Log(from), math.Log(to), math.Log(x)
	}
	if to <= from {
		return 0
	}
	return min(max(int(math.Round((x-from)/(to-from)*float64(s.steps-1))), 0), s.steps-1)
}

// value returns the value at a step.
func (s scale) value(step int) float64 {
	share := float64(step) / float64(max(s.steps-1, 1))
	if s.linear {
		return s.low + share*(s.high-s.low)
	}
	return math.Exp(math.Log(s.low) + share*(math.Log(s.high)-math.Log(s.low)))
}

// widely is the ratio of rates from which on the axis is logarithmic.
const widely = 40

// plot draws p99 and p50 over the offered rate. It is text in one colour, so that it reads alike on dark and light
// backgrounds and in a file.
func (p *page) plot(c *claim.Curve) {
	low, high := math.Inf(1), 0.0
	for _, a := range c.Arms {
		for _, point := range a.Points {
			for _, e := range []claim.Estimate{point.P50, point.P99} {
				if e.Known && e.Value > 0 {
					low, high = min(low, e.Value), max(high, e.Value)
				}
			}
		}
	}
	if high == 0 {
		p.wrapped("", "Nothing can be drawn: no level has response times.", faint)
		return
	}
	first, last := c.Levels[0].Offered, c.Levels[len(c.Levels)-1].Offered
	x := scale{low: 0, high: last, steps: min(p.style.Width, plotWidthMax) - plotMargin, linear: true}
	if last > widely*first {
		x = scale{low: first, high: last, steps: x.steps}
	}
	y := scale{low: low, high: high, steps: plotHeight}
	canvas := make([][]rune, plotHeight)
	for i := range canvas {
		canvas[i] = []rune(strings.Repeat(" ", x.steps))
	}
	draw := func(level int, e claim.Estimate, mark rune) {
		if !e.Known || e.Value <= 0 {
			return
		}
		at := &canvas[y.at(e.Value)][x.at(c.Levels[level].Offered)]
		if *at != ' ' && *at != '|' && *at != mark {
			mark = '*'
		}
		*at = mark
	}
	for _, a := range c.Arms { // intervals first, so that figures overwrite them
		for i, point := range a.Points {
			if e := point.P99; e.Interval() {
				for line := y.at(max(e.Low, low)); line <= y.at(min(e.High, high)); line++ {
					canvas[line][x.at(c.Levels[i].Offered)] = '|'
				}
			}
		}
	}
	for arm, a := range c.Arms {
		for i, point := range a.Points {
			draw(i, point.P50, letter(arm)-'A'+'a')
			draw(i, point.P99, letter(arm))
		}
	}
	p.axes(c, canvas, x, y)
}

// axes writes a canvas with its axes and, below it, each arm's knee and saturation.
func (p *page) axes(c *claim.Curve, canvas [][]rune, x, y scale) {
	p.wrapped("", "Response time: capitals are p99 with its interval |, small letters p50, * is several.", faint)
	for line := len(canvas) - 1; line >= 0; line-- {
		label := ""
		if line%5 == 0 || line == len(canvas)-1 {
			v := y.value(line)
			unit := report.UnitFor(metric.Time, v)
			label = report.Significant(v/unit.Size, 2) + unit.Name
		}
		p.line(p.paint(fmt.Sprintf("%*s ┤", plotMargin-2, label), faint) + string(canvas[line]))
	}
	p.line(p.paint(strings.Repeat(" ", plotMargin-1)+"└"+strings.Repeat("─", x.steps), faint))
	p.line(p.paint(strings.Repeat(" ", plotMargin)+ticks(x), faint))
	for arm, a := range c.Arms {
		marks := []rune(strings.Repeat(" ", x.steps))
		for _, place := range []struct {
			of   claim.Place
			mark rune
		}{{a.Knee, 'K'}, {a.Saturation, 'S'}, {a.Collapse, 'C'}} {
			if place.of.Known {
				marks[x.at(place.of.Rate)] = place.mark
			}
		}
		if text := strings.TrimRight(string(marks), " "); text != "" {
			p.line(fmt.Sprintf("%*c  ", plotMargin-2, letter(arm)) + text)
		}
	}
}

// ticks writes the rates under an axis, as many as fit next to each other, the last one right-aligned with the unit.
func ticks(x scale) string {
	line := []rune(strings.Repeat(" ", x.steps))
	last := []rune(report.Rate(x.high, 2) + " offered")
	end := x.steps - len(last)
	copy(line[max(end, 0):], last)
	const apart = 12
	for at := 0; at+apart < end; at += max(x.steps/5, apart) {
		v := x.value(at)
		if v <= 0 {
			copy(line[at:], []rune("0"))
			continue
		}
		copy(line[at:], []rune(report.Rate(v, 2)))
	}
	return string(line)
}
