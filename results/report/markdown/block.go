package markdown

import (
	"strings"

	"wirelab/results/report/block"
)

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

// blocks writes blocks one after another. Remarks stand below the tables, before what says how to read them.
func (p *page) blocks(all []block.Block) {
	var remarks []string
	flush := func() {
		p.notes(block.Notes{Lines: remarks})
		if len(remarks) > 0 {
			p.line("")
		}
		remarks = nil
	}
	for _, b := range all {
		switch b := b.(type) {
		case block.Heading:
			p.line("### " + escape(b.Text))
			p.line("")
		case block.Facts:
			p.facts(b)
			p.line("")
		case *block.Table:
			if b.Title != "" {
				p.line("**" + escape(b.Title) + "**")
				p.line("")
			}
			p.table(b)
		case block.Notes:
			if b.Title != "" {
				p.line("**" + escape(b.Title) + "**")
				p.line("")
				p.notes(b)
				p.line("")
				continue
			}
			switch b.Kind {
			case block.Remark:
				remarks = append(remarks, b.Lines...)
			case block.Answer:
				p.line("**" + escape(strings.Join(b.Lines, "  ")) + "**")
				p.line("")
			case block.Setting, block.Method:
				flush()
				for _, line := range b.Lines {
					p.line(escape(line))
				}
				p.line("")
			default:
				p.notes(b)
				p.line("")
			}
		}
	}
	flush()
}

func (p *page) facts(all block.Facts) {
	for _, f := range all {
		p.line("- **" + escape(f.Name) + "**: " + escape(f.Text))
	}
}

// notes writes notes as a list.
func (p *page) notes(n block.Notes) {
	lead, end := "- ", ""
	switch n.Kind {
	case block.Source:
		return
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
