package html

import (
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"

	"wirelab/lab/result"
	"wirelab/results/report"
	"wirelab/results/report/svg"
)

// track has one value for each round, in the order in which they ran.
type track struct {
	name, class string
	values      []float64 // NaN if a round has none
	tips        []svg.Attr
}

// strip is a small chart of tracks over the rounds, with a limit.
type strip struct {
	tracks []track
	limit  float64 // NaN: none
	said   string  // label of the limit
	label  func(float64) string
}

// noise shows the other activity of the machine in each round.
func (s *sheet) noise() *figure {
	if len(s.r.Rounds) < 2 {
		return nil
	}
	f := &figure{ID: "noise", Title: "Noise, round by round", Half: true}
	f.Caption = "Share of all CPUs' time that the hypervisor took, and that other processes used, while each round " +
		"ran. Above the dashed line times are marked or refused."
	steal, others := track{name: "hypervisor", class: "s5"}, track{name: "other processes", class: "s1"}
	raw := [][]string{{"round", "began", "steal", "others", "cpu_pressure", "io_pressure", "throttled_ns"}}
	for i, round := range s.r.Rounds {
		n := round.Noise
		tip := s.tip(fmt.Sprintf("round %d\nhypervisor %s, other processes %s of the CPUs", i+1,
			report.Percent(n.Steal), report.Percent(n.Others)))
		steal.values, others.values = append(steal.values, n.Steal), append(others.values, n.Others)
		steal.tips, others.tips = append(steal.tips, tip), append(others.tips, tip)
		f.Rows = append(f.Rows,
			[]cell{
				figures(itoa(i + 1)), figures(report.Percent(n.Steal)), figures(report.Percent(n.Others)),
				figures(report.Percent(max(0, n.CPUPressure))), figures(report.Percent(max(0, n.IOPressure))),
			})
		raw = append(raw, []string{
			itoa(i + 1), round.Began.UTC().Format(time.RFC3339), exact(n.Steal), exact(n.Others),
			exact(n.CPUPressure), exact(n.IOPressure), fmt.Sprint(int64(n.Throttled)),
		})
	}
	f.Head = []string{"round", "hypervisor", "other processes", "waited for CPU", "waited for I/O"}
	f.data(s.file("noise", nil), raw)
	f.Legend = []entry{
		{Glyph: stroke("s5", 0), Name: steal.name, Series: -1},
		{Glyph: stroke("s1", 1), Name: others.name, Series: -1},
	}
	worst := result.Worst(s.r.Rounds)
	st := strip{
		tracks: []track{steal, others}, limit: 0.1, said: "10 %, marked",
		label: func(v float64) string { return short(100*v, 3) + " %" },
	}
	f.draw(fmt.Sprintf("In the worst round the hypervisor took %s and other processes used %s of the CPUs.",
		report.Percent(worst.Steal), report.Percent(worst.Others)), st.paint)
	return f
}

// lag shows how late calls were made in each round. Without a schedule, it shows how busy the generator was.
func (s *sheet) lag() *figure {
	for _, g := range []struct {
		gate                 result.Gate
		title, caption, said string
		label                func(float64) string
	}{
		{
			result.OnTime50, "Generator lag, round by round",
			"How late 99 % of calls were made, at most: of all arms the latest.", "limit",
			func(v float64) string { return report.Duration(time.Duration(v * 1e3)) },
		},
		{
			result.GeneratorCPU, "The generator's CPU, round by round",
			"No call is late: one is due when it is made, or a stream's reader only waits. Shown is the share of its " +
				"CPUs that the generator used: of all arms the busiest.", "limit",
			func(v float64) string { return short(100*v, 3) + " %" },
		},
		{
			result.GeneratorWaits, "The generator's waits for a CPU, round by round",
			"No call is late: one is due when it is made, or a stream's reader only waits. Shown is the share of the " +
				"time that the generator was ready to run and waited: of all arms the longest.", "limit",
			func(v float64) string { return short(100*v, 3) + " %" },
		},
	} {
		if f := s.readings(g.gate, g.title, g.caption, g.said, g.label); f != nil {
			return f
		}
	}
	return nil
}

// readings shows a gate's worst reading of each round.
func (s *sheet) readings(g result.Gate, title, caption, said string, label func(float64) string) *figure {
	worst := track{
		name: title, class: "s5", values: make([]float64, len(s.r.Rounds)),
		tips: make([]svg.Attr, len(s.r.Rounds)),
	}
	for i := range worst.values {
		worst.values[i] = math.NaN()
	}
	limit, found, where := math.Inf(1), 0, make([]string, len(s.r.Rounds))
	raw := [][]string{{"round", "arm", "load", "value", "unit", "ok"}}
	for i := range s.a.Loads {
		for _, arm := range s.a.Loads[i].Arms {
			for _, c := range arm.Checks {
				if c.Gate != g {
					continue
				}
				limit = min(limit, c.Limit)
				for _, r := range c.Rounds {
					if r.Round < 1 || r.Round > len(worst.values) {
						continue
					}
					found++
					raw = append(raw,
						[]string{
							itoa(r.Round), arm.Name, report.LoadName(s.r.Plan, i), exact(r.Value), c.Unit,
							fmt.Sprint(r.OK),
						})
					if v := worst.values[r.Round-1]; math.IsNaN(v) || r.Value > v {
						worst.values[r.Round-1] = r.Value
						where[r.Round-1] = arm.Name + ", " + report.LoadName(s.r.Plan, i)
					}
				}
			}
		}
	}
	if found == 0 || len(s.r.Rounds) < 2 {
		return nil
	}
	f := &figure{ID: "readings", Title: title, Half: true, Caption: caption, Head: []string{"round", "worst", "where"}}
	top := 0.0
	for i, v := range worst.values {
		if math.IsNaN(v) {
			continue
		}
		top = max(top, v)
		worst.tips[i] = s.tip(fmt.Sprintf("round %d: %s\n%s", i+1, label(v), where[i]))
		f.Rows = append(f.Rows, []cell{figures(itoa(i + 1)), figures(label(v)), words(where[i])})
	}
	f.data(s.file(strings.ReplaceAll(string(g), " ", "-"), nil), raw)
	st := strip{tracks: []track{worst}, limit: limit, said: label(limit) + ", " + said, label: label}
	f.draw("The worst round: "+label(top), st.paint)
	return f
}

// stroke draws a line with a mark, for legends of lines that are not arms.
func stroke(class string, mark int) template.HTML {
	d := svg.Glyph(26, 12)
	d.Line(0, 6, 26, 6, svg.Class("line "+class))
	d.Mark(mark, 13, 6, 3.2, svg.Class("dot "+class))
	return d.Bare()
}

// paint draws the strip.
func (st strip) paint(d *svg.Drawing) {
	top, rounds := 0.0, 0
	for _, t := range st.tracks {
		rounds = max(rounds, len(t.values))
		for _, v := range t.values {
			if !math.IsNaN(v) {
				top = max(top, v)
			}
		}
	}
	limited := !math.IsNaN(st.limit) && !math.IsInf(st.limit, 0) && st.limit > 0
	if limited {
		top = max(top, 1.15*st.limit)
	}
	const high, above = 96.0, 14.0
	y := svg.Linear(0, max(top, 1e-9)*1.05, above+high, above)
	ticks := y.Ticks(3)
	left := 0.0
	for _, t := range ticks {
		left = max(left, svg.Width(st.label(t), smallSize))
	}
	left += 8
	x := svg.Linear(1, float64(rounds), left+8, d.Width()-8)
	for _, t := range ticks {
		d.Line(left, y.At(t), d.Width(), y.At(t), svg.Class("grid"))
		d.Text(left-6, y.At(t)+4, smallSize, svg.End, st.label(t), svg.Class("muted"))
	}
	if limited {
		d.Line(left, y.At(st.limit), d.Width(), y.At(st.limit), svg.Class("limit"))
		d.Text(d.Width()-2, y.At(st.limit)-4, smallSize, svg.End, st.said, svg.Class("muted bg"))
	}
	for i, t := range st.tracks {
		st.line(d, t, i, x, y)
	}
	roundAxis(d, x, rounds, above+high)
	d.Tall(above + high + 34)
}

// line draws a track, with gaps for rounds that have no value.
func (st strip) line(d *svg.Drawing, t track, mark int, x, y svg.Scale) {
	var points []svg.Point
	flush := func() {
		d.Path(points, false, svg.Class("line "+t.class))
		points = nil
	}
	for i, v := range t.values {
		if math.IsNaN(v) {
			flush()
			continue
		}
		points = append(points, svg.Point{X: x.At(float64(i + 1)), Y: y.At(v)})
	}
	flush()
	for i, v := range t.values {
		if !math.IsNaN(v) {
			d.Mark(mark, x.At(float64(i+1)), y.At(v), 2.4, svg.Class("dot hover "+t.class), t.tips[i])
		}
	}
}

// roundAxis names the rounds below a chart.
func roundAxis(d *svg.Drawing, x svg.Scale, rounds int, y float64) {
	values := []float64{1, float64(rounds)}
	for _, t := range x.Ticks(8) {
		if t == math.Trunc(t) {
			values = append(values, t)
		}
	}
	from, _ := x.Ends()
	for _, t := range svg.Spaced(values, x.At, func(v float64) string { return itoa(int(v)) }, smallSize, x.At(from)-12,
		d.Width()) {
		d.Text(t.At, y+16, smallSize, svg.Middle, t.Label, svg.Class("muted"))
	}
	d.Text((x.At(from)+d.Width())/2, y+30, smallSize, svg.Middle, "round, in the order they ran", svg.Class("muted"))
}
