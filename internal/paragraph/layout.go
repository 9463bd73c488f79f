package paragraph

import "strings"

// Hang writes a text after a label that takes so many columns, and what does not fit in a line below
// its beginning. Where the label is longer, the text begins in the next line.
func Hang(label string, indent int, text string, columns int) string {
	lines := Wrap(text, columns-indent)
	space := strings.Repeat(" ", indent)
	var b strings.Builder
	b.WriteString(label)
	if len(lines) > 0 {
		if Width(label) <= indent {
			b.WriteString(space[Width(label):])
		} else {
			b.WriteString("\n" + space)
		}
		b.WriteString(strings.Join(lines, "\n"+space))
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

// leastLast is how many columns the last column of a table has at least.
const leastLast = 8

// Table is rows in columns, the first as the head, in a given width: what the last column has
// is broken into lines. The others are never broken, so they should be short.
func Table(rows [][]string, columns int) string {
	var text strings.Builder
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(cell))
		}
	}
	for _, row := range rows {
		var lead strings.Builder
		for i, cell := range row[:len(row)-1] {
			lead.WriteString(cell + strings.Repeat(" ", widths[i]-Width(cell)+2))
		}
		last := row[len(row)-1]
		text.WriteString(Hang(lead.String(), min(Width(lead.String()), columns-leastLast), last, columns))
	}
	return text.String()
}
