package dashboard

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/results/store"
	"wirelab/results/store/benchmark"
)

// The result format of the ledger's first benchmark (grb-F09): a row for each arm under each load. It is served at
// the address of the list if the request has a parameter that only this format has. Its names mean what the views of
// the PostgreSQL store say. Percentiles are never averaged (grb-M11): each row is one run.

// The size of one answer, and how many results are read for it.
const (
	runsDefault = 100
	runsScanned = 1000
)

// asksRuns reports whether the request has a parameter of that format.
func (q *query) asksRuns() bool {
	for _, name := range []string{"scenario", "client", "run_id"} {
		if _, ok := q.values[name]; ok {
			return true
		}
	}
	return false
}

// ran is an arm under a load in that format. Figures that were refused are null.
type ran struct {
	RunID        string    `json:"run_id"` // result, arm and load: "r-20261121-140512-7f3a.0.1"
	Scenario     string    `json:"scenario"`
	Protocol     string    `json:"protocol"`
	Client       string    `json:"client"`
	Concurrency  int       `json:"concurrency"`
	DurationSec  float64   `json:"duration_sec"`
	TotalSamples uint64    `json:"total_samples"`
	Successful   uint64    `json:"successful"`
	Throughput   *float64  `json:"throughput"`
	P50          *float64  `json:"p50_latency_ms"`
	P90          *float64  `json:"p90_latency_ms"`
	P99          *float64  `json:"p99_latency_ms"`
	Average      *float64  `json:"avg_latency_ms"`
	Least        *float64  `json:"min_latency_ms"`
	Most         *float64  `json:"max_latency_ms"`
	CPU          *float64  `json:"cpu_usage_avg"` // of the driver, in percent of one core
	MemoryAvg    float64   `json:"memory_mb_avg"`
	MemoryPeak   float64   `json:"memory_mb_peak"`
	Refused      string    `json:"refused,omitempty"` // which figures are null, and why
	CreatedAt    time.Time `json:"created_at"`
	ResultID     string    `json:"result_id"`
	Arm          string    `json:"arm"`
	Load         string    `json:"load"`
	Wire         string    `json:"wire"` // the protocol by wirelab's name
}

type ranList struct {
	Results []ran `json:"results"`
	Count   int   `json:"count"`
}

// rans returns the rows of a result from its estimates.
func rans(r *result.Result, loads []claim.LoadAnalysis) []ran {
	all := []ran{}
	for _, u := range benchmark.Gather(r) {
		load := benchmark.Load(loads, u)
		if load == nil {
			continue
		}
		as := benchmark.Describe(r, u)
		totals, figures := u.Totals(), u.Figures(load)
		if totals.Sent == 0 {
			continue
		}
		all = append(all, ran{
			RunID: fmt.Sprintf("%s.%d.%d", r.ID, u.Arm, u.Load), ResultID: r.ID, Arm: load.Arms[u.Arm].Name,
			Load: load.Name,
			Wire: as.Wire, Scenario: as.Scenario, Protocol: as.Protocol, Client: as.Client, Concurrency: as.Concurrency,
			CreatedAt: r.Began.UTC(), DurationSec: totals.Window.Seconds(), TotalSamples: totals.Sent,
			Successful: totals.OK,
			Throughput: figures.Throughput, CPU: figures.CPU,
			P50: benchmark.Millis(figures.P50), P90: benchmark.Millis(figures.P90), P99: benchmark.Millis(figures.P99),
			Average: benchmark.Millis(figures.Mean),
			Least:   benchmark.Millis(figures.Least), Most: benchmark.Millis(figures.Most),
			MemoryAvg: totals.Resident / (1 << 20), MemoryPeak: float64(totals.Peak) / (1 << 20),
			Refused: figures.Refused,
		})
	}
	return all
}

// ours returns a scenario's workload and operation; "" for one that it does not name.
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

// runs answers in that format, the latest first. All filters of lists apply too.
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
		f.Protocol = "" // this format has other names for protocols
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
				if (scenario == "" || one.Scenario == scenario) &&
					(protocol == "" || one.Protocol == protocol || one.Wire == protocol) &&
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
