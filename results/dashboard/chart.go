package dashboard

import (
	"fmt"
	"html/template"
	"math"
	"net/http"
	"slices"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result/claim"
	histories "wirelab/lab/result/history"
	"wirelab/lab/result/words"
	"wirelab/results/report"
	"wirelab/results/report/html"
	"wirelab/results/report/svg"
)

// historyPage is the data of the page of a history.
type historyPage struct {
	frame
	*history
	Metrics []named // choices, with their titles
	Title   string
	Said    []saidShift
	Notes   []string
	Charts  []template.HTML
	Rows    []historyRow // the latest first
	CSV     string
	JSON    string
	Unit    report.Unit
}

type named struct{ ID, Title string }

// historyRow is one point, as a row of the table.
type historyRow struct {
	ID, Began, Value, Interval, Why, Commit string
	// Part is the number of its segment. Marks are the changes before it.
	Part  int
	Marks []mark
}

// mark is a change of the figure, of the environment, or of the build.
type mark struct{ Kind, Tone, Text string }

func (d *Dashboard) historyPage(w http.ResponseWriter, r *http.Request) error {
	h, err := d.askHistory(r, true)
	if err != nil {
		return err
	}
	p := historyPage{
		frame: d.frame("history", "History"), history: h, CSV: h.Of.address("/history.csv"),
		JSON: h.Of.address("/api/v1/history"),
	}
	for _, id := range h.Choices.Metrics {
		m, err := kinds.MetricByID(id)
		if err == nil {
			p.Metrics = append(p.Metrics, named{id, m.Title})
		}
	}
	var known []float64
	for _, one := range h.Points {
		if one.Known {
			known = append(known, one.Value)
		}
	}
	p.Unit = report.UnitFor(h.metric.Dimension, known...)
	if h.metric.ID != "" {
		p.Title = report.Titled(h.metric.Title)
	}
	p.describe(len(known))
	if len(known) > 0 {
		p.Charts = html.Draw("history", p.Title+" over time", "The values are in the table below.", html.Widths(),
			p.paint)
	}
	for i := range h.Points {
		p.Rows = append(p.Rows, p.row(i))
	}
	slices.Reverse(p.Rows)
	return d.render(w, http.StatusOK, "history", p)
}

// describe summarises the history in sentences.
func (p *historyPage) describe(known int) {
	h := p.history
	for i, s := range h.Parts {
		switch s.Begins {
		case "change":
			word := report.Word(h.metric, s.Verdict)
			p.Said = append(p.Said,
				saidShift{fmt.Sprintf("%s: %s %s: %s to %s, %s.", day(h.Points[s.From].Began), ratioText(s.Ratio), word,
					p.value(h.Parts[i-1].Mean), p.value(s.Mean), pText(s.P)), toneOf(s.Verdict)})
		case "environment":
			p.Said = append(p.Said,
				saidShift{day(h.Points[s.From].Began) + ": the environment changed (" +
					changesText(h.Points[s.From].Broken) + "), so nothing is compared across.", "open"})
		}
	}
	changed := slices.ContainsFunc(h.Parts, func(s stretch) bool { return s.Begins == "change" })
	if known > 0 && !changed {
		longest := 0
		for _, s := range h.Parts {
			longest = max(longest, s.Points)
		}
		text := fmt.Sprintf("No change was found in %s.", report.Plural(known, "value"))
		if longest < 2*h.Rule.Least {
			text = fmt.Sprintf("Nothing can be said of changes yet: it takes %d values without a break, there are %d.",
				2*h.Rule.Least, longest)
		}
		p.Said = append([]saidShift{{text, "same"}}, p.Said...)
	}
	if h.Total > h.Results {
		p.Notes = append(p.Notes,
			fmt.Sprintf("The latest %d of %d results of this machine are looked at.", h.Results, h.Total))
	}
	if len(h.Choices.Machines) > 1 {
		p.Notes = append(p.Notes, "Results of other machines are not among these: a history is of one machine.")
	}
	p.Notes = append(p.Notes, fmt.Sprintf(
		"A change is a border between two stretches of at least %d values each that E-divisive means proposes and a "+
			"t-test confirms (p < %g; borders are looked for at p < %g), with means at least %s apart. "+
			"In 20 to 100 values without a change this finds one in 1 to 2 of 100 histories.", h.Rule.Least,
		h.Rule.Strong, h.Rule.Weak, report.Percent(h.Rule.Magnitude)))
	for _, one := range h.Points {
		if one.Known && one.Value <= 0 {
			p.Notes = append(p.Notes,
				"Values of 0 are drawn, and left out where changes are looked for: there is no ratio to 0.")
			break
		}
	}
}

func pText(p float64) string {
	if p < 1e-6 {
		return "p < 0.000001"
	}
	return "p = " + report.Significant(p, 2)
}

func ratioText(ratio float64) string {
	return report.Change(&claim.Difference{Known: true, Ratio: ratio, Low: ratio, High: ratio})
}

func changesText(all []histories.Change) string {
	var text []string
	for i, c := range all {
		if i == 3 && len(all) > 4 {
			text = append(text, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		text = append(text, c.What+" "+c.Was+" → "+c.Here)
	}
	return strings.Join(text, ", ")
}

func (p *historyPage) value(v float64) string {
	return report.With(claim.Estimate{Known: true, Value: v, Low: 0.999 * v, High: 1.001 * v}, p.Unit)
}

// row returns a row of the table.
func (p *historyPage) row(i int) historyRow {
	h := p.history
	one := &h.Points[i]
	part := h.partOf(i)
	row := historyRow{
		ID: one.ID, Began: day(one.Began), Value: report.Absent, Why: one.Why, Commit: one.Commit,
		Part: part + 1,
	}
	e := claim.Estimate{Known: one.Known, Value: one.Value, Low: one.Low, High: one.High}
	if one.Known {
		row.Value, row.Why = report.With(e, p.Unit), ""
		if e.Low != e.High {
			row.Interval = report.BoundsOf(e, p.Unit)
		}
	}
	if s := h.Parts[part]; s.From == i && s.Begins == "change" {
		row.Marks = append(row.Marks,
			mark{"change", toneOf(s.Verdict), ratioText(s.Ratio) + " " + report.Word(h.metric, s.Verdict)})
	}
	if len(one.Broken) > 0 {
		row.Marks = append(row.Marks, mark{"break", "open", "environment: " + changesText(one.Broken)})
	}
	if len(one.Built) > 0 {
		row.Marks = append(row.Marks, mark{"build", "none", "build: " + changesText(one.Built)})
	}
	return row
}

const smallSize = 12

// plot is the area of the drawing and its scale.
type plot struct {
	x, y                     svg.Scale
	left, right, top, bottom float64
}

func (p *historyPage) paint(d *svg.Drawing) {
	h := p.history
	low, high := math.Inf(1), math.Inf(-1)
	for _, one := range h.Points {
		if !one.Known {
			continue
		}
		low, high = min(low, one.Value), max(high, one.Value)
		// An interval is shown only as far as the values stay readable.
		if one.High > 0 && one.High < 1.5*one.Value {
			low, high = min(low, max(one.Low, one.Value/1.5)), max(high, one.High)
		}
	}
	if pad := 0.08 * (high - low); pad > 0 {
		low, high = max(0, low-pad), high+pad
	} else {
		low, high = 0.95*low, 1.05*high+1e-12
	}
	q := plot{top: 40, bottom: 260, right: d.Width() - 10}
	q.y = svg.Linear(low/p.Unit.Size, high/p.Unit.Size, q.bottom, q.top).Round(6)
	ticks := q.y.Ticks(6)
	label := func(v float64) string { return tickText(v, ticks) }
	for _, t := range ticks {
		q.left = max(q.left, svg.Width(label(t), smallSize)+12)
	}
	q.x = svg.Linear(-0.5, max(float64(len(h.Points))-0.5, 0.5), q.left, q.right)
	for _, t := range ticks {
		d.Line(q.left, q.y.At(t), q.right, q.y.At(t), svg.Class("grid"))
		d.Text(q.left-8, q.y.At(t)+4, smallSize, svg.End, label(t), svg.Class("muted"))
	}
	unit := p.Unit.Name
	if unit != "" {
		unit = ", " + unit
	}
	for i, line := range svg.WrapBold(h.metric.Short+unit, smallSize, d.Width()-q.left, 1) {
		d.Text(q.left, 14+14*float64(i), smallSize, svg.Start, line, svg.Class("strong"))
	}
	p.dates(d, q)
	p.stretches(d, q)
	p.points(d, q)
	d.Tall(q.bottom + 28)
}

// tickText writes a value with as many decimals as its neighbours need.
func tickText(v float64, ticks []float64) string {
	digits := 0
	if len(ticks) > 1 {
		digits = max(0, int(math.Ceil(-math.Log10(ticks[1]-ticks[0])-1e-9)))
	}
	text := fmt.Sprintf("%.*f", digits, v)
	if digits == 0 && v >= 10_000 {
		return words.Thousands(uint64(math.Round(v)))
	}
	return text
}

// dates labels the time axis, as far as there is space.
func (p *historyPage) dates(d *svg.Drawing, q plot) {
	n := len(p.Points)
	order := []float64{0, float64(n - 1)}
	for parts := 2; parts <= 8; parts *= 2 {
		for i := 1; i < parts; i++ {
			order = append(order, float64(i*(n-1)/parts))
		}
	}
	name := func(v float64) string { return p.Points[int(v)].Began.UTC().Format("2 Jan 15:04") }
	at := func(v float64) float64 { // labels at the ends stay inside the drawing
		half := svg.Width(name(v), smallSize) / 2
		return min(max(q.x.At(v), q.left+half), q.right-half)
	}
	for _, t := range svg.Spaced(order, at, name, smallSize, q.left-2, q.right+2) {
		d.Text(t.At, q.bottom+18, smallSize, svg.Middle, t.Label, svg.Class("muted"))
	}
}

// stretches draws the mean of each segment and the borders between them.
func (p *historyPage) stretches(d *svg.Drawing, q plot) {
	free := q.left // where the next label may begin
	for _, s := range p.Parts {
		from, to := q.x.At(float64(s.From)-0.5), q.x.At(float64(s.To)-0.5)
		if s.Points > 0 {
			y := q.y.At(s.Mean / p.Unit.Size)
			d.Line(from+1, y, to-1, y, svg.Class("mean"))
		}
		var label, class string
		switch s.Begins {
		case "change":
			label, class = ratioText(s.Ratio), toneOf(s.Verdict)
			d.Line(from, q.top-6, from, q.bottom, svg.Class("border "+class))
			class = "word " + class
		case "environment":
			label, class = "environment", "muted"
			d.Line(from, q.top-6, from, q.bottom, svg.Class("border break"))
		default:
			continue
		}
		width := svg.BoldWidth(label, smallSize)
		x := min(max(from-width/2, free), q.right-width)
		if x >= free {
			d.Text(x, q.top-12, smallSize, svg.Start, label, svg.Class(class))
			free = x + width + 10
		}
	}
}

// points draws the values with their intervals.
func (p *historyPage) points(d *svg.Drawing, q plot) {
	size := min(4, max(1.6, (q.right-q.left)/float64(len(p.Points))/3))
	clip := func(v float64) float64 { return min(max(q.y.At(v/p.Unit.Size), q.top), q.bottom) }
	for i, one := range p.Points {
		x := q.x.At(float64(i))
		if !one.Known {
			d.Mark(5, x, q.bottom-6, 3, svg.Class("lost"),
				svg.Attr{Name: "data-tip", Value: one.ID + "\n" + day(one.Began) + " UTC\nno value: " + one.Why})
			continue
		}
		if one.High > 0 && one.High > one.Low {
			d.Line(x, clip(one.Low), x, clip(one.High), svg.Class("span"))
		}
		row := p.row(i)
		tip := []string{row.Value + " " + row.Interval, row.ID, row.Began + " UTC"}
		if one.Commit != "" {
			tip = append(tip, "wirelab "+one.Commit)
		}
		for _, m := range row.Marks {
			tip = append(tip, m.Text)
		}
		class := "dot s0 hover"
		if len(one.Built) > 0 {
			class = "ring s0 hover"
		}
		d.Mark(0, x, q.y.At(one.Value/p.Unit.Size), size, svg.Class(class),
			svg.Attr{Name: "data-tip", Value: strings.Join(tip, "\n")},
			svg.Attr{Name: "data-to", Value: "/results/" + one.ID})
	}
}
