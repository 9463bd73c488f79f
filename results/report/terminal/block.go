package terminal

import (
	"wirelab/lab/result"
	"wirelab/results/report/block"
)

// toneInk is the ink of a tone.
func toneInk(t block.Tone) ink {
	switch t {
	case block.Good:
		return green
	case block.Bad:
		return red
	case block.Same:
		return blue
	case block.Open:
		return yellow
	case block.Quiet:
		return faint
	}
	return plain
}

// account writes a table of what became of something under a load: arms that have one line each stand in groups of
// columns, and what has several lines for an arm in a table.
func (p *page) account(l *result.LoadAnalysis, t *block.Table) {
	p.wrapped("", t.Title, bold)
	if t.ID == "steps" {
		drawn := tableOf(t)
		for _, row := range drawn.body {
			row[0].text = cut(row[0].text, p.style.Width/3)
		}
		p.table(drawn)
	} else {
		p.groups(l, columnGroups(l, t))
	}
	p.wrapped("", t.Caption, faint)
	p.blank()
	p.notes(t.Notes)
}

// tableOf is a block's table with the inks of its cells.
func tableOf(t *block.Table) table {
	drawn := table{head: [][]cell{make([]cell, len(t.Columns))}}
	for i, c := range t.Columns {
		drawn.head[0][i] = cell{text: c.Name(), right: c.Right}
	}
	for _, row := range t.Rows {
		line := make([]cell, len(row))
		for i, c := range row {
			line[i] = cell{text: c.Text, right: t.Columns[i].Right, in: toneInk(c.Tone)}
			if c.Strong {
				line[i].in = bold
			}
		}
		drawn.body = append(drawn.body, line)
	}
	return drawn
}

// notes writes notes as their kind is written.
func (p *page) notes(n block.Notes) {
	switch n.Kind {
	case block.Check:
		p.labelled("checks    ", n.Lines)
		return
	case block.Limit:
		p.labelled("limit     ", n.Lines)
		return
	case block.Done:
		p.labelled("done      ", n.Lines)
		return
	}
	form := map[block.Kind]struct {
		lead string
		in   ink
	}{
		block.Remark: {"· ", plain}, block.Claim: {"", bold}, block.Point: {"· ", bold}, block.Mark: {"", faint},
		block.RefusedMark: {"", red}, block.Setting: {"", faint}, block.Method: {"", faint}, block.Detail: {"", faint},
	}[n.Kind]
	for _, line := range n.Lines {
		p.wrapped(form.lead, line, form.in)
	}
}
