package terminal

import (
	"cmp"
	"slices"
	"strings"

	"wirelab/results/report"
	"wirelab/results/report/block"
)

// group has the columns of one metric, with two lines of heads, a line for each arm and, after these, a line for each
// arm's floor. Groups are placed next to each other as far as the width allows.
type group struct {
	table
	first bool // of the primary metric
}

// metricGroups shows main metrics with their differences and verdicts. Other metrics have one column each, with a
// sign, and with the difference if it is claimed.
func metricGroups(b *block.Metrics) []group {
	var all []group
	for _, m := range b.Columns {
		marks := marksOf(m)
		g := group{first: m.Primary}
		for i, f := range m.Figures {
			value := cell{text: f.Value + marks[i], right: true}
			if b.ID == "main" {
				g.body = append(g.body, []cell{
					value, {text: f.Change, right: true}, {text: f.Interval}, {text: f.Verdict, in: toneInk(f.Tone)},
				})
				continue
			}
			line := []cell{value, {}, {right: true}}
			if f.Change != "" {
				line[1] = cell{text: f.Sign, in: toneInk(f.Tone)}
			}
			if f.Claimed() {
				line[2] = cell{text: f.Change, in: toneInk(f.Tone), right: true}
			}
			g.body = append(g.body, line)
		}
		g.floors(m, marks[len(marks)-1])
		if b.ID != "main" {
			g.head = [][]cell{{{text: m.Name()}, {}, {}}}
			if m.Counted || len(b.Arms) == 1 {
				g.without(1, 3)
			}
			all = append(all, g.squeezed())
			continue
		}
		g.head = [][]cell{
			{{text: m.Short}, {}, {}, {}},
			{
				{text: m.Unit, right: true},
				{text: against(b.Arms[0].Name), right: true},
				{text: "95 % CI"},
				{text: "verdict"},
			},
		}
		if len(b.Arms) == 1 {
			g.without(1, 3) // there is nothing to compare
			if g.body[0][1].text == "" {
				g.without(1, 2)
			}
		}
		all = append(all, g.titled())
	}
	return all
}

// marksOf returns the marks after each arm's figure, padded to one width so that figures stay aligned, and last the
// padding without a mark.
func marksOf(m block.Metric) []string {
	all, widest := make([]string, len(m.Figures)+1), 0
	for i, f := range m.Figures {
		all[i] = f.Marks
		widest = max(widest, width(all[i]))
	}
	for i := range all {
		all[i] += strings.Repeat(" ", widest-width(all[i]))
	}
	return all
}

// floors adds a line for each arm's floor, in the same columns. It leaves out columns without any figure.
func (g *group) floors(m block.Metric, mark string) {
	for i, f := range m.Figures {
		line := make([]cell, len(g.body[i]))
		if f.Floor != "" {
			line[0] = cell{text: f.Floor + mark, in: faint, right: true}
		}
		g.body = append(g.body, line)
	}
}

// against returns the head of the column of differences.
func against(first string) string {
	const longest = 16
	if width(first) > longest {
		return "vs first"
	}
	return "vs " + first
}

// titled makes space for a title that is wider than the first column: the title then spans all columns of the group.
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

// columnGroups shows the columns of a table with a row for each arm.
func columnGroups(t *block.Table) []group {
	var all []group
	for i, c := range t.Columns[1:] {
		g := group{}
		g.head = [][]cell{{{text: cmp.Or(c.Short, c.Name())}}}
		for _, row := range t.Rows {
			g.body = append(g.body, []cell{{text: row[i+1].Text, right: true}})
		}
		for range t.Rows {
			g.body = append(g.body, []cell{{}})
		}
		all = append(all, g.squeezed())
	}
	return all
}

// squeezed joins all columns into one, so that a title may span them.
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

// groups writes groups next to each other, as many as fit, in blocks.
func (p *page) groups(of []block.Arm, all []group) {
	for i := 0; len(all) > 0; i++ {
		if i > 0 {
			p.blank()
		}
		// Places are by the primary metric, which is in the first block.
		arms := armColumn(of, len(all[0].head) > 1, i == 0)
		if arms.span()+between+all[0].span() > p.style.Width {
			p.tall(of, all[0])
			all = all[1:]
			continue
		}
		used := arms.span()
		n := 0
		for n < len(all) && (n == 0 || used+between+all[n].span() <= p.style.Width) {
			used += between + all[n].span()
			n++
		}
		p.block(len(of), append([]group{arms}, all[:n]...))
		all = all[n:]
	}
}

// tall writes a group whose arms have names that are too long for a column: each name is on a separate line.
func (p *page) tall(of []block.Arm, g group) {
	for h, row := range g.head {
		if h == len(g.head)-1 {
			p.line("  " + p.cells(row, g, faint))
			continue
		}
		p.line("  " + p.paint(row[0].text, bold))
	}
	for _, i := range inOrder(len(of)) {
		if i >= len(of) {
			if row := g.body[i]; row[0].text != "" {
				p.line(p.paint(floorName, faint))
				p.line("  " + p.cells(row, g, plain))
			}
			continue
		}
		name := of[i].Name
		if placed(of[i:i+1]) && len(of) > 2 && len(g.head) > 1 && g.first {
			name += "  (place " + of[i].Place + ")"
		}
		p.wrapped("", name, plain)
		p.line("  " + p.cells(g.body[i], g, plain))
	}
}

// between is the space between groups.
const between = 3

// span returns the width of a group.
func (g group) span() int {
	title := 0
	if len(g.head) > 1 {
		title = width(g.head[0][0].text)
	}
	rest := table{head: g.head[len(g.head)-1:], body: g.body}.widths()
	return max(title, sum(rest)+gap*(len(rest)-1))
}

// placed reports whether any arm has a place.
func placed(arms []block.Arm) bool {
	return slices.ContainsFunc(arms, func(a block.Arm) bool { return a.Place != "" && a.Place != report.Absent })
}

// armColumn names the arms, with their places where there are any.
func armColumn(arms []block.Arm, main, first bool) group {
	g := group{}
	g.head = [][]cell{{{text: "arm"}}}
	if main {
		g.head = [][]cell{{{}}, {{text: "arm"}}}
	}
	for _, arm := range arms {
		g.body = append(g.body, []cell{{text: arm.Name}})
	}
	for _, arm := range arms {
		floor := cell{in: faint}
		if arm.Floored {
			floor.text = floorName
		}
		g.body = append(g.body, []cell{floor})
	}
	if placed(arms) && len(arms) > 2 && main && first {
		g.head[0] = append(g.head[0], cell{})
		g.head[1] = append(g.head[1], cell{text: "place", right: true})
		for i := range g.body {
			at := cell{right: true}
			if i < len(arms) {
				at.text = place(arms[i].Place)
			}
			g.body[i] = append(g.body[i], at)
		}
	}
	return g
}

// floorName is the name of a floor's line, below its arm's.
const floorName = "  floor"

// inOrder returns the lines of a body in the order in which they are shown. A body has the arms first and then their
// floors; each floor is shown below its arm.
func inOrder(arms int) []int {
	lines := make([]int, 0, 2*arms)
	for i := range arms {
		lines = append(lines, i, arms+i)
	}
	return lines
}

// place writes an arm's place, with space for the sign of a shared one.
func place(at string) string {
	if at == report.Absent || strings.HasSuffix(at, "=") {
		return at
	}
	return at + " "
}

// block writes groups next to each other.
func (p *page) block(arms int, groups []group) {
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
	for _, a := range inOrder(arms) {
		if a >= arms && !slices.ContainsFunc(groups[1:],
			func(g group) bool { return strings.TrimSpace(g.body[a][0].text) != "" }) {
			continue // no metric of the block has a floor
		}
		line := ""
		for i, g := range groups {
			line += strings.Repeat(" ", between*min(i, 1)) + p.cells(g.body[a], g, plain)
		}
		p.line(line)
	}
}

// cells writes a group's part of a line, with the width of the group.
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
