package terminal

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"wirelab/internal/paragraph"
	"wirelab/lab/doctor"
	"wirelab/results/report"
)

// Examination writes what a doctor found: the verdict, the findings in their
// groups, each that is not fine with why and what to do, and what the machine
// can tell apart. The error is w's.
func Examination(w io.Writer, e doctor.Examination, s Style) error {
	if s.Width == 0 {
		s.Width = usualWidth
	}
	s.Width = max(s.Width, leastWidth)
	p := &page{out: bufio.NewWriter(w), style: s}
	p.wrapped("", report.Machine(e.Machine.Environment), plain)
	p.wrapped("", e.Summary(), bold)
	widest := 0
	for _, f := range e.Findings {
		widest = max(widest, width(f.Name))
	}
	for _, group := range doctor.Groups() {
		p.blank()
		p.title(string(group))
		for _, f := range e.Findings {
			if f.Group == group {
				p.finding(f, widest)
			}
		}
	}
	p.certificate(e)
	return p.out.Flush() // remembers the first error of all writes
}

// certificate writes what the machine can tell apart, or why that is not known.
func (p *page) certificate(e doctor.Examination) {
	c := e.Certificate
	if c == nil && e.Uncertified == "" {
		return
	}
	p.blank()
	p.title("what it can tell apart")
	if c == nil {
		p.wrapped("", e.Uncertified, yellow)
		return
	}
	p.wrapped("", report.Burst(c), plain)
	p.blank()
	t := table{head: [][]cell{{{text: "metric"}}}}
	widths := p.style.Width >= usualWidth // else there is room for what is found alone
	for _, name := range report.StretchNames() {
		if widths {
			t.head[0] = append(t.head[0], cell{text: "in " + name, right: true}, cell{text: "found", right: true})
		} else {
			t.head[0] = append(t.head[0], cell{text: "found in " + name, right: true})
		}
	}
	for _, row := range report.Resolutions(c) {
		line := []cell{{text: row.Metric}}
		for i := range row.Widths {
			if widths {
				line = append(line, cell{text: row.Widths[i], right: true})
			}
			line = append(line, cell{text: row.Found[i], in: bold, right: true})
		}
		t.body = append(t.body, line)
	}
	p.table(t)
	how := "Found is the smallest difference that is claimed in 8 of 10 repeats. " + report.Absent + " stands where fewer than ten rounds fit."
	if widths {
		how = "± is the half-width of a 95 % interval of the difference between two arms. " + how
	}
	p.wrapped("", how, faint)
}

// levelInk is the ink of a level.
func levelInk(l doctor.Level) ink {
	switch l {
	case doctor.Bad:
		return red
	case doctor.Warn:
		return yellow
	}
	return green
}

// finding writes a line for what is fine, and below it why and what to do
// where it is not.
func (p *page) finding(f doctor.Finding, widest int) {
	const levelWidth = 4
	lead := fmt.Sprintf("%-*s  ", levelWidth, f.Level)
	name := f.Name + strings.Repeat(" ", widest-width(f.Name)+2)
	for i, line := range paragraph.Wrap(f.Value, p.style.Width-width(lead)-width(name)) {
		if i == 0 {
			p.line(p.paint(lead, levelInk(f.Level)) + name + line)
			continue
		}
		p.line(strings.Repeat(" ", width(lead)+width(name)) + line)
	}
	if f.Level == doctor.Fine {
		return
	}
	indent := strings.Repeat(" ", width(lead))
	p.wrapped(indent, f.Why, faint)
	p.wrapped(indent+"→ ", f.Do, plain)
	if f.Command != "" {
		// Not wrapped: it is to be copied.
		p.line(indent + "  " + p.paint(f.Command, bold))
	}
}
