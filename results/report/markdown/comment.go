package markdown

import (
	"bufio"
	"io"

	"wirelab/lab/result"
	"wirelab/results/report"
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
		for _, note := range report.AbsentNotes(r) {
			p.line("- " + escape(note))
		}
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
	p.row([]string{"threshold", "arm", "load", "found", "95 % CI", "outcome"})
	p.row([]string{"---", "---", "---", "---:", "---", "---"})
	for i := range j.Findings {
		f := &j.Findings[i]
		threshold := ""
		if i == 0 || j.Findings[i-1].Threshold != f.Threshold {
			threshold = escape(f.Threshold)
		}
		value, interval := report.Figure(f)
		outcome := report.OutcomeWords(f)
		if f.Outcome != result.Passed {
			outcome = "**" + outcome + "**"
		}
		p.row([]string{threshold, escape(f.ArmName), escape(f.LoadName), value, escape(interval), outcome})
	}
	notes := report.JudgedNotes(j)
	if len(notes) > 0 {
		p.line("")
	}
	for _, note := range notes {
		p.line("- " + escape(note))
	}
}
