package html

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	phrases "wirelab/lab/result/words"
	"wirelab/results/report"
	"wirelab/results/report/svg"
)

func roundTo(v, steps float64) float64 { return math.Round(v*steps) / steps }

// sorted returns the endings from top to bottom.
func sorted(all []ending) []*ending {
	var order []*ending
	for i := range all {
		order = append(order, &all[i])
	}
	slices.SortStableFunc(order, func(a, b *ending) int { return cmp.Compare(a.from.Y, b.from.Y) })
	return order
}

// behind is an arm's backlog over the time of a slice: the entries that were accepted and not stored, or the messages
// that were acknowledged and not delivered.
type behind struct {
	arm    int
	slices int
	points []waiting
	every  time.Duration // between two points
	most   int64
	atEnd  float64 // of the middle slice, when sending ends
	after  time.Duration
	done   []report.Span // faults in this time, from the slice's first call
}

// waiting is the minimum, the median and the maximum over all slices.
type waiting struct{ low, middle, high float64 }

// behindOf computes an arm's backlog. For slices that ended sooner, the last value is used.
func (s *sheet) behindOf(l *claim.LoadAnalysis, arm int) behind {
	b := behind{arm: arm}
	var all [][]int64
	coarsest := 1
	var trials []waited
	for _, t := range report.Trials(s.r, l.Load, arm) {
		w := lookOf(l).waited(t)
		trials, coarsest = append(trials, w), max(coarsest, w.merged)
	}
	b.every = time.Duration(coarsest) * result.BacklogEvery
	for _, w := range trials {
		for _, one := range w.lists {
			if len(one) > 0 {
				all = append(all, result.MergeBacklog(one, coarsest/w.merged))
				b.most = max(b.most, slices.Max(one))
			}
		}
		b.after = max(b.after, w.drained)
	}
	b.slices = len(all)
	for i := 0; ; i++ {
		var values []int64
		more := false
		for _, one := range all {
			more = more || i < len(one)
			values = append(values, one[min(i, len(one)-1)])
		}
		if !more {
			break
		}
		slices.Sort(values)
		middle := (float64(values[(len(values)-1)/2]) + float64(values[len(values)/2])) / 2
		b.points = append(b.points, waiting{float64(values[0]), middle, float64(values[len(values)-1])})
	}
	if n := len(b.points); n > 0 {
		at := min(n-1, int(time.Duration(s.r.Plan.Slice)/b.every))
		b.atEnd = b.points[at].middle
	}
	return b
}

// backlog is the chart of entries that were accepted and not yet stored; nil if entries were not followed.
func (s *sheet) backlog(l *claim.LoadAnalysis) *figure {
	f := &figure{ID: fmt.Sprintf("backlog-%d", l.Load+1), Title: "Backlog: accepted and not yet stored"}
	f.Caption = "Entries, over the time since a slice's first call: the line is the middle slice, the band reaches " +
		"from the least to the most of all. A slice ends at the dashed line: what waits there is worked off."
	f.Head = []string{"arm", "slices", "at most", "as a slice ends", "last one stored after its end"}
	if of := lookOf(l).backlog; of != nil {
		of(s, l, f)
	}
	raw := [][]string{{"arm", "at_ms", "slices", "least", "middle", "most"}}
	bp := backlogPlot{name: s.r.ArmName, slice: time.Duration(s.r.Plan.Slice)}
	var desc []string
	for a := range l.Arms {
		b := s.behindOf(l, a)
		if b.slices == 0 {
			continue
		}
		if why := l.Arms[a].Invalid(); len(why) > 0 {
			f.Refused = append(f.Refused, l.Arms[a].Name+": "+why[0])
			continue
		}
		name := l.Arms[a].Name
		b.done = s.spans(l, a)
		bp.arms = append(bp.arms, b)
		desc = append(desc, fmt.Sprintf("%s: at most %s, %s as a slice ends", name,
			phrases.Thousands(uint64(max(0, b.most))), report.Significant(b.atEnd, 3)))
		f.Rows = append(f.Rows, []cell{
			words(name), figures(itoa(b.slices)), figures(phrases.Thousands(uint64(max(0, b.most)))),
			figures(report.Significant(b.atEnd, 3)), figures(report.Duration(b.after)),
		})
		for i, p := range b.points {
			raw = append(raw, []string{
				name, exact(float64(i+1) * float64(b.every) / 1e6), itoa(b.slices), exact(p.low),
				exact(p.middle), exact(p.high),
			})
		}
	}
	if len(bp.arms) == 0 && len(f.Refused) == 0 {
		return nil
	}
	if len(bp.arms) == 0 {
		f.Caption, f.Head = "Nothing can be drawn.", nil
		return f
	}
	f.data(s.file("backlog", l), raw)
	f.draw(strings.Join(desc, "; "), bp.paint)
	return f
}

// backlogPlot has a panel for each arm.
type backlogPlot struct {
	arms  []behind
	name  func(arm int) string
	slice time.Duration
}

// drawn is the greatest number of points of a line. A browser shows no more, and there may be [result.BacklogLimit].
const drawn = 240

// fewer merges neighbouring points, so that a line has at most drawn points, step seconds apart.
func fewer(all []waiting, every time.Duration) (points []waiting, step float64) {
	each := (len(all) + drawn - 1) / drawn
	for some := range slices.Chunk(all, max(each, 1)) {
		p := waiting{low: math.Inf(1)}
		for _, one := range some {
			p.low, p.high, p.middle = min(p.low, one.low), max(p.high, one.high), p.middle+one.middle/float64(len(some))
		}
		points = append(points, p)
	}
	return points, float64(max(each, 1)) * every.Seconds()
}

func (bp *backlogPlot) paint(d *svg.Drawing) {
	most, long := 1.0, bp.slice.Seconds()
	for _, b := range bp.arms {
		most, long = max(most, float64(b.most)), max(long, float64(len(b.points))*b.every.Seconds())
	}
	scale := svg.Linear(0, most, 1, 0).Round(4)
	left := 0.0
	for _, t := range scale.Ticks(4) {
		left = max(left, svg.Width(countLabel(t), smallSize))
	}
	left += 12
	ps := panels{left: left, least: 200, most: 4, high: 120, head: 34, foot: 26, gap: 18}
	d.Tall(2 + ps.draw(d, len(bp.arms), func(i int, p panel, first bool) {
		b := bp.arms[i]
		p.title(d, bp.name(b.arm), p.right-p.left-4)
		_, top := scale.Ends()
		y, x := svg.Linear(0, top, p.bottom, p.top), svg.Linear(0, long, p.left, p.right)
		for _, t := range y.Ticks(4) {
			d.Line(p.left, y.At(t), p.right, y.At(t), svg.Class("grid"))
			if first {
				d.Text(p.left-8, y.At(t)+4, smallSize, svg.End, countLabel(t), svg.Class("muted"))
			}
		}
		for _, t := range svg.Spaced(x.Ticks(5), x.At, func(v float64) string { return short(v, 3) + " s" }, smallSize,
			p.left-10, min(p.right+4, d.Width())) {
			d.Line(t.At, p.bottom, t.At, p.bottom+4, svg.Class("grid"))
			d.Text(t.At, p.bottom+17, smallSize, svg.Middle, t.Label, svg.Class("muted"))
		}
		if end := bp.slice.Seconds(); end < long {
			d.Line(x.At(end), p.top, x.At(end), p.bottom, svg.Class("over-with"))
		}
		for _, done := range b.done {
			from, to := x.At(done.Began.Seconds()), p.right
			if done.Over > 0 {
				to = min(to, x.At(done.Over.Seconds()))
			}
			d.Rect(from, p.top, max(1, to-from), p.bottom-p.top, svg.Class("disturbed"))
			d.Line(from, p.top, from, p.bottom, svg.Class("disturbance"))
		}
		bp.arm(d, b, x, y, p)
	}))
}

// countLabel writes a number of entries on an axis.
func countLabel(v float64) string { return phrases.Thousands(uint64(math.Round(max(v, 0)))) }

// arm draws an arm's backlog, and marks its maximum.
func (bp *backlogPlot) arm(d *svg.Drawing, b behind, x, y svg.Scale, p panel) {
	points, step := fewer(b.points, b.every)
	d.Group(svg.Attr{Name: "data-s", Value: itoa(b.arm)}, svg.Class("of"))
	// Each value is for the end of its interval; before the first there was no backlog.
	low, line, high := []svg.Point{{X: x.At(0), Y: y.At(0)}}, []svg.Point{{X: x.At(0), Y: y.At(0)}},
		[]svg.Point{{X: x.At(0), Y: y.At(0)}}
	peak := svg.Point{X: p.left, Y: p.bottom}
	for i, w := range points {
		at := x.At(float64(i+1) * step)
		low, line, high = append(low, svg.Point{X: at, Y: y.At(w.low)}),
			append(line, svg.Point{X: at, Y: y.At(w.middle)}), append(high, svg.Point{X: at, Y: y.At(w.high)})
		if y.At(w.high) < peak.Y {
			peak = svg.Point{X: at, Y: y.At(w.high)}
		}
	}
	d.Band(low, high, svg.Class("area "+series(b.arm)))
	d.Path(line, false, svg.Class("line "+series(b.arm)))
	d.End()
	text := "at most " + phrases.Thousands(uint64(max(b.most, 0)))
	half := svg.Width(text, smallSize) / 2
	d.Text(min(max(peak.X, p.left+half+2), p.right-half-2), max(peak.Y-6, p.top+10), smallSize, svg.Middle, text,
		svg.Class("bg"))
}
