package terminal

import (
	"strings"

	"wirelab/lab/result"
	"wirelab/results/report"
)

// scenarios writes one table over several scenarios. What is as above is left out.
func (p *page) scenarios(r *result.Result, a *result.Analysis) {
	t := report.ScenarioTable(r, a)
	if t == nil {
		return
	}
	p.blank()
	p.title(strings.ToLower(t.Title))
	drawn := tableOf(t)
	for i, row := range drawn.body {
		row[1].text = cut(row[1].text, p.style.Width/3)
		if i > 0 && t.Rows[i-1][0].Text == t.Rows[i][0].Text {
			row[0].text, row[3].text = "", ""
		}
	}
	p.inBlocks(drawn, 2)
	p.wrapped("", t.Caption, faint)
	p.early(r)
}

// early says what the mark behind names means, where any has it.
func (p *page) early(r *result.Result) {
	for _, line := range report.EarlyLegend(r) {
		p.wrapped("", line, faint)
	}
}

// inBlocks writes a table. What is too wide for the page is broken into blocks of
// columns, each with the first columns again, so that a row always says whose it is.
func (p *page) inBlocks(t table, keys int) {
	widths := t.widths()
	for from := keys; from < len(widths); {
		if from > keys {
			p.blank()
		}
		used, to := sum(widths[:keys])+gap*keys, from
		for to < len(widths) && (to == from || used+widths[to] <= p.style.Width) {
			used += widths[to] + gap
			to++
		}
		part := func(rows [][]cell) (all [][]cell) {
			for _, row := range rows {
				all = append(all, append(row[:keys:keys], row[from:to]...))
			}
			return all
		}
		one := table{head: part(t.head), body: part(t.body)}
		p.shorten(one, 0, shortestName)
		p.table(one)
		from = to
	}
}
