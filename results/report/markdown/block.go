package markdown

import (
	"slices"
	"strings"

	"wirelab/results/report"
	"wirelab/results/report/block"
)

// folded are the ids of the tables at the end of a load's section, which are folded.
var folded = []string{"rates", "others", "clients", "counts"}

// blocks writes blocks one after another. Remarks follow the tables, and the explanation of the method comes last.
func (p *page) blocks(all []block.Block) {
	var remarks []string
	var details []block.Block
	flush := func() {
		p.notes(block.Notes{Lines: remarks})
		remarks = nil
	}
	for _, b := range all {
		switch b := b.(type) {
		case block.Heading:
			p.line("### " + escape(b.Text))
			p.line("")
		case block.Facts:
			p.facts(b)
		case *block.Metrics:
			if slices.Contains(folded, b.ID) {
				details = append(details, b)
			} else {
				p.metrics(b)
			}
		case *block.Table:
			if slices.Contains(folded, b.ID) {
				details = append(details, b)
			} else {
				p.table(b)
			}
		case block.Notes:
			switch {
			case b.Title == "" && b.Kind == block.Remark:
				remarks = append(remarks, b.Lines...)
				continue
			case b.Kind == block.Setting || b.Kind == block.Method:
				flush()
			}
			p.notes(b)
		}
	}
	flush()
	if len(details) > 0 {
		p.line("<details><summary>More metrics</summary>")
		p.line("")
		for _, b := range details {
			switch b := b.(type) {
			case *block.Metrics:
				p.metrics(b)
			case *block.Table:
				p.table(b)
			}
		}
		p.line("</details>")
		p.line("")
	}
}

func (p *page) facts(all block.Facts) {
	for _, f := range all {
		lead := "- **" + escape(f.Name) + "**: "
		if f.Name == "" {
			lead = "  - "
		}
		p.item(lead + escape(f.Text))
	}
}

// table writes a table with its title, caption and notes.
func (p *page) table(t *block.Table) {
	if t.Title != "" && t.ID == "curve" {
		p.line("**" + escape(t.Title) + "**")
		p.line("")
	}
	if t.ID == "counts" {
		t = tall(t)
	}
	if t.ID == "findings" {
		for i := len(t.Rows) - 1; i > 0; i-- {
			if t.Rows[i][0].Text == t.Rows[i-1][0].Text {
				t.Rows[i][0].Text = "" // the same name as in the row above
			}
		}
	}
	p.rows(t)
	p.line("")
	if t.Caption != "" {
		p.line(escape(t.Caption))
		p.line("")
	}
	p.notes(t.Notes)
}

// tall returns the table of database counts with a row for each figure: its columns would be too wide for a page.
func tall(t *block.Table) *block.Table {
	all := &block.Table{Columns: block.Columns("what the database did", "arm", ">on average")}
	for i, c := range t.Columns[1:] {
		for _, row := range t.Rows {
			if text := row[i+1].Text; text != report.Absent {
				all.Add(block.Texts(c.Head, row[0].Text, strings.TrimSpace(text+" "+c.Unit))...)
			}
		}
	}
	return all
}

// metrics writes a row for each metric and arm: with a column for each metric the table would be too wide for a page.
func (p *page) metrics(b *block.Metrics) {
	t := &block.Table{Columns: block.Columns("metric", "arm", ">value")}
	if len(b.Arms) > 1 {
		t.Columns = append(t.Columns, block.Columns(">difference from "+b.Arms[0].Name, "95 % CI", "verdict")...)
	}
	for _, m := range b.Columns {
		for i, f := range m.Figures {
			row := block.Texts("", b.Arms[i].Name, f.Text, f.Change, f.Interval, f.Verdict)
			if i == 0 {
				row[0] = block.Cell{Text: m.Title, Strong: b.ID == "main" && m.Primary}
			}
			t.Add(row[:len(t.Columns)]...)
			if f.Floor != "" {
				t.Add(block.Texts("", "floor of "+b.Arms[i].Name, f.FloorText, "", "", "")[:len(t.Columns)]...)
			}
		}
	}
	p.table(t)
}

// rows writes the heads and the rows of a table.
func (p *page) rows(t *block.Table) {
	head, align := make([]string, len(t.Columns)), make([]string, len(t.Columns))
	for i, c := range t.Columns {
		head[i], align[i] = escape(c.Name()), "---"
		if c.Right {
			align[i] = "---:"
		}
	}
	p.row(head)
	p.row(align)
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = cellOf(c)
		}
		p.row(cells)
	}
}

func cellOf(c block.Cell) string {
	text := escape(c.Text)
	if len(c.List) > 0 {
		lines := make([]string, len(c.List))
		for i, line := range c.List {
			lines[i] = escape(line)
		}
		text = strings.Join(lines, "<br>")
	}
	if c.Strong {
		text = "**" + text + "**"
	}
	return text
}

// notes writes notes as a list. It writes the method as paragraphs.
func (p *page) notes(n block.Notes) {
	lead, end := "- ", ""
	switch n.Kind {
	case block.Source:
		return
	case block.Answer:
		n.Lines = []string{strings.Join(n.Lines, "  ")}
		lead, end = "**", "**"
	case block.Setting, block.Method, block.Prose:
		lead = ""
	case block.Claim:
		lead, end = "**", "**"
	case block.Check:
		lead = "- **checks**: "
	case block.Limit:
		lead = "- **limit**: "
	case block.Done:
		lead = "- **done**: "
	case block.Point:
		lead, end = "- **", "**"
	}
	if n.Title != "" {
		p.line("**" + escape(n.Title) + "**")
		p.line("")
	}
	for _, line := range n.Lines {
		if strings.HasPrefix(lead, "- ") {
			p.item(lead + escape(line) + end)
			continue
		}
		p.line(lead + escape(line) + end)
		p.open = paragraph
	}
}
