package terminal

import (
	"wirelab/lab/result"
	"wirelab/results/report"
)

// scenarios writes one table over several scenarios. What is too wide for the page
// is broken into blocks of columns, each with the scenario and the arm again, so
// that a row always says whose it is.
func (p *page) scenarios(r *result.Result, a *result.Analysis) {
	rows := report.Scenarios(r, a)
	if len(rows) == 0 {
		return
	}
	p.blank()
	p.title("all scenarios")
	keys := []column{{head: "scenario"}, {head: "arm"}}
	rest := []column{{head: "place", right: true}, {head: "decides"}, {head: "", right: true}, {head: "delivered p50", right: true}, {head: "p99", right: true}, {head: "messages/s", right: true}, {head: "outage", right: true}, {head: "account"}}
	last := -1
	for _, row := range rows {
		scenario, decides := "", ""
		if row.Load != last {
			scenario, decides, last = row.Scenario, row.Decides, row.Load
		}
		for i, text := range []string{scenario, cut(row.Name, p.style.Width/3)} {
			keys[i].cells = append(keys[i].cells, text)
		}
		for i, text := range []string{row.Place, decides, row.Figure, row.P50, row.P99, row.Rate, row.Outage, row.Account} {
			rest[i].cells = append(rest[i].cells, text)
		}
	}
	p.columns(keys, rest)
	p.wrapped("", report.ScenarioCaption, faint)
	p.early(r)
}

// early says what the mark behind names means, where any has it.
func (p *page) early(r *result.Result) {
	for _, line := range report.EarlyLegend(r) {
		p.wrapped("", line, faint)
	}
}

// column is one of a table that may be broken into blocks.
type column struct {
	head  string
	cells []string
	right bool
}

func (c column) width() int {
	widest := width(c.head)
	for _, text := range c.cells {
		widest = max(widest, width(text))
	}
	return widest
}

// columns writes as many columns beside the keys as the page holds, and the others
// in blocks below with the keys again.
func (p *page) columns(keys, rest []column) {
	for first := true; len(rest) > 0; first = false {
		if !first {
			p.blank()
		}
		used := 0
		for _, c := range keys {
			used += c.width() + gap
		}
		n := 0
		for n < len(rest) && (n == 0 || used+rest[n].width() <= p.style.Width) {
			used += rest[n].width() + gap
			n++
		}
		shown := append(append([]column{}, keys...), rest[:n]...)
		rest = rest[n:]
		t := table{head: [][]cell{{}}, body: make([][]cell, len(keys[0].cells))}
		for _, c := range shown {
			t.head[0] = append(t.head[0], cell{text: c.head, right: c.right})
			for i, text := range c.cells {
				t.body[i] = append(t.body[i], cell{text: text, right: c.right})
			}
		}
		p.table(t)
	}
}
