package result

import (
	"fmt"
	"math"
	"slices"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// alpha is the probability of error that a metric may have.
func alpha(p plan.Plan, primary bool) float64 {
	if primary && p.Until > 0 {
		return stat.SequentialAlpha
	}
	return stat.DefaultAlpha
}

// rule says when a difference in m is claimed.
func rule(p plan.Plan, m Metric) stat.Rule {
	r := stat.Rule{Direction: stat.LowerIsBetter, Practical: p.Practical, Epsilon: p.Equivalent}
	if m.Higher {
		r.Direction = stat.HigherIsBetter
	}
	// What a file may hold and a plan may not: shares that are none.
	if !(r.Epsilon > 0 && r.Epsilon < math.MaxFloat64) {
		r.Epsilon = stat.DefaultEpsilon
	}
	if !(r.Practical > 0 && r.Practical < math.MaxFloat64) {
		r.Practical = stat.DefaultPractical
	}
	return r
}

// analyseRow takes one metric of every arm and compares each with the first.
// P-values are not adjusted and differences not judged here: see settle.
func analyseRow(g grid, load *LoadAnalysis, m Metric) Row {
	row := Row{Metric: m.ID, Primary: m.ID == load.Primary, Cells: []Cell{}}
	row.Alpha = alpha(g.result.Plan, row.Primary)
	for a := range load.Arms {
		cell := Cell{Estimate: estimate(g, load, m, a, row.Alpha)}
		if a > 0 && !m.Counted {
			cell.Difference = difference(g, load, m, a, row.Alpha)
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

// estimate is one arm's value of a metric.
func estimate(g grid, load *LoadAnalysis, m Metric, arm int, alpha float64) Estimate {
	e := measured(g.of(load.Load, arm), m, alpha)
	if why := load.Arms[arm].Why(m); why != "" {
		return e.refuse(why)
	}
	e.allow(m, load.Arms[arm].moved(m))
	return e
}

// measured is a metric of an arm's trials, whatever the checks say of them.
func measured(trials []*Trial, m Metric, alpha float64) Estimate {
	switch {
	case len(trials) == 0:
		return Estimate{Why: "not measured"}
	case m.Quantile > 0 && toldOf(trials, m) == "":
		return estimateQuantile(trials, m, alpha)
	}
	values := make([]float64, 0, len(trials))
	total := 0.0
	for _, t := range trials {
		if v, ok := m.Value(t); ok {
			values = append(values, v)
			total += v
		}
	}
	e := Estimate{Known: true, Rounds: len(values)}
	switch {
	case len(values) == 0:
		return Estimate{Why: unknown(m, trials)}
	case m.Averaged:
		e.Value = total / float64(len(values))
		return e
	case m.Counted:
		e.Value = total
		return e
	}
	mean, err := stat.GeometricMean(values, alpha)
	if err == nil {
		e.Value, e.Low, e.High = mean.Value, mean.Low, mean.High
		return e
	}
	// One round, or rounds with none of it: a mean without an interval.
	e.Value = total / float64(len(values))
	if math.IsInf(e.Value, 0) {
		return Estimate{Why: "beyond all bounds"}
	}
	return e
}

// lacking returns the first of several arms' trials that do not tell a metric.
func lacking(m Metric, arms ...[]*Trial) []*Trial {
	for _, trials := range arms {
		if !slices.ContainsFunc(trials, func(t *Trial) bool { _, ok := m.Value(t); return ok }) {
			return trials
		}
	}
	return nil
}

// unknown says why none of an arm's trials tells a metric.
func unknown(m Metric, trials []*Trial) string {
	behind := func(is func(*DatabaseUse) bool) bool {
		return slices.ContainsFunc(trials, func(t *Trial) bool { return t.Database != nil && is(t.Database) })
	}
	if why := toldOf(trials, m); why != "" {
		return why
	}
	switch m.ID {
	case plan.DatabaseCPU, plan.EventDatabaseCPU, plan.BackendCPU, plan.PoolWait:
		switch {
		case behind(func(d *DatabaseUse) bool { return d.Within }):
			return "its database is inside the server"
		case m.ID == plan.PoolWait:
			return "no pool of connections told of it"
		case behind(func(*DatabaseUse) bool { return true }):
			return "the database's processes are not on this host"
		}
		return "nobody looked at its database"
	case plan.ServerAllocations, plan.EventServerAllocations:
		if slices.ContainsFunc(trials, func(t *Trial) bool { return t.Server != nil }) {
			return "only the server's own runtime could count them, and nobody asked it"
		}
		return "the server's process is not ours"
	case plan.ServerCPU, plan.EventServerCPU:
		return "the server's process is not ours"
	case plan.ClientCPU, plan.ClientAllocations, plan.EventClientCPU, plan.EventClientAllocations:
		return "the driver's use was not recorded"
	case plan.DrainRate:
		return "too few messages were left to be read after the slices"
	case plan.DiskPerMessage, plan.NetworkPerMessage:
		return "the broker's processes are not ours"
	case MemoryGrowth, DiskGrowth:
		return fmt.Sprintf("it needs %d readings, one a second", GrowthSamples)
	case plan.MessageRate, plan.DeliveredRate:
		return "no message came in time"
	}
	if m.Streams && !m.Open {
		return "no event came in time"
	}
	return "no call was answered in time"
}

func estimateQuantile(trials []*Trial, m Metric, alpha float64) Estimate {
	rounds := histograms(trials, m)
	if why := tooShort(m, rounds); why != "" {
		return Estimate{Why: why}
	}
	e, err := stat.QuantileInterval(rounds, m.Quantile, alpha)
	if err == nil {
		return Estimate{Known: true, Value: e.Value, Low: e.Low, High: e.High, Rounds: e.Rounds}
	}
	v := float64(merge(trials, m.histogram).Quantile(m.Quantile))
	return Estimate{Known: true, Value: v, Rounds: len(rounds)}
}

func histograms(trials []*Trial, m Metric) []*stat.Histogram {
	all := make([]*stat.Histogram, len(trials))
	for i, t := range trials {
		all[i] = m.histogram(t)
	}
	return all
}

// tooShort says which quantile needs how many calls; "" if there are enough.
func tooShort(m Metric, rounds []*stat.Histogram) string {
	things := choose(m.Streams, "events", "requests")
	switch tail := stat.Tail(m.Quantile, rounds); {
	case tail.Have < tail.Need:
		return fmt.Sprintf("needs %s %s, have %s", Thousands(tail.Need), things, Thousands(tail.Have))
	case tail.HaveInRound < tail.NeedInRound:
		return fmt.Sprintf("needs %s %s in each round, one has %s", Thousands(tail.NeedInRound), things, Thousands(tail.HaveInRound))
	}
	return ""
}

// difference compares an arm with the first, as far as it can be done without
// the other comparisons.
func difference(g grid, load *LoadAnalysis, m Metric, arm int, alpha float64) *Difference {
	if c := load.Arms[0].spoiled(m); c != nil {
		is := " is invalid ("
		if c.verdict() == Unsteady {
			is = " has no steady state ("
		}
		return &Difference{Verdict: Invalid, Why: "nothing to compare with: " + load.Arms[0].Name + is + c.Detail + ")"}
	}
	if c := load.Arms[arm].spoiled(m); c != nil {
		return &Difference{Verdict: c.verdict(), Why: c.Detail}
	}
	e, blocked := compared(g, load, m, 0, arm, alpha)
	if blocked != nil {
		return blocked
	}
	return &Difference{Known: true, Ratio: e.Ratio, Low: e.Low, High: e.High, Exact: e.Exact, Rounds: e.Rounds, P: e.JointP(), effect: e}
}

// compared is [effect] with room for what disturbances that were passed can have done to either arm.
func compared(g grid, load *LoadAnalysis, m Metric, first, second int, alpha float64) (stat.Effect, *Difference) {
	e, blocked := effect(g, load.Load, m, first, second, alpha)
	high, low := load.Arms[second].moved(m), load.Arms[first].moved(m)
	if m.Higher { // a disturbance makes a rate lower
		high, low = low, high
	}
	return e.Widen(high, low), blocked
}

// effect is the ratio of two arms over the rounds that both have, or the
// verdict that says why there is none. It looks at no gate.
func effect(g grid, load int, m Metric, first, second int, alpha float64) (stat.Effect, *Difference) {
	a, b := g.pairs(load, first, second)
	rounds := len(a)
	if rounds < 2 {
		return stat.Effect{}, tooFew(rounds, MinRounds)
	}
	if m.Quantile > 0 {
		x, y := histograms(a, m), histograms(b, m)
		for _, side := range [...][]*stat.Histogram{x, y} {
			if why := tooShort(m, side); why != "" {
				return stat.Effect{}, &Difference{Verdict: Unmeasured, Rounds: rounds, Why: why}
			}
		}
		e, err := stat.QuantileRatio(x, y, m.Quantile, alpha)
		return e, noRatio(rounds, err)
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
		return stat.Effect{}, &Difference{Verdict: Unmeasured, Why: unknown(m, lacking(m, a, b))}
	case rounds == 1:
		return stat.Effect{}, tooFew(rounds, MinRounds)
	case zeros(x) && zeros(y):
		return stat.Effect{Ratio: 1, Low: 1, High: 1, Alpha: alpha, Rounds: rounds, P: 1, Exact: true}, nil
	}
	e, err := stat.PairedRatio(x, y, alpha)
	return e, noRatio(rounds, err)
}

// noRatio is nil without an error. The only one left when it is called is
// that a value is 0, or that the rounds are more than e^700 apart.
func noRatio(rounds int, err error) *Difference {
	if err == nil {
		return nil
	}
	return &Difference{Verdict: Unmeasured, Rounds: rounds, Why: "no ratio: a round has none of it, or the rounds differ beyond all bounds"}
}

// tooFew is the verdict on rounds that do not bear a claim, which needs least.
func tooFew(rounds, least int) *Difference {
	have := fmt.Sprintf("%d rounds have", rounds)
	switch rounds {
	case 0:
		have = "no round has"
	case 1:
		have = "1 round has"
	}
	return &Difference{
		Verdict: TooFew, Rounds: rounds, More: least - rounds,
		Why: fmt.Sprintf("%s both arms, a claim needs %d", have, least),
	}
}

func zeros(x []float64) bool {
	for _, v := range x {
		if v != 0 {
			return false
		}
	}
	return true
}
