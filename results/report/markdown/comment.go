package markdown

import (
	"bufio"
	"io"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/threshold"
	"wirelab/results/report"
	"wirelab/results/report/block"
)

// WriteComment writes a comment for a pull request: the verdict on the thresholds, a table of them, and the folded
// report of [Write]. With a nil j there are no thresholds, and the verdict on each load comes first. a must be r's
// analysis. The error is w's.
func WriteComment(w io.Writer, r *result.Result, a *claim.Analysis, j *threshold.Judgement) error {
	p := &page{out: bufio.NewWriter(w)}
	r, a = report.Marked(r, a)
	if j == nil {
		p.line("## wirelab: " + escape(question(r)))
		p.line("")
		var said []string
		for l := range a.Loads {
			said = append(said, report.Sentence(r.Plan, &a.Loads[l]))
		}
		p.notes(block.Notes{Kind: block.Point, Lines: said})
		p.notes(block.Notes{Lines: report.AbsentNotes(r)})
	} else {
		p.line("## wirelab: " + string(j.Outcome))
		p.line("")
		p.blocks(report.JudgedBlocks(r, j))
	}
	p.line("<details><summary>The whole report</summary>")
	p.line("")
	p.report(r, a)
	p.line("</details>")
	return p.out.Flush() // Flush returns the first error of all writes
}

// question names the work that was measured.
func question(r *result.Result) string {
	if r.Plan.Workload == "" {
		return r.Plan.Operation
	}
	return r.Plan.Workload + "." + r.Plan.Operation
}
