package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/results/report/block"
)

// Rate writes calls per second for a sentence: "21.4k/s", "812/s".
func Rate(perSecond float64, digits int) string {
	unit, name := rateUnit(perSecond)
	return Significant(perSecond/unit, digits) + name + "/s"
}

// RateInterval writes an interval of rates in the unit of its estimate: "[20.9, 21.8]".
func RateInterval(e claim.Estimate) string {
	if !e.Interval() {
		return ""
	}
	unit, _ := rateUnit(e.Value)
	return "[" + Significant(e.Low/unit, 3) + ", " + Significant(e.High/unit, 3) + "]"
}

func rateUnit(perSecond float64) (unit float64, name string) {
	switch {
	case perSecond >= 1e6:
		return 1e6, "M"
	case perSecond >= 1e3:
		return 1e3, "k"
	}
	return 1, ""
}

// CurveTitle is the heading of a curve.
func CurveTitle(c *claim.Curve) string { return "response time over offered rate: " + c.Operation }

// CurveSetting says how calls arrived.
func CurveSetting(c *claim.Curve) string {
	law := "Poisson arrivals"
	if c.Arrivals == plan.Constant {
		law = "Arrivals at even intervals"
	}
	return fmt.Sprintf("%s, at most %d calls in flight. Times count from when a call was due.", law, c.InFlight)
}

// CurveSentences says for each arm where its knee is, its highest rate of answers, and the rate from which on it does
// not keep up.
func CurveSentences(c *claim.Curve) []string {
	all := make([]string, len(c.Arms))
	for i := range c.Arms {
		all[i] = curveSentence(c, &c.Arms[i])
	}
	return all
}

func curveSentence(c *claim.Curve, a *claim.ArmCurve) string {
	if !slices.ContainsFunc(a.Points, func(p claim.Point) bool { return p.Achieved.Known }) {
		return a.Name + ": nothing can be said, since no rate has valid figures: " + a.Most.Why + "."
	}
	var parts []string
	if a.Knee.Known {
		parts = append(parts, "the knee is at "+rate(a.Knee.Rate)+between(a.Knee))
	} else {
		parts = append(parts, "the knee is not known: "+a.Knee.Why)
	}
	switch {
	case a.Saturation.Known && a.Saturation.Low > 0:
		parts = append(parts, fmt.Sprintf("it keeps up with %s, and at %s answers fewer than arrive",
			rate(a.Saturation.Low), rate(a.Saturation.Rate)))
	case a.Saturation.Known:
		parts = append(parts, "it keeps up with no rate offered, from "+rate(a.Saturation.Rate)+" on")
	default:
		parts = append(parts, a.Saturation.Why)
	}
	if a.Most.Known {
		text := "at most " + Rate(a.Most.Value, 3) + " are answered"
		if a.Most.Interval() {
			text += " " + RateInterval(a.Most)
		}
		parts = append(parts, text)
	}
	if a.Collapse.Known {
		by := a.Collapse.By
		parts = append(parts, fmt.Sprintf("beyond it collapses: at %s it answers %s %% fewer than at %s (%s to %s %%)",
			rate(a.Collapse.Rate), unsigned(by.Value, 0), rate(a.Collapse.Low), unsigned(by.High, 0),
			unsigned(by.Low, 0)))
	} else if a.Saturation.Known {
		parts = append(parts, "no collapse is seen")
	}
	if n := overloaded(a); n > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d rates are overload, where times grow as long as a slice lasts", n,
			len(c.Levels)))
	}
	return a.Name + ": " + strings.Join(parts, "; ") + "."
}

// between names the other levels that cannot be told apart from a place.
func between(p claim.Place) string {
	if p.Low == p.High || p.Low == 0 {
		return ""
	}
	return " (" + rate(p.Low) + " to " + rate(p.High) + " cannot be told apart)"
}

func overloaded(a *claim.ArmCurve) int {
	n := 0
	for _, p := range a.Points {
		if p.Overloaded {
			n++
		}
	}
	return n
}

// curveRows returns the rows of an arm's table. The marks are "K" for the knee, "S" for saturation, "C" for collapse,
// "o" for overload.
func curveRows(c *claim.Curve, arm int) [][]block.Cell {
	a := &c.Arms[arm]
	var costs []float64
	for _, p := range a.Points {
		if p.ServerCPU.Known {
			costs = append(costs, p.ServerCPU.Value)
		} else if one := p.ServerCPU.ShownRefused(); one != nil {
			costs = append(costs, one.Value)
		}
	}
	cost := UnitFor(metric.Time, costs...)
	rows := make([][]block.Cell, len(a.Points))
	for i, p := range a.Points {
		least := ""
		if p.AtLeast {
			least = "≥ "
		}
		answered, interval := Absent, ""
		if p.Achieved.Known {
			answered = Significant(p.Achieved.Value, 4)
		} else if one := p.Achieved.ShownRefused(); one != nil {
			answered = Refused(Significant(one.Value, 4))
		}
		if p.P99.Interval() {
			unit := UnitFor(metric.Time, p.P99.Value)
			interval = "[" + Significant(p.P99.Low/unit.Size, 3) + ", " + Significant(p.P99.High/unit.Size, 3) + "]"
		}
		rows[i] = block.Texts(rate(c.Levels[i].Offered), answered, timed(p.P50, least), timed(p.P99, least), interval,
			curveMarks(a, i), With(p.ServerCPU, cost), Value(p.Cores, Unit{Size: 1}))
		if p.Overloaded {
			rows[i][5].Tone = block.Open
		}
		rows[i][6].Why, rows[i][7].Why = p.ServerCPU.Why, p.Cores.Why
	}
	return rows
}

// timed writes a time in its own unit: the times of a curve range from microseconds to seconds.
func timed(e claim.Estimate, least string) string {
	if one := e.ShownRefused(); one != nil {
		value, _ := IsRefused(With(e, UnitFor(metric.Time, one.Value)))
		return Refused(least + value)
	}
	if !e.Known {
		return Absent
	}
	return least + With(e, UnitFor(metric.Time, e.Value))
}

func curveMarks(a *claim.ArmCurve, level int) string {
	marks := ""
	for _, place := range []struct {
		of   claim.Place
		mark string
	}{{a.Knee, "K"}, {a.Saturation, "S"}, {a.Collapse, "C"}} {
		if place.of.Known && place.of.Level == level {
			marks += place.mark
		}
	}
	if a.Points[level].Overloaded {
		marks += "o"
	}
	return marks
}

// CurveLegend says what the marks of a curve's table mean.
const CurveLegend = "K knee: most calls answered per second for their mean response time · S lowest rate not kept up " +
	"with · " +
	"C collapse · o overload: fewer calls answered than arrive · ≥ at least: some calls failed or were never made"

// CurveNotes returns the notes on a curve: where figures are refused, and what the rates were chosen from.
func CurveNotes(r *result.Result, c *claim.Curve) []string {
	var notes []string
	for i := range c.Arms {
		a := &c.Arms[i]
		var why Groups[result.Gate, string]
		for _, p := range a.Points {
			if p.Why != "" {
				why.Add(p.Gate, p.Why)
			}
		}
		notes = append(notes, why.Each(func(_ result.Gate, all []string) string {
			return fmt.Sprintf("%s: figures refused at %d of %d rates, first: %s", a.Name, len(all), len(c.Levels),
				all[0])
		})...)
	}
	if few := fewCalls(c); few != "" {
		notes = append(notes, few)
	}
	if len(r.Calibration) > 0 {
		best := map[int]float64{}
		for _, k := range r.Calibration {
			best[k.Arm] = math.Max(best[k.Arm], k.Rate)
		}
		var parts []string
		for arm := range r.Plan.Arms {
			if best[arm] > 0 {
				parts = append(parts, r.ArmName(arm)+" "+Rate(best[arm], 2))
			}
		}
		notes = append(notes, "rates were chosen from one short look at each arm's closed loop: "+strings.Join(parts,
			", "))
	}
	return notes
}

// fewCalls says where p99 is not shown because there were too few calls.
func fewCalls(c *claim.Curve) string {
	n, first := 0, ""
	for i := range c.Arms {
		for l, p := range c.Arms[i].Points {
			if p.P99.Known || p.P99.Why == p.Why || p.P99.Why == "" {
				continue
			}
			if n++; n == 1 {
				first = c.Arms[i].Name + " at " + rate(c.Levels[l].Offered) + " " + p.P99.Why
			}
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "p99 is not shown: " + first
	}
	return fmt.Sprintf("p99 is not shown %d times for want of calls, first: %s", n, first)
}

// folded is the number of open loads from which on a report shows only curves: one section for each rate would take
// pages.
const folded = 6

// InCurve reports whether a load is shown as part of a curve, and not by itself.
func InCurve(a *claim.Analysis, load int) bool {
	for _, c := range a.Curves {
		if len(c.Levels) <= folded {
			continue
		}
		for _, level := range c.Levels {
			if level.Load == load {
				return true
			}
		}
	}
	return false
}

// CurveSpoiled names the arms of which no level has a figure, with the first reason; "" if every arm has one.
func CurveSpoiled(a *claim.Analysis) string {
	var all []string
	for _, c := range a.Curves {
		for i := range c.Arms {
			arm := &c.Arms[i]
			if slices.ContainsFunc(arm.Points, func(p claim.Point) bool { return p.P50.Known || p.P99.Known }) {
				continue
			}
			why := "too few calls"
			if len(arm.Points) > 0 {
				why = cmp.Or(arm.Points[0].Why, arm.Points[0].P50.Why, why)
			}
			all = append(all, arm.Name+": "+why)
		}
	}
	return strings.Join(all, "; ")
}
