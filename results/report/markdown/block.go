package markdown

import "wirelab/results/report/block"

// table writes a table with its caption and notes; nothing of none.
func (p *page) table(t *block.Table) {
	if t == nil {
		return
	}
	p.rows(t)
	p.line("")
	if t.Caption != "" {
		p.line(escape(t.Caption))
		p.line("")
	}
	p.notes(t.Notes)
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
		text = listed(c.List)
	}
	if c.Strong {
		text = "**" + text + "**"
	}
	return text
}

// notes writes notes as a list, those that are one sentence for all as a paragraph.
func (p *page) notes(n block.Notes) {
	lead, end := "- ", ""
	switch n.Kind {
	case block.Check:
		lead = "- **checks**: "
	case block.Limit:
		lead = "- **limit**: "
	case block.Done:
		lead = "- **done**: "
	case block.Claim, block.Point:
		lead, end = "- **", "**"
	}
	for _, line := range n.Lines {
		p.line(lead + escape(line) + end)
	}
}
