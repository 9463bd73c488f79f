package markdown_test

import (
	"strings"
	"testing"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
	"wirelab/results/report/markdown"
)

// The tables are as they were looked at, have as many cells in each row, and
// stand in the report as they do alone.
func TestDecisions(t *testing.T) {
	t.Parallel()
	r := resulttest.FourWays(12)
	a := analyse.Result(r)
	outages := []report.Outage{{
		Path: "log-grpc", Fault: "logger-down=10s", Among: 1, Rate: 200, Limit: 250 * time.Millisecond, Due: 1600,
		Refused: map[string]int{"unavailable": 40},
		P99:     time.Millisecond, Longest: time.Second, Accepted: 1560, Promised: true, Guarantee: &result.Guarantee{},
		Database: "SQLite 3.54.1",
	}}
	var alone, whole strings.Builder
	if err := markdown.WriteDecisions(&alone, report.Decisions(r, &a, outages)); err != nil {
		t.Fatal(err)
	}
	if err := markdown.WriteWithOutages(&whole, r, outages); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(whole.String(), alone.String()) {
		t.Error("the report has another table than there is by itself")
	}
	golden(t, "decisions", alone.String())
}
