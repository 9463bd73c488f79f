package postgres

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"wirelab/plan"
	"wirelab/result"
	"wirelab/stat"
)

// run is one arm under one load, over all rounds.
type run struct {
	arm, load int
	rounds    []int // from 1, of each trial
	trials    []*result.Trial
}

// gather returns the runs of a result, by load and arm. Of two trials for one
// place the first counts, as in an analysis.
func gather(r *result.Result) []*run {
	found := map[[2]int]*run{}
	for i := range r.Rounds {
		for j := range r.Rounds[i].Trials {
			t := &r.Rounds[i].Trials[j]
			key := [2]int{t.Load, t.Arm}
			u := found[key]
			if u == nil {
				u = &run{arm: t.Arm, load: t.Load}
				found[key] = u
			}
			if n := len(u.rounds); n == 0 || u.rounds[n-1] != i+1 {
				u.rounds, u.trials = append(u.rounds, i+1), append(u.trials, t)
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(found), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	all := make([]*run, len(keys))
	for i, key := range keys {
		all[i] = found[key]
	}
	return all
}

// runs are the tables runs, figures, histograms and reservoirs.
func runs(r *result.Result, a *result.Analysis) []*table {
	all := newTable("runs", `result_id arm load rounds window_ns planned sent ok completed unsent errors
		throughput response_mean_ns response_p50_ns response_p90_ns response_p99_ns response_p999_ns response_min_ns response_max_ns
		server_cpu_ns driver_cpu_ns driver_wall_ns driver_resident_avg driver_resident_peak refused`)
	figures := newTable("figures", `result_id arm load metric dimension is_primary value low high rounds why ratio ratio_low ratio_high verdict verdict_why`)
	histograms := newTable("histograms", `result_id arm load kind count mean_ns low_ns high_ns counts`)
	reservoirs := newTable("reservoirs", `result_id arm load seed population rounds latency_ns errors`)
	for _, u := range gather(r) {
		says := sayings(a, u)
		all.add(u.row(r.ID, says, armOf(a, u))...)
		for _, f := range says {
			figures.add(f.row(r.ID, u)...)
		}
		for kind, of := range kinds() {
			if h := u.pooled(of); h.Count() > 0 {
				low, high, counts := spread(h)
				histograms.add(r.ID, u.arm, u.load, kind, count(h.Count()), h.Mean(), low, high, counts)
			}
		}
		d := draw(r.ID, u)
		reservoirs.add(r.ID, u.arm, u.load, whole(d.seed), count(d.population), d.rounds, d.latencies, d.errors)
	}
	return []*table{all, figures, histograms, reservoirs}
}

// row is the run's row of the table runs.
func (u *run) row(id string, says []saying, arm *result.ArmState) []any {
	var window, driver, watched time.Duration
	var planned, sent, ok, completed, unsent, peak uint64
	var server *int64
	resident := 0.0
	errors := map[string]uint64{}
	for _, t := range u.trials {
		window += time.Duration(t.Window)
		planned, sent, ok = planned+t.Planned, sent+t.Sent, ok+t.OK
		completed, unsent = completed+t.Completed, unsent+t.Unsent
		for kind, n := range t.Errors {
			errors[kind] += n
		}
		driver, watched = driver+time.Duration(t.Driver.CPU), watched+time.Duration(wall(t))
		resident += float64(t.Driver.ResidentBytes) / float64(len(u.trials))
		peak = max(peak, t.Driver.ResidentBytes)
		if t.Server != nil {
			if server == nil {
				server = new(int64)
			}
			*server += int64(t.Server.CPU)
		}
	}
	var least, most *int64
	if h := u.pooled(response); h.Count() > 0 {
		// Neither is a metric. What refuses the quantile next to it refuses it too.
		if !refuses(arm, plan.ResponseP50) {
			least = new(h.Min())
		}
		if !refuses(arm, plan.ResponseP999) {
			most = new(h.Max())
		}
	}
	rate := valueOf(says, rateMetrics())
	if arm != nil && arm.Achieved > 0 && !slices.ContainsFunc(says, func(s saying) bool { return slices.Contains(rateMetrics(), s.metric.ID) }) {
		rate = number(arm.Achieved) // of an open loop, for which it is no metric to compare
	}
	return []any{
		id, u.arm, u.load, len(u.trials), int64(window), count(planned), count(sent), count(ok), count(completed), count(unsent), object(errors),
		rate, valueOf(says, []string{plan.ResponseMean}),
		valueOf(says, []string{plan.ResponseP50, plan.DeliveryP50}), valueOf(says, []string{plan.ResponseP90, plan.DeliveryP90}),
		valueOf(says, []string{plan.ResponseP99, plan.DeliveryP99}), valueOf(says, []string{plan.ResponseP999, plan.DeliveryP999}),
		least, most, server, int64(driver), int64(watched), resident, count(peak), refused(says),
	}
}

// rateMetrics are what a run does in a second: calls, or events of streams.
func rateMetrics() []string { return []string{plan.Throughput, plan.EventRate} }

// valueOf is the value of the one of some metrics that a run has; nil where
// it is not told.
func valueOf(says []saying, ids []string) *float64 {
	for _, s := range says {
		if slices.Contains(ids, s.metric.ID) {
			v, _, _ := told(s.cell.Estimate)
			return v
		}
	}
	return nil
}

// pooled is a histogram of the run's trials, merged.
func (u *run) pooled(of func(*result.Trial) *stat.Histogram) *stat.Histogram {
	all := &stat.Histogram{}
	for _, t := range u.trials {
		all.Merge(of(t))
	}
	return all
}

func response(t *result.Trial) *stat.Histogram { return t.Response }

// kinds are the histograms that are kept of a run.
func kinds() map[string]func(*result.Trial) *stat.Histogram {
	return map[string]func(*result.Trial) *stat.Histogram{
		"response": response,
		"service":  func(t *result.Trial) *stat.Histogram { return t.Service },
		"lag":      func(t *result.Trial) *stat.Histogram { return t.Lag },
		"jitter": func(t *result.Trial) *stat.Histogram {
			if t.Streams == nil {
				return nil
			}
			return t.Streams.Jitter
		},
	}
}

// spread is a histogram as arrays. A bucket's upper end is what a quantile
// that falls into it is; so it is no more than the limit.
func spread(h *stat.Histogram) (low, high, counts []int64) {
	for _, b := range h.Buckets() {
		low, high, counts = append(low, b.Low), append(high, min(b.High, int64(stat.Limit))), append(counts, count(b.Count))
	}
	return low, high, counts
}

// saying is what wirelab says of one metric of a run.
type saying struct {
	metric  result.Metric
	primary bool
	cell    result.Cell
}

// sayings are those of a run, in the order of reports.
func sayings(a *result.Analysis, u *run) []saying {
	var all []saying
	for _, load := range a.Loads {
		if load.Load != u.load {
			continue
		}
		for _, row := range load.Rows {
			m, err := result.MetricByID(row.Metric)
			if err != nil || u.arm >= len(row.Cells) {
				continue
			}
			all = append(all, saying{m, row.Primary, row.Cells[u.arm]})
		}
	}
	return all
}

// armOf is a run's arm in the analysis; nil if it is not there.
func armOf(a *result.Analysis, u *run) *result.ArmState {
	for i := range a.Loads {
		if l := &a.Loads[i]; l.Load == u.load && u.arm < len(l.Arms) {
			return &l.Arms[u.arm]
		}
	}
	return nil
}

// refuses reports whether a check refuses an arm's figures of a metric.
func refuses(arm *result.ArmState, metric string) bool {
	return arm != nil && arm.Spoiled(result.MustMetric(metric)) != ""
}

// row is its row of the table figures.
func (s saying) row(id string, u *run) []any {
	e := s.cell.Estimate
	value, low, high := told(e)
	var ratio, ratioLow, ratioHigh *float64
	var verdict, why *string
	if d := s.cell.Difference; d != nil {
		verdict, why = new(text(string(d.Verdict))), reason(d.Why)
		if d.Known {
			ratio, ratioLow, ratioHigh = number(d.Ratio), number(d.Low), number(d.High)
		}
	}
	return []any{
		id, u.arm, u.load, s.metric.ID, string(s.metric.Dimension), s.primary, value, low, high, e.Rounds, reason(e.Why),
		ratio, ratioLow, ratioHigh, verdict, why,
	}
}

// viewed reports whether the views of the origin have a metric.
func viewed(id string) bool {
	return slices.Contains(append(rateMetrics(), plan.ResponseMean, plan.ResponseP50, plan.ResponseP90, plan.ResponseP99,
		plan.DeliveryP50, plan.DeliveryP90, plan.DeliveryP99), id)
}

// refused says which figures of the views are not told, and why: "response-p99:
// 3 of 10 calls beyond it". NULL where all are.
func refused(says []saying) *string {
	whys := map[string][]string{}
	var order []string
	for _, s := range says {
		m, e := s.metric, s.cell.Estimate
		if e.Known || !viewed(m.ID) {
			continue
		}
		if whys[e.Why] == nil {
			order = append(order, e.Why)
		}
		whys[e.Why] = append(whys[e.Why], m.ID)
	}
	parts := make([]string, len(order))
	for i, why := range order {
		parts[i] = fmt.Sprintf("%s: %s", strings.Join(whys[why], ", "), why)
	}
	return reason(strings.Join(parts, "; "))
}
