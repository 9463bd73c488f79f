package terminal

import (
	"io"
	"slices"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/explain"
	"wirelab/results/report"
	"wirelab/results/report/block"
)

// WriteExplanation writes why the arms of a result differ: for each load the sentences, the parts of the difference
// between two arms, the effects of each factor on each metric, and the interactions. If a, which is r's analysis, is
// not nil, it begins with how the result was measured. The error is w's.
func WriteExplanation(w io.Writer, r *result.Result, a *claim.Analysis, e *explain.Explanation, s Style) error {
	p := newPage(w, s)
	r, a = report.Marked(r, a)
	if a != nil {
		facts := block.Facts(report.Facts(r, a))
		p.blocks([]block.Block{append(facts, block.Fact{Name: "factors", Text: report.Factors(r, e)})})
		p.blank()
	}
	for i := range e.Loads {
		l := &e.Loads[i]
		if i > 0 {
			p.blank()
		}
		p.title("why, " + report.LoadName(r.Plan, l.Load))
		p.notes(block.Notes{Kind: block.Claim, Lines: report.Explained(r, e, l)})
		p.explained(r, e, l)
		p.blank()
		p.notes(block.Notes{Lines: report.ExplainedNotes(r, e, l)})
	}
	p.blank()
	p.notes(block.Notes{Kind: block.Mark, Lines: report.EarlyLegend(r)})
	p.notes(block.Notes{Kind: block.Method, Lines: []string{report.ExplainMethod(r)}})
	return p.out.Flush() // Flush returns the first error of all writes
}

// explained writes the tables of a load: in full for its primary metric, in short for the others.
func (p *page) explained(r *result.Result, e *explain.Explanation, l *explain.LoadExplanation) {
	if len(l.Metrics) == 0 {
		return
	}
	x := &l.Metrics[0]
	m, err := kinds.MetricByID(x.Metric)
	if err != nil {
		return
	}
	for a := range x.Attributions {
		if at := &x.Attributions[a]; at.Total != nil {
			t := report.ShareTable(r, m, at)
			p.blank()
			p.line(p.paint(cut(t.Title, p.style.Width), bold))
			p.fitted(tableOf(t), []int{5}, 1)
			p.otherShares(l, a)
		}
	}
	if t := report.EffectTable(e, m, x); t != nil {
		p.blank()
		p.wrapped("", t.Title, bold)
		p.fitted(tableOf(t), nil, 0)
	}
	p.otherEffects(e, l)
	p.interactions(report.InteractionTable(e, x))
}

// otherShares writes the shares of the same difference in the other metrics.
func (p *page) otherShares(l *explain.LoadExplanation, a int) {
	var columns [][]cell
	for i := 1; i < len(l.Metrics); i++ {
		x := &l.Metrics[i]
		m, err := kinds.MetricByID(x.Metric)
		if err != nil || a >= len(x.Attributions) || x.Attributions[a].Total == nil {
			continue
		}
		at := &x.Attributions[a]
		if len(columns) == 0 {
			names := []cell{{text: "points of"}}
			for k := range at.Shares {
				names = append(names, cell{text: at.Shares[k].Factor})
			}
			columns = append(columns, append(names, cell{text: "together"}))
		}
		column := []cell{{text: m.Short, right: true}}
		for k := range at.Shares {
			column = append(column, shareCell(&at.Shares[k]))
		}
		columns = append(columns, append(column, shareCell(at.Total)))
	}
	if len(columns) > 1 {
		p.blank()
		p.inBlocks(grid(columns), 1)
	}
}

func shareCell(s *explain.Share) cell {
	return signed(report.Points(s), s.Difference)
}

// signed returns a text followed by the sign of a difference's verdict.
func signed(text string, d *claim.Difference) cell {
	return cell{text: text + " " + spaced(report.Sign(d.Verdict)), in: toneInk(report.ToneOf(d.Verdict)), right: true}
}

// spaced returns a mark, or spaces of its width.
func spaced(mark string) string {
	if mark == "" {
		return " "
	}
	return mark
}

// fitted writes a table. If it is too wide, fitted removes spare columns, and then cuts the column long.
func (p *page) fitted(t table, spare []int, long int) {
	for _, column := range spare {
		if p.over(t) > 0 {
			t.without(column, column+1)
		}
	}
	p.shorten(t, long, shortestName)
	p.table(t)
}

// otherEffects writes the effects of each factor on the other metrics, with a column for each metric, in as many
// tables as the width requires.
func (p *page) otherEffects(e *explain.Explanation, l *explain.LoadExplanation) {
	if len(l.Metrics) < 2 || len(l.Metrics[0].Effects) == 0 {
		return
	}
	names := []cell{{text: "effect on"}}
	for k := range l.Metrics[0].Effects {
		names = append(names, cell{text: report.EffectName(e, &l.Metrics[0].Effects[k])})
	}
	columns := [][]cell{names}
	for i := 1; i < len(l.Metrics); i++ {
		x := &l.Metrics[i]
		m, err := kinds.MetricByID(x.Metric)
		if err != nil || len(x.Effects) != len(l.Metrics[0].Effects) {
			continue // its arms differ; the notes say why
		}
		column := []cell{{text: m.Short, right: true}}
		for k := range x.Effects {
			c := cell{text: report.Absent + "  ", right: true}
			if d := x.Effects[k].Difference; d != nil && d.Known {
				c = signed(report.Change(d), d)
			}
			column = append(column, c)
		}
		columns = append(columns, column)
	}
	if len(columns) > 1 {
		p.blank()
		p.inBlocks(grid(columns), 1)
	}
	p.wrapped("", report.SignsLegend, faint)
}

// grid makes a table from columns. The first cell of each is its head.
func grid(columns [][]cell) table {
	var t table
	for i := range columns[0] {
		var row []cell
		for _, column := range columns {
			row = append(row, column[i])
		}
		if i == 0 {
			t.head = append(t.head, row)
		} else {
			t.body = append(t.body, row)
		}
	}
	return t
}

// interactionsShown is how many interactions are shown. If there are more, those that are equivalent to none are left
// out.
const interactionsShown = 12

func (p *page) interactions(t *block.Table) {
	if t == nil {
		return
	}
	p.blank()
	p.wrapped("", t.Title, bold)
	hidden := len(t.Rows)
	if hidden > interactionsShown {
		t.Rows = slices.DeleteFunc(t.Rows, func(row []block.Cell) bool { return row[len(row)-1].Tone == block.Same })
	}
	if hidden -= len(t.Rows); len(t.Rows) > 0 {
		p.fitted(tableOf(t), nil, 0)
	}
	if hidden > 0 {
		p.wrapped("", report.HiddenInteractions(hidden), faint)
	}
}
