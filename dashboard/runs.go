package dashboard

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"wirelab/plan"
	"wirelab/result"
	"wirelab/stat"
	"wirelab/store"
)

// The form of results that the ledger's first benchmark had (grb-F09): a row for
// each arm under each load. It is served at the same address where a parameter
// is given that only it has; its names mean what the views of the PostgreSQL
// store say, and percentiles are never averaged (grb-M11): each row is one run.

// The size of one answer, and how many results are looked at for it.
const (
	runsDefault = 100
	runsScanned = 1000
)

// asksRuns reports whether the address has a parameter of that form.
func (q *query) asksRuns() bool {
	for _, name := range []string{"scenario", "client", "run_id"} {
		if _, ok := q.values[name]; ok {
			return true
		}
	}
	return false
}

// ran is an arm under a load in that form. Figures that were refused are null.
type ran struct {
	RunID        string    `json:"run_id"` // result, arm and load: "r-20261121-140512-7f3a.0.1"
	Scenario     string    `json:"scenario"`
	Protocol     string    `json:"protocol"`
	Client       string    `json:"client"`
	Concurrency  int       `json:"concurrency"`
	DurationSec  float64   `json:"duration_sec"`
	TotalSamples uint64    `json:"total_samples"`
	Successful   uint64    `json:"successful"`
	Throughput   *float64  `json:"throughput"` // completed in the measured time, by it
	P50          *float64  `json:"p50_latency_ms"`
	P90          *float64  `json:"p90_latency_ms"`
	P99          *float64  `json:"p99_latency_ms"`
	Average      *float64  `json:"avg_latency_ms"`
	Least        *float64  `json:"min_latency_ms"`
	Most         *float64  `json:"max_latency_ms"`
	CPU          *float64  `json:"cpu_usage_avg"` // percent of one core, of the driver
	MemoryAvg    float64   `json:"memory_mb_avg"`
	MemoryPeak   float64   `json:"memory_mb_peak"`
	CreatedAt    time.Time `json:"created_at"`
	ResultID     string    `json:"result_id"`
	Arm          string    `json:"arm"`
	Load         string    `json:"load"`
	Wire         string    `json:"wire"` // the protocol by its own name
}

type ranList struct {
	Results []ran `json:"results"`
	Count   int   `json:"count"`
}

// rans makes the rows of a result from its estimates.
func rans(r *result.Result, loads []result.LoadAnalysis) []ran {
	all := []ran{}
	for _, load := range loads {
		for a := range load.Arms {
			one := ran{
				RunID: fmt.Sprintf("%s.%d.%d", r.ID, a, load.Load), ResultID: r.ID, Arm: load.Arms[a].Name, Load: load.Name,
				Wire: r.Plan.Arms[a].Protocol, Client: "go", CreatedAt: r.Began.UTC(), Concurrency: held(r.Plan.Loads[load.Load]),
			}
			operation := r.Plan.OperationOf(r.Plan.Loads[load.Load])
			one.Scenario, one.Protocol = theirs(r.Plan.Workload, operation, one.Wire)
			if r.Plan.Arms[a].Raw() {
				one.Client = "go-raw"
			}
			completed := one.count(r, a, load.Load)
			for metric, into := range map[string]**float64{
				plan.ResponseP50: &one.P50, "response-p90": &one.P90, plan.ResponseP99: &one.P99, plan.ResponseMean: &one.Average,
			} {
				if row := load.Row(metric); row != nil && row.Cells[a].Estimate.Known {
					*into = new(row.Cells[a].Estimate.Value / 1e6)
				}
			}
			if one.DurationSec > 0 {
				one.Throughput = new(float64(completed) / one.DurationSec)
			}
			one.refuse(&load.Arms[a])
			if one.TotalSamples > 0 {
				all = append(all, one)
			}
		}
	}
	return all
}

// refuse takes away what the failed checks of its arm cover and what is no metric: each
// figure goes with the metric that it is the nearest to.
func (one *ran) refuse(arm *result.ArmState) {
	for _, figure := range []struct {
		of     **float64
		metric string
	}{{&one.Least, plan.ResponseP50}, {&one.Most, plan.ResponseP999}, {&one.CPU, plan.ClientCPU}} {
		if arm.Spoiled(result.MustMetric(figure.metric)) != "" {
			*figure.of = nil
		}
	}
	// Of an open loop the rate is what was offered, unless answers are in doubt: a busy
	// generator does not change it.
	open := arm.Planned > 0
	if open && arm.Refused["achieved"] != nil || !open && arm.Spoiled(result.MustMetric(plan.Throughput)) != "" {
		one.Throughput = nil
	}
}

// count adds up an arm's trials under a load, and returns the calls that were
// answered inside the measured time.
func (one *ran) count(r *result.Result, arm, load int) (completed uint64) {
	all := &stat.Histogram{}
	var window, cpu, wall time.Duration
	trials, resident := 0, 0.0
	for i := range r.Rounds {
		j := slices.IndexFunc(r.Rounds[i].Trials, func(t result.Trial) bool { return t.Arm == arm && t.Load == load })
		if j < 0 {
			continue
		}
		t := &r.Rounds[i].Trials[j]
		trials++
		window += time.Duration(t.Window)
		one.TotalSamples, one.Successful, completed = one.TotalSamples+t.Sent, one.Successful+t.OK, completed+t.Completed
		all.Merge(t.Response)
		cpu, wall = cpu+time.Duration(t.Driver.CPU), wall+time.Duration(t.Driver.Wall)
		resident += float64(t.Driver.ResidentBytes)
		one.MemoryPeak = max(one.MemoryPeak, float64(t.Driver.ResidentBytes)/(1<<20))
	}
	one.DurationSec = window.Seconds()
	if trials > 0 {
		one.MemoryAvg = resident / float64(trials) / (1 << 20)
	}
	if wall > 0 {
		one.CPU = new(100 * cpu.Seconds() / wall.Seconds())
	}
	if all.Count() > 0 {
		one.Least, one.Most = new(float64(all.Min())/1e6), new(float64(all.Max())/1e6)
	}
	return completed
}

// held is how many calls or streams a load has at once.
func held(l plan.Load) int {
	if l.Streams > 0 {
		return l.Streams
	}
	return max(l.InFlight, 1)
}

// theirs are the words of the first benchmark for what it had.
func theirs(workload, operation, protocol string) (scenario, wire string) {
	switch {
	case workload == "ledger" && operation == "GetBalance":
		scenario = "balance"
	case workload == "ledger" && operation == "StreamTransactions":
		scenario = "stream"
	default:
		scenario = workload + "." + operation
	}
	if workload == "ledger" && (protocol == "http1-json" || protocol == "sse" && scenario == "stream") {
		return scenario, "rest"
	}
	return scenario, protocol
}

// ours are a scenario's workload and operation; "" where it does not tell.
func ours(scenario string) (workload, operation string) {
	switch scenario {
	case "balance":
		return "ledger", "GetBalance"
	case "stream":
		return "ledger", "StreamTransactions"
	}
	workload, operation, _ = strings.Cut(scenario, ".")
	return workload, operation
}

// runs answers in that form, the latest first. All filters of lists hold, too.
func (d *Dashboard) runs(w http.ResponseWriter, r *http.Request, q *query) error {
	f := q.filter(runsDefault)
	scenario, client, id := q.text("scenario"), q.text("client"), q.text("run_id")
	if err := q.done(); err != nil {
		return err
	}
	limit, protocol, contradicts := f.Limit, f.Protocol, false
	f.Limit = runsScanned
	if scenario != "" {
		workload, operation := ours(scenario)
		contradicts = f.Workload != "" && f.Workload != workload || f.Operation != "" && f.Operation != operation
		f.Workload, f.Operation = workload, operation
	}
	if protocol == "rest" {
		f.Protocol = "" // it is called otherwise here
	}
	list, err := d.config.Store.List(r.Context(), f)
	if err != nil {
		return err
	}
	result, _, _ := strings.Cut(id, ".")
	list = slices.DeleteFunc(list, func(m store.Summary) bool { return contradicts || id != "" && m.ID != result })
	answer := ranList{Results: []ran{}}
	const batch = 20
	for len(list) > 0 && len(answer.Results) < limit {
		n := min(batch, len(list))
		records, err := d.recall(r.Context(), list[:n])
		if err != nil {
			return err
		}
		list = list[n:]
		for _, known := range records {
			for _, one := range known.ran {
				if (scenario == "" || one.Scenario == scenario) && (protocol == "" || one.Protocol == protocol || one.Wire == protocol) &&
					(client == "" || one.Client == client) && (id == "" || one.RunID == id || one.ResultID == id) {
					answer.Results = append(answer.Results, one)
				}
			}
		}
	}
	answer.Results = answer.Results[:min(limit, len(answer.Results))]
	answer.Count = len(answer.Results)
	d.json(w, http.StatusOK, answer)
	return nil
}
