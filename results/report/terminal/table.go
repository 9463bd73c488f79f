package terminal

import (
	"strings"

	"wirelab/internal/paragraph"
)

// gap is the space between two columns.
const gap = 2

// cell is a field of a table.
type cell struct {
	lead  string // before text, in the row's ink
	text  string
	in    ink
	right bool // aligned right
}

// table has rows of cells, and a head for each column.
type table struct {
	head, body [][]cell
}

func width(text string) int { return paragraph.Width(text) }

// widths returns the widths that the columns need.
func (t table) widths() []int {
	var all []int
	for _, row := range append(append([][]cell{}, t.head...), t.body...) {
		for i, c := range row {
			if i == len(all) {
				all = append(all, 0)
			}
			all[i] = max(all[i], width(c.lead+c.text))
		}
	}
	return all
}

// without removes the columns from (inclusive) to to (exclusive).
func (t table) without(from, to int) {
	for _, rows := range [][][]cell{t.head, t.body} {
		for i := range rows {
			rows[i] = append(rows[i][:from:from], rows[i][to:]...)
		}
	}
}

// over returns by how many columns a table is wider than the page.
func (p *page) over(t table) int { return tableWidth(t) - p.style.Width }

// shorten cuts a column by as much as the table is too wide, to at least least.
func (p *page) shorten(t table, column, least int) {
	if n := p.over(t); n > 0 {
		most := max(t.widths()[column]-n, least)
		for _, row := range t.body {
			row[column].text = cut(row[column].text, most)
		}
	}
}

func sum(all []int) int {
	total := 0
	for _, n := range all {
		total += n
	}
	return total
}

// table writes a table.
func (p *page) table(t table) {
	widths := t.widths()
	for _, row := range t.head {
		p.row(row, widths, faint)
	}
	for _, row := range t.body {
		p.row(row, widths, plain)
	}
}

func (p *page) row(row []cell, widths []int, otherwise ink) {
	var line strings.Builder
	for i, c := range row {
		if i > 0 {
			line.WriteString(strings.Repeat(" ", gap))
		}
		in := c.in
		if in == plain {
			in = otherwise
		}
		pad := strings.Repeat(" ", widths[i]-width(c.lead+c.text))
		if c.right {
			line.WriteString(pad + p.paint(c.lead, otherwise) + p.paint(c.text, in))
		} else {
			line.WriteString(p.paint(c.text, in) + pad)
		}
	}
	p.line(line.String())
}

// cut shortens text to the given number of characters.
func cut(text string, most int) string {
	if width(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// drop removes a table's last columns while it is too wide, down to least columns.
func (p *page) drop(t table, least int) {
	for n := len(t.head[0]); p.over(t) > 0 && n > least; n-- {
		t.without(n-1, n)
	}
}

// middles shortens the middles of names in a column by as much as the table is too wide, to at least least.
func (p *page) middles(t table, column, least int) {
	if n := p.over(t); n > 0 {
		most := max(t.widths()[column]-n, least)
		for _, row := range t.body {
			row[column].text = middleCut(row[column].text, most)
		}
	}
}

// inBlocks writes a table. If it is too wide for the page, it is split into blocks of columns. Each block repeats the
// first columns, so that every row is identified.
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
