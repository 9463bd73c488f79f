package analyse_test

import (
	"slices"
	"testing"
	"time"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/consistency"
	"wirelab/lab/result/metric"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/stat"
)

// toldBy is a result in which another load generator drives the second arm.
func toldBy(tool string) *result.Result {
	r := resulttest.Closed()
	r.Plan.Arms[1].Client, r.Plan.Slice = "", plan.Duration(time.Second)
	r.Plan.Arms[1].Driver, r.Arms[1].Driver, r.Arms[1].Floorless = plan.DriverTool+tool, plan.DriverTool+tool,
		"no times"
	eachTold(r, func(t *result.Trial) {
		t.Told = &result.Told{Tool: tool}
		t.Response, t.Service, t.Lag = &stat.Histogram{}, &stat.Histogram{}, &stat.Histogram{}
		t.Outside, t.Punctual, t.Floor, t.Steady = nil, nil, nil, false
		t.WireSent, t.WireReceived, t.Connections = 0, 0, 0
		t.Driver.Allocations, t.Driver.AllocatedBytes, t.Driver.GarbageCycles = nil, nil, nil
	})
	return r
}

// eachTold changes the trials of the second arm.
func eachTold(r *result.Result, change func(*result.Trial)) {
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			if t := &r.Rounds[n].Trials[i]; t.Arm == 1 {
				change(t)
			}
		}
	}
}

// Values that a tool does not report are absent. They refuse nothing else, and are not taken for checked.
func TestToldByATool(t *testing.T) {
	t.Parallel()
	r := toldBy("wrk")
	if flaws := consistency.Flaws(r); len(flaws) > 0 {
		t.Fatalf("flaws %v", flaws)
	}
	a := analyse.Result(r)
	ours := uint64(0)
	for _, l := range a.Loads {
		ours += l.Arms[0].Requests
		for _, other := range l.Arms[2:] {
			ours += other.Requests
		}
		arm := l.Arms[1]
		if failed := arm.Failed(); len(failed) > 0 || arm.Tool != "wrk" {
			t.Errorf("%s: tool %q, failed %+v", l.Name, arm.Tool, failed)
		}
		unknown := []result.Gate{result.Steady, result.WireBytes, result.Physics, result.GeneratorPauses}
		if slices.ContainsFunc(arm.Checks, func(c claim.Check) bool { return slices.Contains(unknown, c.Gate) }) {
			t.Errorf("%s: a check of what nobody knows: %+v", l.Name, arm.Checks)
		}
		for id, known := range map[string]bool{
			plan.ServerCPU: true, plan.ClientCPU: true, plan.Throughput: true,
			plan.ResponseP50: false, plan.ServiceP99: false, plan.ResponseMean: false,
			plan.WireSent: false, plan.WireReceived: false, plan.ClientAllocations: false,
		} {
			row := l.Row(id)
			if row == nil {
				continue
			}
			const why = "wrk made the calls, and does not tell it of each"
			if e := row.Cells[1].Estimate; e.Known != known || !known && e.Why != why {
				t.Errorf("%s: %s is known: %v, %q", l.Name, id, e.Known, e.Why)
			}
		}
	}
	if a.Requests != ours || a.Told == 0 {
		t.Errorf("%d replies checked and %d told of, want %d checked", a.Requests, a.Told, ours)
	}
}

// A tool's own count of failures refuses its figures. Figures that it cannot have reported are detected.
func TestToldWrongly(t *testing.T) {
	t.Parallel()
	r := toldBy("wrk")
	eachTold(r, func(t *result.Trial) {
		t.Errors = map[string]uint64{metric.ToldWrong: 3}
		t.Sent += 3
	})
	if flaws := consistency.Flaws(r); len(flaws) > 0 {
		t.Fatalf("flaws %v", flaws)
	}
	if arm := analyse.Result(r).Loads[0].Arms[1]; arm.Spoiled(kinds.MustMetric(plan.ServerCPU)) != claim.Invalid {
		t.Errorf("checks %+v", arm.Checks)
	}
	for name, change := range map[string]func(*result.Trial){
		"a time":  func(t *result.Trial) { t.Response = stat.NewHistogram(); t.Response.Record(5) },
		"a byte":  func(t *result.Trial) { t.WireSent = 1 },
		"no tool": func(t *result.Trial) { t.Told = nil },
	} {
		r := toldBy("wrk")
		eachTold(r, change)
		if len(consistency.Flaws(r)) == 0 {
			t.Errorf("%s: no flaw", name)
		}
	}
}

// A tool that calls a database directly has no server. The database's CPU time is all the use behind the calls.
func TestToldWithoutAServer(t *testing.T) {
	t.Parallel()
	r := toldBy("pgbench")
	eachTold(r, func(t *result.Trial) { t.Told.Direct, t.Server = true, nil })
	for _, l := range analyse.Result(r).Loads {
		const why = "there was no server: pgbench asked the database itself"
		if e := l.Row(plan.ServerCPU).Cells[1].Estimate; e.Known || e.Why != why {
			t.Errorf("%s: server CPU is known: %v, %q", l.Name, e.Known, e.Why)
		}
	}
	const database = plan.Duration(5e6)
	alone := result.Trial{
		Told: &result.Told{Tool: "pgbench", Direct: true}, OK: 1_000,
		Database: &result.DatabaseUse{Processes: &result.DatabaseProcesses{CPU: database}},
	}
	if v, known := kinds.MustMetric(plan.BackendCPU).Value(&alone); !known || v != 5_000 {
		t.Errorf("server and database used %v a call, known %v; want what the database used", v, known)
	}
}

// A tool that does not keep the plan's rate measured another load.
func TestToldRate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		share float64 // of the calls that the rate gives
		ok    bool
	}{"as planned": {1, true}, "a little less": {0.99, true}, "much less": {0.9, false}, "much more": {1.1, false}} {
		r := toldBy("h2load")
		for i := range r.Plan.Loads {
			r.Plan.Loads[i].InFlight, r.Plan.Loads[i].Rate, r.Plan.Loads[i].Arrivals = 256, 10_000, plan.Constant
		}
		eachTold(r, func(t *result.Trial) {
			t.Sent = uint64(c.share * 10_000 * time.Duration(t.Window).Seconds())
			t.OK, t.Completed, t.Planned, t.Watched = t.Sent, t.Sent, t.Sent, t.Sent
		})
		for _, l := range analyse.Result(r).Loads {
			at := slices.IndexFunc(l.Arms[1].Checks, func(c claim.Check) bool { return c.Gate == result.Schedule })
			if at < 0 || l.Arms[1].Checks[at].OK != c.ok {
				t.Errorf("%s, %s: checks %+v", name, l.Name, l.Arms[1].Checks)
			}
		}
	}
}
