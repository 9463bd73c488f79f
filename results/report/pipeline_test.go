package report_test

import (
	"slices"
	"strings"
	"testing"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/result/words"
	"wirelab/results/report"
	"wirelab/results/report/block"
)

// What became of entries and what each process cost stand in tables, and nothing
// does of a server that is one process (ms-M01, ms-M15, R2).
func TestPipelinesAreTold(t *testing.T) {
	t.Parallel()
	l := &analyse.Result(resulttest.OneArm()).Loads[0]
	if said := report.Accounts(l); len(said) > 0 {
		t.Errorf("of a server that is one process: %v", said)
	}
	r := resulttest.Pipeline()
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			if x := &r.Rounds[n].Trials[i]; x.Arm == 0 {
				x.Parts = map[string]plan.Duration{
					"gateway": plan.Duration(3000 * x.Calls()),
					"logger":  plan.Duration(9000 * x.Calls()),
				}
			}
		}
	}
	l = &analyse.Result(r).Loads[0]
	for _, id := range []string{plan.ResponseP50, plan.ConfirmedP50, plan.StoredP99} {
		if !slices.ContainsFunc(report.Main(l), func(m metric.Metric) bool { return m.ID == id }) {
			t.Errorf("%s is no main metric of entries that were followed", id)
		}
	}
	sent := func(arm int) string { return words.Thousands(l.Arms[arm].Entries.Sent) }
	stored := words.Thousands(l.Arms[2].Entries.Sent - 1)
	want := [][]string{
		{"sent", sent(0), sent(1), sent(2)},
		{"accepted", sent(0), sent(1), sent(2)},
		{"confirmed", sent(0), sent(1), "0"},
		{"stored", sent(0), sent(1), stored},
		{"missing", "0", "0", "1"},
		{"duplicated", "0", "24", "0"},
		{"reordered", "0", "60", "0"},
	}
	if got := columnsOf(report.EntryTable(l))[1:]; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%q, want %q", got, want)
	}
	p := report.ProcessesOf(l)
	if want := []string{"gateway", "broker", "listener", "logger", "database", "driver"}; !slices.Equal(p.Roles, want) {
		t.Fatalf("roles %q, want %q", p.Roles, want)
	}
	columns := columnsOf(report.ProcessTable(l))[1:]
	for i, want := range []string{"3.00", report.Absent, report.Absent, "9.00", report.Absent} {
		if got := columns[i][1]; got != want || !strings.HasSuffix(columns[i][0], " µs") {
			t.Errorf("%s of log-grpc is %s, want %s", columns[i][0], got, want)
		}
	}
	if columns[4][2] == report.Absent {
		t.Error("the separate database of an arm is not counted")
	}
	// An arm that lost an entry did less work: it has no figure.
	if got := columns[0][3]; got != report.Absent || !strings.Contains(p.Why[2], "1 accepted and never stored") {
		t.Errorf("an arm that lost an entry has the figure %s, refused %q", got, p.Why[2])
	}
}

// columnsOf are the columns of a table, each with its head.
func columnsOf(t *block.Table) [][]string {
	all := make([][]string, len(t.Columns))
	for i, c := range t.Columns {
		all[i] = []string{c.Name()}
		for _, row := range t.Rows {
			all[i] = append(all[i], row[i].Text)
		}
	}
	return all
}

// A column without any value has no unit: there is nothing that it would be of.
func TestNoUnitOfNothing(t *testing.T) {
	t.Parallel()
	m, err := kinds.MetricByID(plan.ResponseP99)
	if err != nil {
		t.Fatal(err)
	}
	row := &claim.Row{Metric: m.ID, Cells: []claim.Cell{{Estimate: claim.Estimate{Why: "late"}}}}
	if u := report.RowUnit(m, row); u.Name != "" {
		t.Errorf("a column of nothing is in %s", u.Name)
	}
	row.Cells = append(row.Cells, claim.Cell{Estimate: claim.Estimate{Known: true, Value: 2e6, Low: 1e6, High: 3e6}})
	if u := report.RowUnit(m, row); u.Name != "ms" {
		t.Errorf("2 ms are in %q", u.Name)
	}
}

// The name of an arm includes the promise of its queue: a broker that confirms entries
// which are only in memory is a different arm.
func TestArmsNameTheirQueues(t *testing.T) {
	t.Parallel()
	r := resulttest.Pipeline()
	for arm, want := range map[int]string{
		1: "RabbitMQ 3.10.8, quorum queue, confirmed, fsync before it confirms, PostgreSQL",
		2: "RabbitMQ 3.10.8, classic queue, unconfirmed, transient, SQLite",
	} {
		if got := report.Arm(r, arm); !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
	if got := report.Arm(r, 0); strings.Contains(got, "queue") {
		t.Errorf("an arm without a queue: %q", got)
	}
}
