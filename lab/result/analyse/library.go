package analyse

import (
	"cmp"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/effect"
	"wirelab/lab/result/grid"
	"wirelab/lab/stat"
)

// libraries finds the arms of a load that differ only in their driver.
func libraries(g grid.Grid, load *claim.LoadAnalysis) []claim.Library {
	var found []claim.Library
	for raw, r := range g.Result.Plan.Arms[:g.Arms()] {
		if !r.Raw() {
			continue
		}
		for client, c := range g.Result.Plan.Arms[:g.Arms()] {
			if c.Raw() || c.Tool() != "" || !sameCell(c, r) {
				continue
			}
			found = append(found, claim.Library{
				Client: client, Raw: raw,
				Server: estimate(load, plan.ServerCPU, raw),
				Driver: estimate(load, plan.ClientCPU, raw),
				Adds:   added(g, load, client, raw),
			})
		}
	}
	return found
}

// sameCell reports whether two arms differ only in driver and client.
func sameCell(a, b plan.Arm) bool {
	for _, arm := range [...]*plan.Arm{&a, &b} {
		arm.Name, arm.Driver, arm.Client = "", "", ""
	}
	return a == b
}

// estimate returns an arm's value of a metric from its row.
func estimate(l *claim.LoadAnalysis, metric string, arm int) claim.Estimate {
	row := l.Row(metric)
	if row == nil || arm >= len(row.Cells) {
		return claim.Estimate{Why: "not measured"}
	}
	return row.Cells[arm].Estimate
}

// added is the client's CPU time per request with the library minus that with the raw driver, over the rounds that
// have both.
func added(g grid.Grid, load *claim.LoadAnalysis, client, raw int) claim.Estimate {
	m, err := kinds.MetricByID(plan.ClientCPU)
	if err != nil {
		return claim.Estimate{Why: err.Error()} // cannot happen: the metric exists
	}
	why := cmp.Or(load.Arms[client].Why(m), load.Arms[raw].Why(m))
	var without, with []float64
	a, b := g.Pairs(load.Load, raw, client)
	for i := range a {
		v, okA := m.Value(a[i])
		w, okB := m.Value(b[i])
		if okA && okB {
			without, with = append(without, v), append(with, w)
		}
	}
	switch {
	case len(with) < claim.MinRounds && why != "":
		return claim.Estimate{Why: why}
	case len(with) < claim.MinRounds:
		return claim.Estimate{Why: effect.TooFew(len(with), claim.MinRounds).Why}
	}
	e, err := stat.PairedDifference(without, with, stat.DefaultAlpha)
	if err != nil {
		return claim.Estimate{Why: err.Error()}
	}
	found := claim.Estimate{Known: true, Value: e.Value, Low: e.Low, High: e.High, Rounds: e.Rounds}
	if why != "" {
		return found.Refuse(why)
	}
	return found
}
