// Package markdown writes a result as GitHub's Markdown, for pull requests and
// documents: the verdicts, a table for each load, and the details folded away.
// It knows only results.
package markdown

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"wirelab/lab/result"
	"wirelab/results/report"
	"wirelab/results/report/block"
)

// Write writes the result. The error is w's.
func Write(w io.Writer, r *result.Result) error {
	a := result.Analyse(r)
	return write(w, r, &a, nil)
}

// WriteRefused is [Write] with the values that checks refused, marked as refused, and
// with what runs showed in which parts failed.
func WriteRefused(w io.Writer, r *result.Result, outages []report.Outage) error {
	a := result.Analyse(r)
	return write(w, r, a.WithRefused(), outages)
}

func write(w io.Writer, r *result.Result, a *result.Analysis, outages []report.Outage) error {
	p := &page{out: bufio.NewWriter(w), outages: outages}
	p.report(r, a)
	return p.out.Flush() // remembers the first error of all writes
}

type page struct {
	out     *bufio.Writer
	outages []report.Outage // what runs showed in which parts failed
}

// report writes the whole report.
func (p *page) report(r *result.Result, a *result.Analysis) {
	r, a = report.Marked(r, a)
	facts := report.Facts(r, a)
	if len(facts) > 0 && facts[0].Name == "question" {
		p.line("## " + escape(facts[0].Text))
		p.line("")
		facts = facts[1:]
	}
	p.absent(r)
	p.scenarios(r, a)
	if a.Capacity != nil {
		p.blocks([]block.Block{block.Heading{Text: "Capacity under " + a.Capacity.Objective}})
		p.blocks(report.CapacityBlocks(r, a.Capacity))
	}
	for i := range a.Curves {
		p.blocks(report.CurveBlocks(r, &a.Curves[i]))
	}
	for l := range a.Loads {
		if !report.InCurve(a, a.Loads[l].Load) {
			p.load(r, &a.Loads[l])
		}
	}
	p.decisions(r, a)
	p.blocks(report.PublishedBlocks(r, a))
	p.line("### How it was measured")
	p.line("")
	for i := range r.Plan.Arms {
		facts = append(facts, report.Fact{Name: r.ArmName(i), Text: report.Arm(r, i)})
	}
	p.facts(facts)
	if len(a.Loads) > 0 {
		p.line("")
		p.line(escape(report.Method(r)))
	}
}

// absent says which arms could not be had, before anything is said of the others.
func (p *page) absent(r *result.Result) {
	p.blocks([]block.Block{block.Notes{Lines: report.AbsentNotes(r)}})
}

func (p *page) line(text string) { fmt.Fprintln(p.out, text) }

// row writes a row of a table.
func (p *page) row(cells []string) { p.line("| " + strings.Join(cells, " | ") + " |") }

// escaper keeps names from being read as Markdown or HTML. They come from
// whoever wrote the plan.
var escaper = strings.NewReplacer(
	"\\", "\\\\", "|", "\\|", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "]", "\\]",
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "#", "\\#", "\n", " ", "\r", " ",
)

func escape(text string) string { return escaper.Replace(text) }

func (p *page) load(r *result.Result, l *result.LoadAnalysis) {
	p.line("### " + escape(report.LoadName(r.Plan, l.Load)))
	p.line("")
	p.line("**" + escape(report.Sentence(r.Plan, l)) + "**")
	p.line("")
	if !report.Empty(l) {
		p.metrics(l, report.Shown(l), true)
		p.line("")
		p.table(report.StreamTable(l))
		for _, t := range report.Accounts(l) {
			p.table(t)
		}
	}
	for _, n := range report.LoadNotes(r, l) {
		p.notes(n)
	}
	p.line("")
	if !report.Empty(l) {
		p.line("<details><summary>More metrics</summary>")
		p.line("")
		p.metrics(l, report.Secondary(l), false)
		p.line("")
		p.table(report.ClientTable(l))
		p.counts(l)
		p.line("</details>")
		p.line("")
	}
}

// metrics writes a row for each arm and metric: a column for each metric would
// be wider than any page.
func (p *page) metrics(l *result.LoadAnalysis, metrics []result.Metric, main bool) {
	head := []string{"metric", "arm", "value"}
	align := []string{"---", "---", "---:"}
	if len(l.Arms) > 1 {
		head = append(head, "difference from "+escape(l.Arms[0].Name), "95 % CI", "verdict")
		align = append(align, "---:", "---", "---")
	}
	p.row(head)
	p.row(align)
	for _, m := range metrics {
		row := l.Row(m.ID)
		unit := report.RowUnit(m, row)
		for a, c := range row.Cells {
			title := ""
			if a == 0 {
				title = m.Title
				if main && row.Primary {
					title = "**" + title + "**"
				}
			}
			arm := &l.Arms[a]
			cells := []string{title, escape(arm.Name), report.With(c.Estimate, unit) + report.Marks(arm, m)}
			if len(l.Arms) > 1 {
				cells = append(cells, difference(m, arm, c)...)
			}
			p.row(cells)
			if text := floor(arm, m, unit); text != "" {
				p.row(append([]string{"", "floor of " + escape(arm.Name), text}, make([]string, len(cells)-3)...))
			}
		}
	}
}

// floor is a metric before a server that does nothing, with its unit; "" if there is none.
func floor(arm *result.ArmState, m result.Metric, unit report.Unit) string {
	v, ok := report.Floor(arm, m)
	text := report.With(result.Estimate{Known: true, Value: v}, unit)
	switch _, shown := report.IsRefused(report.FloorText(arm, m, unit)); {
	case shown:
		return report.Refused(text)
	case ok && arm.Spoiled(m) == "":
		return text
	}
	return ""
}

// counts is the table of what databases did for each call, a row for each figure.
func (p *page) counts(l *result.LoadAnalysis) {
	t := report.CountTable(l)
	if t == nil {
		return
	}
	tall := &block.Table{Columns: block.Columns("what the database did", "arm", ">on average")}
	for i, c := range t.Columns[1:] {
		for _, row := range t.Rows {
			if text := row[i+1].Text; text != report.Absent {
				tall.Add(block.Texts(c.Head, row[0].Text, strings.TrimSpace(text+" "+c.Unit))...)
			}
		}
	}
	p.table(tall)
}

func difference(m result.Metric, arm *result.ArmState, c result.Cell) []string {
	switch d := c.Difference; {
	case d != nil:
		return []string{report.Change(d), escape(report.Interval(d)), report.Verdict(m, d)}
	case !c.Estimate.Known && arm.Spoiled(m) != "":
		return []string{"", "", string(arm.Spoiled(m))}
	}
	return []string{"", "", ""}
}
