package markdown

import (
	"bufio"
	"io"
	"strings"

	"wirelab/lab/result"
	"wirelab/results/report"
)

// decisions writes the tables of when to use which, where there are any.
func (p *page) decisions(r *result.Result, a *result.Analysis) {
	for _, t := range report.Decisions(r, a, p.outages) {
		p.decisionTable(t)
	}
}

func (p *page) decisionTable(t report.DecisionTable) {
	p.line("### When to use which: " + escape(t.Title))
	p.line("")
	for _, f := range t.Conditions {
		p.line("- **" + escape(f.Name) + "**: " + escape(f.Text))
	}
	if len(t.Conditions) > 0 {
		p.line("")
	}
	p.row([]string{"what is wanted", "first", "the others", "to know", "holds for"})
	p.row([]string{"---", "---", "---", "---", "---"})
	if t.Load < 0 {
		p.failureRows(t)
	} else {
		for i, d := range t.Rows {
			p.row([]string{
				escape(d.Need), "**" + escape(d.Lead) + "**", listed(append(report.Texts(d.Others), t.Refusals(i)...)), listed(d.Notes), escape(d.Holds),
			})
		}
	}
	p.line("")
	for _, text := range t.Promises {
		p.line("- " + escape(text))
	}
	p.line("")
	p.line(escape(t.Method))
	p.line("")
}

// failureRows are rows in which nobody is first.
func (p *page) failureRows(t report.DecisionTable) {
	for i, d := range t.Rows {
		p.row([]string{escape(d.Need), escape(d.Lead), listed(append(report.Texts(d.First), t.Refusals(i)...)), listed(d.Notes), escape(d.Holds)})
	}
}

// listed are texts below each other in a cell.
func listed(all []string) string {
	lines := make([]string, len(all))
	for i, text := range all {
		lines[i] = escape(text)
	}
	return strings.Join(lines, "<br>")
}

// WriteDecisions writes tables of when to use which alone. The error is w's.
func WriteDecisions(w io.Writer, tables []report.DecisionTable) error {
	p := &page{out: bufio.NewWriter(w)}
	for _, t := range tables {
		p.decisionTable(t)
	}
	return p.out.Flush()
}

// WriteWithOutages is [Write] with what runs showed in which parts failed.
func WriteWithOutages(w io.Writer, r *result.Result, outages []report.Outage) error {
	a := result.Analyse(r)
	return write(w, r, &a, outages)
}
