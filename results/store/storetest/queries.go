package storetest

// Query is an SQL query of the ledger's first benchmark's users. It comes with the expected rows for a store with one
// result of two arms, "grpc" and "rest", under two loads of GetBalance.
type Query struct {
	SQL       string
	Arguments []any
	Rows      int
}

// originColumns are the columns that the first benchmark's program reads from its view.
const originColumns = `run_id, scenario, protocol, client, concurrency, duration_sec,
		        total_samples, successful,
		        p50_latency, p90_latency, p99_latency, avg_latency, min_latency, max_latency,
		        cpu_usage_avg, memory_mb_avg, memory_mb_peak`

// OriginQueries are the queries of the first benchmark's programs: of its Go program about one run, all runs and some
// runs, of its Python clients after a run, and its view's own definition as a query.
func OriginQueries() map[string]Query {
	return map[string]Query{
		"GetStats":    {"SELECT " + originColumns + "\n FROM benchmark_stats\n WHERE run_id = $1", []any{1}, 1},
		"GetAllStats": {"SELECT " + originColumns + "\n FROM benchmark_stats\n ORDER BY run_id DESC", nil, 4},
		"GetFilteredStats": {
			"SELECT " + originColumns + "\n FROM benchmark_stats\n WHERE 1=1" +
				" AND scenario = $1 AND protocol = $2 AND client = $3 ORDER BY run_id DESC LIMIT $4",
			[]any{"balance", "rest", "go", 1},
			1,
		},
		"what a client prints": {
			"SELECT p50_latency, p90_latency, p99_latency\n FROM benchmark_stats\n WHERE run_id = $1", []any{1}, 1,
		},
		"the client of a run":  {"SELECT client FROM benchmark_runs WHERE id = $1", []any{2}, 1},
		"the samples of a run": {"SELECT COUNT(*) FROM benchmark_samples WHERE run_id = $1", []any{2}, 1},
		"runs and samples": {
			`SELECT r.id, r.scenario, r.protocol, r.client, r.concurrency, r.duration_sec, r.rate_limit, r.created_at,
			r.cpu_usage_avg, r.memory_mb_avg, r.memory_mb_peak,
			COUNT(s.id) as total_samples, SUM(CASE WHEN s.success THEN 1 ELSE 0 END) as successful,
			AVG(s.latency_ms) as avg_latency, MIN(s.latency_ms) as min_latency, MAX(s.latency_ms) as max_latency
			FROM benchmark_runs r LEFT JOIN benchmark_samples s ON s.run_id = r.id
			GROUP BY r.id, r.scenario, r.protocol, r.client, r.concurrency, r.duration_sec, r.rate_limit, r.created_at,
			r.cpu_usage_avg, r.memory_mb_avg, r.memory_mb_peak`, nil, 4,
		},
	}
}
