package postgres

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every piece of SQL in docs/results.md is run, and answers with rows.
func TestDocumentedSQL(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, database(t, server))
	puts(t, s, ledgerResult())
	pieces := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(pieces) < 8 {
		t.Fatalf("%d pieces of SQL: the search is broken", len(pieces))
	}
	for _, piece := range pieces {
		rows, err := s.pool.Query(t.Context(), piece[1])
		if err != nil {
			t.Errorf("%v\n%s", err, piece[1])
			continue
		}
		n := 0
		for rows.Next() {
			n++
		}
		rows.Close()
		if err := rows.Err(); err != nil || n == 0 {
			t.Errorf("%d rows, %v:\n%s", n, err, piece[1])
		}
	}
}

// Every table and every column of the views is documented.
func TestTablesAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, database(t, server))
	names := func(query string) []string {
		var all []string
		one(t, s, query, nil, &all)
		return all
	}
	for _, name := range names(`SELECT array_agg(tablename::text) FROM pg_tables WHERE schemaname = 'wirelab_results' AND tablename NOT IN ('schema_version', 'reservoirs')`) {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("table %s is not in docs/results.md", name)
		}
	}
	known := []string{"id", "run_id", "arm", "load"}
	for _, name := range names(`SELECT array_agg(DISTINCT column_name::text) FROM information_schema.columns WHERE table_schema = 'wirelab_results' AND table_name IN ('benchmark_runs', 'benchmark_stats')`) {
		forms := []string{name, strings.TrimSuffix(name, "latency_ms"), strings.TrimPrefix(name, "memory_mb")}
		if !slices.Contains(known, name) &&
			!slices.ContainsFunc(forms,
				func(form string) bool { return strings.Contains(string(text), "`"+form+"`") }) {
			t.Errorf("column %s is not in docs/results.md", name)
		}
	}
}
