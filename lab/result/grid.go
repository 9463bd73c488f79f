package result

import (
	"fmt"

	"wirelab/lab/stat"
)

// limits bound what is analysed of a result from a file, far above what a
// plan allows, so that a made-up one costs time and memory in bounds.
const (
	limitArms  = 64
	limitLoads = 64
)

// grid is a result's trials by load, arm and round; nil where there is none.
// A trial of an arm or load that the plan does not have is left out, and of
// two for the same place the first counts.
type grid struct {
	result *Result
	trials [][][]*Trial
}

func newGrid(r *Result) grid {
	g := grid{result: r, trials: make([][][]*Trial, min(len(r.Plan.Loads), limitLoads))}
	for l := range g.trials {
		g.trials[l] = make([][]*Trial, g.arms())
		for a := range g.trials[l] {
			g.trials[l][a] = make([]*Trial, len(r.Rounds))
		}
	}
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			t := &r.Rounds[n].Trials[i]
			if t.Load < 0 || t.Load >= len(g.trials) || t.Arm < 0 || t.Arm >= g.arms() {
				continue
			}
			if place := &g.trials[t.Load][t.Arm][n]; *place == nil {
				*place = t
			}
		}
	}
	return g
}

func (g grid) arms() int { return min(len(g.result.Plan.Arms), limitArms) }

// of returns an arm's trials under a load, without the rounds that have none.
func (g grid) of(load, arm int) []*Trial {
	var found []*Trial
	for _, t := range g.trials[load][arm] {
		if t != nil {
			found = append(found, t)
		}
	}
	return found
}

// pairs returns the trials of two arms in the rounds that both have one.
func (g grid) pairs(load, first, second int) (a, b []*Trial) {
	for n, t := range g.trials[load][first] {
		if u := g.trials[load][second][n]; t != nil && u != nil {
			a, b = append(a, t), append(b, u)
		}
	}
	return a, b
}

// has reports whether a load has a row for a metric.
func (g grid) has(load int, m Metric) bool {
	if !m.Optional {
		return true
	}
	for a := range g.arms() {
		for _, t := range g.trials[load][a] {
			if t == nil {
				continue
			}
			if _, ok := m.Value(t); ok {
				return true
			}
		}
	}
	return false
}

// merge adds up the trials' histograms of one kind.
func merge(trials []*Trial, of func(*Trial) *stat.Histogram) *stat.Histogram {
	all := stat.NewHistogram()
	for _, t := range trials {
		all.Merge(of(t))
	}
	return all
}

func response(t *Trial) *stat.Histogram { return t.Response }
func service(t *Trial) *stat.Histogram  { return t.Service }
func lag(t *Trial) *stat.Histogram      { return t.Lag }

// ArmName is how an arm is called: what it turned out to be, or what the
// plan says, or its number from 1.
func (r *Result) ArmName(arm int) string {
	switch {
	case arm >= 0 && arm < len(r.Arms) && r.Arms[arm].Name != "":
		return r.Arms[arm].Name
	case arm >= 0 && arm < len(r.Plan.Arms) && r.Plan.Arms[arm].Name != "":
		return r.Plan.Arms[arm].Name
	case arm >= 0 && arm < len(r.Plan.Arms) && r.Plan.Arms[arm].Protocol != "":
		return r.Plan.Arms[arm].String()
	}
	return fmt.Sprintf("arm %d", arm+1)
}

// ClientName is the library that calls in an arm; "the client" where it is not known.
func (r *Result) ClientName(arm int) string {
	if arm >= 0 && arm < len(r.Arms) && r.Arms[arm].Client != "" {
		return r.Arms[arm].Client
	}
	return "the client"
}

// out tells why an arm was taken out; "" if it was not.
func (r *Result) out(arm int) string {
	if arm < len(r.Arms) {
		return r.Arms[arm].Out
	}
	return ""
}
