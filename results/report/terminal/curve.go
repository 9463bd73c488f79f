package terminal

import (
	"fmt"
	"strings"

	"wirelab/lab/result"
	"wirelab/results/report"
)

// curve writes response times over offered rates: in words, drawn, and as a
// table for each arm.
func (p *page) curve(r *result.Result, c *result.Curve) {
	p.title(cut(report.CurveTitle(c), p.style.Width-4))
	p.wrapped("", report.CurveSetting(c), faint)
	for _, text := range report.CurveSentences(c) {
		p.wrapped("· ", text, bold)
	}
	p.blank()
	p.plot(c)
	for arm := range c.Arms {
		p.blank()
		p.wrapped("", fmt.Sprintf("%c  %s", letter(arm), c.Arms[arm].Name), bold)
		t := table{head: [][]cell{{
			{text: "offered", right: true},
			{text: "answered /s", right: true},
			{text: "p50", right: true},
			{text: "p99", right: true},
			{text: "95 % CI"},
			{},
			{text: "CPU/req", right: true},
			{text: "cores", right: true},
		}}}
		for _, row := range report.CurveRows(c, arm) {
			in := plain
			if strings.Contains(row.Marks, "o") {
				in = yellow
			}
			t.body = append(t.body, []cell{
				{text: row.Offered, right: true},
				{text: row.Answered, right: true},
				{text: row.P50, right: true},
				{text: row.P99, right: true},
				{text: row.P99Interval},
				{text: row.Marks, in: in},
				{text: row.CPU, right: true},
				{text: row.Cores, right: true},
			})
		}
		p.narrowed(t)
	}
	p.wrapped("", report.CurveLegend, faint)
	if p.style.Refused {
		p.wrapped("", report.RefusedLegend, red)
	}
	for _, note := range report.CurveNotes(r, c) {
		p.wrapped("· ", note, plain)
	}
}

// narrowed writes a table, without its last columns where it is too wide.
func (p *page) narrowed(t table) {
	for {
		widths := t.widths()
		if sum(widths)+gap*(len(widths)-1) <= p.style.Width || len(widths) < 4 {
			break
		}
		for _, rows := range [][][]cell{t.head, t.body} {
			for i := range rows {
				rows[i] = rows[i][:len(rows[i])-1]
			}
		}
	}
	p.table(t)
}
