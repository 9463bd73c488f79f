package html

import (
	"fmt"
	"strings"

	"wirelab/lab/result/claim"
	"wirelab/results/report"
	"wirelab/results/report/svg"
)

// processBars is the chart of the CPU time of each process of a pipeline; nil if no arm is a pipeline.
func (s *sheet) processBars(l *claim.LoadAnalysis) *figure {
	p := report.ProcessesOf(l)
	if p == nil {
		return nil
	}
	f := &figure{
		ID: fmt.Sprintf("process-bars-%d", l.Load+1), Title: "CPU time per entry, by process",
		Caption: report.ProcessCaption,
	}
	f.tabled(s.table(l, report.ProcessTable(l)))
	c := processChart{p: p}
	var desc []string
	for a := range l.Arms {
		if why := p.Why[a]; why != "" {
			f.Refused = append(f.Refused, l.Arms[a].Name+": "+why)
			continue
		}
		name := l.Arms[a].Name
		var said []string
		one := processBar{name: name, cpu: p.CPU[a]}
		for i, cpu := range p.CPU[a] {
			text := p.Roles[i] + " " + p.Text(cpu) + " " + p.Unit.Name
			one.tips = append(one.tips, s.tip(name+" · CPU for an entry\n"+text+" of "+p.Text(p.Sum(a))+" together"))
			if cpu > 0 {
				said = append(said, text)
			}
		}
		c.bars = append(c.bars, one)
		c.most = max(c.most, p.Sum(a))
		desc = append(desc, name+": "+strings.Join(said, ", "))
	}
	if len(c.bars) == 0 {
		return nil
	}
	for i, role := range p.Roles {
		f.Legend = append(f.Legend, entry{Glyph: patch("role-" + p.Roles[i]), Name: role, Series: -1})
	}
	f.draw(strings.Join(desc, "; "), c.paint)
	return f
}

// processChart has a bar for each arm, with a part for each process.
type processChart struct {
	p    *report.Processes
	bars []processBar
	most float64 // ns
}

type processBar struct {
	name string
	cpu  []float64
	tips []svg.Attr
}

func (c *processChart) paint(d *svg.Drawing) {
	named, said := 0.0, 0.0
	for _, b := range c.bars {
		named, said = max(named, svg.Width(b.name, fontSize)), max(said, svg.Width(c.total(b), smallSize))
	}
	left, above := named+14, 0.0
	if left > 0.34*d.Width() {
		left, above = 4, 17 // names above their bars
	}
	const thick, below, space = 16.0, 16.0, 10.0
	x := svg.Linear(0, c.most, left, d.Width()-said-12)
	y := 4.0
	for _, b := range c.bars {
		if above > 0 {
			d.Text(4, y+12, fontSize, svg.Start, svg.Fit(b.name, fontSize, d.Width()-8))
		} else {
			d.Text(4, y+12, fontSize, svg.Start, b.name)
		}
		y += above
		sum := 0.0
		for i, cpu := range b.cpu {
			if cpu <= 0 {
				continue
			}
			from, to := x.At(sum), x.At(sum+cpu)
			d.Group(svg.Class("mark bar role-"+c.p.Roles[i]), b.tips[i])
			d.Rect(from, y, max(1, to-from-1.5), thick, svg.Class("fill"))
			d.End()
			if text := c.label(i, cpu, to-from-6); text != "" {
				d.Text(from, y+thick+12, smallSize, svg.Start, text, svg.Class("muted"))
			}
			sum += cpu
		}
		d.Text(x.At(sum)+7, y+12, smallSize, svg.Start, c.total(b), svg.Class("strong"))
		y += thick + below + space
	}
	d.Tall(y)
}

// label returns the text below a part: its name and figure, only the figure, or nothing if there is no space.
func (c *processChart) label(role int, cpu, room float64) string {
	for _, text := range []string{c.p.Roles[role] + " " + c.p.Text(cpu), c.p.Text(cpu)} {
		if svg.Width(text, smallSize) <= room {
			return text
		}
	}
	return ""
}

// total returns the text after a bar.
func (c *processChart) total(b processBar) string {
	sum := 0.0
	for _, cpu := range b.cpu {
		sum += cpu
	}
	return c.p.Text(sum) + " " + c.p.Unit.Name
}
