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
	"wirelab/lab/doctor"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/history"
	"wirelab/lab/result/threshold"
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
	a := analyse.Result(r)
	return WriteAnalysed(w, r, &a, s)
}

// WriteAnalysed is [Write] for those who have the result's analysis already.
func WriteAnalysed(w io.Writer, r *result.Result, a *claim.Analysis, s Style) error {
	p := newPage(w, s)
	r, a = report.Marked(r, a)
	if s.Refused {
		a = a.WithRefused()
	}
	compared := false
	for i, part := range report.Document(r, a, nil) {
		switch compared = compared || part.ID == "load"; part.ID {
		case "absent": // the head says it
			continue
		case "method":
			if !compared { // no load has differences
				continue
			}
		}
		if i > 0 {
			p.blank()
		}
		p.blocks(part.Blocks)
	}
	return p.out.Flush() // remembers the first error of all writes
}

// write writes blocks alone.
func write(w io.Writer, blocks []block.Block, s Style) error {
	p := newPage(w, s)
	p.blocks(blocks)
	return p.out.Flush() // remembers the first error of all writes
}

// WriteJudgement writes how a result stands against thresholds: the verdict, and for each threshold a line for every
// arm and load it is for. The error is w's.
func WriteJudgement(w io.Writer, r *result.Result, j *threshold.Judgement, s Style) error {
	return write(w, append([]block.Block{block.Heading{Text: "Thresholds"}}, report.JudgedBlocks(r, j)...), s)
}

// WriteCheck is [WriteJudgement] for a screen: the answer first, no line wider than the style says, and what has no
// room gives way from the least to the most important. The error is w's.
func WriteCheck(w io.Writer, r *result.Result, j *threshold.Judgement, s Style) error {
	p := newPage(w, s)
	p.brief = true
	p.blocks(report.JudgedBlocks(r, j))
	return p.out.Flush()
}

// WriteAgreement writes which conclusions of an experiment hold in another, here. The error is w's.
func WriteAgreement(w io.Writer, was, here *result.Result, a *history.Agreement, s Style) error {
	return write(w, report.AgreementBlocks(was, here, a), s)
}

// Examination writes what a doctor found. The error is w's.
func Examination(w io.Writer, e doctor.Examination, s Style) error {
	return write(w, report.ExaminationBlocks(e), s)
}

// WriteDecisions writes the tables of when to use which. The error is w's.
func WriteDecisions(w io.Writer, tables []report.DecisionTable, s Style) error {
	var all []block.Block
	for i, t := range tables {
		if i > 0 {
			all = append(all, block.Pause{})
		}
		all = append(all, report.DecisionBlocks(t)...)
	}
	return write(w, all, s)
}

// WriteRefused lists what was measured and refused by a check, each value marked and with its reason, after what has
// no table of them: an explanation, a replay. The error is w's.
func WriteRefused(w io.Writer, r *result.Result, a *claim.Analysis, s Style) error {
	r, a = report.Marked(r, a)
	all := report.RefusedBlocks(r, a.WithRefused())
	if len(all) == 0 {
		all = []block.Block{block.Notes{Kind: block.Prose, Lines: []string{"No check refused a figure."}}}
	}
	return write(w, append([]block.Block{block.Pause{}}, all...), s)
}

// page is what is being written.
type page struct {
	out     *bufio.Writer
	style   Style
	letters int         // of a curve's arms, so far
	of      []block.Arm // of the load that is being written
	brief   bool        // no line may be too wide, whatever gives way
}

// newPage returns a page of a width that can be written on.
func newPage(w io.Writer, s Style) *page {
	if s.Width == 0 {
		s.Width = usualWidth
	}
	s.Width = max(s.Width, leastWidth)
	return &page{out: bufio.NewWriter(w), style: s}
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

// title writes a heading over the whole width.
func (p *page) title(text string) {
	p.line(p.paint("── "+text+" "+strings.Repeat("─", max(0, p.style.Width-width(text)-4)), bold))
}

// labelled writes lines with a label before the first of them.
func (p *page) labelled(label string, lines []string) {
	for i, line := range lines {
		if i > 0 {
			label = strings.Repeat(" ", width(label))
		}
		p.wrapped(label, line, plain)
	}
}

// Tested is [report.Tested].
func Tested(t result.Tested) string { return report.Tested(t) }
