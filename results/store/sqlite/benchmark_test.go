package sqlite

import (
	"database/sql"
	"math"
	"path/filepath"
	"testing"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/results/store/benchmark"
	"wirelab/results/store/storetest"
)

// ledger is a result of GetBalance at two concurrencies over gRPC and REST.
func ledger() *result.Result {
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

// opened is a store in a file of the test.
func opened(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// The origin's own SQL, word for word as its programs send it, answers on SQLite too, also of results that were
// stored before there was that form.
func TestTheOriginsOwnSQL(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "results.db")
	s := opened(t, path)
	r := ledger()
	if err := s.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		for name, q := range storetest.OriginQueries() {
			rows, err := s.read.QueryContext(t.Context(), q.SQL, q.Arguments...)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			n := 0
			for rows.Next() {
				n++
			}
			if err := rows.Err(); err != nil || n != q.Rows {
				t.Errorf("%s: %d rows, %v; want %d", name, n, err, q.Rows)
			}
			_ = rows.Close()
		}
	}
	check()
	if _, err := s.write.ExecContext(t.Context(),
		`DELETE FROM benchmarks; DELETE FROM benchmarked; DELETE FROM sqlite_sequence`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.write.ExecContext(t.Context(),
		`INSERT INTO results SELECT 'damaged', schema, name, workload, operation, protocols, arms,
		loads, rounds, began, ended, ending, host, revision, x'00', '' FROM results`); err != nil {
		t.Fatal(err)
	}
	s = opened(t, path)
	check()
	if err := s.Delete(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := s.read.QueryRowContext(t.Context(), `SELECT count(*) FROM benchmark_stats`).Scan(&left); err != nil ||
		left != 0 {
		t.Errorf("%d rows are left of a result that was deleted, %v", left, err)
	}
}

// The views say what the report says, and nothing that it refuses.
func TestViewsSayWhatTheReportSays(t *testing.T) {
	t.Parallel()
	s := opened(t, filepath.Join(t.TempDir(), "results.db"))
	r := resulttest.Refuse(ledger())
	if err := s.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	var strange int
	if err := s.read.QueryRowContext(t.Context(), `SELECT count(*) FROM benchmark_samples
		WHERE "timestamp" IS NULL OR "timestamp" < (SELECT min(created_at) FROM benchmark_runs) OR success <> (error_type IS NULL)`).
		Scan(&strange); err != nil || strange != 0 {
		t.Errorf("%d calls have no time, or are neither right nor wrong, %v", strange, err)
	}
	a := analyse.Result(r)
	for _, u := range benchmark.Gather(r) {
		want := u.Figures(benchmark.Load(a.Loads, u))
		var got [8]*float64
		var refused sql.NullString
		var drawn, timed int
		if err := s.read.QueryRowContext(t.Context(),
			`SELECT throughput, p50_latency, p90_latency_ms, p99_latency, avg_latency, min_latency,
			max_latency, cpu_usage_avg, refused, (SELECT count(*) FROM benchmark_samples b WHERE b.run_id = v.run_id),
			(SELECT count(latency_ms) FROM benchmark_samples b WHERE b.run_id = v.run_id)
			FROM benchmark_stats v WHERE (result_id, arm_name, load_name) = (?, ?, ?)`, r.ID, r.Arms[u.Arm].Name,
			a.Loads[u.Load].Name).
			Scan(&got[0], &got[1], &got[2], &got[3], &got[4], &got[5], &got[6], &got[7], &refused, &drawn,
				&timed); err != nil {
			t.Fatal(err)
		}
		ms := benchmark.Millis
		for i, want := range []*float64{
			want.Throughput, ms(want.P50), ms(want.P90), ms(want.P99), ms(want.Mean), ms(want.Least), ms(want.Most),
			want.CPU,
		} {
			if (want == nil) != (got[i] == nil) || want != nil && math.Abs(*want-*got[i]) > 1e-9**want ||
				(u.Arm == 1) != (got[i] == nil) {
				t.Errorf("arm %d under load %d: figure %d is %v, want %v", u.Arm, u.Load, i, got[i], want)
			}
		}
		if refused.String != want.Refused || refused.Valid != (u.Arm == 1) || drawn != benchmark.Size ||
			(timed > 0) != (u.Arm == 0) {
			t.Errorf("arm %d under load %d: %d calls, %d with a time, refused %q", u.Arm, u.Load, drawn, timed,
				refused.String)
		}
	}
}
