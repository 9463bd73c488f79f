package report_test

import (
	"slices"
	"strings"
	"testing"

	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
)

// An arm that is absent stands in every table with that word, and never with a
// figure.
func TestAbsent(t *testing.T) {
	t.Parallel()
	r := resulttest.Absent()
	a := analyse.Result(r)
	notes := report.AbsentNotes(r)
	if len(notes) != 2 || notes[0] != "log-rabbit and log-rabbit-direct are absent: RabbitMQ is not installed; "+
		"apt-get install rabbitmq-server" ||
		notes[1] != "all are compared with log-grpc, since log-rabbit, which was named first, is absent" {
		t.Errorf("%q", notes)
	}
	run := report.Outage{Path: "log-rabbit-direct", Fault: "listener-kill", Why: "the run failed"}
	for _, table := range report.Decisions(r, &a, []report.Outage{run}) {
		for _, row := range table.Rows {
			for _, name := range []string{"log-rabbit", "log-rabbit-direct"} {
				of := func(w report.Way) bool { return w.Name == name }
				at := slices.IndexFunc(row.Refused, of)
				elsewhere := row.Metric == run.Fault && name == run.Path // a run elsewhere had it
				if at < 0 || !elsewhere && !strings.HasPrefix(row.Refused[at].Why, "absent: ") ||
					slices.ContainsFunc(slices.Concat(row.First, row.Others), of) {
					t.Errorf("%s: %+v", row.Need, row)
				}
			}
		}
	}
	rows := report.Published(r, &a)
	if len(rows) != 2 || rows[0].Ours == "absent" || rows[1].Arm != "log-rabbit" || rows[1].Ours != "absent" {
		t.Errorf("%+v", rows)
	}
	r.Absent = r.Absent[1:]
	if notes := report.AbsentNotes(r); len(notes) != 1 ||
		slices.ContainsFunc(report.Facts(r, &a), func(f report.Fact) bool { return f.Name == "baseline" }) {
		t.Errorf("the first arm is there: %q", notes)
	}
}
