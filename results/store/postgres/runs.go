package postgres

import (
	"time"

	allkinds "wirelab/lab/kind/kinds"
	"wirelab/lab/kind/streams"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/lab/stat"
	"wirelab/results/store/benchmark"
)

// runs returns the tables runs, figures, histograms and reservoirs.
func runs(r *result.Result, a *claim.Analysis) []*table {
	all := newTable("runs", `result_id arm load rounds window_ns planned sent ok completed unsent errors
		throughput response_mean_ns response_p50_ns response_p90_ns response_p99_ns response_p999_ns response_min_ns response_max_ns
		server_cpu_ns driver_cpu_ns driver_wall_ns driver_resident_avg driver_resident_peak refused
		cpu_refused times_refused`)
	figures := newTable("figures",
		`result_id arm load metric dimension is_primary value low high rounds why ratio ratio_low ratio_high verdict verdict_why`)
	histograms := newTable("histograms", `result_id arm load kind count mean_ns low_ns high_ns counts`)
	reservoirs := newTable("reservoirs", `result_id arm load seed population rounds latency_ns errors`)
	for _, u := range benchmark.Gather(r) {
		says := sayings(a, u)
		all.add(row(r.ID, u, benchmark.Load(a.Loads, u))...)
		for _, f := range says {
			figures.add(f.row(r.ID, u)...)
		}
		for kind, of := range kinds() {
			if h := u.Pooled(of); h.Count() > 0 {
				low, high, counts := spread(h)
				histograms.add(r.ID, u.Arm, u.Load, kind, count(h.Count()), h.Mean(), low, high, counts)
			}
		}
		d := u.Draw(r.ID)
		for _, code := range d.Errors {
			if code != nil {
				*code = text(*code)
			}
		}
		reservoirs.add(r.ID, u.Arm, u.Load, whole(d.Seed), count(d.Population), d.Rounds, d.Latencies, d.Errors)
	}
	return []*table{all, figures, histograms, reservoirs}
}

// row returns the run's row of the table runs.
func row(id string, u *benchmark.Run, l *claim.LoadAnalysis) []any {
	var driver, watched time.Duration
	var planned, unsent uint64
	var server, due, never *int64
	told := false
	errors := map[string]uint64{}
	for _, t := range u.Trials {
		planned, unsent, told = planned+t.Planned, unsent+t.Unsent, told || t.Told != nil
		for kind, n := range t.Errors {
			errors[kind] += n
		}
		driver, watched = driver+time.Duration(t.Driver.CPU), watched+benchmark.Wall(t)
		if t.Server != nil {
			if server == nil {
				server = new(int64)
			}
			*server += int64(t.Server.CPU)
		}
	}
	if !told { // another program does not report what was due
		due, never = new(count(planned)), new(count(unsent))
	}
	all, f := u.Totals(), u.Figures(l)
	return []any{
		id, u.Arm, u.Load, len(u.Trials), int64(all.Window),
		due, count(all.Sent), count(all.OK), count(all.Completed), never, object(errors),
		f.Throughput, f.Mean, f.P50, f.P90, f.P99, f.P999, nanos(f.Least), nanos(f.Most),
		server, int64(driver), int64(watched), all.Resident, count(all.Peak),
		reason(f.Refused), f.CPUWithheld, f.TimesWithheld,
	}
}

// nanos returns a time in whole nanoseconds, or NULL.
func nanos(f *float64) *int64 {
	if f == nil {
		return nil
	}
	return new(int64(*f))
}

func response(t *result.Trial) *stat.Histogram { return t.Response }

// kinds are the histograms that are stored for a run.
func kinds() map[string]func(*result.Trial) *stat.Histogram {
	return map[string]func(*result.Trial) *stat.Histogram{
		"response": response,
		"service":  func(t *result.Trial) *stat.Histogram { return t.Service },
		"lag":      func(t *result.Trial) *stat.Histogram { return t.Lag },
		"jitter":   func(t *result.Trial) *stat.Histogram { return streams.Of(t).Jitter },
	}
}

// spread returns a histogram as arrays. A quantile is the upper end of the bucket that it falls into, so upper ends
// must not exceed the limit.
func spread(h *stat.Histogram) (low, high, counts []int64) {
	for _, b := range h.Buckets() {
		low, high, counts = append(low, b.Low), append(high, min(b.High, int64(stat.Limit))),
			append(counts, count(b.Count))
	}
	return low, high, counts
}

// saying is the conclusion about one metric of a run.
type saying struct {
	metric  metric.Metric
	primary bool
	cell    claim.Cell
}

// sayings returns the conclusions about a run, in the order of reports.
func sayings(a *claim.Analysis, u *benchmark.Run) []saying {
	var all []saying
	for _, load := range a.Loads {
		if load.Load != u.Load {
			continue
		}
		for _, row := range load.Rows {
			m, err := allkinds.MetricByID(row.Metric)
			if err != nil || u.Arm >= len(row.Cells) {
				continue
			}
			all = append(all, saying{m, row.Primary, row.Cells[u.Arm]})
		}
	}
	return all
}

// row returns the row of the table figures.
func (s saying) row(id string, u *benchmark.Run) []any {
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
		id, u.Arm, u.Load, s.metric.ID, string(s.metric.Dimension), s.primary, value, low, high, e.Rounds,
		reason(e.Why),
		ratio, ratioLow, ratioHigh, verdict, why,
	}
}
