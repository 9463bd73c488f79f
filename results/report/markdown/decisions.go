package markdown

import (
	"bufio"
	"io"
	"strings"

	"wirelab/lab/result"
	"wirelab/results/report"
	"wirelab/results/report/block"
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
	if p.facts(t.Conditions); len(t.Conditions) > 0 {
		p.line("")
	}
	rows := &block.Table{Columns: block.Columns("what is wanted", "first", "the others", "to know", "holds for")}
	for i, d := range t.Rows {
		others := d.Others
		if t.Load < 0 {
			others = d.First // of failures nobody is first
		}
		rows.Add(block.Cell{Text: d.Need}, block.Cell{Text: d.Lead, Strong: t.Load >= 0},
			block.Cell{List: append(report.Texts(others), t.Refusals(i)...)}, block.Cell{List: d.Notes},
			block.Cell{Text: d.Holds})
	}
	p.table(rows)
	p.notes(block.Notes{Lines: t.Promises})
	p.line("")
	p.line(escape(t.Method))
	p.line("")
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
