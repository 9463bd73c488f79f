package html

import (
	"fmt"
	"slices"
	"strings"

	"wirelab/lab/result"
	"wirelab/results/report"
	"wirelab/results/report/svg"
)

// factors are the charts of why arms differ, where they differ in more than one
// factor and the arms tell them apart.
func (s *sheet) factors() []*figure {
	e := s.explanation()
	if e == nil {
		return nil
	}
	var all []*figure
	for _, l := range e.Loads {
		for i := range l.Metrics {
			if x := &l.Metrics[i]; x.Primary && x.Why == "" {
				all = append(all, s.effects(e, l, x), s.interactions(e, l, x))
				all = append(all, s.shares(l, x)...)
			}
		}
	}
	return slices.DeleteFunc(all, func(f *figure) bool { return f == nil })
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	one, rest, _ := strings.Cut(what, " ")
	return fmt.Sprintf("%d %s", n, strings.TrimSpace(one+"s "+rest))
}

// known leaves only the rows of a plot that have a difference, and says of the others in one sentence
// for each reason why they have none: an axis with nothing on it is no chart.
func (f *figure) known(plot *forest, what string) {
	count, order := map[string]int{}, []string{}
	plot.rows = slices.DeleteFunc(plot.rows, func(row effect) bool {
		if row.d.Known {
			return false
		}
		if count[row.why] == 0 {
			order = append(order, row.why)
		}
		count[row.why]++
		return true
	})
	var reasons []string
	for _, why := range order {
		reasons = append(reasons, counted(count[why], what)+" not known: "+strings.TrimPrefix(strings.TrimPrefix(why, "refused: "), "not known: "))
	}
	f.Refused = append(f.Refused, briefly(reasons)...)
}

// explanation tells why arms differ; nil where they differ in less than two
// factors, or cannot tell them apart.
func (s *sheet) explanation() *result.Explanation {
	if !s.asked {
		s.asked = true
		if e, err := result.ExplainBetween(s.r, s.a, "", ""); err == nil && len(e.Factors) > 1 {
			s.explained = e
		}
	}
	return s.explained
}

// explanations are the verdicts of a factorial, one for each load.
func (s *sheet) explanations() []said {
	e := s.explanation()
	if e == nil || !report.Factorial(s.r) {
		return nil
	}
	all := make([]said, len(e.Loads))
	for i := range e.Loads {
		l := &e.Loads[i]
		all[i] = said{
			Title: "Why they differ: " + report.LoadName(s.r.Plan, l.Load), Tone: "claim",
			Sentences: report.Explained(s.r, e, l), Notes: report.ExplainedNotes(s.r, e, l),
		}
	}
	return all
}

// named is a level of a factor against another: "encoding: JSON instead of Avro".
func named(e *result.Explanation, x result.FactorEffect) string {
	var parts []string
	for i, f := range x.Factors {
		if f >= len(e.Factors) {
			return ""
		}
		of := e.Factors[f]
		parts = append(parts, fmt.Sprintf("%s: %s, not %s", of.Name, of.Levels[x.Levels[i]], of.Levels[x.Against[i]]))
	}
	return strings.Join(parts, " × ")
}

// effects shows what each level of each factor does by itself.
func (s *sheet) effects(e *result.Explanation, l result.LoadExplanation, x *result.MetricExplanation) *figure {
	m, err := result.MetricByID(x.Metric)
	if err != nil || len(x.Effects) == 0 {
		return nil
	}
	f := &figure{ID: fmt.Sprintf("effects-%d", l.Load+1), Title: "What each factor does to " + m.Title + ": " + report.LoadName(s.r.Plan, l.Load)}
	f.Caption = fmt.Sprintf("All other factors the same, and on average over their levels. Main effects and interactions of two account for %s of the variation between the arms.%s", report.Percent(x.Explained), logarithmic)
	f.Head = []string{"factor", "difference", "95 % CI", "verdict", "rounds", ""}
	raw := [][]string{{"factor", "ratio", "low", "high", "verdict", "p_adjusted", "rounds", "why"}}
	plot := forest{practical: practical(s.r)}
	var desc []string
	for _, one := range x.Effects {
		row := s.effectRow(m, named(e, one), one.Difference, one.Why)
		plot.rows = append(plot.rows, row)
		desc = append(desc, row.name+": "+row.change()+" "+row.word)
		f.Rows = append(f.Rows, []cell{words(row.name), figures(report.Change(row.d)), figures(report.Interval(row.d)), words(row.word), figures(itoa(row.d.Rounds)), words(row.why)})
		line := []string{row.name, "", "", "", string(row.d.Verdict), "", itoa(row.d.Rounds), row.why}
		if row.d.Known {
			line[1], line[2], line[3], line[5] = exact(row.d.Ratio), exact(row.d.Low), exact(row.d.High), exact(row.d.Adjusted)
		}
		raw = append(raw, line)
	}
	f.data(s.file(f.ID, nil), raw)
	f.Notes = l.Notes
	f.known(&plot, "step")
	if len(plot.rows) > 0 {
		plot.scan()
		f.draw(strings.Join(desc, "; "), plot.paint)
	}
	for _, left := range x.Left {
		f.Refused = append(f.Refused, s.r.ArmName(left.Arm)+": "+left.Why)
	}
	return f
}

// effectRow is an effect as a row of a forest plot.
func (s *sheet) effectRow(m result.Metric, name string, d *result.Difference, why string) effect {
	row := effect{name: name, d: orNone(d), tone: "none"}
	if d == nil || !d.Known {
		row.d = &result.Difference{Verdict: result.Unmeasured}
		row.why = "not known: " + why
		if d != nil && d.Why != "" {
			row.why = "refused: " + d.Why
		}
		return row
	}
	row.word, row.tone = report.Verdict(m, d), toneOf(number{d: d})
	row.attrs = []svg.Attr{s.tip(name + "\n" + difference(m, d) + "\n" + plural(d.Rounds, "round"))}
	return row
}

// interactions is the matrix of which factors act together.
func (s *sheet) interactions(e *result.Explanation, l result.LoadExplanation, x *result.MetricExplanation) *figure {
	m, err := result.MetricByID(x.Metric)
	if err != nil || len(x.Interactions) == 0 {
		return nil
	}
	f := &figure{ID: fmt.Sprintf("interactions-%d", l.Load+1), Title: "Which factors act together: " + report.LoadName(s.r.Plan, l.Load)}
	f.Caption = "How many times more the first factor's step does where the second has its other level. 0 % is: they do not act together." + logarithmic
	f.Head = []string{"factors", "difference of differences", "95 % CI", "verdict", ""}
	raw := [][]string{{"factors", "ratio", "low", "high", "verdict", "why"}}
	plot := forest{practical: practical(s.r)}
	var desc []string
	for _, one := range x.Interactions {
		row := s.effectRow(m, named(e, one), one.Difference, one.Why)
		if row.d.Known && row.d.Verdict.Claim() && row.d.Verdict != result.Equivalent {
			row.word = map[bool]string{true: "they add more", false: "they add less"}[row.d.Ratio > 1]
		}
		plot.rows = append(plot.rows, row)
		desc = append(desc, row.name+": "+row.change()+" "+row.word)
		f.Rows = append(f.Rows, []cell{words(row.name), figures(report.Change(row.d)), figures(report.Interval(row.d)), words(row.word), words(row.why)})
		line := []string{row.name, "", "", "", string(row.d.Verdict), row.why}
		if row.d.Known {
			line[1], line[2], line[3] = exact(row.d.Ratio), exact(row.d.Low), exact(row.d.High)
		}
		raw = append(raw, line)
	}
	f.data(s.file(f.ID, nil), raw)
	f.known(&plot, "pair of steps")
	if len(plot.rows) > 0 {
		plot.scan()
		f.draw(strings.Join(desc, "; "), plot.paint)
	}
	return f
}

// shares take the difference between two arms apart.
func (s *sheet) shares(l result.LoadExplanation, x *result.MetricExplanation) []*figure {
	m, err := result.MetricByID(x.Metric)
	if err != nil {
		return nil
	}
	var all []*figure
	for i, at := range x.Attributions {
		title := fmt.Sprintf("From %s to %s: whose share of the difference is whose", s.r.ArmName(at.From), s.r.ArmName(at.To))
		if at.Where != "" {
			title += ", " + at.Where
		}
		f := &figure{ID: fmt.Sprintf("shares-%d-%d", l.Load+1, i+1), Title: title, Notes: at.Notes}
		f.Caption = fmt.Sprintf("Of %s, under %s. Shares add up to the whole, in percent of %s's figure; each is an average over the orders in which the factors can be changed.", m.Title, report.LoadName(s.r.Plan, l.Load), s.r.ArmName(at.From))
		if at.Total == nil {
			f.Refused = []string{at.Why}
			all = append(all, f)
			continue
		}
		f.Head = []string{"share", "from", "to", "points", "95 % CI"}
		raw := [][]string{{"share", "from", "to", "points", "low", "high", "amount", "unit"}}
		plot := waterfall{tip: s.tip}
		for _, one := range append([]result.Share{*at.Total}, at.Shares...) {
			name := one.Factor
			if name == "" {
				name = "the whole difference"
			}
			plot.rows = append(plot.rows, fall{name: name, detail: strings.Trim(one.LevelFrom+" → "+one.LevelTo, " →"), points: one.Points, whole: one.Factor == ""})
			f.Rows = append(f.Rows, []cell{words(name), words(one.LevelFrom), words(one.LevelTo), figures(points(one.Points.Value)), figures("[" + points(one.Points.Low) + ", " + points(one.Points.High) + "]")})
			raw = append(raw, []string{name, one.LevelFrom, one.LevelTo, exact(one.Points.Value), exact(one.Points.Low), exact(one.Points.High), exact(one.Amount.Value), report.BaseUnit(m.Dimension)})
		}
		f.data(s.file(f.ID, nil), raw)
		f.draw(plot.describe(), plot.paint)
		all = append(all, f)
	}
	return all
}

// points writes a share of a figure with its sign: "+12.3".
func points(v float64) string {
	return strings.TrimSuffix(percentChange(1+v), " %") + " %"
}

// fall is a row of a waterfall: a part of a difference.
type fall struct {
	name, detail string
	points       result.Amount
	whole        bool
}

// waterfall shows parts that add up to a whole, each beginning where the one
// above it ends.
type waterfall struct {
	rows []fall
	tip  func(string) svg.Attr
}

func (w waterfall) describe() string {
	var all []string
	for _, r := range w.rows {
		all = append(all, r.name+" "+points(r.points.Value))
	}
	return strings.Join(all, "; ")
}

func (w waterfall) paint(d *svg.Drawing) {
	low, high, sum := 0.0, 0.0, 0.0
	for _, r := range w.rows {
		from := sum
		if r.whole {
			from = 0
		}
		for _, v := range []float64{from + r.points.Low, from + r.points.High, from + r.points.Value} {
			low, high = min(low, v), max(high, v)
		}
		if !r.whole {
			sum += r.points.Value
		}
	}
	said := 0.0
	for _, r := range w.rows {
		said = max(said, svg.Width(points(r.points.Value), smallSize))
	}
	const rowHigh = 44.0
	x := svg.Linear(low, high, 20, d.Width()-said-18)
	sum = 0
	bottom := 4 + rowHigh*float64(len(w.rows))
	for _, t := range svg.Spaced(x.Ticks(6), x.At, func(v float64) string { return strings.TrimSuffix(points(v), "") }, smallSize, 0, d.Width()) {
		d.Line(t.At, 4, t.At, bottom, svg.Class("grid"))
		d.Text(t.At, bottom+15, smallSize, svg.Middle, t.Label, svg.Class("muted"))
	}
	d.Line(x.At(0), 4, x.At(0), bottom, svg.Class("zero"))
	for i, r := range w.rows {
		y := 4 + rowHigh*float64(i)
		from := sum
		class := "part0"
		if r.whole {
			from, class = 0, "whole"
		} else {
			sum += r.points.Value
			if r.points.Value < 0 {
				class = "part1"
			}
		}
		name := r.name
		if r.detail != "" {
			name += ": " + r.detail
		}
		d.Text(4, y+14, smallSize, svg.Start, svg.Fit(name, smallSize, d.Width()-8), svg.Class("bg"))
		a, b := x.At(from), x.At(from+r.points.Value)
		tip := name + "\n" + points(r.points.Value) + " [" + points(r.points.Low) + ", " + points(r.points.High) + "]"
		d.Group(svg.Class("mark bar "+class), w.tip(tip))
		d.Rect(min(a, b), y+20, max(1, max(a, b)-min(a, b)), 14, svg.Class("fill"))
		lo, hi := x.At(from+r.points.Low), x.At(from+r.points.High)
		d.Line(lo, y+27, hi, y+27, svg.Class("error"))
		d.Line(lo, y+23, lo, y+31, svg.Class("error"))
		d.Line(hi, y+23, hi, y+31, svg.Class("error"))
		d.End()
		d.Text(max(a, b, hi)+7, y+31, smallSize, svg.Start, points(r.points.Value))
	}
	d.Tall(bottom + 22)
}
