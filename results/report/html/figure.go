package html

import (
	"fmt"
	"html/template"
	"strings"

	"wirelab/results/report/csv"
	"wirelab/results/report/svg"
)

// figure is a chart with what belongs to it: the words above and below, the
// names of its lines, its table and its data.
type figure struct {
	ID, Title string
	// Caption says how to read it, Note what is to be known beyond.
	Caption string
	Notes   []string
	Half    bool // takes half of a wide page
	Views   []template.HTML
	Legend  []entry
	// Refused are the arms that are not drawn, and why.
	Refused []string
	Head    []string
	Rows    [][]cell
	File    string
	Data    template.URL
}

// entry names a line in a legend.
type entry struct {
	Glyph  template.HTML
	Name   string
	Series int
}

// View is one of the widths in which every chart is drawn. A chart that is only scaled is unreadable on a phone or
// clumsy on a desktop. So each chart is drawn for both and for a width between them, and the style sheet shows the one
// that fits.
type View struct {
	class string
	width float64
}

// The widths, in pixels, by the room that a page gives: below 700, to 1,099,
// and from 1,100.
const (
	narrowWidth = 328
	middleWidth = 640
	wideWidth   = 1040
	halfWidth   = 504
)

// views are the widths of a chart over the whole page, or over half of it.
func views(half bool) []View {
	wide := View{"wide", wideWidth}
	if half {
		wide.width = halfWidth
	}
	return []View{{"narrow", narrowWidth}, {"middle", middleWidth}, wide}
}

// Widths are those of a chart over the whole page.
func Widths() []View { return views(false) }

// draw makes the views of a figure.
func (f *figure) draw(desc string, paint func(d *svg.Drawing)) {
	f.Views = append(f.Views, Draw(f.ID, f.Title, desc, views(f.Half), paint)...)
}

// Draw draws a chart in each of such widths.
func Draw(id, title, desc string, widths []View, paint func(d *svg.Drawing)) []template.HTML {
	var all []template.HTML
	for _, v := range widths {
		d := svg.New(id+"-"+v.class, v.class, title, desc, v.width)
		paint(d)
		all = append(all, d.HTML())
	}
	return all
}

// tabled gives a figure the table and the data of another.
func (f *figure) tabled(t *figure) { f.Head, f.Rows, f.File, f.Data = t.Head, t.Rows, t.File, t.Data }

// data makes the figure's download from rows of text, the first being heads.
func (f *figure) data(file string, rows [][]string) {
	var text strings.Builder
	for _, row := range rows {
		for i, field := range row {
			if i > 0 {
				text.WriteByte(',')
			}
			field = csv.Cell(field)
			if strings.ContainsAny(field, ",\"\n\r") {
				field = `"` + strings.ReplaceAll(field, `"`, `""`) + `"`
			}
			text.WriteString(field)
		}
		text.WriteByte('\n')
	}
	f.File, f.Data = file+".csv", dataLink("text/csv", text.String())
}

// dataLink is a link that holds its content, which works without a network and
// without a script.
func dataLink(media, text string) template.URL {
	var link strings.Builder
	link.WriteString("data:" + media + ";charset=utf-8,")
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			strings.IndexByte("-._~,/:;=@+*!$()[]|^{}", c) >= 0:
			link.WriteByte(c)
		default:
			fmt.Fprintf(&link, "%%%02X", c)
		}
	}
	return template.URL(link.String())
}
