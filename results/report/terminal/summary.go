package terminal

import (
	"io"
	"slices"
	"strings"

	"wirelab/results/report"
)

// leastSummary is the least width of a summary: the longest word, a result's id, fits into it.
const leastSummary = 44

// WriteSummary writes the short answer to a result, for one screen. No line is wider than the style's width, unless
// that is narrower than any terminal. The error is w's.
func WriteSummary(w io.Writer, s report.Summary, style Style) error {
	p := newPage(w, style)
	if style.Width > 0 {
		p.style.Width = max(style.Width, leastSummary)
	}
	if s.Verdict != "" {
		p.wrapped("", s.Verdict, toneInk(report.OutcomeTone(s.Outcome)))
	}
	for _, text := range s.Findings {
		p.wrapped("· ", text, toneInk(report.OutcomeTone(s.Outcome)))
	}
	for _, text := range s.Answer {
		p.wrapped("", text, bold)
	}
	for i, text := range s.Points {
		if i == 0 {
			p.wrapped("", text, bold)
			continue
		}
		p.wrapped("· ", text, plain)
	}
	var left []string
	for i := range s.Tables {
		p.blank()
		for _, head := range p.summaryTable(&s.Tables[i]) {
			if !slices.Contains(left, head) {
				left = append(left, head)
			}
		}
	}
	for _, text := range s.Key {
		p.parts(text)
	}
	if len(left) > 0 {
		p.wrapped("", "no room for: "+strings.Join(left, ", ")+"; see --full", faint)
	}
	for _, text := range s.Refused {
		p.wrapped("", text, yellow)
	}
	p.blank()
	for _, text := range s.Trust {
		p.wrapped("", text, plain)
	}
	p.steps(s.Next)
	return p.out.Flush() // Flush returns the first error of all writes
}

// parts writes a list, and does not break a part that fits into a line.
func (p *page) parts(text string) {
	line := ""
	for _, part := range strings.Split(text, separator) {
		switch {
		case line == "":
			line = part
		case width(line+separator+part)+1 > p.style.Width: // with the character that would end it
			p.wrapped("", line+strings.TrimRight(separator, " "), faint)
			line = part
		default:
			line += separator + part
		}
	}
	p.wrapped("", line, faint)
}

// separator separates the parts of a key.
const separator = " · "

// steps writes commands, each with its purpose next to it if there is space.
func (p *page) steps(all []report.Step) {
	widest := 0
	for _, s := range all {
		widest = max(widest, width(s.Command))
	}
	for _, s := range all {
		line := "  " + s.Command
		if why := strings.Repeat(" ", widest-width(s.Command)+gap) + s.Why; width(line+why) <= p.style.Width {
			p.line(line + p.paint(why, faint))
			continue
		}
		if width(line) > p.style.Width {
			p.wrapped("  ", s.Command, plain)
			continue
		}
		p.line(line)
	}
}

// sideTitle is the greatest width of a title above the names, in the line of the other heads. A longer title has a
// separate line.
const sideTitle = 14

// summaryTable writes a table, and returns the heads of the columns that did not fit.
func (p *page) summaryTable(t *report.SummaryTable) (left []string) {
	names := t.Names
	longest := 0
	for _, name := range names {
		longest = max(longest, width(name))
	}
	most := max(p.style.Width/3, shortestName)
	short := make([]string, len(names))
	for i, name := range names {
		short[i] = middleCut(name, most)
	}
	if t.Whole {
		p.wholeTable(t, short)
		return nil
	}
	title := t.Title
	if width(title) > max(longest, sideTitle) {
		p.line(p.paint(middleCut(title, p.style.Width), bold))
		title = ""
	}
	n := len(t.Columns)
	for n > 1 && tableWidth(p.summaryGrid(t, title, short, n)) > p.style.Width {
		n--
	}
	p.table(p.summaryGrid(t, title, short, n))
	if t.More != "" {
		p.line(p.paint(t.More, faint))
	}
	for _, c := range t.Columns[n:] {
		left = append(left, c.Head)
	}
	return left
}

// tableWidth returns the width of a table.
func tableWidth(t table) int {
	widths := t.widths()
	return sum(widths) + gap*(len(widths)-1)
}

// summaryGrid returns the first columns of a table as cells. Each column is one cell with the figure and its
// difference, so that its head is above both.
func (p *page) summaryGrid(t *report.SummaryTable, title string, names []string, n int) table {
	grid := table{head: [][]cell{{{text: title, in: bold}}, {{}}}}
	units := false
	for _, name := range names {
		grid.body = append(grid.body, []cell{{text: name}})
	}
	for _, c := range t.Columns[:n] {
		values, changes := figures(c)
		unit := c.Unit
		if strings.HasSuffix(c.Head, "/s") && unit == "/s" {
			unit = "" // the head has the unit
		}
		units = units || unit != "" || changes
		body := parts(values, changes)
		second := strings.Repeat(" ", max(0, body.value-width(unit))) + unit
		if changes {
			second += strings.Repeat(" ", body.mark) + " " + strings.Repeat(" ", max(0, body.change-1)) + "%"
		}
		grid.head[0] = append(grid.head[0], cell{text: c.Head, right: true})
		grid.head[1] = append(grid.head[1],
			cell{text: second + strings.Repeat(" ", max(0, body.width()-width(second))), right: true})
		for i, v := range values {
			lead, text := body.join(v)
			grid.body[i] = append(grid.body[i], cell{lead: lead, text: text, right: true, in: inkOf(v)})
		}
	}
	if !units {
		grid.head = grid.head[:1]
	}
	return grid
}

// figures returns a column's cells, and whether any has a difference.
func figures(c report.SummaryColumn) (values []report.SummaryCell, changes bool) {
	for _, v := range c.Cells {
		changes = changes || v.Change != "" || v.Sign != ""
	}
	return c.Cells, changes
}

// parted has the widths of the parts of a column's cells, so that figures are aligned with figures, and differences
// with differences.
type parted struct {
	value, mark, change, sign int
	changes                   bool
}

func parts(values []report.SummaryCell, changes bool) parted {
	p := parted{changes: changes}
	for _, v := range values {
		p.value, p.mark = max(p.value, width(v.Value)), max(p.mark, width(v.Mark))
		p.change, p.sign = max(p.change, width(v.Change)), max(p.sign, width(v.Sign))
	}
	return p
}

func (p parted) width() int {
	if !p.changes {
		return p.value + p.mark
	}
	return p.value + p.mark + 1 + p.change + 1 + p.sign
}

// join returns a cell's figure, and the text in the ink of its verdict.
func (p parted) join(v report.SummaryCell) (lead, text string) {
	figure := padded(v.Value, p.value) + v.Mark + strings.Repeat(" ", p.mark-width(v.Mark))
	if !p.changes {
		return "", figure
	}
	rest := " " + padded(v.Change, p.change) + " " + v.Sign + strings.Repeat(" ", p.sign-width(v.Sign))
	if v.Value == report.Absent {
		return "", figure + rest
	}
	return figure, rest
}

// inkOf returns the ink of a cell's verdict. A figure without a comparison is plain.
func inkOf(v report.SummaryCell) ink {
	if v.Value == report.Absent && v.Mark != "" {
		return yellow
	}
	return toneInk(v.Tone)
}

func padded(text string, columns int) string {
	return strings.Repeat(" ", max(0, columns-width(text))) + text
}

// wholeTable writes a table whose columns are all needed. Those that do not fit are continued below.
func (p *page) wholeTable(t *report.SummaryTable, names []string) {
	if t.Title != "" {
		p.line(p.paint(middleCut(t.Title, p.style.Width), bold))
	}
	rest := t.Columns
	for first := true; len(rest) > 0; first = false {
		if !first {
			p.blank()
		}
		n := len(rest)
		for n > 1 && tableWidth(p.wholeGrid(rest[:n], names)) > p.style.Width {
			n--
		}
		p.table(p.wholeGrid(rest[:n], names))
		rest = rest[n:]
	}
	if t.More != "" {
		p.line(p.paint(t.More, faint))
	}
}

// wholeGrid returns some columns as cells. It breaks their heads at hyphens.
func (p *page) wholeGrid(columns []report.SummaryColumn, names []string) table {
	grid := table{}
	for _, name := range names {
		grid.body = append(grid.body, []cell{{text: name}})
	}
	heads := make([][]string, len(columns))
	deepest := 0
	for i, c := range columns {
		body := 0
		for _, v := range c.Cells {
			body = max(body, width(v.Value+v.Mark+v.Sign)+1)
		}
		heads[i] = broken(c.Head, max(body, shortestArm))
		deepest = max(deepest, len(heads[i]))
	}
	grid.head = make([][]cell, deepest)
	for line := range grid.head {
		grid.head[line] = []cell{{}}
		for i := range columns {
			text, at := "", line-deepest+len(heads[i])
			if at >= 0 {
				text = heads[i][at]
			}
			grid.head[line] = append(grid.head[line], cell{text: text, right: true})
		}
	}
	for _, c := range columns {
		body := parts(c.Cells, true)
		body.change = -1 // a figure and its sign, without a gap
		for i := range names {
			v := report.SummaryCell{}
			if i < len(c.Cells) {
				v = c.Cells[i]
			}
			lead := padded(v.Value, body.value) + v.Mark + strings.Repeat(" ", body.mark-width(v.Mark))
			grid.body[i] = append(grid.body[i],
				cell{
					lead: lead, text: v.Sign + strings.Repeat(" ", body.sign-width(v.Sign)), right: true,
					in: inkOf(v),
				})
		}
	}
	return grid
}

// broken breaks a name at hyphens and commas into lines of about the given width.
func broken(name string, columns int) []string {
	var lines []string
	line := ""
	for _, part := range strings.SplitAfter(strings.ReplaceAll(name, ",", ",-"), "-") {
		part = strings.Replace(part, ",-", ",", 1)
		if line != "" && width(line+part) > columns {
			lines = append(lines, line)
			line = ""
		}
		line += part
	}
	return append(lines, line)
}

// middleCut shortens a name in the middle, since names of arms may differ at either end.
func middleCut(text string, most int) string {
	if width(text) <= most {
		return text
	}
	runes := []rune(text)
	head := (most - 1) / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(most-1-head):])
}
