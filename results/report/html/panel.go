package html

import "wirelab/results/report/svg"

// panel is a part of a drawing with separate axes.
type panel struct{ left, right, top, bottom float64 }

// title writes a panel's title above it, in at most two lines of the given width.
func (p panel) title(d *svg.Drawing, text string, wide float64) {
	for i, line := range svg.WrapBold(text, smallSize, wide, 2) {
		d.Text(p.left, p.top-18+12*float64(i), smallSize, svg.Start, line, svg.Class("strong"))
	}
}

// panels is the layout of small charts next to each other: their position, the least width, the greatest number in a
// row, the height of each, and the space above, below and between them.
type panels struct{ top, left, least, most, high, head, foot, gap float64 }

// draw draws n panels with paint, and returns the bottom of the last row. The first panel of each row has the labels.
func (ps panels) draw(d *svg.Drawing, n int, paint func(i int, p panel, first bool)) (bottom float64) {
	columns := max(1, min(int(ps.most), n, int((d.Width()-ps.left)/ps.least)))
	wide := (d.Width() - ps.left - float64(columns-1)*ps.gap) / float64(columns)
	tall := ps.high + ps.head + ps.foot
	for i := range n {
		p := panel{left: ps.left + float64(i%columns)*(wide+ps.gap), top: ps.top + ps.head + float64(i/columns)*tall}
		p.right, p.bottom = p.left+wide, p.top+ps.high
		paint(i, p, i%columns == 0)
	}
	return ps.top + float64((n+columns-1)/columns)*tall
}
