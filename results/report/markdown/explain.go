package markdown

import (
	"bufio"
	"io"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/explain"
	"wirelab/results/report"
	"wirelab/results/report/block"
)

// WriteExplanation writes why the arms of a result differ: the sentences, the shares of differences, the effects of
// each factor and the interactions. a is r's analysis. The error is w's.
func WriteExplanation(w io.Writer, r *result.Result, a *claim.Analysis, e *explain.Explanation) error {
	p := &page{out: bufio.NewWriter(w)}
	r, a = report.Marked(r, a)
	facts := report.Facts(r, a)
	if len(facts) > 0 && facts[0].Name == "question" {
		p.line("## Why arms differ: " + escape(facts[0].Text))
		p.line("")
		facts = facts[1:]
	}
	for i := range e.Loads {
		p.explained(r, e, &e.Loads[i])
	}
	p.notes(block.Notes{Lines: report.EarlyLegend(r)})
	p.blocks(report.RefusedBlocks(r, a))
	p.blocks([]block.Block{
		block.Heading{Text: "How it was measured"},
		append(block.Facts(facts), block.Fact{Name: "factors", Text: report.Factors(r, e)}),
	})
	p.line(escape(report.ExplainMethod(r)))
	return p.out.Flush() // Flush returns the first error of all writes
}

func (p *page) explained(r *result.Result, e *explain.Explanation, l *explain.LoadExplanation) {
	p.line("### " + escape(report.LoadName(r.Plan, l.Load)))
	p.line("")
	p.notes(block.Notes{Kind: block.Point, Lines: report.Explained(r, e, l)})
	p.shares(r, l)
	p.effects(e, l)
	p.notes(block.Notes{Lines: report.ExplainedNotes(r, e, l)})
}

// shares writes the shares of every difference in every metric.
func (p *page) shares(r *result.Result, l *explain.LoadExplanation) {
	all := &block.Table{Columns: block.Columns("metric", "difference", "share", "from → to", ">points", "95 % CI",
		">amount", "95 % CI", "verdict")}
	for i := range l.Metrics {
		x := &l.Metrics[i]
		m, err := kinds.MetricByID(x.Metric)
		if err != nil {
			continue
		}
		for k := range x.Attributions {
			at := &x.Attributions[k]
			if at.Total == nil {
				continue
			}
			t := report.ShareTable(r, m, at)
			for n, row := range t.Rows {
				row[4].Text += " " + t.Columns[4].Unit
				row[0].Strong = n == len(t.Rows)-1
				of := block.Texts("", "")
				if n == 0 {
					of = block.Texts(m.Title, r.ArmName(at.From)+" to "+r.ArmName(at.To))
				}
				all.Add(append(of, row...)...)
			}
		}
	}
	if len(all.Rows) > 0 {
		p.table(all)
	}
}

// effects writes main effects and interactions.
func (p *page) effects(e *explain.Explanation, l *explain.LoadExplanation) {
	for i := range l.Metrics {
		x := &l.Metrics[i]
		m, err := kinds.MetricByID(x.Metric)
		if err != nil || len(x.Effects) == 0 {
			continue
		}
		if i == 1 {
			p.line("<details><summary>More metrics</summary>")
			p.line("")
		}
		t := report.EffectTable(e, m, x)
		t.Columns[0].Head = m.Title
		if together := report.InteractionTable(e, x); together != nil {
			t.Rows = append(t.Rows, together.Rows...)
		}
		p.table(t)
		if i > 0 && i == len(l.Metrics)-1 {
			p.line("</details>")
			p.line("")
		}
	}
}
