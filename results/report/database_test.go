package report_test

import (
	"slices"
	"strings"
	"testing"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
)

// A report says what data was kept in, where that ran and how it was reached.
func TestDatabaseLine(t *testing.T) {
	t.Parallel()
	anywhere := resulttest.Ledger()
	anywhere.Placement.DatabaseCPUs = nil
	for n := range anywhere.Rounds {
		for i := range anywhere.Rounds[n].Trials {
			if d := anywhere.Rounds[n].Trials[i].Database; d.Processes != nil {
				d.Processes.CPUs = []int{0, 1}
			}
		}
	}
	partly := resulttest.Ledger()
	partly.Arms[2].Database = ""
	for why, c := range map[string]struct {
		r    *result.Result
		want string
	}{
		"placed by us": {
			resulttest.Ledger(),
			"PostgreSQL 15.18 on CPU 0, pools of 16 connections (http1-proto and grpc); SQLite 3.51.1 inside the " +
				"server (grpc,db=embedded)",
		},
		"on another host": {
			resulttest.LedgerElsewhere(),
			"PostgreSQL 15.18, its processes not seen, pools of 16 connections (http1-proto and grpc); SQLite 3.51.1 " +
				"inside the server (grpc,db=embedded)",
		},
		"another user's": {
			anywhere,
			"PostgreSQL 15.18 that may run on any CPU, pools of 16 connections (http1-proto and grpc); SQLite 3.51.1 " +
				"inside the server (grpc,db=embedded)",
		},
		"next to memory": {
			partly,
			"PostgreSQL 15.18 on CPU 0, pools of 16 connections (http1-proto and grpc); memory (grpc,db=embedded)",
		},
		"memory alone": {resulttest.Closed(), ""},
	} {
		if got := report.Database(c.r); got != c.want {
			t.Errorf("%s: %q, want %q", why, got, c.want)
		}
	}
}

// What databases did is a column where any did it; those that tell nothing have
// no figure, and neither have arms that are invalid.
func TestDatabaseColumns(t *testing.T) {
	t.Parallel()
	r := resulttest.Ledger()
	r.Rounds[0].Trials[0].Errors = map[string]uint64{result.WrongReply: 1}
	l := analyse.Result(r).Loads[0]
	var ids []string
	for _, c := range report.Counts(&l) {
		ids = append(ids, c.ID)
		if c.Cells[0].Known {
			t.Errorf("%s is known for an arm that gave a wrong reply", c.ID)
		}
		if c.Cells[2].Known || c.Cells[2].Text != report.Absent {
			t.Errorf("%s of an embedded database is %q", c.ID, c.Cells[2].Text)
		}
		if c.ID == "database-blocks-hit" && c.Cells[1].Text != "3.0" {
			t.Errorf("%s blocks for a call, want 3.0", c.Cells[1].Text)
		}
	}
	want := []string{
		"database-written", "database-wal", "database-blocks-read", "database-blocks-hit",
		"database-commits",
	}
	if !slices.Equal(ids, want) { // none was read from storage or rolled back
		t.Errorf("columns %v, want %v", ids, want)
	}
}

// The CPU time of a database includes its own maintenance. So the report shows
// the maintenance where it is more than a little.
func TestMaintenanceIsShown(t *testing.T) {
	t.Parallel()
	r := resulttest.Ledger()
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			if d := r.Rounds[n].Trials[i].Database; d.Processes != nil {
				d.Processes.Background = d.Processes.CPU / 5
				d.Counts.Checkpoints = 1
			}
		}
	}
	l := analyse.Result(r).Loads[0]
	said := strings.Join(report.Saturation(&l), "\n")
	for _, want := range []string{
		"20 % of the database's CPU time was maintenance",
		"20 checkpoints of the database began",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in:\n%s", want, said)
		}
	}
	quiet := analyse.Result(resulttest.Ledger()).Loads[0]
	if said := strings.Join(report.Saturation(&quiet), "\n"); strings.Contains(said, "upkeep") ||
		strings.Contains(said, "checkpoint") {
		t.Errorf("of 2 %% and no checkpoint it says:\n%s", said)
	}
}

// A load that the database's CPU decides has its own sentence.
func TestDatabaseDecides(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		plan.DatabaseCPU: "cheapest on the database",
		plan.BackendCPU:  "grpc,db=embedded is cheapest on server and database together",
	} {
		r := resulttest.Ledger()
		r.Plan.Primary = id
		if id == plan.DatabaseCPU {
			for n := range r.Rounds { // make a difference
				r.Rounds[n].Trials[2].Database.Processes.CPU *= 2
			}
		}
		l := analyse.Result(r).Loads[0]
		if said := report.Sentence(r.Plan, &l); !strings.Contains(said, want) {
			t.Errorf("%s: %q, want %q in it", id, said, want)
		}
	}
}
