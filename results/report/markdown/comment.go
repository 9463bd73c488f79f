package markdown

import (
	"bufio"
	"io"

	"wirelab/lab/result"
	"wirelab/results/report"
	"wirelab/results/report/block"
)

// WriteComment writes a comment for a pull request: the verdict on the
// thresholds, a table of them, and the report of [Write] folded away. With a
// nil j there are no thresholds, and each load's verdict comes first. a must
// be r's analysis. The error is w's.
func WriteComment(w io.Writer, r *result.Result, a *result.Analysis, j *result.Judgement) error {
	p := &page{out: bufio.NewWriter(w)}
	r, a = report.Marked(r, a)
	j = report.MarkedJudgement(r, j)
	if j == nil {
		p.line("## wirelab: " + escape(question(r)))
		p.line("")
		for l := range a.Loads {
			p.line("- **" + escape(report.Sentence(r.Plan, &a.Loads[l])) + "**")
		}
		p.notes(block.Notes{Lines: report.AbsentNotes(r)})
	} else {
		p.line("## wirelab: " + string(j.Outcome))
		p.line("")
		p.line("**" + escape(report.Judged(r.Plan, j)) + "**")
		p.thresholds(j)
		p.early(r)
	}
	p.line("")
	p.line("<details><summary>The whole report</summary>")
	p.line("")
	p.report(r, a)
	p.line("")
	p.line("</details>")
	return p.out.Flush() // remembers the first error of all writes
}

// question names the work that was measured.
func question(r *result.Result) string {
	if r.Plan.Workload == "" {
		return r.Plan.Operation
	}
	return r.Plan.Workload + "." + r.Plan.Operation
}

// thresholds writes a row for each finding.
func (p *page) thresholds(j *result.Judgement) {
	if len(j.Findings) == 0 {
		return
	}
	p.line("")
	t := &block.Table{Columns: block.Columns("threshold", "arm", "load", ">found", "95 % CI", "outcome")}
	for i := range j.Findings {
		f := &j.Findings[i]
		value, interval := report.Figure(f)
		row := block.Texts(f.Threshold, f.ArmName, f.LoadName, value, interval, report.OutcomeWords(f))
		if i > 0 && j.Findings[i-1].Threshold == f.Threshold {
			row[0].Text = ""
		}
		row[5].Strong = f.Outcome != result.Passed
		t.Add(row...)
	}
	p.rows(t)
	notes := report.JudgedNotes(j)
	if len(notes) > 0 {
		p.line("")
	}
	p.notes(block.Notes{Lines: notes})
}
