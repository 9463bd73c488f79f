// Package terminal writes a result for people at a terminal: verdicts first, then tables that fit the given width. It
// knows only results. The caller finds out whether there is a terminal, how wide it is and whether it has colours.
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

// Style says how to write.
type Style struct {
	// Color turns ANSI colours on. Nothing is expressed by colour alone.
	Color bool
	// Width is the number of columns; 0 means 80, and less than 64 is taken as 64.
	Width int
	// Refused shows the values that checks refused, each marked as such.
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

// WriteAnalysed is [Write] for callers that have the result's analysis already.
func WriteAnalysed(w io.Writer, r *result.Result, a *claim.Analysis, s Style) error {
	p := newPage(w, s)
	r, a = report.Marked(r, a)
	if s.Refused {
		a = a.WithRefused()
	}
	compared := false
	for i, part := range report.Document(r, a, nil) {
		switch compared = compared || part.ID == "load"; part.ID {
		case "absent": // the head names them
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
	return p.out.Flush() // Flush returns the first error of all writes
}

// write writes only the given blocks.
func write(w io.Writer, blocks []block.Block, s Style) error {
	p := newPage(w, s)
	p.blocks(blocks)
	return p.out.Flush() // Flush returns the first error of all writes
}

// WriteJudgement compares a result with thresholds: the verdict, and for each threshold a line for every arm and load
// that it applies to. The error is w's.
func WriteJudgement(w io.Writer, r *result.Result, j *threshold.Judgement, s Style) error {
	return write(w, append([]block.Block{block.Heading{Text: "Thresholds"}}, report.JudgedBlocks(r, j)...), s)
}

// WriteCheck is [WriteJudgement] for one screen: the answer first, and no line wider than the style's width. The
// least important parts are cut first. The error is w's.
func WriteCheck(w io.Writer, r *result.Result, j *threshold.Judgement, s Style) error {
	p := newPage(w, s)
	p.brief = true
	p.blocks(report.JudgedBlocks(r, j))
	return p.out.Flush()
}

// WriteAgreement writes which conclusions of an experiment hold in another one, measured here. The error is w's.
func WriteAgreement(w io.Writer, was, here *result.Result, a *history.Agreement, s Style) error {
	return write(w, report.AgreementBlocks(was, here, a), s)
}

// Examination writes the findings of a doctor. The error is w's.
func Examination(w io.Writer, e doctor.Examination, s Style) error {
	return write(w, report.ExaminationBlocks(e), s)
}

// WriteDecisions writes the tables of which path to use when. The error is w's.
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

// WriteRefused lists the values that a check refused, each marked and with its reason. It follows output that has no
// table of them: an explanation or a replay. The error is w's.
func WriteRefused(w io.Writer, r *result.Result, a *claim.Analysis, s Style) error {
	r, a = report.Marked(r, a)
	all := report.RefusedBlocks(r, a.WithRefused())
	if len(all) == 0 {
		all = []block.Block{block.Notes{Kind: block.Prose, Lines: []string{"No check refused a figure."}}}
	}
	return write(w, append([]block.Block{block.Pause{}}, all...), s)
}

// page is the output under construction.
type page struct {
	out     *bufio.Writer
	style   Style
	letters int         // how many letters for arms of curves are used
	of      []block.Arm // the arms of the current load
	brief   bool        // no line may be too wide: something must be cut
}

// newPage returns a page with a usable width.
func newPage(w io.Writer, s Style) *page {
	if s.Width == 0 {
		s.Width = usualWidth
	}
	s.Width = max(s.Width, leastWidth)
	return &page{out: bufio.NewWriter(w), style: s}
}

// ink is an ANSI sequence; "" is plain text.
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

// wrapped writes words, broken at the page's width. Further lines are indented by the width of the label.
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
