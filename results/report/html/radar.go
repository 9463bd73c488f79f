package html

import (
	"fmt"
	"math"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/results/report"
	"wirelab/results/report/svg"
)

// axis is one axis of a cost profile, with a number for each arm. The rim is the best arm, and half of the radius is
// twice its cost.
type axis struct {
	name    string
	numbers []number // by arm
	best    float64
}

// share is how close a value is to the best, 0 to 1.
func (x axis) share(v float64) float64 {
	if v <= 0 || x.best <= 0 {
		return 0
	}
	if x.numbers[0].metric.Higher {
		return min(1, v/x.best)
	}
	return min(1, x.best/v)
}

// newAxis makes an axis; false if fewer than two arms have a figure.
func newAxis(name string, numbers []number) (axis, bool) {
	x := axis{name: name, numbers: numbers}
	known := 0
	for _, n := range numbers {
		if !n.e.Known || n.e.Value <= 0 {
			continue
		}
		known++
		if x.best == 0 || n.metric.Higher == (n.e.Value > x.best) {
			x.best = n.e.Value
		}
	}
	return x, known > 1
}

// radar is the cost profile of a load: its metrics are the axes.
func (s *sheet) radar(l *claim.LoadAnalysis) *figure {
	var axes []axis
	for _, id := range []string{
		plan.ServerCPU, plan.ClientCPU, plan.WireSent, plan.WireReceived, plan.ServerAllocations,
		plan.ClientAllocations, plan.ResponseP50, plan.ResponseP99,
		plan.EventServerCPU, plan.EventClientCPU, plan.EventWireReceived, plan.EventServerAllocations,
		plan.EventClientAllocations, plan.DeliveryP50, plan.DeliveryP99,
	} {
		m, err := kinds.MetricOf(l, id)
		if err != nil || l.Row(id) == nil {
			continue
		}
		if x, ok := newAxis(m.Short, s.numbers(l, m)); ok {
			axes = append(axes, x)
		}
	}
	return s.profileOf(fmt.Sprintf("radar-%d", l.Load+1), "Cost profile", axes, l, nil)
}

// profile is the cost profile over operations: the operations are the axes.
func (s *sheet) profile() *figure {
	if len(s.r.Plan.Operations()) < 3 {
		return nil
	}
	m, err := kinds.MetricByID(s.a.Loads[0].Primary)
	if err != nil {
		return nil
	}
	var axes []axis
	for i := range s.a.Loads {
		ns := s.numbers(&s.a.Loads[i], m)
		if len(ns) == 0 {
			continue
		}
		if x, ok := newAxis(s.r.Plan.OperationOf(s.r.Plan.Loads[s.a.Loads[i].Load]), ns); ok {
			axes = append(axes, x)
		}
	}
	return s.profileOf("profile", "Cost profile over operations: "+m.Title, axes, nil, &m)
}

// profileOf makes the figure from axes.
func (s *sheet) profileOf(id, title string, axes []axis, l *claim.LoadAnalysis, of *metric.Metric) *figure {
	if len(axes) < 3 || len(axes[0].numbers) < 2 {
		return nil
	}
	f := &figure{ID: id, Title: title, Half: of == nil}
	f.Caption = "Each axis is scaled to its best arm, which is at the rim; half way in is twice the cost. The " +
		"band is " +
		"the interval. The area means nothing: it depends on the order of the axes."
	arms, refused := shown(axes[0].numbers[0].load, func(a int) (bool, string) {
		for _, x := range axes {
			if n := x.numbers[a]; !n.e.Known || n.e.Value <= 0 {
				return false, x.name + ": " + n.refused()
			}
		}
		return true, ""
	})
	f.Refused = refused
	p := profile{axes: axes, arms: arms, name: s.r.ArmName}
	f.Head = []string{"axis"}
	raw := [][]string{{"axis", "arm", "value", "low", "high", "of_best"}}
	for _, n := range axes[0].numbers {
		f.Head = append(f.Head, n.state().Name)
	}
	for i, x := range axes {
		name := x.name
		if p.numbered() {
			name = fmt.Sprintf("%d  %s", i+1, x.name)
		}
		row := []cell{words(name)}
		for _, n := range x.numbers {
			c := n.cell(report.Absent)
			share := ""
			if n.e.Known && n.e.Value > 0 {
				c.Text = n.value() + " (" + report.Significant(x.share(n.e.Value), 2) + ")"
				share = exact(x.share(n.e.Value))
			}
			row = append(row, c)
			raw = append(raw, []string{x.name, n.state().Name, c.V, c.Low, c.High, share})
		}
		f.Rows = append(f.Rows, row)
	}
	f.data(s.file(id, l), raw)
	if len(arms) == 0 {
		return nil
	}
	if p.numbered() {
		var key []string
		for i, x := range axes {
			key = append(key, fmt.Sprintf("%d %s", i+1, x.name))
		}
		f.Notes = []string{"Axes, clockwise from the top: " + strings.Join(key, ", ") + "."}
	} else {
		f.Legend = s.legend(arms)
	}
	f.draw(p.describe(), p.paint)
	return f
}

// profile is the plot: all arms in one drawing, or one drawing each if there are too many.
type profile struct {
	axes []axis
	arms []int
	name func(int) string
}

func (p profile) numbered() bool { return len(p.arms) > 4 }

func (p profile) describe() string {
	var all []string
	for _, a := range p.arms {
		worst, where := 2.0, ""
		for _, x := range p.axes {
			if v := x.share(x.numbers[a].e.Value); v < worst {
				worst, where = v, x.name
			}
		}
		all = append(all, fmt.Sprintf("%s: furthest from the best in %s, %s of it", p.name(a), where,
			report.Significant(worst, 2)))
	}
	return strings.Join(all, "; ")
}

func (p profile) paint(d *svg.Drawing) {
	if p.numbered() {
		p.panels(d)
		return
	}
	room := min(112.0, 0.27*d.Width())
	radius := min(d.Width()/2-room, 150)
	x, y := d.Width()/2, radius+34
	p.frame(d, x, y, radius)
	for i, a := range p.axes {
		angle := p.angle(i)
		cx, cy := x+(radius+12)*math.Sin(angle), y-(radius+12)*math.Cos(angle)
		anchor, space := svg.Middle, room*1.2
		switch {
		case math.Sin(angle) > 0.2:
			anchor, space = svg.Start, d.Width()-cx-2
		case math.Sin(angle) < -0.2:
			anchor, space = svg.End, cx-2
		}
		lines := svg.Wrap(a.name, smallSize, space, 2)
		cy += 4 - 6*float64(len(lines)-1)*(1+math.Cos(angle))
		for j, text := range lines {
			d.Text(cx, cy+12*float64(j), smallSize, anchor, text, svg.Class("muted"))
		}
	}
	for _, a := range p.arms {
		p.arm(d, a, x, y, radius)
	}
	d.Tall(y + radius + 40)
}

// panels draws a small profile for each arm, with numbered axes.
func (p profile) panels(d *svg.Drawing) {
	columns := max(2, min(len(p.arms), int(d.Width()/150)))
	wide := d.Width() / float64(columns)
	radius := min(wide/2-20, 62)
	high := 2*radius + 74
	for i, a := range p.arms {
		x := (float64(i%columns) + 0.5) * wide
		top := float64(i/columns) * high
		for j, text := range svg.WrapBold(p.name(a), smallSize, wide-10, 2) {
			d.Text(x, top+14+12*float64(j), smallSize, svg.Middle, text, svg.Class("strong"))
		}
		y := top + 50 + radius
		p.frame(d, x, y, radius)
		for k := range p.axes {
			angle := p.angle(k)
			d.Text(x+(radius+9)*math.Sin(angle), y-(radius+9)*math.Cos(angle)+4, smallSize, svg.Middle, itoa(k+1),
				svg.Class("muted"))
		}
		p.arm(d, a, x, y, radius)
	}
	d.Tall(float64((len(p.arms)+columns-1)/columns) * high)
}

func (p profile) angle(i int) float64 { return 2 * math.Pi * float64(i) / float64(len(p.axes)) }

// frame draws the rim, the circle at half of the radius, and the axes.
func (p profile) frame(d *svg.Drawing, x, y, radius float64) {
	for _, share := range []float64{0.25, 0.5, 0.75, 1} {
		class := "grid"
		if share == 1 {
			class = "rim"
		}
		var ring []svg.Point
		for i := range p.axes {
			ring = append(ring, p.place(x, y, radius*share, i))
		}
		d.Path(ring, true, svg.Class(class))
	}
	for i := range p.axes {
		end := p.place(x, y, radius, i)
		d.Line(x, y, end.X, end.Y, svg.Class("grid"))
	}
}

func (p profile) place(x, y, radius float64, i int) svg.Point {
	angle := p.angle(i)
	return svg.Point{X: x + radius*math.Sin(angle), Y: y - radius*math.Cos(angle)}
}

// arm draws an arm's profile.
func (p profile) arm(d *svg.Drawing, arm int, x, y, radius float64) {
	var line, near, far []svg.Point
	for i, a := range p.axes {
		e := a.numbers[arm].e
		v, low, high := a.share(e.Value), a.share(e.Value), a.share(e.Value)
		if e.Interval() {
			low, high = min(a.share(e.Low), a.share(e.High)), max(a.share(e.Low), a.share(e.High))
		}
		line = append(line, p.place(x, y, radius*v, i))
		near, far = append(near, p.place(x, y, radius*low, i)), append(far, p.place(x, y, radius*high, i))
	}
	d.Group(svg.Attr{Name: "data-s", Value: itoa(arm)}, svg.Class("of"))
	d.Ring(far, near, svg.Class("area "+series(arm)))
	d.Path(line, true, svg.Class("line "+series(arm)+dashed(arm)))
	for i, a := range p.axes {
		d.Mark(shape(arm), line[i].X, line[i].Y, 3,
			append([]svg.Attr{svg.Class("dot hover " + series(arm))}, a.numbers[arm].attrs()...)...)
	}
	d.End()
}
