package html

import (
	_ "embed" // for the template
	"io"

	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/results/report"
)

//go:embed decisions.gohtml
var decisionsText string

// WriteWithOutages is [Write] with the results of runs with failing parts.
func WriteWithOutages(w io.Writer, r *result.Result, outages []report.Outage) error {
	a := analyse.Result(r)
	return write(w, r, &a, options{outages: outages})
}

// decisionTable is a table of which path to use when, with an anchor for links.
type decisionTable struct {
	report.DecisionTable
	ID       string
	Failures bool // the rows are faults, by way
	// Shown are the rows with refused figures.
	Shown []report.Decision
}

// decisionTables returns the tables of a result, and of runs with failing parts.
func (s *sheet) decisionTables(outages []report.Outage) []decisionTable {
	var all []decisionTable
	shown := report.Decisions(s.r, s.shown, outages)
	for i, t := range report.Decisions(s.r, s.a, outages) {
		t.Title = report.Titled(t.Title)
		all = append(all, decisionTable{DecisionTable: t, ID: itoa(i + 1), Failures: t.Load < 0, Shown: shown[i].Rows})
	}
	return all
}

// decisionTone returns the colour of a row. Its words say the same.
func decisionTone(state string) string {
	switch claim.LeadersState(state) {
	case claim.LeaderClear:
		return "claim"
	case claim.LeadersShared, claim.LeadersFew:
		return "open"
	}
	return "none"
}
