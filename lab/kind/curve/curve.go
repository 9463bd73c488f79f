package curve

import (
	"cmp"
	"math"
	"slices"
	"time"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/estimate"
	"wirelab/lab/result/gate"
	"wirelab/lab/result/grid"
	"wirelab/lab/result/metric"
	"wirelab/lab/stat"
)

// LeastLevels is how many rates make a curve.
const LeastLevels = 3

// Limits of what a curve tells.
const (
	// shortShare is how much less than what arrives must be answered to be
	// called overload: calls that cross the ends of a slice make some per mille.
	shortShare = 0.01
	// fallShare is how much less than at a lower rate is a collapse.
	fallShare = 0.05
)

// Curves returns the curves of a result: the open loads at constant rates of
// one operation, one law and one number of calls in flight at most, where
// there are at least three. [analyse.Result] has them too. It is pure.
func Curves(r *result.Result) []claim.Curve {
	g := grid.NewGrid(r)
	return Find(g, func(l, a int) claim.ArmState { return kinds.StateOf(g, l, a) })
}

// Find finds them; state gives the gates of an arm under a load.
func Find(g grid.Grid, state func(load, arm int) claim.ArmState) []claim.Curve {
	var all []claim.Curve
	for l := range g.Trials {
		load := g.Result.Plan.Loads[l]
		if !load.Open() || len(load.Stages) > 0 || load.Kind() == plan.Held || load.Fails() {
			continue // a fault of the broker is no effect of the rate
		}
		of := claim.Curve{
			Operation: g.Result.Plan.OperationOf(load), Arrivals: cmp.Or(load.Arrivals, plan.Poisson),
			InFlight: load.InFlight,
		}
		i := slices.IndexFunc(all, func(c claim.Curve) bool {
			first := g.Result.Plan.Loads[c.Levels[0].Load]
			return c.Operation == of.Operation && c.Arrivals == of.Arrivals && c.InFlight == of.InFlight &&
				g.Result.Plan.RequestsOf(first) == g.Result.Plan.RequestsOf(load) && sameMessages(first, load)
		})
		if i < 0 {
			all, i = append(all, of), len(all)
		}
		all[i].Levels = append(all[i].Levels, claim.Level{Load: l, Offered: load.Rate})
	}
	all = slices.DeleteFunc(all, func(c claim.Curve) bool { return len(c.Levels) < LeastLevels })
	for i := range all {
		c := &all[i]
		slices.SortStableFunc(c.Levels, func(a, b claim.Level) int { return cmp.Compare(a.Offered, b.Offered) })
		for a := range g.Arms() {
			c.Arms = append(c.Arms, armCurve(g, c, a, state))
		}
	}
	return all
}

// sameMessages reports whether two loads send the same messages in the same
// scenario, so that only the rate tells them apart; of calls it is true.
func sameMessages(a, b plan.Load) bool {
	return a.Scenario == b.Scenario && a.Size == b.Size && a.Batch == b.Batch && a.Groups == b.Groups &&
		a.Delay == b.Delay
}

func armCurve(g grid.Grid, c *claim.Curve, arm int, state func(load, arm int) claim.ArmState) claim.ArmCurve {
	found := claim.ArmCurve{Name: g.Result.ArmName(arm)}
	w := walk{curve: c, trials: make([][]*result.Trial, len(c.Levels))}
	for i, level := range c.Levels {
		w.trials[i] = g.Trials[level.Load][arm]
		s := state(level.Load, arm)
		found.Points = append(found.Points, point(g.Of(level.Load, arm), &s))
	}
	w.points = found.Points
	found.Saturation = w.saturation()
	found.MostLevel, found.Most = w.most()
	found.Knee = w.knee()
	found.Collapse = w.collapse(found.MostLevel)
	return found
}

// point takes the figures of an arm at a level.
func point(trials []*result.Trial, s *claim.ArmState) claim.Point {
	p := claim.Point{Planned: s.Planned}
	if len(trials) == 0 {
		p.Why = "not measured"
		return p.Refuse(p.Why)
	}
	all := gate.Sum(trials)
	if all.Planned > 0 {
		p.Failed = 1 - float64(min(all.OK, all.Planned))/float64(all.Planned)
		p.Waited = float64(min(all.Late, all.Planned)) / float64(all.Planned)
	}
	p.AtLeast = p.Failed > 0
	take(&p, trials)
	if c := kinds.Refusal(s, trials, plan.ServerCPU); c != nil {
		p.Why, p.Gate = c.Detail, c.Gate // whole arms: wrong replies, counts that do not add up
		return p.Refuse(c.Detail)
	}
	p.Overloaded = p.Share.Interval() && p.Share.High < 1 && p.Share.Value <= 1-shortShare
	for _, of := range []struct {
		into   *claim.Estimate
		metric string
	}{
		{&p.Achieved, plan.Throughput},
		{&p.Mean, plan.ResponseMean},
		{&p.P50, plan.ResponseP50},
		{&p.P99, plan.ResponseP99},
	} {
		if c := kinds.Refusal(s, trials, of.metric); c != nil {
			p.Why, p.Gate = cmp.Or(p.Why, c.Detail), cmp.Or(p.Gate, c.Gate)
			*of.into = of.into.Refuse(c.Detail)
		}
	}
	if !p.Achieved.Known {
		p.Share, p.Overloaded = p.Share.Refuse(p.Achieved.Why), false
	}
	return p
}

// take takes the figures, whatever the checks say of them.
func take(p *claim.Point, trials []*result.Trial) {
	p.ServerCPU = meanOf(trials,
		func(t *result.Trial) (float64, bool) { return kinds.MustMetric(plan.ServerCPU).Value(t) })
	p.Cores = meanOf(trials, func(t *result.Trial) (float64, bool) {
		if t.Server == nil || t.Server.Wall <= 0 {
			return 0, false
		}
		return float64(t.Server.CPU) / float64(t.Server.Wall), t.Server.CPU > 0
	})
	p.Achieved, p.Share, p.Mean = meanOf(trials, answered), meanOf(trials, share), meanOf(trials, meanWaiting)
	p.P50 = waiting(trials, kinds.MustMetric(plan.ResponseP50).Quantile)
	p.P99 = waiting(trials, kinds.MustMetric(plan.ResponseP99).Quantile)
}

// meanOf is the geometric mean of what rounds give, with a t interval.
func meanOf(trials []*result.Trial, of func(*result.Trial) (float64, bool)) claim.Estimate {
	var values []float64
	for _, t := range trials {
		if v, ok := of(t); ok && v > 0 && !math.IsInf(v, 1) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return claim.Estimate{Why: "no round tells it"}
	}
	e, err := stat.GeometricMean(values, stat.DefaultAlpha)
	if err != nil { // one round
		total := 0.0
		for _, v := range values {
			total += v
		}
		return claim.Estimate{Known: true, Value: total / float64(len(values)), Rounds: len(values)}
	}
	return claim.Estimate{Known: true, Value: e.Value, Low: e.Low, High: e.High, Rounds: len(values)}
}

// answered is calls answered rightly per second of a trial's window.
func answered(t *result.Trial) (float64, bool) {
	if t.Window <= 0 {
		return 0, false
	}
	return float64(t.Completed) / time.Duration(t.Window).Seconds(), true
}

func share(t *result.Trial) (float64, bool) {
	return float64(t.Completed) / float64(t.Planned), t.Planned > 0
}

// waits are the times of all that was due: answered, failed and given up.
func waits(t *result.Trial) *stat.Histogram {
	if t.Failed == nil || t.Failed.Count() == 0 {
		return t.Response
	}
	all := &stat.Histogram{}
	all.Merge(t.Response)
	all.Merge(t.Failed)
	return all
}

func meanWaiting(t *result.Trial) (float64, bool) {
	h := waits(t)
	return h.Mean(), h.Count() > 0
}

// waiting is a quantile of the times of all that was due, with its jackknife
// interval over rounds.
func waiting(trials []*result.Trial, q float64) claim.Estimate {
	rounds := make([]*stat.Histogram, len(trials))
	for i, t := range trials {
		rounds[i] = waits(t)
	}
	m := metric.Metric{Quantile: q}
	if why := estimate.TooShort(m, rounds); why != "" {
		return claim.Estimate{Why: why}
	}
	e, err := stat.QuantileInterval(rounds, q, stat.DefaultAlpha)
	if err == nil {
		return claim.Estimate{Known: true, Value: e.Value, Low: e.Low, High: e.High, Rounds: e.Rounds}
	}
	all := &stat.Histogram{}
	for _, h := range rounds {
		all.Merge(h)
	}
	return claim.Estimate{Known: true, Value: float64(all.Quantile(q)), Rounds: len(rounds)}
}
