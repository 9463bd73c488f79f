package rank

import (
	"cmp"
	"math"
	"slices"
	"time"

	"wirelab/lab/kind/entries"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/effect"
	"wirelab/lab/result/grid"
	"wirelab/lab/result/metric"
	"wirelab/lab/stat"
)

// Two metrics that only rankings use. StoredRate is entries stored per second, counted until the last one was stored,
// so a path gains nothing by accepting faster than it stores. PipelineCPU is the CPU time of all processes behind the
// caller, including the database's.
const (
	StoredRate  = "stored-rate"
	PipelineCPU = "pipeline-cpu"
)

// ContestLimit is the maximum number of arms that are compared with each other. The number of pairs grows with its
// square, and the rounds that a claim needs with the logarithm of that.
const ContestLimit = 16

// contested returns the metrics of rankings, each with the metric whose gates apply to it.
func contested(open bool) []ranking {
	var all []ranking
	for _, id := range []string{plan.ResponseP50, plan.ResponseP99, plan.ConfirmedP50, plan.StoredP50, plan.StoredP99} {
		m, _ := kinds.MetricByID(id) // they exist
		all = append(all, ranking{metric: m, gated: m})
	}
	speed, _ := kinds.MetricByID(plan.Throughput)
	if !open {
		all = append(all, ranking{metric: metric.Metric{
			ID: StoredRate, Title: "entries stored per second", Short: "stored/s", Dimension: metric.Frequency,
			Higher: true,
			Gain:   "more", Loss: "fewer", Closed: true, Take: storedRate,
		}, gated: speed})
	}
	cost, _ := kinds.MetricByID(plan.ServerCPU)
	return append(all, ranking{metric: metric.Metric{
		ID: PipelineCPU, Title: "CPU of all processes per entry", Short: "CPU/entry", Dimension: metric.Time,
		Gain: "cheaper", Loss: "costlier", Closed: true, Open: true, Take: pipelineCPU,
	}, gated: cost})
}

// ContestMetric returns the metric of a ranking; false if there is none with this id.
func ContestMetric(id string) (metric.Metric, bool) {
	for _, c := range contested(false) {
		if c.metric.ID == id {
			return c.metric, true
		}
	}
	return metric.Metric{}, false
}

// storedRate is the number of stored entries divided by the time until the last was stored. Over several slices, the
// longest wait counts for each, so the rate is never too high.
func storedRate(t *result.Trial) (float64, bool) {
	of := entries.Of(t)
	if of.Stored == 0 || t.Window <= 0 {
		return 0, false
	}
	slices := max(1, len(of.Backlog))
	took := time.Duration(t.Window) + time.Duration(slices)*max(0, time.Duration(of.Drained))
	return float64(of.Stored) / took.Seconds(), true
}

// pipelineCPU is the CPU time of server and database, or of the server alone if it holds the data itself. It is false
// if the database's processes could not be observed.
func pipelineCPU(t *result.Trial) (float64, bool) {
	if t.Database == nil {
		return metric.PerCall(func(t *result.Trial) (float64, bool) { return metric.CPU(t.Server) })(t)
	}
	return metric.PerCall(metric.BackendCPU)(t)
}

// ranking is a ranking that is being computed.
type ranking struct {
	metric, gated metric.Metric
	found         claim.Ranking
	pairs         []versus
}

// versus is the difference of arm b from arm a.
type versus struct {
	a, b int
	*claim.Difference
}

// Find compares all arms of a load with each other, by each goal that a user may have. It returns none if the kind of
// load ranks no arms, or if there are more arms than ContestLimit.
//
// Claims are corrected in two ways, and must pass both: by [stat.Holm] over the pairs of a metric, since each metric
// is a separate question, and by [stat.BenjaminiHochberg] over all pairs of all metrics, since they are shown in one
// table.
func Find(g grid.Grid, load *claim.LoadAnalysis) []claim.Ranking {
	if of := kinds.Named(load.Kind).Ranked; of == nil || !of(load) || len(load.Arms) > ContestLimit {
		return nil
	}
	all := contested(load.Open)
	var every []versus
	var p []float64
	for i := range all {
		compare(&all[i], g, load)
		for _, v := range all[i].pairs {
			if v.Known {
				every, p = append(every, v), append(p, v.P)
			}
		}
	}
	for i, adjusted := range stat.BenjaminiHochberg(p) {
		every[i].Adjusted = adjusted
	}
	var found []claim.Ranking
	for i := range all {
		judge(&all[i], g.Result.Plan)
		found = append(found, conclude(&all[i], g.Result))
	}
	return found
}

// compare computes every arm's figure, and every pair's difference.
func compare(c *ranking, g grid.Grid, load *claim.LoadAnalysis) {
	c.found.Metric, c.found.Alpha = c.metric.ID, effect.Alpha(g.Result.Plan, c.metric.ID == load.Primary)
	var known []int
	for a := range load.Arms {
		e := effect.Measure(g, load, c.metric, a, c.found.Alpha)
		if why := load.Arms[a].Why(c.gated); why != "" && e.Refused == nil {
			e = e.Refuse(why)
		}
		if held := load.Arms[a].Entries; !e.Known && held != nil && held.Confirmed == 0 &&
			c.metric.ID == plan.ConfirmedP50 && load.Arms[a].Why(c.gated) == "" {
			e.Why = "no reply confirms its entries"
		}
		c.found.Entrants = append(c.found.Entrants,
			claim.Entry{Name: load.Arms[a].Name, Estimate: e, Durable: g.Result.Durable(a)})
		if e.Known {
			known = append(known, a)
		}
	}
	for i, a := range known {
		for _, b := range known[i+1:] {
			e, blocked := effect.Compared(g, load, c.metric, a, b, c.found.Alpha)
			if blocked == nil {
				blocked = &claim.Difference{
					Known: true, Ratio: e.Ratio, Low: e.Low, High: e.High, Exact: e.Exact,
					Rounds: e.Rounds, P: e.JointP(), Effect: e,
				}
			}
			c.pairs = append(c.pairs, versus{a, b, blocked})
		}
	}
}

// judge gives each pair its verdict. Adjusted already has the correction over all metrics.
func judge(c *ranking, p plan.Plan) {
	var known []versus
	var raw []float64
	for _, v := range c.pairs {
		if v.Known {
			known, raw = append(known, v), append(raw, v.P)
		}
	}
	for i, adjusted := range stat.Holm(raw) {
		d := known[i].Difference
		d.Adjusted = max(d.Adjusted, adjusted)
		d.Least = max(claim.MinRounds, stat.RoundsForFamily(len(known), c.found.Alpha))
		effect.Judge(d, effect.Rule(p, c.metric), len(known))
	}
}

// conclude decides which arms are first.
func conclude(c *ranking, r *result.Result) claim.Ranking {
	var known []int
	for a, e := range c.found.Entrants {
		if e.Estimate.Known {
			known = append(known, a)
		}
	}
	c.found.All = leaders(c, known)
	if durable := r.DurableOf(known); len(durable) < len(known) && len(durable) > 0 {
		of := leaders(c, durable)
		c.found.Durable = &of
	}
	if len(c.found.All.First) > 0 {
		for _, a := range known {
			if leader := c.found.All.First[0]; a != leader {
				c.found.Entrants[a].Behind = between(c, leader, a)
			}
		}
	}
	return c.found
}

// leaders decides which of some arms are first. All of them must have a figure.
func leaders(c *ranking, arms []int) claim.Leaders {
	p := claim.Leaders{State: claim.LeadersShared, First: []int{}, Next: -1}
	switch len(arms) {
	case 0:
		p.State = claim.LeadersNone
		return p
	case 1:
		p.State, p.First = claim.LeaderAlone, arms
		return p
	}
	arms = slices.Clone(arms)
	slices.SortStableFunc(arms, func(a, b int) int {
		x, y := c.found.Entrants[a].Estimate.Value, c.found.Entrants[b].Estimate.Value
		if c.metric.Higher {
			x, y = y, x
		}
		return cmp.Compare(x, y)
	})
	if needed := tooFew(c, arms); needed > 0 {
		p.State, p.First, p.Needed = claim.LeadersFew, arms, needed
		return p
	}
	unbeaten := slices.DeleteFunc(slices.Clone(arms), func(a int) bool {
		return slices.ContainsFunc(arms, func(b int) bool { return a != b && between(c, a, b).Verdict == claim.Better })
	})
	if len(unbeaten) == 0 { // cannot happen: a cycle of proved differences
		unbeaten = arms
	}
	for _, a := range arms {
		if !slices.ContainsFunc(unbeaten,
			func(b int) bool { return a == b || between(c, a, b).Verdict == claim.Better }) {
			p.First = append(p.First, a) // none of unbeaten is proved better, so it may be first too
		}
	}
	p.First = slices.Concat(unbeaten, p.First)
	switch {
	case len(p.First) == 1:
		p.State = claim.LeaderClear
		p.Next = arms[slices.IndexFunc(arms, func(a int) bool { return a != p.First[0] })]
		p.Lead = between(c, p.First[0], p.Next)
	case alike(c, p.First):
		p.State = claim.LeadersAlike
	}
	return p
}

// tooFew is the number of rounds that a claim about any two of the arms needs, if all pairs lack them; otherwise 0.
func tooFew(c *ranking, arms []int) int {
	needed := 0
	for i, a := range arms {
		for _, b := range arms[i+1:] {
			d := between(c, a, b)
			if d.Verdict != claim.TooFew {
				return 0
			}
			needed = max(needed, d.Rounds+d.More)
		}
	}
	return needed
}

func alike(c *ranking, arms []int) bool {
	for i, a := range arms {
		for _, b := range arms[i+1:] {
			if between(c, a, b).Verdict != claim.Equivalent {
				return false
			}
		}
	}
	return true
}

// between is the difference of arm b from arm a.
func between(c *ranking, a, b int) *claim.Difference {
	for _, v := range c.pairs {
		switch {
		case v.a == a && v.b == b:
			return v.Difference
		case v.a == b && v.b == a:
			return turned(v.Difference)
		}
	}
	return &claim.Difference{Verdict: claim.Inconclusive} // cannot happen: there is a pair for any two arms with a figure
}

// turned is the same difference, from the other arm's point of view.
func turned(d *claim.Difference) *claim.Difference {
	t := *d
	if d.Known && d.Ratio > 0 && d.Low > 0 && d.High > 0 {
		t.Ratio, t.Low, t.High = claim.Finite(1/d.Ratio), claim.Finite(1/d.High), claim.Finite(1/d.Low)
	}
	switch d.Verdict {
	case claim.Better:
		t.Verdict = claim.Worse
	case claim.Worse:
		t.Verdict = claim.Better
	}
	return &t
}

// MostMissing is the largest share of entries that may be missing, with 95 % confidence, if none of n was missing; 1
// for n = 0.
func MostMissing(n uint64) float64 {
	if n == 0 {
		return 1
	}
	return 1 - math.Pow(stat.DefaultAlpha, 1/float64(n))
}
