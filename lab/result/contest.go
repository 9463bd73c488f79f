package result

import (
	"cmp"
	"math"
	"slices"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Contest is every arm's figure of one metric, each pair of arms compared: who
// is first by it, and who cannot be told apart from the first.
type Contest struct {
	// Metric is the id of one of the metrics, or [StoredRate] or [PipelineCPU].
	Metric string  `json:"metric"`
	Alpha  float64 `json:"alpha"`
	// Entrants are the arms, one for each of the plan's.
	Entrants []Entrant `json:"arms"`
	// All is who is first of all; Durable who is of those that answer only when an
	// entry would outlive a power cut, nil where all that were ranked do.
	All     Podium  `json:"all"`
	Durable *Podium `json:"durable,omitempty"`
}

// Entrant is one arm in a contest.
type Entrant struct {
	Name     string   `json:"name"`
	Estimate Estimate `json:"estimate"`
	// Durable is [Result.Durable] of it.
	Durable bool `json:"durable"`
	// Behind is its difference from the first arm of Contest.All; nil in that arm
	// and in those without a figure.
	Behind *Difference `json:"behind,omitempty"`
}

// Podium is what may be said of who is first.
type Podium struct {
	State PodiumState `json:"state"`
	// First are the arms that are first: one where it is proved better than each
	// other, else all that nothing in the podium is proved better than. The one with the best
	// figure comes before the others, which claims nothing.
	First []int `json:"first"`
	// Next is the arm with the best figure behind a clear first, and Lead its
	// difference from it; nil where nobody is first alone.
	Next int         `json:"next"`
	Lead *Difference `json:"lead,omitempty"`
	// Needed is how many rounds a claim needs, where there are too few.
	Needed int `json:"needed,omitempty"`
}

// PodiumState is what sort of a first place there is.
type PodiumState string

// The states.
const (
	PodiumEmpty  PodiumState = "nobody"         // no arm has a figure
	PodiumAlone  PodiumState = "alone"          // one arm has, and there is nothing to compare with
	PodiumClear  PodiumState = "first"          // one arm is proved better than each other
	PodiumAlike  PodiumState = "alike"          // the first are equivalent, each to each
	PodiumShared PodiumState = "undecided"      // the first cannot be told apart
	PodiumFew    PodiumState = "too few rounds" // no claim: nobody is ranked
)

// Two metrics of contests alone. StoredRate is entries stored per second,
// counted until the last was: a path that accepts faster than it stores gains
// nothing. PipelineCPU is what all processes behind the caller used, those of
// the database included.
const (
	StoredRate  = "stored-rate"
	PipelineCPU = "pipeline-cpu"
)

// ContestLimit is how many arms are compared with each other at most: pairs grow
// with the square, and the rounds that a claim needs with their logarithm.
const ContestLimit = 16

// contested are the metrics of contests, with the one whose gates hold for each.
func contested(open bool) []contest {
	var all []contest
	for _, id := range []string{plan.ResponseP50, plan.ResponseP99, plan.ConfirmedP50, plan.StoredP50, plan.StoredP99} {
		m, _ := MetricByID(id) // they are ours
		all = append(all, contest{metric: m, gated: m})
	}
	speed, _ := MetricByID(plan.Throughput)
	if !open {
		all = append(all, contest{metric: Metric{
			ID: StoredRate, Title: "entries stored per second", Short: "stored/s", Dimension: Frequency, Higher: true,
			Gain: "more", Loss: "fewer", Closed: true, take: storedRate,
		}, gated: speed})
	}
	cost, _ := MetricByID(plan.ServerCPU)
	return append(all, contest{metric: Metric{
		ID: PipelineCPU, Title: "CPU of all processes per entry", Short: "CPU/entry", Dimension: Time,
		Gain: "cheaper", Loss: "costlier", Closed: true, Open: true, take: pipelineCPU,
	}, gated: cost})
}

// ContestMetric returns the metric of a contest; false for one that is none.
func ContestMetric(id string) (Metric, bool) {
	for _, c := range contested(false) {
		if c.metric.ID == id {
			return c.metric, true
		}
	}
	return Metric{}, false
}

// storedRate is as many entries as were stored, by the time until the last was.
// Of several slices the longest wait counts for each, so that it is not too high.
func storedRate(t *Trial) (float64, bool) {
	if t.Followed == nil || t.Followed.Stored == 0 || t.Window <= 0 {
		return 0, false
	}
	slices := max(1, len(t.Followed.Backlog))
	took := time.Duration(t.Window) + time.Duration(slices)*max(0, time.Duration(t.Followed.Drained))
	return float64(t.Followed.Stored) / took.Seconds(), true
}

// pipelineCPU is of server and database; of the server alone where that holds
// the data itself. False where a database's processes could not be seen.
func pipelineCPU(t *Trial) (float64, bool) {
	if t.Database == nil {
		return perCall(func(t *Trial) (float64, bool) { return cpu(t.Server) })(t)
	}
	return perCall(backendCPU)(t)
}

// contest is a contest under way.
type contest struct {
	metric, gated Metric
	found         Contest
	pairs         []versus
}

// versus is the difference of arm b from arm a.
type versus struct {
	a, b int
	*Difference
}

// followedAll reports whether all arms that were measured had their entries
// followed until they were stored, and any was.
func followedAll(load *LoadAnalysis) bool {
	any := false
	for a := range load.Arms {
		arm := &load.Arms[a]
		if arm.Rounds > 0 && arm.Entries == nil {
			return false
		}
		any = any || arm.Entries != nil
	}
	return any
}

// contests compares all arms of a load with each other, by what somebody may
// want of a way to hand an entry on. None where entries were not followed, or of
// more arms than ContestLimit.
//
// Claims are corrected twice, and need both: by [stat.Holm] over the pairs of a
// metric, each being a question of its own, and by [stat.BenjaminiHochberg] over
// all pairs of all metrics, since they stand in one table.
func contests(g grid, load *LoadAnalysis) []Contest {
	if !followedAll(load) || len(load.Arms) > ContestLimit {
		return nil
	}
	all := contested(load.Open)
	var every []versus
	var p []float64
	for i := range all {
		all[i].compare(g, load)
		for _, v := range all[i].pairs {
			if v.Known {
				every, p = append(every, v), append(p, v.P)
			}
		}
	}
	for i, adjusted := range stat.BenjaminiHochberg(p) {
		every[i].Adjusted = adjusted
	}
	var found []Contest
	for i := range all {
		all[i].judge(g.result.Plan)
		found = append(found, all[i].conclude(g.result))
	}
	return found
}

// compare takes every arm's figure, and every pair's difference.
func (c *contest) compare(g grid, load *LoadAnalysis) {
	c.found.Metric, c.found.Alpha = c.metric.ID, alpha(g.result.Plan, c.metric.ID == load.Primary)
	var known []int
	for a := range load.Arms {
		e := estimate(g, load, c.metric, a, c.found.Alpha)
		if why := load.Arms[a].Why(c.gated); why != "" && e.Refused == nil {
			e = e.refuse(why)
		}
		if held := load.Arms[a].Entries; !e.Known && held != nil && held.Confirmed == 0 && c.metric.ID == plan.ConfirmedP50 && load.Arms[a].Why(c.gated) == "" {
			e.Why = "nobody confirms its entries"
		}
		c.found.Entrants = append(c.found.Entrants, Entrant{Name: load.Arms[a].Name, Estimate: e, Durable: g.result.Durable(a)})
		if e.Known {
			known = append(known, a)
		}
	}
	for i, a := range known {
		for _, b := range known[i+1:] {
			e, blocked := compared(g, load, c.metric, a, b, c.found.Alpha)
			if blocked == nil {
				blocked = &Difference{Known: true, Ratio: e.Ratio, Low: e.Low, High: e.High, Exact: e.Exact, Rounds: e.Rounds, P: e.JointP(), effect: e}
			}
			c.pairs = append(c.pairs, versus{a, b, blocked})
		}
	}
}

// judge gives each pair its verdict. Adjusted holds what all metrics ask for.
func (c *contest) judge(p plan.Plan) {
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
		d.least = max(MinRounds, stat.RoundsForFamily(len(known), c.found.Alpha))
		d.judge(rule(p, c.metric), len(known))
	}
}

// conclude says who is first.
func (c *contest) conclude(r *Result) Contest {
	var known []int
	for a, e := range c.found.Entrants {
		if e.Estimate.Known {
			known = append(known, a)
		}
	}
	c.found.All = c.podium(known)
	if durable := r.durable(known); len(durable) < len(known) && len(durable) > 0 {
		of := c.podium(durable)
		c.found.Durable = &of
	}
	if len(c.found.All.First) > 0 {
		for _, a := range known {
			if leader := c.found.All.First[0]; a != leader {
				c.found.Entrants[a].Behind = c.between(leader, a)
			}
		}
	}
	return c.found
}

// podium says who is first of some arms, all of which have a figure.
func (c *contest) podium(arms []int) Podium {
	p := Podium{State: PodiumShared, First: []int{}, Next: -1}
	switch len(arms) {
	case 0:
		p.State = PodiumEmpty
		return p
	case 1:
		p.State, p.First = PodiumAlone, arms
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
	if needed := c.tooFew(arms); needed > 0 {
		p.State, p.First, p.Needed = PodiumFew, arms, needed
		return p
	}
	unbeaten := slices.DeleteFunc(slices.Clone(arms), func(a int) bool {
		return slices.ContainsFunc(arms, func(b int) bool { return a != b && c.between(a, b).Verdict == Better })
	})
	if len(unbeaten) == 0 { // not reached: a circle of proved differences
		unbeaten = arms
	}
	for _, a := range arms {
		if !slices.ContainsFunc(unbeaten, func(b int) bool { return a == b || c.between(a, b).Verdict == Better }) {
			p.First = append(p.First, a) // none of them is proved better: it may be first too
		}
	}
	p.First = slices.Concat(unbeaten, p.First)
	switch {
	case len(p.First) == 1:
		p.State = PodiumClear
		p.Next = arms[slices.IndexFunc(arms, func(a int) bool { return a != p.First[0] })]
		p.Lead = c.between(p.First[0], p.Next)
	case c.alike(p.First):
		p.State = PodiumAlike
	}
	return p
}

// tooFew is how many rounds a claim about any two of arms needs, where all lack them; else 0.
func (c *contest) tooFew(arms []int) int {
	needed := 0
	for i, a := range arms {
		for _, b := range arms[i+1:] {
			d := c.between(a, b)
			if d.Verdict != TooFew {
				return 0
			}
			needed = max(needed, d.Rounds+d.More)
		}
	}
	return needed
}

func (c *contest) alike(arms []int) bool {
	for i, a := range arms {
		for _, b := range arms[i+1:] {
			if c.between(a, b).Verdict != Equivalent {
				return false
			}
		}
	}
	return true
}

// between is the difference of arm b from arm a.
func (c *contest) between(a, b int) *Difference {
	for _, v := range c.pairs {
		switch {
		case v.a == a && v.b == b:
			return v.Difference
		case v.a == b && v.b == a:
			return v.turned()
		}
	}
	return &Difference{Verdict: Inconclusive} // not reached: pairs are of all that have a figure
}

// turned is the same difference, seen from the other arm.
func (d *Difference) turned() *Difference {
	t := *d
	if d.Known && d.Ratio > 0 && d.Low > 0 && d.High > 0 {
		t.Ratio, t.Low, t.High = finite(1/d.Ratio), finite(1/d.High), finite(1/d.Low)
	}
	switch d.Verdict {
	case Better:
		t.Verdict = Worse
	case Worse:
		t.Verdict = Better
	}
	return &t
}

// MostMissing is the largest share of entries that may be missing when none of n
// was, with 95 % confidence; 1 for n 0.
func MostMissing(n uint64) float64 {
	if n == 0 {
		return 1
	}
	return 1 - math.Pow(stat.DefaultAlpha, 1/float64(n))
}
