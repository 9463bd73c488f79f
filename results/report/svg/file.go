package svg

import (
	"html"
	"math"
	"strings"
)

// File returns drawings, one below the other, as a separate SVG file for a README or a slide. All have the same
// distance from the left edge, and a background, so that they are readable wherever the file is shown. Screen readers
// read label. style has the rules for the classes.
func File(label, style string, margin float64, drawings ...*Drawing) []byte {
	width, height := 0.0, margin
	var body strings.Builder
	for _, d := range drawings {
		body.WriteString(`<g transform="translate(` + number(margin) + " " + number(height) + `)">` + string(d.HTML()) +
			"</g>\n")
		width, height = max(width, d.width), height+math.Ceil(d.height)
	}
	w, h := number(width+2*margin), number(height+margin)
	return []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ` + w + " " + h + `" width="` + w +
		`" height="` + h +
		`" role="img" aria-label="` + html.EscapeString(label) + "\">\n<style>\n" + html.EscapeString(style) +
		"</style>\n" +
		`<rect class="card" x="0.5" y="0.5" width="` + number(width+2*margin-1) + `" height="` +
		number(height+margin-1) + `" rx="10"/>` + "\n" +
		body.String() + "</svg>\n")
}
