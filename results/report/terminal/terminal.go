// Package terminal writes a result for people at a terminal: verdicts first,
// then tables that fit the width they are given. It knows only results; whether
// there is a terminal, how wide it is and whether it has colours is the
// caller's to find out.
package terminal

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"wirelab/internal/paragraph"
	"wirelab/lab/result"
	"wirelab/results/report"
	"wirelab/results/report/block"
)

// Style is how to write.
type Style struct {
	// Color asks for ANSI colours. Nothing is said by colour alone.
	Color bool
	// Width is how many columns there are; 0 means 80, less than 64 is taken as 64.
	Width int
	// Refused asks for the values that checks refused, each marked as refused.
	Refused bool
}

const (
	usualWidth = 80
	leastWidth = 64
)

// Write writes the result. The error is w's.
func Write(w io.Writer, r *result.Result, s Style) error {
	a := result.Analyse(r)
	return WriteAnalysed(w, r, &a, s)
}

// WriteAnalysed is [Write] for those who have the result's analysis already.
func WriteAnalysed(w io.Writer, r *result.Result, a *result.Analysis, s Style) error {
	p := newPage(w, s)
	r, a = report.Marked(r, a)
	if s.Refused {
		a = a.WithRefused()
	}
	if r.SelfTest != nil {
		p.selfTest(r)
		return p.out.Flush()
	}
	p.head(r, a)
	p.scenarios(r, a)
	if a.Capacity != nil {
		p.blank()
		p.capacity(r, a.Capacity)
	}
	for i := range a.Curves {
		p.blank()
		p.letters = 0
		p.blocks(report.CurveBlocks(r, &a.Curves[i]))
	}
	compared := false
	for l := range a.Loads {
		if !report.InCurve(a, a.Loads[l].Load) {
			compared = true
			p.blank()
			p.load(r, &a.Loads[l])
		}
	}
	if tables := report.Decisions(r, a, nil); len(tables) > 0 {
		p.blank()
		p.decisions(tables)
	}
	if all := report.PublishedBlocks(r, a); len(all) > 0 {
		p.blank()
		p.blocks(all)
	}
	if compared {
		p.blank()
		p.wrapped("", report.Method(r), faint)
	}
	return p.out.Flush() // remembers the first error of all writes
}

// page is what is being written.
type page struct {
	out     *bufio.Writer
	style   Style
	letters int // of a curve's arms, so far
}

// ink is an ANSI sequence; "" is plain.
type ink string

const (
	plain  ink = ""
	bold   ink = "1"
	faint  ink = "2"
	red    ink = "31"
	green  ink = "32"
	yellow ink = "33"
	blue   ink = "34"
)

// of is the ink of a verdict.
func of(v result.Verdict) ink {
	switch v {
	case result.Better:
		return green
	case result.Worse, result.Invalid, result.Unsteady:
		return red
	case result.Equivalent:
		return blue
	case result.Inconclusive, result.TooFew:
		return yellow
	}
	return faint
}

func (p *page) paint(text string, in ink) string {
	if !p.style.Color || in == plain || strings.TrimSpace(text) == "" {
		return text
	}
	return "\x1b[" + string(in) + "m" + text + "\x1b[0m"
}

func (p *page) line(text string) { fmt.Fprintln(p.out, strings.TrimRight(text, " ")) }
func (p *page) blank()           { fmt.Fprintln(p.out) }

// wrapped writes words, broken at the page's width; lines after the first are
// indented as far as the label is long.
func (p *page) wrapped(label, text string, in ink) {
	indent := strings.Repeat(" ", width(label))
	for i, line := range paragraph.Wrap(text, p.style.Width-width(label)) {
		lead := indent
		if i == 0 {
			lead = label
		}
		p.line(lead + p.paint(line, in))
	}
}

func (p *page) head(r *result.Result, a *result.Analysis) {
	if r.Label != "" {
		p.wrapped("name      ", r.Label, bold)
	}
	for _, f := range report.Facts(r, a) {
		in := plain
		if f.Name == "question" {
			in = bold
		}
		p.wrapped(fmt.Sprintf("%-10s", f.Name), f.Text, in)
	}
	widest := 0
	for i := range r.Plan.Arms {
		widest = max(widest, width(r.ArmName(i)))
	}
	for _, absent := range r.Absent {
		widest = max(widest, width(absent.Name()))
	}
	for i := range len(r.Plan.Arms) + len(r.Absent) {
		label := "          "
		if i == 0 {
			label = "arms      "
		}
		name, about := r.ArmName(i), report.Arm(r, i)
		if n := i - len(r.Plan.Arms); n >= 0 {
			name, about = r.Absent[n].Name(), report.AbsentWhy(r.Absent[n])
		}
		if about == "" || widest > p.style.Width/2 {
			p.wrapped(label, name, plain)
			if about != "" {
				p.wrapped("            ", about, plain)
			}
			continue
		}
		p.wrapped(label+name+strings.Repeat(" ", widest-width(name))+"  ", about, plain)
	}
}

// title writes a heading over the whole width.
func (p *page) title(text string) {
	p.line(p.paint("── "+text+" "+strings.Repeat("─", max(0, p.style.Width-width(text)-4)), bold))
}

// load writes what was found under one load.
func (p *page) load(r *result.Result, l *result.LoadAnalysis) {
	p.title(report.LoadName(r.Plan, l.Load))
	p.wrapped("", report.Sentence(r.Plan, l), bold)
	notes := report.LoadNotes(r, l)
	if !report.Empty(l) {
		p.blank()
		p.groups(l, mainGroups(l))
		p.blank()
		others := secondaryGroups(l)
		switch {
		case l.Streams > 0:
			streams := report.StreamTable(l)
			p.groups(l, columnGroups(l, streams))
			p.wrapped("", streams.Caption, faint)
			p.blank()
		case l.Open:
			others = append(rateGroups(l), others...)
		}
		p.groups(l, append(others, countGroups(l)...))
		if len(l.Arms) > 1 {
			p.wrapped("", "* difference claimed, = equivalent, ? undecided, ! nothing claimed", faint)
		}
		for _, n := range notes {
			if n.Kind == block.Mark || n.Kind == block.RefusedMark {
				p.notes(n)
			}
		}
		p.blank()
		for _, t := range report.Accounts(l) {
			p.account(l, t)
		}
	}
	for _, n := range notes {
		if n.Kind != block.Mark && n.Kind != block.RefusedMark {
			p.notes(n)
		}
	}
}

// labelled writes lines with a label before the first of them.
func (p *page) labelled(label string, lines []string) {
	for i, line := range lines {
		if i > 0 {
			label = strings.Repeat(" ", len(label))
		}
		p.wrapped(label, line, plain)
	}
}
