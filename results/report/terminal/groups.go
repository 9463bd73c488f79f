package terminal

import (
	"slices"
	"strings"

	"wirelab/lab/result"
	"wirelab/results/report"
	"wirelab/results/report/block"
)

// group is the columns of one metric, with two lines of head and a line for
// each arm. Groups stand side by side as far as the width allows.
type group struct {
	table
	first bool // the primary metric's
}

// mainGroups shows each main metric with its differences and verdicts.
func mainGroups(l *result.LoadAnalysis) []group {
	var all []group
	for _, m := range report.Shown(l) {
		row := l.Row(m.ID)
		unit := report.RowUnit(m, row)
		g := group{first: row.Primary}
		g.head = [][]cell{
			{{text: m.Short}, {}, {}, {}},
			{{text: unit.Name, right: true}, {text: against(l.Arms[0].Name), right: true}, {text: "95 % CI"}, {text: "verdict"}},
		}
		marks := marksOf(l, m)
		for a, c := range row.Cells {
			line := []cell{{text: report.Value(c.Estimate, unit) + marks[a], right: true}, {right: true}, {}, {}}
			switch d := c.Difference; {
			case d != nil:
				line[1].text, line[2].text = report.Change(d), report.Interval(d)
				line[3] = cell{text: report.Verdict(m, d), in: of(d.Verdict)}
			case !c.Estimate.Known && l.Arms[a].Spoiled(m) != "":
				line[3] = cell{text: string(l.Arms[a].Spoiled(m)), in: red}
			}
			g.body = append(g.body, line)
		}
		g.floors(l, m, unit, marks)
		if len(l.Arms) == 1 {
			g.without(1, 3) // there is nothing to compare
			if g.body[0][1].text == "" {
				g.without(1, 2)
			}
		}
		all = append(all, g.titled())
	}
	return all
}

// marksOf are the marks behind each arm's figure, as wide as each other so that
// figures stay in line; and at the end what fills their place.
func marksOf(l *result.LoadAnalysis, m result.Metric) []string {
	all, widest := make([]string, len(l.Arms)+1), 0
	for a := range l.Arms {
		all[a] = report.Marks(&l.Arms[a], m)
		widest = max(widest, width(all[a]))
	}
	for i := range all {
		all[i] += strings.Repeat(" ", widest-width(all[i]))
	}
	return all
}

// floors adds a line for each floor that is known, in every group, so that
// they stand side by side; block leaves out lines with no figure at all.
func (g *group) floors(l *result.LoadAnalysis, m result.Metric, unit report.Unit, marks []string) {
	for _, a := range report.Floored(l) {
		line := make([]cell, len(g.head[len(g.head)-1]))
		if text := report.FloorText(&l.Arms[a], m, unit); text != "" {
			line[0] = cell{text: text + marks[len(l.Arms)], in: faint, right: true}
		}
		g.body = append(g.body, line)
	}
}

// against heads the column of differences.
func against(first string) string {
	const longest = 16
	if width(first) > longest {
		return "vs first"
	}
	return "vs " + first
}

// titled makes room for a title that is wider than the first column, which it
// stands over: it reaches over all columns of the group.
func (g group) titled() group {
	title := g.head[0][0].text
	g.head[0][0].text = ""
	widths := g.widths()
	if missing := width(title) - sum(widths) - gap*(len(widths)-1); missing > 0 {
		last := len(widths) - 1
		g.head[1][last].text += strings.Repeat(" ", widths[last]+missing-width(g.head[1][last].text))
	}
	g.head[0][0].text = title
	return g
}

// secondaryGroups shows the other metrics in one column each, with a mark and
// the difference where one is claimed.
func secondaryGroups(l *result.LoadAnalysis) []group {
	var all []group
	for _, m := range report.Secondary(l) {
		row := l.Row(m.ID)
		unit := report.RowUnit(m, row)
		title := m.Short
		if unit.Name != "" {
			title += " " + unit.Name
		}
		g := group{}
		g.head = [][]cell{{{text: title}, {}, {}}}
		marks := marksOf(l, m)
		for a, c := range row.Cells {
			line := []cell{{text: report.Value(c.Estimate, unit) + marks[a], right: true}, {}, {right: true}}
			if d := c.Difference; d != nil {
				line[1] = cell{text: mark(d.Verdict), in: of(d.Verdict)}
				if d.Verdict == result.Better || d.Verdict == result.Worse {
					line[2] = cell{text: report.Change(d), in: of(d.Verdict), right: true}
				}
			}
			g.body = append(g.body, line)
		}
		g.floors(l, m, unit, marks)
		if m.Counted || len(l.Arms) == 1 {
			g.without(1, 3)
		}
		all = append(all, g.squeezed())
	}
	return all
}

// rateGroups shows what was asked for and what was done in an open loop.
func rateGroups(l *result.LoadAnalysis) []group {
	planned, achieved := group{}, group{}
	planned.head = [][]cell{{{text: "planned /s"}}}
	achieved.head = [][]cell{{{text: "answered /s"}}}
	if l.Scenario != "" {
		achieved.head[0][0].text = "acknowledged /s" // of sends: each may carry many messages
	}
	for _, arm := range l.Arms {
		planned.body = append(planned.body, []cell{{text: report.Significant(arm.Planned, 3), right: true}})
		achieved.body = append(achieved.body, []cell{{text: report.Answered(&arm), right: true}})
	}
	for range report.Floored(l) {
		planned.body, achieved.body = append(planned.body, []cell{{}}), append(achieved.body, []cell{{}})
	}
	return []group{planned.squeezed(), achieved.squeezed()}
}

// countGroups shows what databases did for each call, in one column each.
func countGroups(l *result.LoadAnalysis) []group {
	t := report.CountTable(l)
	if t == nil {
		return nil
	}
	for i := range t.Columns {
		t.Columns[i].Head = strings.Replace(t.Columns[i].Head, "database", "db", 1)
	}
	return columnGroups(l, t)
}

// columnGroups shows the columns of a table with a row for each arm.
func columnGroups(l *result.LoadAnalysis, t *block.Table) []group {
	var all []group
	for i, c := range t.Columns[1:] {
		g := group{}
		g.head = [][]cell{{{text: c.Name()}}}
		for _, row := range t.Rows {
			g.body = append(g.body, []cell{{text: row[i+1].Text, right: true}})
		}
		for range report.Floored(l) {
			g.body = append(g.body, []cell{{}})
		}
		all = append(all, g.squeezed())
	}
	return all
}

// mark is a verdict in one character.
func mark(v result.Verdict) string {
	switch v {
	case result.Better, result.Worse:
		return "*"
	case result.Equivalent:
		return "="
	case result.Inconclusive:
		return "?"
	case result.Unmeasured:
		return ""
	}
	return "!"
}

// squeezed makes one column of all, so that a title may reach over them.
func (g group) squeezed() group {
	body := table{body: g.body}
	widths := body.widths()
	one := group{}
	one.head = [][]cell{{{text: g.head[0][0].text}}}
	for _, row := range g.body {
		text := ""
		in := plain
		for i, c := range row {
			pad := strings.Repeat(" ", widths[i]-width(c.text))
			part := c.text + pad
			if c.right {
				part = pad + c.text
			}
			if i > 0 && widths[i] > 0 {
				part = " " + part
			}
			text += part
			if c.in != plain {
				in = c.in
			}
		}
		one.body = append(one.body, []cell{{text: text, in: in}})
	}
	return one
}

// groups writes groups side by side, as many as fit, in blocks.
func (p *page) groups(l *result.LoadAnalysis, all []group) {
	for i := 0; len(all) > 0; i++ {
		if i > 0 {
			p.blank()
		}
		// Places are by the primary metric, which is in the first block.
		arms := armColumn(l, len(all[0].head) > 1, i == 0)
		if arms.span()+between+all[0].span() > p.style.Width {
			p.tall(l, all[0])
			all = all[1:]
			continue
		}
		used := arms.span()
		n := 0
		for n < len(all) && (n == 0 || used+between+all[n].span() <= p.style.Width) {
			used += between + all[n].span()
			n++
		}
		p.block(l, append([]group{arms}, all[:n]...))
		all = all[n:]
	}
}

// tall writes a group whose arms have names too long to stand beside it: each
// name has a line of its own.
func (p *page) tall(l *result.LoadAnalysis, g group) {
	for h, row := range g.head {
		if h == len(g.head)-1 {
			p.line("  " + p.cells(row, g, faint))
			continue
		}
		p.line("  " + p.paint(row[0].text, bold))
	}
	for _, i := range inOrder(l) {
		if i >= len(l.Arms) {
			if row := g.body[i]; row[0].text != "" {
				p.line(p.paint(floorName, faint))
				p.line("  " + p.cells(row, g, plain))
			}
			continue
		}
		a, row := i, g.body[i]
		name := l.Arms[a].Name
		if l.Arms[a].Place > 0 && len(l.Arms) > 2 && len(g.head) > 1 && g.first {
			name += "  (place " + strings.TrimSpace(place(l, a)) + ")"
		}
		p.wrapped("", name, plain)
		p.line("  " + p.cells(row, g, plain))
	}
}

// between is the space between groups.
const between = 3

// span is how wide a group is.
func (g group) span() int {
	title := 0
	if len(g.head) > 1 {
		title = width(g.head[0][0].text)
	}
	rest := table{head: g.head[len(g.head)-1:], body: g.body}.widths()
	return max(title, sum(rest)+gap*(len(rest)-1))
}

// armColumn names the arms, with their places where there are any.
func armColumn(l *result.LoadAnalysis, main, first bool) group {
	g := group{}
	placed := false
	for _, arm := range l.Arms {
		placed = placed || arm.Place > 0 && len(l.Arms) > 2
	}
	placed = placed && main && first
	g.head = [][]cell{{{text: "arm"}}}
	if main {
		g.head = [][]cell{{{}}, {{text: "arm"}}}
	}
	for _, arm := range l.Arms {
		g.body = append(g.body, []cell{{text: arm.Name}})
	}
	for range report.Floored(l) {
		g.body = append(g.body, []cell{{text: floorName, in: faint}})
	}
	if placed {
		g.head[0] = append(g.head[0], cell{})
		g.head[1] = append(g.head[1], cell{text: "place", right: true})
		for a := range g.body {
			at := cell{right: true}
			if a < len(l.Arms) {
				at.text = place(l, a)
			}
			g.body[a] = append(g.body[a], at)
		}
	}
	return g
}

// floorName names the line of a floor, below its arm's.
const floorName = "  floor"

// inOrder are the lines of a body as they are shown: bodies hold the arms
// first, then the floors that are known; each floor is shown below its arm.
func inOrder(l *result.LoadAnalysis) []int {
	var lines []int
	floored := report.Floored(l)
	for a := range l.Arms {
		lines = append(lines, a)
		if i := slices.Index(floored, a); i >= 0 {
			lines = append(lines, len(l.Arms)+i)
		}
	}
	return lines
}

// place writes an arm's place, with room for the sign of those that share one.
func place(l *result.LoadAnalysis, arm int) string {
	at := report.Place(l, arm)
	if at == report.Absent || strings.HasSuffix(at, "=") {
		return at
	}
	return at + " "
}

// block writes groups beside each other.
func (p *page) block(l *result.LoadAnalysis, groups []group) {
	for h := range groups[0].head {
		line := ""
		for i, g := range groups {
			last := len(g.head) - 1
			var text string
			if h == last {
				text = p.cells(g.head[h], g, faint)
			} else {
				title := g.head[h][0].text
				text = p.paint(title, bold) + strings.Repeat(" ", g.span()-width(title))
			}
			line += strings.Repeat(" ", between*min(i, 1)) + text
		}
		p.line(line)
	}
	arms := len(l.Arms)
	for _, a := range inOrder(l) {
		if a >= arms && !slices.ContainsFunc(groups[1:], func(g group) bool { return strings.TrimSpace(g.body[a][0].text) != "" }) {
			continue // no metric of the block has a floor
		}
		line := ""
		for i, g := range groups {
			line += strings.Repeat(" ", between*min(i, 1)) + p.cells(g.body[a], g, plain)
		}
		p.line(line)
	}
}

// cells writes a group's part of a line, as wide as the group.
func (p *page) cells(row []cell, g group, otherwise ink) string {
	widths := table{head: g.head[len(g.head)-1:], body: g.body}.widths()
	text, used := "", 0
	for i, c := range row {
		if i > 0 {
			text += strings.Repeat(" ", gap)
			used += gap
		}
		in := c.in
		if in == plain {
			in = otherwise
		}
		pad := strings.Repeat(" ", widths[i]-width(c.text))
		if c.right {
			text += pad + p.paint(c.text, in)
		} else {
			text += p.paint(c.text, in) + pad
		}
		used += widths[i]
	}
	return text + strings.Repeat(" ", max(0, g.span()-used))
}
