package terminal

import (
	"strings"

	"wirelab/lab/result"
	"wirelab/results/report"
)

// scenarios writes one table over several scenarios. What is too wide for the page
// is broken into blocks of columns, each with the scenario and the arm again, so
// that a row always says whose it is.
func (p *page) scenarios(r *result.Result, a *result.Analysis) {
	t := report.ScenarioTable(r, a)
	if t == nil {
		return
	}
	p.blank()
	p.title(strings.ToLower(t.Title))
	columns := make([]column, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = column{head: c.Head, right: c.Right}
		last := ""
		for _, row := range t.Rows {
			text := row[i].Text
			switch c.Head {
			case "arm":
				text = cut(text, p.style.Width/3)
			case "scenario", "decides":
				if row[0].Text == last {
					text = "" // as above
				}
				last = row[0].Text
			}
			columns[i].cells = append(columns[i].cells, text)
		}
	}
	p.columns(columns[:2], columns[2:])
	p.wrapped("", t.Caption, faint)
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
