package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
	case block.Claimed:
		return bold
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

// blocks writes blocks one after another.
func (p *page) blocks(all []block.Block) {
	for _, b := range all {
		switch b := b.(type) {
		case block.Heading:
			p.title(cut(strings.ToLower(b.Text[:1])+b.Text[1:], p.style.Width-4))
		case block.Facts:
			for _, f := range b {
				p.wrapped(fmt.Sprintf("%-10s", f.Name), f.Text, plain)
			}
		case block.Notes:
			p.notes(b)
		case block.Figure:
			if c, ok := b.Of.(*result.Curve); ok {
				p.plot(c)
			}
		case block.Pause:
			p.blank()
		case *block.Table:
			p.laid(b)
		}
	}
}

// laid writes a table of which the last columns or the middles of names give way where the page is narrow.
func (p *page) laid(t *block.Table) {
	drawn := tableOf(t)
	switch t.ID {
	case "curve":
		p.letters++
		p.wrapped("", fmt.Sprintf("%c  %s", letter(p.letters-1), t.Title), bold)
		p.narrowed(drawn)
	case "capacity":
		last := len(t.Columns) - 1
		drawn.without(last, last+1)
		for _, row := range append(drawn.head, drawn.body...) {
			row[1].right = false // figures with intervals: their beginnings are compared
		}
		p.trimmed(drawn)
		p.blank()
		for _, row := range t.Rows {
			if text := row[last].Text; text != "" {
				p.wrapped(cut(row[0].Text, p.style.Width/2)+" by round: ", text, faint)
			}
		}
	case "published":
		p.published(t)
	default:
		p.table(drawn)
	}
}

// published writes others' figures beside ours. Where they are from stands below them.
func (p *page) published(t *block.Table) {
	short := t.Without(true, "source")
	arm := slices.IndexFunc(short.Columns, func(c block.Column) bool { return c.Head == "arm" })
	drawn := tableOf(short)
	last := ""
	for _, row := range drawn.body {
		above := ""
		for i := range row[:arm] {
			above += row[i].text + "\n"
		}
		for i := range row[:arm] {
			if above == last {
				row[i].text = "" // as above
			}
		}
		last, row[arm].text = above, cut(row[arm].text, p.style.Width/2)
	}
	p.table(drawn)
	p.blank()
	p.wrapped("", t.Caption, faint)
	p.notes(t.Notes)
}

// tableOf is a block's table with the inks of its cells.
func tableOf(t *block.Table) table {
	drawn := table{head: [][]cell{make([]cell, len(t.Columns))}}
	for i, c := range t.Columns {
		drawn.head[0][i] = cell{text: cmp.Or(c.Short, c.Name()), right: c.Right}
	}
	for _, row := range t.Rows {
		line := make([]cell, len(row))
		for i, c := range row {
			line[i] = cell{text: c.Text, right: t.Columns[i].Right, in: toneInk(c.Tone)}
		}
		drawn.body = append(drawn.body, line)
	}
	return drawn
}

// notes writes notes as their kind is written.
func (p *page) notes(n block.Notes) {
	switch n.Kind {
	case block.Answer:
		p.flowing(n.Lines)
		return
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
		block.Remark: {"· ", plain}, block.Source: {"· ", plain}, block.Claim: {"", bold}, block.Point: {"· ", bold},
		block.Mark:        {"", faint},
		block.RefusedMark: {"", red}, block.Setting: {"", faint}, block.Method: {"", faint},
	}[n.Kind]
	if n.Title != "" {
		p.wrapped("", n.Title, bold)
	}
	for _, line := range n.Lines {
		p.wrapped(form.lead, line, form.in)
	}
}

// narrowed writes a table, without its last columns where it is too wide.
func (p *page) narrowed(t table) {
	for n := len(t.head[0]); p.over(t) > 0 && n > 3; n-- {
		t.without(n-1, n)
	}
	p.table(t)
}
