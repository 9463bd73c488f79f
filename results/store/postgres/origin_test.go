package postgres

import (
	"testing"

	"wirelab/results/store/storetest"
)

// The origin's own SQL, word for word as its program sends it, answers what the views say under our names.
func TestTheOriginsOwnSQL(t *testing.T) {
	t.Parallel()
	s := open(t, database(t, server))
	r := ledgerResult()
	puts(t, s, r)
	for name, q := range storetest.OriginQueries() {
		rows, err := s.pool.Query(t.Context(), q.SQL, q.Arguments...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		n := 0
		for rows.Next() {
			n++
		}
		rows.Close()
		if err := rows.Err(); err != nil || n != q.Rows {
			t.Errorf("%s: %d rows, %v; want %d", name, n, err, q.Rows)
		}
	}
	var differ int
	one(t, s,
		`SELECT count(*) FROM benchmark_stats WHERE (p50_latency, p90_latency, p99_latency, avg_latency, min_latency, max_latency)
		IS DISTINCT FROM (p50_latency_ms, p90_latency_ms, p99_latency_ms, avg_latency_ms, min_latency_ms, max_latency_ms)`, nil, &differ)
	if differ != 0 {
		t.Errorf("%d rows say something else under the origin's names", differ)
	}
}
