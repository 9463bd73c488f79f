package result

import (
	"cmp"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Library is what a client library adds to a call: the same cell under the
// same load, called once through the library and once by the raw driver.
type Library struct {
	Client int `json:"client"` // arm called through the library
	Raw    int `json:"raw"`    // arm called by the raw driver
	// Server is the server's CPU time per request under the raw driver: what
	// the server costs, in ns.
	Server Estimate `json:"server"`
	// Driver is the raw driver's own CPU time per request, and Adds how much
	// more the library's side used, paired by rounds, in ns.
	Driver Estimate `json:"driver"`
	Adds   Estimate `json:"adds"`
}

// libraries finds the arms of a load that differ in their driver only.
func libraries(g grid, load *LoadAnalysis) []Library {
	var found []Library
	for raw, r := range g.result.Plan.Arms[:g.arms()] {
		if !r.Raw() {
			continue
		}
		for client, c := range g.result.Plan.Arms[:g.arms()] {
			if c.Raw() || c.Tool() != "" || !sameCell(c, r) {
				continue
			}
			found = append(found, Library{
				Client: client, Raw: raw,
				Server: load.estimate(plan.ServerCPU, raw),
				Driver: load.estimate(plan.ClientCPU, raw),
				Adds:   added(g, load, client, raw),
			})
		}
	}
	return found
}

// sameCell reports whether two arms differ in the driver and the client alone.
func sameCell(a, b plan.Arm) bool {
	for _, arm := range [...]*plan.Arm{&a, &b} {
		arm.Name, arm.Driver, arm.Client = "", "", ""
	}
	return a == b
}

// estimate returns an arm's value of a metric as its row has it.
func (l *LoadAnalysis) estimate(metric string, arm int) Estimate {
	row := l.Row(metric)
	if row == nil || arm >= len(row.Cells) {
		return Estimate{Why: "not measured"}
	}
	return row.Cells[arm].Estimate
}

// added is the client's CPU time per request by the library less that of the
// raw driver, over the rounds that have both.
func added(g grid, load *LoadAnalysis, client, raw int) Estimate {
	m, err := MetricByID(plan.ClientCPU)
	if err != nil {
		return Estimate{Why: err.Error()} // not reached: it is one of ours
	}
	why := cmp.Or(load.Arms[client].Why(m), load.Arms[raw].Why(m))
	var without, with []float64
	a, b := g.pairs(load.Load, raw, client)
	for i := range a {
		v, okA := m.Value(a[i])
		w, okB := m.Value(b[i])
		if okA && okB {
			without, with = append(without, v), append(with, w)
		}
	}
	switch {
	case len(with) < MinRounds && why != "":
		return Estimate{Why: why}
	case len(with) < MinRounds:
		return Estimate{Why: tooFew(len(with), MinRounds).Why}
	}
	e, err := stat.PairedDifference(without, with, stat.DefaultAlpha)
	if err != nil {
		return Estimate{Why: err.Error()}
	}
	found := Estimate{Known: true, Value: e.Value, Low: e.Low, High: e.High, Rounds: e.Rounds}
	if why != "" {
		return found.refuse(why)
	}
	return found
}
