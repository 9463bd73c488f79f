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
	p.flowing(report.CapacityParts(c))
	p.blank()
	for _, text := range report.CapacitySentences(c) {
		p.wrapped("· ", text, plain)
	}
	p.blank()
	t := table{head: [][]cell{{
		{text: "arm"},
		{text: "capacity"},
		{text: "vs first", right: true},
		{text: "95 % CI"},
		{text: "verdict"},
		{text: "closed loop", right: true},
		{text: "probes", right: true},
	}}}
	for i := range c.Arms {
		a := &c.Arms[i]
		ratio, interval := report.CapacityRatio(a.Difference)
		verdict := cell{}
		if a.Difference != nil {
			verdict = cell{text: report.CapacityWord(a.Difference), in: of(a.Difference.Verdict)}
		}
		probes := 0
		for _, round := range a.Rounds {
			probes += round.Probes
		}
		t.body = append(t.body, []cell{
			{text: a.Name},
			{text: report.CapacityCell(a)},
			{text: ratio, right: true},
			{text: interval},
			verdict,
			{text: report.RateOf(a.Closed), right: true},
			{text: result.Thousands(uint64(probes)), right: true},
		})
	}
	p.trimmed(t)
	p.blank()
	for i := range c.Arms {
		if text := report.CapacityRounds(&c.Arms[i]); text != "" {
			p.wrapped(cut(c.Arms[i].Name, p.style.Width/2)+" by round: ", text, faint)
		}
	}
	for _, note := range report.CapacityNotes(r, c) {
		p.wrapped("· ", note, plain)
	}
	p.blank()
	p.wrapped("", report.CapacityMethod(r), faint)
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
	over := func() int {
		widths := t.widths()
		return sum(widths) + gap*(len(widths)-1) - p.style.Width
	}
	drop := func(least int) {
		for over() > 0 && len(t.head[0]) > least {
			for _, rows := range [][][]cell{t.head, t.body} {
				for i := range rows {
					rows[i] = rows[i][:len(rows[i])-1]
				}
			}
		}
	}
	drop(5)
	if n := over(); n > 0 {
		longest := max(t.widths()[0]-n, 2*shortestArm)
		for _, row := range t.body {
			row[0].text = cut(row[0].text, longest)
		}
	}
	drop(2)
	p.table(t)
}
