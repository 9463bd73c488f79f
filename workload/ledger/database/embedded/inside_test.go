package embedded

import (
	"strings"
	"testing"

	"wirelab"
	"wirelab/system/sqlite"
	"wirelab/workload/ledger"
)

// No statement looks at all rows of a table: the origin's filter, either side
// or none in one condition, does (grb-D10).
func TestStatementsUseIndexes(t *testing.T) {
	t.Parallel()
	s, err := open(t.Context(), wirelab.DatabaseAddress{}, "10x20")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, q := range s.queries() {
		arguments := strings.Count(q.query, "?")
		if strings.Contains(q.query, "?3") { // numbered, and there more than once
			arguments = 3
		}
		rows, err := s.Read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+q.query, make([]any, arguments)...)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			switch {
			case strings.HasSuffix(q.query, "ORDER BY position DESC LIMIT 1"): // from the end, and stops at once
			case detail == "SCAN accounts", detail == "SCAN transactions", strings.HasPrefix(detail,
				"USE TEMP B-TREE FOR ORDER BY"):
				t.Errorf("%s: %s", q.query, detail)
			}
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFilledMeanwhile checks that a process that was about to fill the file accepts one that another process has
// filled.
func TestFilledMeanwhile(t *testing.T) {
	t.Parallel()
	s, err := open(t.Context(), wirelab.DatabaseAddress{}, "10x20")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	set, err := ledger.SetOf("10x20")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := s.Write.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := fillIn(t.Context(), tx, set); err != nil {
		t.Error(err)
	}
	if err := sqlite.Rollback(tx); err != nil {
		t.Error(err)
	}
}
