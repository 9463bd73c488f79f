package html

import (
	_ "embed" // for the style of pictures
	"fmt"
	"io"
	"regexp"
	"strings"

	"wirelab"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	phrases "wirelab/lab/result/words"
	"wirelab/results/report"
	"wirelab/results/report/svg"
)

//go:embed picture.css
var pictureStyle string

// The widths of a picture and of its margin.
const (
	pictureWidth  = 760.0
	pictureMargin = 24.0
)

// WritePicture writes the first verdict of a result as one SVG file, for a README or a slide: the short answer, the
// differences with their intervals, what each arm costs, and what the figures are based on. The file follows the
// reader's light or dark setting and loads nothing. It returns an error for a result without a comparison.
func WritePicture(w io.Writer, r *result.Result) error {
	a := analyse.Result(r)
	answer := report.Summarise(r, &a, nil).Answer
	r, marked := report.Marked(r, &a)
	s := &sheet{r: r, a: marked, tipped: map[string]int{}}
	for i := range s.a.Loads {
		l := &s.a.Loads[i]
		m, err := kinds.MetricOf(l, l.Primary)
		if err != nil || len(l.Arms) < 2 || report.Empty(l) || l.Slow || l.Row(m.ID) == nil {
			continue
		}
		sentence := strings.Join(answer, " ")
		drawings := []*svg.Drawing{s.pictureHead(sentence), s.pictureForest(l, m)}
		if report.ShapeOf(l.Kind).Calls {
			drawings = append(drawings, s.pictureCosts(l)...)
		}
		drawings = append(drawings, s.pictureFoot(l))
		_, err = w.Write(svg.File(sentence, pictureColours()+pictureStyle, pictureMargin, drawings...))
		return err
	}
	return &wirelab.Error{
		Code:    wirelab.InvalidArgument,
		Message: "result " + r.ID + " compares nothing that a picture shows; write the page with --format html",
	}
}

var colour = regexp.MustCompile(`(?m)^ +(--\w+): light-dark\((#\w+), (#\w+)\);$`)

// pictureColours returns the page's colours for light and dark, with the media query that viewers of pictures
// support.
func pictureColours() string {
	var light, dark strings.Builder
	for _, c := range colour.FindAllStringSubmatch(styleText, -1) {
		light.WriteString(c[1] + ":" + c[2] + ";")
		dark.WriteString(c[1] + ":" + c[3] + ";")
	}
	return ":root{" + light.String() + "}\n@media (prefers-color-scheme: dark){:root{" + dark.String() + "}}\n"
}

// lines writes text over the width of a drawing, starting at y, and returns where the next line would be.
func lines(d *svg.Drawing, y, size float64, text, class string) float64 {
	for _, line := range svg.Wrap(text, size, d.Width(), 6) {
		d.Text(0, y, size, svg.Start, line, svg.Class(class))
		y += 1.45 * size
	}
	return y
}

// picturePart returns a part of a picture. Each part needs its own id.
func (s *sheet) picturePart(id, title string) *svg.Drawing {
	return svg.New(id, "", title, title, pictureWidth-2*pictureMargin)
}

func (s *sheet) pictureHead(sentence string) *svg.Drawing {
	d := s.picturePart("head", title(s.r))
	d.Text(0, 17, 18, svg.Start, svg.FitBold(title(s.r), 18, d.Width()), svg.Class("strong"))
	d.Tall(lines(d, 42, 13.5, sentence, "") + 2)
	return d
}

func (s *sheet) pictureForest(l *claim.LoadAnalysis, m metric.Metric) *svg.Drawing {
	caption := fmt.Sprintf("%s, compared with %s. Dot: the difference. Bar: its 95 %% interval.",
		report.Titled(m.Title), l.Arms[0].Name)
	d := s.picturePart("caption-1", caption)
	plot, _ := s.against(l, m)
	y := lines(d, 12, smallSize, caption, "muted")
	d.Group(svg.Attr{Name: "transform", Value: fmt.Sprintf("translate(0 %.0f)", y)})
	plot.paint(d)
	d.End()
	d.Tall(d.Height() + y + 4)
	return d
}

// pictureCosts returns the bars of CPU time, if it is known.
func (s *sheet) pictureCosts(l *claim.LoadAnalysis) []*svg.Drawing {
	c := &barChart{}
	parts := []part{{plan.ServerCPU, "server", "part0"}, {plan.ClientCPU, "client", "part1"}}
	for a := range l.Arms {
		b := bar{name: l.Arms[a].Name}
		for _, p := range parts {
			m, err := kinds.MetricOf(l, p.metric)
			if err != nil || l.Row(p.metric) == nil {
				return nil
			}
			b.parts, b.class = append(b.parts, s.numbers(l, m)[a]), append(b.class, p.class)
		}
		c.bars = append(c.bars, b)
	}
	if !c.scan(metric.Time) {
		return nil
	}
	head := s.picturePart("caption-2", "CPU time of one request: server + client")
	head.Text(0, 12, smallSize, svg.Start, "CPU time of one request: server (left) + client (right)",
		svg.Class("muted"))
	head.Tall(18)
	bars := s.picturePart("costs", "CPU time of one request")
	c.paint(bars)
	return []*svg.Drawing{head, bars}
}

// pictureFoot says what the figures are based on.
func (s *sheet) pictureFoot(l *claim.LoadAnalysis) *svg.Drawing {
	d := s.picturePart("foot", "what the figures rest on")
	replies, told, rounds := uint64(0), "", 0
	for a := range l.Arms {
		if tool := l.Arms[a].Tool; tool == "" {
			replies += l.Arms[a].Requests
		} else {
			told = ", but none of those to other load generators"
		}
		rounds = max(rounds, l.Arms[a].Rounds)
	}
	text := fmt.Sprintf("%s; %s; %s calls, every reply checked%s. Result %s. Absolute figures are those of one "+
		"machine.",
		report.LoadName(s.r.Plan, l.Load), report.Plural(rounds, "round"), phrases.Thousands(replies), told, s.r.ID)
	d.Tall(lines(d, 16, smallSize, text, "muted") - 10)
	return d
}
