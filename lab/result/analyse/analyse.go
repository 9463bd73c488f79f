package analyse

import (
	"runtime"
	"sync"

	"wirelab/lab/kind/capacity"
	"wirelab/lab/kind/curve"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/effect"
	"wirelab/lab/result/grid"
	"wirelab/lab/result/rank"
)

// Result returns everything that may be said about a result. It is pure: the same result gives the same analysis
// everywhere. It accepts any result, whether complete, cut short or invented, and never panics. r must not be nil.
func Result(r *result.Result) claim.Analysis {
	g := grid.NewGrid(r)
	all := claim.Analysis{Rounds: len(r.Rounds), Loads: analyseLoads(g)}
	for l := range all.Loads {
		for _, arm := range all.Loads[l].Arms {
			if arm.Tool == "" {
				all.Requests += arm.Requests
			} else {
				all.Told += arm.Requests
			}
		}
	}
	all.Curves = curve.Find(g, func(load, arm int) claim.ArmState { return all.Loads[load].Arms[arm] })
	capacity.Complete(r, &all)
	return all
}

// analyseLoads analyses each load, in parallel, since loads are independent. For the largest plan that takes seconds.
func analyseLoads(g grid.Grid) []claim.LoadAnalysis {
	all := make([]claim.LoadAnalysis, len(g.Trials))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(all)) {
		workers.Go(func() {
			for l := range next {
				all[l] = analyseLoad(g, l)
			}
		})
	}
	for l := range all {
		next <- l
	}
	close(next)
	workers.Wait()
	return all
}

func analyseLoad(g grid.Grid, l int) claim.LoadAnalysis {
	load := g.Result.Plan.Loads[l]
	found := claim.LoadAnalysis{
		Load: l, Name: load.String(), Kind: load.Kind(), Open: load.Open(), Streams: load.Streams, Slow: load.Slow(),
		Scenario: load.Scenario, Primary: kinds.Primary(g.Result.Plan, load).ID,
		Arms: []claim.ArmState{}, Rows: []claim.Row{},
	}
	for a := range g.Arms() {
		found.Arms = append(found.Arms, kinds.StateOf(g, l, a))
	}
	for _, m := range kinds.Known() {
		if kinds.Under(m, load) && (g.Has(l, m) || m.ID == found.Primary) {
			found.Rows = append(found.Rows, effect.Row(g, &found, m))
		}
	}
	if found.Row(found.Primary) == nil { // a quantile that reports usually do not have
		if m, err := kinds.MetricByID(found.Primary); err == nil {
			found.Rows = append(found.Rows, effect.Row(g, &found, m))
		}
	}
	effect.Settle(g.Result.Plan, found.Rows)
	effect.Rank(g, &found)
	found.Libraries = libraries(g, &found)
	found.Rankings = rank.Find(g, &found)
	return found
}
