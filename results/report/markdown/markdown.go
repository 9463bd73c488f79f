// Package markdown writes a result as GitHub's Markdown, for pull requests and documents: the verdicts, a table for
// each load, and folded details. It knows only results.
package markdown

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/results/report"
	"wirelab/results/report/block"
)

// Write writes the result. The error is w's.
func Write(w io.Writer, r *result.Result) error {
	a := analyse.Result(r)
	return write(w, r, &a, nil)
}

// WriteRefused is [Write] with the values that checks refused, marked as such, and with the results of runs with
// failing parts.
func WriteRefused(w io.Writer, r *result.Result, outages []report.Outage) error {
	a := analyse.Result(r)
	return write(w, r, a.WithRefused(), outages)
}

func write(w io.Writer, r *result.Result, a *claim.Analysis, outages []report.Outage) error {
	p := &page{out: bufio.NewWriter(w), outages: outages}
	p.report(r, a)
	return p.out.Flush() // Flush returns the first error of all writes
}

type page struct {
	out     *bufio.Writer
	outages []report.Outage // results of runs with failing parts
	open    int             // the kind of block that the last line belongs to
}

// report writes the whole report: first what was found, last how it was measured.
func (p *page) report(r *result.Result, a *claim.Analysis) {
	r, a = report.Marked(r, a)
	parts := report.Document(r, a, p.outages)
	if r.SelfTest != nil {
		p.blocks(parts[0].Blocks)
		return
	}
	var facts block.Facts
	for _, b := range parts[0].Blocks {
		switch b := b.(type) {
		case block.Facts:
			facts = append(facts, b...)
		case *block.Table: // the arms
			for _, row := range b.Rows[:min(len(b.Rows), len(r.Plan.Arms))] {
				facts = append(facts, block.Fact{Name: row[0].Text, Text: row[1].Text})
			}
		}
	}
	if len(facts) > 0 && facts[0].Name == "question" {
		p.line("## " + escape(facts[0].Text))
		p.line("")
		facts = facts[1:]
	}
	var method []block.Block
	for _, part := range parts[1:] {
		if part.ID == "method" {
			method = part.Blocks
			continue
		}
		p.blocks(part.Blocks)
	}
	p.blocks(append([]block.Block{block.Heading{Text: "How it was measured"}, facts}, method...))
}

// line writes a line. It writes a blank line first if a list or a paragraph is open.
func (p *page) line(text string) {
	if p.open != nothing {
		p.open = nothing
		fmt.Fprintln(p.out)
	}
	fmt.Fprintln(p.out, text)
}

// item writes a line of a list. Consecutive lists are one.
func (p *page) item(text string) {
	if p.open == paragraph {
		fmt.Fprintln(p.out)
	}
	fmt.Fprintln(p.out, text)
	p.open = list
}

// The kinds of open blocks. A blank line ends the block when something else follows.
const (
	nothing = iota
	list
	paragraph
)

// row writes a row of a table.
func (p *page) row(cells []string) { p.line("| " + strings.Join(cells, " | ") + " |") }

// escaper keeps names, which come from the author of the plan, from being read as Markdown or HTML.
var escaper = strings.NewReplacer(
	"\\", "\\\\", "|", "\\|", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "]", "\\]",
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "#", "\\#", "\n", " ", "\r", " ",
)

func escape(text string) string { return escaper.Replace(text) }
