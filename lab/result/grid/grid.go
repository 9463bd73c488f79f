package grid

import (
	"wirelab/lab/result"
	"wirelab/lab/result/metric"
	"wirelab/lab/stat"
)

// limits bound the analysis of a file. They are far above those of a plan, and limit time and memory for a
// forged file.
const (
	LimitArms  = 64
	limitLoads = 64
)

// Grid has a result's trials by load, arm and round; nil if there is none. Trials of an arm or load that the plan
// does not have are ignored. Of two trials at the same place, the first counts.
type Grid struct {
	Result *result.Result
	Trials [][][]*result.Trial
}

// NewGrid lays out the trials of a result by load, arm and round.
func NewGrid(r *result.Result) Grid {
	g := Grid{Result: r, Trials: make([][][]*result.Trial, min(len(r.Plan.Loads), limitLoads))}
	for l := range g.Trials {
		g.Trials[l] = make([][]*result.Trial, g.Arms())
		for a := range g.Trials[l] {
			g.Trials[l][a] = make([]*result.Trial, len(r.Rounds))
		}
	}
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			t := &r.Rounds[n].Trials[i]
			if t.Load < 0 || t.Load >= len(g.Trials) || t.Arm < 0 || t.Arm >= g.Arms() {
				continue
			}
			if place := &g.Trials[t.Load][t.Arm][n]; *place == nil {
				*place = t
			}
		}
	}
	return g
}

// Arms is the number of arms in the grid.
func (g Grid) Arms() int { return min(len(g.Result.Plan.Arms), LimitArms) }

// Of returns an arm's trials under a load, without the rounds that have none.
func (g Grid) Of(load, arm int) []*result.Trial {
	var found []*result.Trial
	for _, t := range g.Trials[load][arm] {
		if t != nil {
			found = append(found, t)
		}
	}
	return found
}

// Pairs returns the trials of two arms in the rounds that both have one.
func (g Grid) Pairs(load, first, second int) (a, b []*result.Trial) {
	for n, t := range g.Trials[load][first] {
		if u := g.Trials[load][second][n]; t != nil && u != nil {
			a, b = append(a, t), append(b, u)
		}
	}
	return a, b
}

// Has reports whether a load has a row for a metric.
func (g Grid) Has(load int, m metric.Metric) bool {
	if !m.Optional {
		return true
	}
	for a := range g.Arms() {
		for _, t := range g.Trials[load][a] {
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

// Merge adds up the trials' histograms of one kind.
func Merge(trials []*result.Trial, of func(*result.Trial) *stat.Histogram) *stat.Histogram {
	all := stat.NewHistogram()
	for _, t := range trials {
		all.Merge(of(t))
	}
	return all
}
