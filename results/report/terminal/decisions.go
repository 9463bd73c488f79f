package terminal

import (
	"fmt"
	"io"
	"strings"

	"wirelab/lab/result"
	"wirelab/results/report"
)

// WriteDecisions writes the tables of when to use which. The error is w's.
func WriteDecisions(w io.Writer, tables []report.DecisionTable, s Style) error {
	p := newPage(w, s)
	p.decisions(tables)
	return p.out.Flush()
}

// decisions writes each row as a paragraph: its sentences are too long for
// columns at any width that terminals have.
func (p *page) decisions(tables []report.DecisionTable) {
	for i, t := range tables {
		if i > 0 {
			p.blank()
		}
		p.title("when to use which: " + t.Title)
		for _, f := range t.Conditions {
			p.wrapped(fmt.Sprintf("%-10s", f.Name), f.Text, plain)
		}
		for i := range t.Rows {
			if i > 0 || len(t.Conditions) > 0 {
				p.blank()
			}
			p.decision(&t.Rows[i], t.Refusals(i))
		}
		p.blank()
		for _, text := range t.Promises {
			p.wrapped("· ", text, plain)
		}
		p.wrapped("", t.Method, faint)
	}
}

// decision writes one row, with the ways that have no figure.
func (p *page) decision(d *report.Decision, refused []string) {
	p.wrapped("", d.Need, bold)
	p.wrapped("  → ", d.Lead, stateInk(d.State))
	if d.State == "one run" {
		for _, w := range d.First {
			p.wrapped("    "+w.Label()+": ", w.Figure, plain)
		}
	}
	for _, part := range []struct {
		label string
		ways  []string
	}{{"    behind     ", report.Texts(d.Others)}, {"    no figure  ", refused}} {
		for i, text := range part.ways {
			if i > 0 {
				part.label = strings.Repeat(" ", width(part.label))
			}
			p.wrapped(part.label, text, plain)
		}
	}
	for _, note := range d.Notes {
		p.wrapped("    · ", note, plain)
	}
	if d.Holds != "" {
		p.wrapped("    for        ", d.Holds, faint)
	}
}

// stateInk is the ink of what may be said of a row. Its words say the same.
func stateInk(state string) ink {
	switch result.PodiumState(state) {
	case result.PodiumClear:
		return green
	case result.PodiumAlike:
		return blue
	case result.PodiumShared, result.PodiumFew:
		return yellow
	case result.PodiumEmpty, result.PodiumAlone:
		return faint
	}
	return plain
}
