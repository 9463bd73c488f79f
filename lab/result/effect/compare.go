package effect

import (
	"fmt"
	"math"

	"wirelab/lab/plan"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/estimate"
	"wirelab/lab/result/grid"
	"wirelab/lab/result/metric"
	"wirelab/lab/stat"
)

// Alpha is the allowed probability of error for a metric.
func Alpha(p plan.Plan, primary bool) float64 {
	if primary && p.Until > 0 {
		return stat.SequentialAlpha
	}
	return stat.DefaultAlpha
}

// Rule returns when a difference in m is claimed.
func Rule(p plan.Plan, m metric.Metric) stat.Rule {
	r := stat.Rule{Direction: stat.LowerIsBetter, Practical: p.Practical, Epsilon: p.Equivalent}
	if m.Higher {
		r.Direction = stat.HigherIsBetter
	}
	// A file may have values that a plan refuses: shares that are not positive.
	if !(r.Epsilon > 0 && r.Epsilon < math.MaxFloat64) {
		r.Epsilon = stat.DefaultEpsilon
	}
	if !(r.Practical > 0 && r.Practical < math.MaxFloat64) {
		r.Practical = stat.DefaultPractical
	}
	return r
}

// Row computes one metric of every arm and compares each with the first. P-values are not adjusted and differences
// are not judged here: see Settle.
func Row(g grid.Grid, load *claim.LoadAnalysis, m metric.Metric) claim.Row {
	row := claim.Row{Metric: m.ID, Primary: m.ID == load.Primary, Cells: []claim.Cell{}}
	row.Alpha = Alpha(g.Result.Plan, row.Primary)
	for a := range load.Arms {
		cell := claim.Cell{Estimate: Measure(g, load, m, a, row.Alpha)}
		if a > 0 && !m.Counted {
			cell.Difference = difference(g, load, m, a, row.Alpha)
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

// Measure is one arm's value of a metric.
func Measure(g grid.Grid, load *claim.LoadAnalysis, m metric.Metric, arm int, alpha float64) claim.Estimate {
	e := estimate.Measured(g.Of(load.Load, arm), m, alpha)
	if why := load.Arms[arm].Why(m); why != "" {
		return e.Refuse(why)
	}
	e.Allow(m, load.Arms[arm].Moved(m))
	return e
}

// difference compares an arm with the first, without considering the other comparisons.
func difference(g grid.Grid, load *claim.LoadAnalysis, m metric.Metric, arm int, alpha float64) *claim.Difference {
	if c := load.Arms[0].SpoiledBy(m); c != nil {
		is := " is invalid ("
		if c.Verdict() == claim.Unsteady {
			is = " has no steady state ("
		}
		return &claim.Difference{
			Verdict: claim.Invalid,
			Why:     "nothing to compare with: " + load.Arms[0].Name + is + c.Detail + ")",
		}
	}
	if c := load.Arms[arm].SpoiledBy(m); c != nil {
		return &claim.Difference{Verdict: c.Verdict(), Why: c.Detail}
	}
	e, blocked := Compared(g, load, m, 0, arm, alpha)
	if blocked != nil {
		return blocked
	}
	return &claim.Difference{
		Known: true, Ratio: e.Ratio, Low: e.Low, High: e.High, Exact: e.Exact, Rounds: e.Rounds,
		P: e.JointP(), Effect: e,
	}
}

// Compared is [Paired], widened for what tolerated disturbances can have done to either arm.
func Compared(g grid.Grid, load *claim.LoadAnalysis, m metric.Metric, first, second int,
	alpha float64,
) (stat.Effect, *claim.Difference) {
	e, blocked := Paired(g, load.Load, m, first, second, alpha)
	high, low := load.Arms[second].Moved(m), load.Arms[first].Moved(m)
	if m.Higher { // a disturbance makes a rate lower
		high, low = low, high
	}
	return e.Widen(high, low), blocked
}

// Paired is the ratio of two arms over the rounds that both have, or the verdict that says why there is none. It
// considers no gate.
func Paired(g grid.Grid, load int, m metric.Metric, first, second int, alpha float64) (stat.Effect, *claim.Difference) {
	a, b := g.Pairs(load, first, second)
	rounds := len(a)
	if rounds < 2 {
		return stat.Effect{}, TooFew(rounds, claim.MinRounds)
	}
	if m.Quantile > 0 {
		x, y := estimate.Histograms(a, m), estimate.Histograms(b, m)
		for _, side := range [...][]*stat.Histogram{x, y} {
			if why := estimate.TooShort(m, side); why != "" {
				return stat.Effect{}, &claim.Difference{Verdict: claim.Unmeasured, Rounds: rounds, Why: why}
			}
		}
		e, err := stat.QuantileRatio(x, y, m.Quantile, alpha)
		return e, NoRatio(rounds, err)
	}
	var x, y []float64
	for i := range a {
		v, okA := m.Value(a[i])
		w, okB := m.Value(b[i])
		if okA && okB {
			x, y = append(x, v), append(y, w)
		}
	}
	switch rounds = len(x); {
	case rounds == 0:
		return stat.Effect{}, &claim.Difference{
			Verdict: claim.Unmeasured,
			Why:     estimate.Unknown(m, estimate.Lacking(m, a, b)),
		}
	case rounds == 1:
		return stat.Effect{}, TooFew(rounds, claim.MinRounds)
	case estimate.Zeros(x) && estimate.Zeros(y):
		return stat.Effect{Ratio: 1, Low: 1, High: 1, Alpha: alpha, Rounds: rounds, P: 1, Exact: true}, nil
	}
	e, err := stat.PairedRatio(x, y, alpha)
	return e, NoRatio(rounds, err)
}

// NoRatio is nil without an error. The only remaining causes are a value of 0, and rounds that differ by more than a
// factor e^700.
func NoRatio(rounds int, err error) *claim.Difference {
	if err == nil {
		return nil
	}
	return &claim.Difference{
		Verdict: claim.Unmeasured, Rounds: rounds,
		Why: "no ratio: a round has none of it, or the rounds differ beyond all bounds",
	}
}

// TooFew is the verdict on too few rounds for a claim, which needs least.
func TooFew(rounds, least int) *claim.Difference {
	have := fmt.Sprintf("%d rounds have", rounds)
	switch rounds {
	case 0:
		have = "no round has"
	case 1:
		have = "1 round has"
	}
	return &claim.Difference{
		Verdict: claim.TooFew, Rounds: rounds, More: least - rounds,
		Why: fmt.Sprintf("%s both arms, a claim needs %d", have, least),
	}
}
