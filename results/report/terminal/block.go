package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"wirelab/internal/paragraph"
	"wirelab/lab/result/claim"
	"wirelab/results/report"
	"wirelab/results/report/block"
)

// toneInk returns the ink of a tone.
func toneInk(t block.Tone) ink {
	return [...]ink{
		block.Plain: plain, block.Good: green, block.Bad: red, block.Same: blue, block.Open: yellow, block.Quiet: faint,
		block.Claimed: bold,
	}[t]
}

// blocks writes blocks one after another. Tables with a row for each arm are placed next to each other as far as
// there is space.
func (p *page) blocks(all []block.Block) {
	var beside []group
	var arms []block.Arm
	for i, b := range all {
		switch b := b.(type) {
		case block.Heading:
			p.letters = 0
			if b.Name {
				p.title(b.Text)
			} else {
				p.title(cut(strings.ToLower(b.Text[:1])+b.Text[1:], p.style.Width-4))
			}
		case block.Facts:
			for _, f := range b {
				p.wrapped(fmt.Sprintf("%-10s", f.Name), f.Text, toneInk(f.Tone))
			}
		case block.Notes:
			p.notes(b)
		case block.Figure:
			if c, ok := b.Of.(*claim.Curve); ok {
				p.plot(c)
			}
		case block.Pause:
			p.blank()
		case *block.Metrics:
			p.of = b.Arms
			arms, beside = b.Arms, append(beside, metricGroups(b)...)
		case *block.Table:
			if b.ID == "rates" || b.ID == "counts" {
				beside = append(beside, columnGroups(b)...)
				break
			}
			p.laid(b)
		}
		var next block.Block = block.Pause{}
		if i+1 < len(all) {
			next = all[i+1]
		}
		if arms == nil || isBeside(next) {
			continue
		}
		p.groups(arms, beside)
		if m, ok := b.(*block.Metrics); (!ok || m.ID != "main") && len(arms) > 1 {
			p.wrapped("", report.SignsLegend, faint)
		}
		arms, beside = nil, nil
	}
}

// isBeside reports whether a block may be placed next to the one before it.
func isBeside(b block.Block) bool {
	t, ok := b.(*block.Table)
	return ok && t.ID == "counts"
}

// laid writes a table in the layout for its content, which says which columns are removed on a narrow page, and which
// names are shortened in the middle.
func (p *page) laid(t *block.Table) {
	drawn := tableOf(t)
	last := len(t.Columns) - 1
	switch t.ID {
	case "arms":
		p.arms(t)
	case "curve":
		p.letters++
		p.wrapped("", fmt.Sprintf("%c  %s", letter(p.letters-1), t.Title), bold)
		p.drop(drawn, 3)
		p.table(drawn)
	case "capacity":
		drawn.without(last, last+1)
		for _, row := range append(drawn.head, drawn.body...) {
			row[1].right = false // figures with intervals: readers compare their beginnings
		}
		p.drop(drawn, 5)
		p.shorten(drawn, 0, 2*shortestArm)
		p.drop(drawn, 2)
		p.table(drawn)
		p.blank()
		for _, row := range t.Rows {
			if text := row[last].Text; text != "" {
				p.wrapped(cut(row[0].Text, p.style.Width/2)+" by round: ", text, faint)
			}
		}
	case "scenarios":
		for i, row := range drawn.body {
			row[1].text = cut(row[1].text, p.style.Width/3)
			if i > 0 && t.Rows[i-1][0].Text == t.Rows[i][0].Text {
				row[0].text, row[3].text = "", "" // the same as in the row above
			}
		}
		p.inBlocks(drawn, 2)
		p.wrapped("", t.Caption, faint)
	case "published":
		p.published(t)
	case "findings":
		p.findings(t)
	case "conclusions":
		p.named(t)
	case "figures":
		for _, row := range drawn.body {
			row[0].text = cut(row[0].text, p.style.Width/2)
		}
		p.table(drawn)
	case "streams", "entries", "messages", "processes":
		p.account(t)
	case "steps":
		for _, row := range drawn.body {
			row[0].text = cut(row[0].text, p.style.Width/3)
		}
		p.wrapped("", t.Title, bold)
		p.table(drawn)
		p.below(t)
	case "clients": // the table of streams has the range over streams
	case "resolutions":
		p.resolutions(t)
	case "examined":
		p.examined(t)
	case "decisions":
		p.decided(t)
	default:
		p.table(drawn)
	}
}

// arms lists the arms, one below the other, with their descriptions next to them if there is space.
func (p *page) arms(t *block.Table) {
	widest := 0
	for _, row := range t.Rows {
		widest = max(widest, width(row[0].Text))
	}
	label := "arms      "
	for _, row := range t.Rows {
		name, about := row[0].Text, row[1].Text
		if about == "" || widest > p.style.Width/2 {
			p.wrapped(label, name, plain)
			p.labelled("            ", slices.DeleteFunc([]string{about}, func(s string) bool { return s == "" }))
		} else {
			p.wrapped(label+name+strings.Repeat(" ", widest-width(name))+"  ", about, plain)
		}
		label = "          "
	}
}

// account writes an account table of a load, in groups of columns.
func (p *page) account(t *block.Table) {
	if t.ID != "streams" {
		p.wrapped("", t.Title, bold)
	}
	p.groups(p.of, columnGroups(t))
	p.below(t)
}

// below writes the notes and the caption below a table.
func (p *page) below(t *block.Table) {
	p.wrapped("", t.Caption, faint)
	p.blank()
	p.notes(t.Notes)
}

// published writes the published figures and ours. Their sources follow below.
func (p *page) published(t *block.Table) {
	short := t.Without(true, "source")
	arm := slices.IndexFunc(short.Columns, func(c block.Column) bool { return c.Head == "arm" })
	drawn := tableOf(short)
	last := ""
	for _, row := range drawn.body {
		above := ""
		for i := range row[:arm] {
			above += row[i].text + "\n"
		}
		for i := range row[:arm] {
			if above == last {
				row[i].text = "" // the same as in the row above
			}
		}
		last, row[arm].text = above, cut(row[arm].text, p.style.Width/2)
	}
	p.table(drawn)
	p.blank()
	p.wrapped("", t.Caption, faint)
	p.notes(t.Notes)
}

// findings writes a table for each threshold.
func (p *page) findings(t *block.Table) {
	for rows := t.Rows; len(rows) > 0; {
		n := 1
		for n < len(rows) && rows[n][0].Text == rows[0][0].Text {
			n++
		}
		one := *t
		one.Title, one.Rows = rows[0][0].Text, rows[:n]
		p.blank()
		p.named(one.Without(false, "threshold"))
		rows = rows[n:]
	}
}

// named writes a table with its title and one line per arm. If it is too wide, columns with a short form use it, and
// names are cut at their ends.
func (p *page) named(t *block.Table) {
	drawn := tableOf(t)
	p.wrapped("", t.Title, bold)
	for _, row := range drawn.body {
		row[0].text = " " + row[0].text
	}
	short := func() {
		if p.over(drawn) <= 0 {
			return
		}
		for i, row := range t.Rows {
			for k, c := range row {
				if c.Short != "" {
					drawn.body[i][k].text = c.Short
				}
			}
		}
	}
	switch {
	case t.ID == "conclusions":
		drawn.head[0][0].text = " " + drawn.head[0][0].text
		short()
		p.shorten(drawn, 0, shortestArm)
	case p.brief:
		drawn.head = nil
		short()
		if p.over(drawn) > 0 {
			drawn.without(3, 4)
		}
		p.middles(drawn, 1, shortestLoad)
		p.middles(drawn, 0, shortestName)
	default:
		drawn.head = nil
		p.shorten(drawn, 0, shortestName)
		short() // the notes say why
	}
	p.table(drawn)
}

// The least widths of a load's and an arm's name, and of an arm's next to four other columns.
const (
	shortestLoad = 10
	shortestName = 12
	shortestArm  = 8
)

// resolutions writes what a machine can tell apart. If there is little space, it writes only the smallest differences
// found.
func (p *page) resolutions(t *block.Table) {
	how := strings.Join(append([]string{t.Caption}, t.Notes.Lines...), " ")
	for i := range t.Columns {
		if p.style.Width >= usualWidth {
			t.Columns[i].Short = ""
		}
	}
	drawn := tableOf(t)
	if p.style.Width < usualWidth {
		for i := len(t.Columns) - 2; i > 0; i -= 2 {
			drawn.without(i, i+1)
		}
		how = strings.Join(t.Notes.Lines, " ")
	}
	p.table(drawn)
	p.wrapped("", how, faint)
}

// examined writes a line for each finding, by group. For a finding that is not fine, the reason and the remedy follow
// below.
func (p *page) examined(t *block.Table) {
	widest, group := 0, ""
	for _, row := range t.Rows {
		widest = max(widest, width(row[2].Text))
	}
	for _, row := range t.Rows {
		if row[0].Text != group {
			group = row[0].Text
			p.blank()
			p.title(group)
		}
		lead := fmt.Sprintf("%-4s  ", row[1].Text)
		name := row[2].Text + strings.Repeat(" ", widest-width(row[2].Text)+2)
		for i, line := range paragraph.Wrap(row[3].Text, p.style.Width-width(lead)-width(name)) {
			if i == 0 {
				p.line(p.paint(lead, toneInk(row[1].Tone)) + name + line)
				continue
			}
			p.line(strings.Repeat(" ", width(lead)+width(name)) + line)
		}
		if row[5].Text == "" {
			continue
		}
		indent := strings.Repeat(" ", width(lead))
		p.wrapped(indent, row[4].Text, faint)
		p.wrapped(indent+"→ ", row[5].Text, plain)
		if command := row[6].Text; command != "" {
			p.line(indent + "  " + p.paint(command, bold)) // not wrapped, since it is for copying
		}
	}
}

// decided writes each row as a paragraph: its sentences are too long for columns in the usual widths of terminals.
func (p *page) decided(t *block.Table) {
	for i, row := range t.Rows {
		if i > 0 {
			p.blank()
		}
		p.wrapped("", row[0].Text, bold)
		p.wrapped("  → ", row[1].Text, toneInk(row[1].Tone))
		p.labelled(fmt.Sprintf("    %-11s", t.Columns[2].Head), row[2].List)
		p.labelled(fmt.Sprintf("    %-11s", t.Columns[3].Head), row[3].List)
		for _, note := range row[4].List {
			p.wrapped("    · ", note, plain)
		}
		if row[5].Text != "" {
			p.wrapped(fmt.Sprintf("    %-11s", t.Columns[5].Short), row[5].Text, faint)
		}
	}
}

// tableOf converts a block's table, with the inks of its cells.
func tableOf(t *block.Table) table {
	drawn := table{head: [][]cell{make([]cell, len(t.Columns))}}
	for i, c := range t.Columns {
		drawn.head[0][i] = cell{text: cmp.Or(c.Short, c.Name()), right: c.Right}
	}
	for _, row := range t.Rows {
		line := make([]cell, len(row))
		for i, c := range row {
			line[i] = cell{text: c.Text, right: t.Columns[i].Right, in: toneInk(c.Tone)}
		}
		drawn.body = append(drawn.body, line)
	}
	return drawn
}

// notes writes notes in the form for their kind.
func (p *page) notes(n block.Notes) {
	switch n.Kind {
	case block.Answer:
		p.flowing(n.Lines)
		return
	case block.Check:
		p.labelled("checks    ", n.Lines)
		return
	case block.Limit:
		p.labelled("limit     ", n.Lines)
		return
	case block.Done:
		p.labelled("done      ", n.Lines)
		return
	}
	form := map[block.Kind]struct {
		lead string
		in   ink
	}{
		block.Remark: {"· ", plain}, block.Source: {"· ", plain}, block.Claim: {"", bold}, block.Point: {"· ", bold},
		block.Mark: {"", faint}, block.RefusedMark: {"", red}, block.Setting: {"", faint}, block.Method: {"", faint},
		block.Prose: {"", plain},
	}[n.Kind]
	if n.Title != "" {
		p.wrapped("", n.Title, bold)
	}
	if n.Tone != block.Plain {
		form.in = toneInk(n.Tone)
	}
	for _, line := range n.Lines {
		p.wrapped(form.lead, line, form.in)
	}
}

// flowing writes parts next to each other, as many as fit in a line, and breaks a part only if it must.
func (p *page) flowing(parts []string) {
	write := func(line string) {
		if width(line) > p.style.Width {
			p.wrapped("", line, bold)
			return
		}
		p.line(p.paint(line, bold))
	}
	line := ""
	for _, part := range parts {
		switch {
		case line == "":
			line = part
		case width(line)+gap+width(part) > p.style.Width:
			write(line)
			line = part
		default:
			line += strings.Repeat(" ", gap) + part
		}
	}
	write(line)
}
