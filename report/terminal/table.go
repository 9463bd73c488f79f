package terminal

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// gap is the space between two columns.
const gap = 2

// cell is a field of a table.
type cell struct {
	lead  string // before text, in the row's own ink
	text  string
	in    ink
	right bool // aligned
}

// table is rows of cells under heads of as many.
type table struct {
	head, body [][]cell
}

func width(text string) int { return utf8.RuneCountInString(text) }

// widths are those that the columns need.
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

// cut shortens text to so many characters.
func cut(text string, most int) string {
	if width(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// words are what may not be broken: a number keeps its unit.
func words(text string) []string {
	var all []string
	for _, word := range strings.Fields(text) {
		unit := strings.TrimRight(word, ".,;:)")
		if n := len(all); n > 0 && (unit == "%" || slices.Contains([]string{"ns", "µs", "ms", "B", "kB", "MB"}, unit)) {
			all[n-1] += " " + word
			continue
		}
		all = append(all, word)
	}
	return all
}

// wrap breaks text into lines of at most so many columns, at spaces; a longer
// word has a line of its own. It returns at least one line.
func wrap(text string, columns int) []string {
	var lines []string
	line := ""
	for _, word := range words(text) {
		switch {
		case line == "":
			line = word
		case width(line)+1+width(word) <= columns:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
