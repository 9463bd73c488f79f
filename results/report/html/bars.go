package html

import (
	"fmt"
	"html/template"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/results/report"
	"wirelab/results/report/svg"
)

// bar is a row of a bar chart: one number, or several that are added up.
type bar struct {
	name  string
	parts []number
	class []string // of each part
	heads string   // heading above it, for the first bar of a group
}

// barChart is rows of bars from 0, with error bars.
type barChart struct {
	bars []bar
	unit report.Unit
	most float64 // in the metric's own unit
}

// known returns the parts that have a figure.
func (b bar) known() []number {
	var all []number
	for _, n := range b.parts {
		if n.e.Known {
			all = append(all, n)
		}
	}
	return all
}

// label returns the text after a bar: "24.1 + 21.9 µs".
func (b bar) label(u report.Unit) string {
	var all []string
	for _, n := range b.parts {
		all = append(all, report.Value(n.e, u)+report.Marks(n.state(), n.metric))
	}
	text := strings.Join(all, " + ")
	if u.Name == "" || strings.HasPrefix(u.Name, "/") {
		return text + u.Name
	}
	return text + " " + u.Name
}

// scan determines the unit and the end of the axis.
func (c *barChart) scan(dimension metric.Dimension) bool {
	var values []float64
	for _, b := range c.bars {
		sum, high := 0.0, 0.0
		for _, n := range b.known() {
			values = append(values, n.e.Value)
			high = max(high, sum+max(n.e.High, n.e.Value))
			sum += n.e.Value
		}
		c.most = max(c.most, high)
	}
	c.unit = report.UnitFor(dimension, values...)
	return len(values) > 0 && c.most > 0
}

func (c *barChart) paint(d *svg.Drawing) {
	named, said := 0.0, 0.0
	for _, b := range c.bars {
		named = max(named, svg.Width(b.name, fontSize))
		said = max(said, svg.Width(b.label(c.unit), smallSize))
	}
	left, high, above := named+14, 26.0, 0.0
	if left > 0.34*d.Width() {
		left, high, above = 4, 42, 17 // names above their bars
	}
	right := d.Width() - said - 12
	if right-left < 90 { // labels below their bars
		right, high = d.Width()-6, high+16
	}
	x := svg.Linear(0, c.most, left, right)
	y := 4.0
	heights := 0.0
	for _, b := range c.bars {
		heights += high
		if b.heads != "" {
			heights += 30
		}
	}
	for _, t := range svg.Spaced(x.Ticks(5), x.At, c.tick, smallSize, left-14, d.Width()) {
		d.Line(t.At, y, t.At, y+heights, svg.Class("grid"))
		d.Text(t.At, y+heights+16, smallSize, svg.Middle, t.Label, svg.Class("muted"))
	}
	d.Line(left, y, left, y+heights, svg.Class("zero")) // below the words
	for _, b := range c.bars {
		if b.heads != "" {
			d.Text(4, y+20, fontSize, svg.Start, svg.FitBold(b.heads, fontSize, d.Width()-8), svg.Class("strong bg"))
			y += 30
		}
		c.row(d, b, x, y, above, right < d.Width()-said-10)
		y += high
	}
	d.Tall(y + 24)
}

// tick writes a value on the axis.
func (c *barChart) tick(v float64) string {
	if v == 0 {
		return "0"
	}
	return strings.TrimSpace(short(v/c.unit.Size, 3) + " " + strings.TrimPrefix(c.unit.Name, "/s"))
}

// row draws a bar with its name above or before it, and its figures after or below it.
func (c *barChart) row(d *svg.Drawing, b bar, x svg.Scale, y, above float64, behind bool) {
	const thick = 14
	at := y + above + 6
	left := x.At(0)
	if above > 0 {
		d.Text(4, y+15, fontSize, svg.Start, svg.Fit(b.name, fontSize, d.Width()-8), svg.Class("bg"))
	} else {
		d.Text(4, at+11, fontSize, svg.Start, b.name)
	}
	known := b.known()
	if len(known) == 0 {
		d.Text(left+6, at+11, smallSize, svg.Start, svg.Fit("refused: "+b.parts[0].e.Why, smallSize, d.Width()-left-10),
			svg.Class("refused bg"))
		return
	}
	sum, end := 0.0, left
	for i, n := range b.parts {
		if !n.e.Known {
			continue
		}
		d.Group(append([]svg.Attr{svg.Class("mark bar " + b.class[i]), {Name: "data-s", Value: itoa(n.arm)}},
			n.attrs()...)...)
		d.Rect(x.At(sum), at, max(1, x.At(sum+n.e.Value)-x.At(sum)), thick, svg.Class("fill"))
		if n.e.Interval() && n.e.High > n.e.Low {
			low, high := x.At(sum+n.e.Low), x.At(sum+n.e.High)
			d.Line(low, at+thick/2, high, at+thick/2, svg.Class("error"))
			d.Line(low, at+3, low, at+thick-3, svg.Class("error"))
			d.Line(high, at+3, high, at+thick-3, svg.Class("error"))
			end = max(end, high)
		}
		d.End()
		sum += n.e.Value
		end = max(end, x.At(sum))
	}
	if behind {
		d.Text(end+7, at+11, smallSize, svg.Start, b.label(c.unit))
		return
	}
	d.Text(left+2, at+thick+13, smallSize, svg.Start, svg.Fit(b.label(c.unit), smallSize, d.Width()-left-8),
		svg.Class("muted bg"))
}

// part is a metric that is added to others.
type part struct{ metric, name, class string }

// stacked returns a chart of metrics that are added up, for each arm of a load.
func (s *sheet) stacked(l *claim.LoadAnalysis, id, title, caption string, parts ...part) *figure {
	var columns [][]number
	for _, p := range parts {
		m, err := kinds.MetricOf(l, p.metric)
		if err != nil || l.Row(p.metric) == nil {
			return nil
		}
		columns = append(columns, s.numbers(l, m))
	}
	f := &figure{ID: fmt.Sprintf("%s-%d", id, l.Load+1), Title: title, Caption: caption, Half: true}
	c := &barChart{}
	var desc []string
	for a := range l.Arms {
		b := bar{name: l.Arms[a].Name}
		var said []string
		for i, p := range parts {
			n := columns[i][a]
			if why := n.refused(); i > 0 && why != "" && n.state().Spoiled(n.metric) == "" {
				said = append(said, p.name+" "+why)
				continue // the arm does not have this part: this is no gap
			}
			b.parts, b.class = append(b.parts, n), append(b.class, p.class)
			said = append(said, p.name+" "+n.value())
		}
		c.bars = append(c.bars, b)
		desc = append(desc, b.name+": "+strings.Join(said, ", "))
	}
	if !c.scan(columns[0][0].metric.Dimension) {
		return nil
	}
	for _, p := range parts {
		f.Legend = append(f.Legend, entry{Glyph: patch(p.class), Name: p.name, Series: -1})
	}
	f.draw(strings.Join(desc, "; "), c.paint)
	s.barTable(f, c, id, l)
	return f
}

// patch draws a piece of a bar, for legends.
func patch(class string) template.HTML {
	d := svg.Glyph(18, 12)
	d.Group(svg.Class("bar " + class))
	d.Rect(1, 1, 16, 10, svg.Class("fill"))
	d.End()
	return d.Bare()
}

// barTable makes the table of a bar chart, and its download.
func (s *sheet) barTable(f *figure, c *barChart, file string, l *claim.LoadAnalysis) {
	f.Head = []string{"arm", "load", "metric", "value", "95 % CI", "rounds", "checks"}
	raw := [][]string{{"arm", "load", "metric", "value", "low", "high", "unit", "rounds", "refused"}}
	for _, b := range c.bars {
		for _, n := range b.parts {
			k := n.cell(n.value())
			if !n.e.Known {
				k.Text = "refused"
			}
			checks := n.gates()
			if !n.e.Known {
				checks = n.e.Why
			}
			f.Rows = append(f.Rows,
				[]cell{
					words(n.state().Name), words(n.name), words(n.metric.Short), k, figures(n.interval()),
					figures(itoa(n.e.Rounds)), words(checks),
				})
			raw = append(raw, []string{
				n.state().Name, n.name, n.metric.ID, k.V, k.Low, k.High,
				report.BaseUnit(n.metric.Dimension), k.Rounds, n.refused(),
			})
		}
	}
	f.data(s.file(file, l), raw)
}

func (s *sheet) cpuBars(l *claim.LoadAnalysis) *figure { return lookOf(l).cpu(s, l) }

// costs returns the chart of the CPU times of server, client, and database if there is one.
func (s *sheet) costs(l *claim.LoadAnalysis, per string, server, database, client part) *figure {
	title := "CPU time per " + per
	if l.Row(database.metric) == nil {
		return s.stacked(l, "cpu", title, "Server and client added up, each with its 95 % interval at its end.", server,
			client)
	}
	caption := "Server, database and client added up, each with its 95 % interval at its end. A database that runs " +
		"inside the server is in the server's."
	return s.stacked(l, "cpu", title, caption, server, database, client)
}

func (s *sheet) byteBars(l *claim.LoadAnalysis) *figure { return lookOf(l).bytes(s, l) }

func (s *sheet) allocationBars(l *claim.LoadAnalysis) *figure {
	if of := lookOf(l).allocations; of != nil {
		return of(s, l)
	}
	return nil
}

// groupedBars compares arms over all loads: a chart of the primary metric, and one of throughput. It returns none if
// there is only one load, or if the loads are steps of a curve.
func (s *sheet) groupedBars() []*figure {
	if len(s.a.Loads) < 2 || len(s.a.Curves) > 0 {
		return nil
	}
	for i := range s.a.Loads {
		if s.a.Loads[i].Scenario != s.a.Loads[0].Scenario {
			return nil // the longest outages of one scenario would dwarf the others
		}
	}
	var all []*figure
	ids := []string{s.a.Loads[0].Primary}
	if !s.a.Loads[0].Open && ids[0] != plan.Throughput {
		ids = []string{plan.Throughput, ids[0]}
	}
	for _, id := range ids {
		m, err := kinds.MetricOf(&s.a.Loads[0], id)
		if err != nil {
			continue
		}
		f := &figure{
			ID: "bars-" + id, Title: report.Titled(m.Title) + ", side by side",
			Caption: "From 0, with 95 % intervals. ",
		}
		f.Caption += map[bool]string{true: "Longer is better.", false: "Shorter is better."}[m.Higher]
		c := &barChart{}
		var desc []string
		for i := range s.a.Loads {
			l := &s.a.Loads[i]
			for a, n := range s.numbers(l, m) {
				b := bar{name: n.state().Name, parts: []number{n}, class: []string{series(a)}}
				if a == 0 {
					b.heads = n.name
				}
				c.bars = append(c.bars, b)
				desc = append(desc, n.name+", "+b.name+": "+n.value())
			}
		}
		if !c.scan(m.Dimension) {
			continue
		}
		f.draw(strings.Join(desc, "; "), c.paint)
		s.barTable(f, c, "bars-"+id, nil)
		all = append(all, f)
	}
	return all
}
