package postgres

import (
	"math"
	"math/rand/v2"
	"testing"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/stat"
	"wirelab/results/store/benchmark"
	"wirelab/results/store/storetest"
)

// ledgerResult is one that the origin's users know the shape of: GetBalance at
// two concurrencies over gRPC and REST.
func ledgerResult() *result.Result {
	r := resulttest.Make(resulttest.Setting{
		Name: "ledger-balance-50", Rounds: 12, Seed: 5, Loads: []plan.Load{{InFlight: 10}, {InFlight: 50}},
		Arms: []resulttest.Arm{
			{Name: "grpc", Protocol: "grpc", Multiplexed: true, ServerCPU: 20e3, ClientCPU: 25e3, Response: 150e3},
			{Name: "http1-json", Protocol: "http1-json", ServerCPU: 28e3, ClientCPU: 30e3, Response: 190e3},
		},
	})
	r.Plan.Workload, r.Plan.Operation = "ledger", "GetBalance"
	return r
}

// stats is a row of the view that the origin's users ask.
type stats struct {
	scenario, protocol, client string
	concurrency                int
	duration                   float64
	total, successful          int64
	throughput                 *float64
	p50, p90, p99, avg, lo, hi *float64
	cpu, memory, peak          *float64
	refused                    *string
	arm, load                  string
}

const statsQuery = `SELECT scenario, protocol, client, concurrency, duration_sec, total_samples, successful, throughput,
	p50_latency_ms, p90_latency_ms, p99_latency_ms, avg_latency_ms, min_latency_ms, max_latency_ms,
	cpu_usage_avg, memory_mb_avg, memory_mb_peak, refused, arm_name, load_name
	FROM benchmark_stats WHERE result_id = $1 ORDER BY run_id`

func readStats(t *testing.T, s *Store, id string) []stats {
	t.Helper()
	rows, err := s.pool.Query(t.Context(), statsQuery, id)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []stats
	for rows.Next() {
		var v stats
		if err := rows.Scan(&v.scenario, &v.protocol, &v.client, &v.concurrency, &v.duration, &v.total, &v.successful,
			&v.throughput,
			&v.p50, &v.p90, &v.p99, &v.avg, &v.lo, &v.hi, &v.cpu, &v.memory, &v.peak, &v.refused, &v.arm,
			&v.load); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// near reports whether a figure is the wanted one, up to the precision of doubles.
func near(got *float64, want float64) bool {
	return got != nil && math.Abs(*got-want) <= 1e-9*math.Abs(want)
}

// The origin's SQL reads what wirelab reports, figure by figure: one definition
// of a percentile and of throughput for every reader (grb-M09, grb-M10, grb-D12);
// a row for each concurrency, never an average over several (grb-M11).
func TestTheOriginsSQLReadsWirelabsFigures(t *testing.T) {
	t.Parallel()
	s := open(t, database(t, server))
	r := ledgerResult()
	puts(t, s, r)
	analysis := analyse.Result(r)
	all := readStats(t, s, r.ID)
	if len(all) != 4 {
		t.Fatalf("%d runs, want 2 arms under 2 loads", len(all))
	}
	for i, got := range all {
		load, arm := analysis.Loads[i/2], i%2
		figure := func(id string) float64 {
			e := load.Row(id).Cells[arm].Estimate
			if !e.Known {
				t.Fatalf("run %d: %s is not known: %s", i, id, e.Why)
			}
			return e.Value
		}
		pool, sent, ok, window := &stat.Histogram{}, uint64(0), uint64(0), 0.0
		for _, round := range r.Rounds {
			for _, trial := range round.Trials {
				if trial.Arm == arm && trial.Load == load.Load {
					pool.Merge(trial.Response)
					sent, ok, window = sent+trial.Sent, ok+trial.OK, window+trial.Window.Seconds()
				}
			}
		}
		for what, c := range map[string]struct {
			got  *float64
			want float64
		}{
			"throughput": {got.throughput, figure(plan.Throughput)},
			"p50":        {got.p50, figure("response-p50") / 1e6},
			"p90":        {got.p90, figure("response-p90") / 1e6},
			"p99":        {got.p99, figure(plan.ResponseP99) / 1e6},
			"avg":        {got.avg, figure(plan.ResponseMean) / 1e6},
			"min":        {got.lo, float64(pool.Min()) / 1e6},
			"max":        {got.hi, float64(pool.Max()) / 1e6},
			"duration":   {&got.duration, window},
			"memory":     {got.memory, 31},
			"peak":       {got.peak, 31},
		} {
			if !near(c.got, c.want) {
				t.Errorf("run %d: %s is %v, want %v", i, what, c.got, c.want)
			}
		}
		if got.total != int64(sent) || got.successful != int64(ok) || got.refused != nil || got.cpu == nil ||
			*got.cpu <= 0 {
			t.Errorf("run %d: %+v, want %d of %d", i, got, ok, sent)
		}
		want := []string{"grpc", "rest"}[arm]
		if got.scenario != "balance" || got.protocol != want || got.client != "go" ||
			got.concurrency != []int{10, 50}[load.Load] ||
			got.arm != r.Arms[arm].Name || got.load != load.Name {
			t.Errorf("run %d is of %+v", i, got)
		}
	}
	// The filters that the origin's pages had, and that never matched (grb-D04).
	var n int
	one(t, s,
		`SELECT count(*) FROM benchmark_stats WHERE scenario = 'balance' AND protocol = 'rest' AND client = 'go' AND concurrency = 50`, nil, &n)
	if n != 1 {
		t.Errorf("%d runs of balance over rest by 50, want 1", n)
	}
	one(t, s, `SELECT count(*) FROM benchmark_runs r JOIN benchmark_stats s ON s.run_id = r.id WHERE r.created_at = $1`,
		[]any{r.Began}, &n)
	if n != 4 {
		t.Errorf("%d runs joined, want 4", n)
	}
}

// What wirelab refuses to say, SQL does not say either, and tells why.
func TestViewsRefuseWhatWirelabRefuses(t *testing.T) {
	t.Parallel()
	s := open(t, database(t, server))
	wrong := ledgerResult()
	for i := range wrong.Rounds { // wrong replies spoil everything of an arm
		for j := range wrong.Rounds[i].Trials {
			if trial := &wrong.Rounds[i].Trials[j]; trial.Arm == 1 {
				trial.Errors = map[string]uint64{result.WrongReply: 3}
				trial.Sent += 3
			}
		}
	}
	puts(t, s, wrong)
	for i, got := range readStats(t, s, wrong.ID) {
		told := got.throughput != nil && got.p99 != nil && got.avg != nil && got.refused == nil
		untold := got.throughput == nil && got.p50 == nil && got.p99 == nil && got.avg == nil && got.refused != nil &&
			got.lo == nil && got.hi == nil && got.cpu == nil
		if i%2 == 0 && !told || i%2 == 1 && !untold {
			t.Errorf("run %d: %+v", i, got)
		}
		if i%2 == 1 && got.total-got.successful != 3*int64(len(wrong.Rounds)) {
			t.Errorf("run %d: %d of %d", i, got.successful, got.total)
		}
	}
	// Nor does it give times from which a reader could compute such figures.
	var timed, drawn int
	one(t, s,
		`SELECT count(DISTINCT run_id) FILTER (WHERE latency_ms IS NOT NULL), count(DISTINCT run_id) FROM benchmark_samples`, nil, &timed, &drawn)
	if timed != 2 || drawn != 4 {
		t.Errorf("of %d runs calls were drawn, with times of %d; want 4 and 2: the others' times are refused", drawn,
			timed)
	}
	// Too few calls for a p99, and an answer for what there is enough of.
	few := storetest.Sample(0)
	puts(t, s, few)
	for _, got := range readStats(t, s, few.ID) {
		if got.p99 != nil || got.refused == nil {
			t.Errorf("a p99 of a hundred calls: %+v", got)
		}
	}
	var why string
	one(t, s, `SELECT why FROM wirelab_results.figures WHERE result_id = $1 AND metric = 'response-p99' LIMIT 1`,
		[]any{few.ID}, &why)
	if why == "" {
		t.Error("no reason")
	}
}

// The function quantile in SQL is stat's, for any histogram and any q.
func TestQuantileInSQLIsStats(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	s := open(t, database(t, server))
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 60 {
		h := stat.NewHistogram()
		for range n * n {
			h.Record(int64(math.Exp(20 * random.Float64())))
		}
		if n%7 == 0 {
			h.RecordN(int64(stat.Limit)*2, uint64(n)) // beyond what it tells apart
		}
		_, high, counts := spread(h)
		for _, q := range []float64{-1, 0, 0.07, 0.5, 0.9, 0.99, 0.999, 1, 2, random.Float64()} {
			var got *int64
			one(t, s, `SELECT wirelab_results.quantile($1, $2, $3)`, []any{q, high, counts}, &got)
			if h.Count() == 0 {
				if got != nil {
					t.Errorf("of nothing: %d", *got)
				}
				continue
			}
			if got == nil || *got != h.Quantile(q) {
				t.Fatalf("%d times, q %v: %v, want %d", h.Count(), q, got, h.Quantile(q))
			}
		}
	}
	// And so histograms in SQL give what the columns hold.
	r := ledgerResult()
	puts(t, s, r)
	var wrong int
	one(t, s,
		`SELECT count(*) FROM wirelab_results.runs u JOIN wirelab_results.histograms h USING (result_id, arm, load)
		WHERE h.kind = 'response' AND (
			abs(wirelab_results.quantile(0.5, h.high_ns, h.counts) - u.response_p50_ns) > 0.001
			OR abs(wirelab_results.quantile(0.99, h.high_ns, h.counts) - u.response_p99_ns) > 0.001
			OR (SELECT sum(c) FROM unnest(h.counts) c) <> u.ok)`, nil, &wrong)
	if wrong != 0 {
		t.Errorf("%d runs differ from their histograms", wrong)
	}
}

// A sample is of the run's own times, as many as were drawn, the same in every
// store, and failures are among them in their share.
func TestSamplesAreADrawOfTheCalls(t *testing.T) {
	t.Parallel()
	r := ledgerResult()
	for i := range r.Rounds {
		for j := range r.Rounds[i].Trials {
			if trial := &r.Rounds[i].Trials[j]; trial.Arm == 1 {
				// a fifth of all; so its times are refused
				trial.Errors = map[string]uint64{"unavailable": trial.OK / 4}
				trial.Sent += trial.OK / 4
			}
		}
	}
	var texts []string
	for range 2 {
		s := open(t, database(t, server))
		puts(t, s, r)
		var runs, fewest, most, distinct int
		var failed float64
		var text string
		one(t, s,
			`SELECT count(*), min(n), max(n), sum(d) FROM (SELECT count(*) AS n, count(DISTINCT id) AS d FROM benchmark_samples GROUP BY run_id) x`,
			nil, &runs, &fewest, &most, &distinct)
		if runs != 4 || fewest != benchmark.Size || most != benchmark.Size || distinct != 4*benchmark.Size {
			t.Errorf("%d runs with %d to %d samples, %d ids", runs, fewest, most, distinct)
		}
		one(t, s,
			`SELECT avg((NOT success)::int) FROM benchmark_samples s JOIN benchmark_runs r ON r.id = s.run_id WHERE r.protocol = 'rest'`, nil, &failed)
		if math.Abs(failed-0.2) > 0.04 {
			t.Errorf("%v of the samples failed, want about 0.2", failed)
		}
		one(t, s, `SELECT count(*) FROM benchmark_samples s JOIN benchmark_runs r ON r.id = s.run_id
			WHERE (r.protocol = 'grpc') <> (latency_ms IS NOT NULL) OR success <> (error_type IS NULL) OR "timestamp" IS NULL`, nil, &most)
		if most != 0 {
			t.Errorf("%d samples neither failed nor did not", most)
		}
		// Each latency is one of the run's histogram.
		one(t, s, `SELECT count(*) FROM benchmark_samples s JOIN benchmark_runs b ON b.id = s.run_id
			JOIN wirelab_results.histograms h ON (h.result_id, h.arm, h.load, h.kind) = (b.result_id, b.arm, b.load, 'response')
			WHERE s.latency_ms IS NOT NULL AND NOT round(s.latency_ms * 1e6)::bigint = ANY (h.high_ns)`, nil, &most)
		if most != 0 {
			t.Errorf("%d samples are of no time of their run", most)
		}
		// Their quantiles are near the run's: the share of a thousand that is
		// below a true median is 0.5 ± 0.05, at three standard deviations.
		one(t, s, `SELECT count(*) FROM (SELECT run_id, avg((s.latency_ms <= t.p50_latency_ms)::int) AS share
			FROM benchmark_samples s JOIN benchmark_stats t USING (run_id) WHERE s.latency_ms IS NOT NULL GROUP BY run_id) x WHERE abs(share - 0.5) > 0.06`, nil, &most)
		if most != 0 {
			t.Errorf("the medians of %d runs' samples are far from theirs", most)
		}
		one(t, s,
			`SELECT md5(string_agg(seed || ' ' || population || ' ' || round || ' ' || coalesce(latency_ms::text, error_type), ',' ORDER BY id)) FROM benchmark_samples`, nil, &text)
		texts = append(texts, text)
	}
	if texts[0] != texts[1] {
		t.Error("two stores have drawn other samples of one result")
	}
}

// Streams and other work have rows, too; trials of wirelab itself have none.
func TestScenarios(t *testing.T) {
	t.Parallel()
	s := open(t, database(t, server))
	stream := ledgerResult()
	stream.ID = "r-20261121-140512-0001"
	stream.Plan.Operation = "StreamTransactions"
	stream.Arms[1].Protocol, stream.Plan.Arms[1].Protocol = "sse", "sse"
	stream.Arms[0].Driver = plan.DriverRaw
	stream.Plan.Loads[1] = plan.Load{Rate: 500, InFlight: 64}
	other := ledgerResult()
	other.ID = "r-20261121-140512-0002"
	other.Plan.Workload, other.Plan.Operation = "directory", "GetPerson"
	self := ledgerResult()
	self.ID = "r-20261121-140512-0003"
	self.Rounds, self.SelfTest = nil, &result.SelfTest{}
	puts(t, s, stream, other, self)
	var got string
	one(t, s,
		`SELECT string_agg(DISTINCT concat_ws(' ', scenario, protocol, client, wire), ', ' ORDER BY concat_ws(' ', scenario, protocol, client, wire)) FROM benchmark_runs`, nil, &got)
	want := "directory.GetPerson grpc go grpc, directory.GetPerson http1-json go http1-json, stream grpc " +
		"go-raw grpc, " +
		"stream rest go sse"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	var rate *float64
	one(t, s, `SELECT min(rate_limit) FROM benchmark_runs WHERE scenario = 'stream' AND concurrency = 64`, nil, &rate)
	if !near(rate, 500) {
		t.Errorf("rate %v: it is the total, and said so (grb-M03)", rate)
	}
}
