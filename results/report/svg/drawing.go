package svg

import (
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// Drawing is one picture. Use [New] to make one.
type Drawing struct {
	id, title, desc, class string
	width, height          float64
	body                   strings.Builder
	open                   int // open groups
}

// New begins a drawing of a width in pixels. id must be unique in its page. Screen readers read title and desc. class
// is for the style sheet.
func New(id, class, title, desc string, width float64) *Drawing {
	return &Drawing{id: id, class: class, title: title, desc: desc, width: width}
}

// Width returns the width of the drawing, in pixels.
func (d *Drawing) Width() float64 { return d.width }

// Tall makes the drawing at least as high as height.
func (d *Drawing) Tall(height float64) { d.height = max(d.height, height) }

// Height returns the height of the drawing so far, in pixels.
func (d *Drawing) Height() float64 { return d.height }

// HTML returns the drawing as an element of a page. All text in it is escaped.
func (d *Drawing) HTML() template.HTML {
	for ; d.open > 0; d.open-- {
		d.body.WriteString("</g>")
	}
	id, w, h := html.EscapeString(d.id), number(d.width), number(math.Ceil(d.height))
	return template.HTML(`<svg id="` + id + `" class="chart ` + html.EscapeString(d.class) + `" viewBox="0 0 ` + w +
		" " + h + `" width="` + w + `" height="` + h +
		`" role="img" tabindex="0" aria-labelledby="` + id + `-t ` + id + `-d"><title id="` + id + `-t">` +
		html.EscapeString(d.title) +
		`</title><desc id="` + id + `-d">` + html.EscapeString(d.desc) + "</desc>" + d.body.String() + "</svg>")
}

// number writes a coordinate to a tenth of a pixel.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	v = math.Round(10*v) / 10
	if v == 0 {
		return "0" // not -0
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// Attr is an attribute of an element.
type Attr struct{ Name, Value string }

// Class is the attribute of the style sheet.
func Class(names string) Attr { return Attr{"class", names} }

// element writes an element; text is its content, "" for none.
func (d *Drawing) element(name string, attrs []Attr, text string) {
	d.begin(name, attrs)
	if text == "" {
		d.body.WriteString("/>")
		return
	}
	d.body.WriteString(">" + html.EscapeString(text) + "</" + name + ">")
}

func (d *Drawing) begin(name string, attrs []Attr) {
	d.body.WriteString("<" + name)
	for _, a := range attrs {
		if a.Value != "" {
			d.body.WriteString(" " + a.Name + `="` + html.EscapeString(a.Value) + `"`)
		}
	}
}

func at(name string, v float64) Attr { return Attr{name, number(v)} }

// Group begins a group, which lasts until [Drawing.End].
func (d *Drawing) Group(attrs ...Attr) {
	d.begin("g", attrs)
	d.body.WriteString(">")
	d.open++
}

// Define begins a group that is drawn only by [Drawing.Use].
func (d *Drawing) Define(id string) {
	d.body.WriteString("<defs>")
	d.Group(Attr{"id", id})
}

// Defined ends the group that Define began.
func (d *Drawing) Defined() {
	d.End()
	d.body.WriteString("</defs>")
}

// Use draws a defined group.
func (d *Drawing) Use(id string, attrs ...Attr) {
	d.element("use", append([]Attr{{"href", "#" + id}}, attrs...), "")
}

// End ends a group.
func (d *Drawing) End() {
	if d.open > 0 {
		d.body.WriteString("</g>")
		d.open--
	}
}

// Anchor is the side of a text that is at its position.
type Anchor string

// The anchors.
const (
	Start  Anchor = "start"
	Middle Anchor = "middle"
	End    Anchor = "end"
)

// Text writes a line of text with its baseline at y.
func (d *Drawing) Text(x, y, size float64, anchor Anchor, text string, attrs ...Attr) {
	all := []Attr{at("x", x), at("y", y), at("font-size", size)}
	if anchor != Start {
		all = append(all, Attr{"text-anchor", string(anchor)})
	}
	if text != "" {
		d.element("text", append(all, attrs...), text)
	}
}

// Line draws a straight line.
func (d *Drawing) Line(x1, y1, x2, y2 float64, attrs ...Attr) {
	d.element("path", append([]Attr{{"d", "M" + number(x1) + " " + number(y1) + "L" + number(x2) + " " + number(y2)}},
		attrs...), "")
}

// Rect draws a rectangle, unless its width or height is negative.
func (d *Drawing) Rect(x, y, width, height float64, attrs ...Attr) {
	if width >= 0 && height >= 0 {
		d.element("rect", append([]Attr{at("x", x), at("y", y), at("width", width), at("height", height)},
			attrs...), "")
	}
}

// Point is a place in pixels.
type Point struct{ X, Y float64 }

// Path draws a line through points; a closed one returns to the first.
func (d *Drawing) Path(points []Point, closed bool, attrs ...Attr) {
	if len(points) < 2 {
		return
	}
	d.element("path", append([]Attr{{"d", trace(points, closed)}}, attrs...), "")
}

// Ring draws the area between two closed lines.
func (d *Drawing) Ring(outer, inner []Point, attrs ...Attr) {
	if len(outer) > 2 && len(inner) > 2 {
		d.element("path", append([]Attr{{"d", trace(outer, true) + trace(inner, true)}, {"fill-rule", "evenodd"}},
			attrs...), "")
	}
}

func trace(points []Point, closed bool) string {
	var path strings.Builder
	for i, p := range points {
		lead := "L"
		if i == 0 {
			lead = "M"
		}
		path.WriteString(lead + number(p.X) + " " + number(p.Y))
	}
	if closed {
		path.WriteString("Z")
	}
	return path.String()
}

// Band draws the area between two lines with the same x coordinates.
func (d *Drawing) Band(low, high []Point, attrs ...Attr) {
	all := append([]Point{}, low...)
	for i := len(high) - 1; i >= 0; i-- {
		all = append(all, high[i])
	}
	if len(low) > 1 {
		d.Path(all, true, attrs...)
	}
}

// Shapes is the number of marks that [Drawing.Mark] can draw.
const Shapes = 6

// Mark draws a mark: a disc, square, diamond, triangle up, triangle down or
// cross, by the number modulo [Shapes].
func (d *Drawing) Mark(shape int, x, y, r float64, attrs ...Attr) {
	var points []Point
	switch shape % Shapes {
	case 1:
		s := 0.88 * r
		points = []Point{{x - s, y - s}, {x + s, y - s}, {x + s, y + s}, {x - s, y + s}}
	case 2:
		s := 1.25 * r
		points = []Point{{x, y - s}, {x + s, y}, {x, y + s}, {x - s, y}}
	case 3:
		points = []Point{{x, y - 1.2*r}, {x + 1.1*r, y + 0.8*r}, {x - 1.1*r, y + 0.8*r}}
	case 4:
		points = []Point{{x, y + 1.2*r}, {x + 1.1*r, y - 0.8*r}, {x - 1.1*r, y - 0.8*r}}
	case 5:
		a, b := 0.4*r, 1.15*r
		points = []Point{
			{x - a, y - b},
			{x + a, y - b},
			{x + a, y - a},
			{x + b, y - a},
			{x + b, y + a},
			{x + a, y + a},
			{x + a, y + b},
			{x - a, y + b},
			{x - a, y + a},
			{x - b, y + a},
			{x - b, y - a},
			{x - a, y - a},
		}
	default:
		d.element("circle", append([]Attr{at("cx", x), at("cy", y), at("r", r)}, attrs...), "")
		return
	}
	d.Path(points, true, attrs...)
}

// Glyph begins a picture within text that screen readers skip, since the text says the same.
func Glyph(width, height float64) *Drawing {
	return &Drawing{class: "glyph", width: width, height: height}
}

// Bare returns the drawing without a title: see [Glyph].
func (d *Drawing) Bare() template.HTML {
	w, h := number(d.width), number(d.height)
	return template.HTML(`<svg class="` + html.EscapeString(d.class) + `" viewBox="0 0 ` + w + " " + h + `" width="` +
		w + `" height="` + h + `" aria-hidden="true">` + d.body.String() + "</svg>")
}
