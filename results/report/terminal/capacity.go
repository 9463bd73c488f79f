package terminal

import (
	"strings"

	"wirelab/lab/result"
	"wirelab/results/report"
)

// capacity writes what was found of the highest rates.
func (p *page) capacity(r *result.Result, c *result.CapacityAnalysis) {
	p.title("capacity")
	p.wrapped("under     ", strings.ReplaceAll(c.Objective, ",", ", "), plain)
	p.blocks(report.CapacityBlocks(r, c))
}

// flowing writes parts beside each other, as many as fit in a line, none broken
// that need not be.
func (p *page) flowing(parts []string) {
	write := func(line string) {
		if width(line) > p.style.Width {
			p.wrapped("", line, bold)
			return
		}
		p.line(p.paint(line, bold))
	}
	line := ""
	for _, part := range parts {
		switch {
		case line == "":
			line = part
		case width(line)+gap+width(part) > p.style.Width:
			write(line)
			line = part
		default:
			line += strings.Repeat(" ", gap) + part
		}
	}
	write(line)
}

// trimmed writes a table that is as wide as the page at most: its last columns
// are left out as far as the first five, then the first is shortened, then more
// are left out.
func (p *page) trimmed(t table) {
	drop := func(least int) {
		for n := len(t.head[0]); p.over(t) > 0 && n > least; n-- {
			t.without(n-1, n)
		}
	}
	drop(5)
	p.shorten(t, 0, 2*shortestArm)
	drop(2)
	p.table(t)
}
