package html

import (
	"fmt"
	"strconv"
	"strings"

	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	phrases "wirelab/lab/result/words"
	"wirelab/results/report"
	"wirelab/results/report/svg"
)

// number is one figure of one arm with everything that belongs to it: its place, its value, its interval and the
// gates that it passed. Tables show it, marks in charts refer to it, and tests compare it with the analysis.
type number struct {
	sheet  *sheet
	load   *claim.LoadAnalysis
	name   string // of the load
	arm    int
	metric metric.Metric
	unit   report.Unit
	e      claim.Estimate
	d      *claim.Difference
}

// numbers returns the numbers of a row, one for each arm.
func (s *sheet) numbers(l *claim.LoadAnalysis, m metric.Metric) []number {
	row := l.Row(m.ID)
	if row == nil {
		return nil
	}
	all := make([]number, len(row.Cells))
	unit := report.RowUnit(m, row)
	for a, c := range row.Cells {
		all[a] = number{
			sheet: s, load: l, name: report.LoadName(s.r.Plan, l.Load), arm: a, metric: m, unit: unit,
			e: c.Estimate, d: c.Difference,
		}
	}
	return all
}

func (n number) state() *claim.ArmState { return &n.load.Arms[n.arm] }

// value writes the figure with its unit and marks: "24.1 µs†".
func (n number) value() string {
	if !n.e.Known {
		return report.With(n.e, refusedUnit(n.e, n.unit))
	}
	return report.With(n.e, n.unit) + report.Marks(n.state(), n.metric)
}

// refusedUnit returns the unit of a refused value; the empty unit if there is no value.
func refusedUnit(e claim.Estimate, u report.Unit) report.Unit {
	if e.ShownRefused() == nil {
		return report.Unit{Size: 1}
	}
	return u
}

// interval writes the bounds of the figure: "[23.5, 24.6]", "exact", "" for none.
func (n number) interval() string { return report.BoundsOf(n.e, n.unit) }

// refused returns why there is no figure; "" if there is one.
func (n number) refused() string {
	if n.e.Known {
		return ""
	}
	return n.e.Why
}

// gates says how the arm's checks went for this metric.
func (n number) gates() string {
	switch why := n.state().Spoiled(n.metric); {
	case why == claim.Unsteady:
		return "no steady state"
	case why != "":
		return "refused by a check"
	case n.state().Rounds == 0:
		return "not measured"
	}
	text := fmt.Sprintf("all %d checks passed", len(n.state().Checks))
	if failed := len(n.state().Failed()); failed > 0 {
		text = fmt.Sprintf("%d of %d checks passed, those that cover it all", len(n.state().Checks)-failed,
			len(n.state().Checks))
	}
	if words := report.MarkWords(n.state(), n.metric); len(words) > 0 {
		text += "; " + strings.Join(words, ", ")
	}
	return text
}

// rounds says how many rounds and how many calls the figure comes from.
func (n number) rounds() string {
	return report.Plural(max(n.e.Rounds, 0), "round") + ", " + phrases.Thousands(n.state().Requests) +
		" " + report.ShapeOf(n.load.Kind).Sends
}

// verdict writes the difference in words: "costlier".
func (n number) verdict() string {
	if n.d == nil {
		if why := n.state().Spoiled(n.metric); why != "" {
			return string(why)
		}
		return ""
	}
	return report.Verdict(n.metric, n.d)
}

// tip returns everything about the number, in lines.
func (n number) tip() string {
	lines := []string{n.state().Name + " · " + n.metric.Short + " · " + n.name}
	if why := n.refused(); why != "" {
		return strings.Join(append(lines, "refused: "+why, n.gates()), "\n")
	}
	value := n.value()
	if in := n.interval(); in != "" {
		value += "  95 % CI " + in
	}
	lines = append(lines, value)
	if n.d != nil {
		lines = append(lines, "against "+n.load.Arms[0].Name+": "+difference(n.metric, n.d))
	}
	return strings.Join(append(lines, n.rounds(), n.gates()), "\n")
}

// difference writes a difference in words and figures: "+32.4 % [+31.6, +33.2], costlier".
func difference(m metric.Metric, d *claim.Difference) string {
	if !d.Known {
		return report.Word(m, d.Verdict) + ": " + d.Why
	}
	return strings.TrimSpace(report.Change(d)+" "+report.Interval(d)) + ", " + report.Verdict(m, d)
}

// key identifies the number in the analysis: "0/2/server-cpu" is that of the first load and the third arm.
func (n number) key() string {
	return fmt.Sprintf("%d/%d/%s", n.load.Load, n.arm, n.metric.ID)
}

// attrs returns the attributes of a mark in a drawing: the key of its number. Tables contain the numbers themselves.
func (n number) attrs() []svg.Attr {
	return []svg.Attr{{Name: "data-n", Value: n.key()}, n.sheet.tip(n.tip())}
}

// tip stores a hint and returns the attribute that refers to it. Several marks share a hint, in each width of a chart
// and in tables; repeating it in each would double the size of the page.
func (s *sheet) tip(text string) svg.Attr {
	i, ok := s.tipped[text]
	if !ok {
		i = len(s.tips)
		s.tips, s.tipped[text] = append(s.tips, text), i
	}
	return svg.Attr{Name: "data-t", Value: strconv.Itoa(i)}
}

// cell is a cell of a table. With a Key it is a number, and the other fields are that number as the analysis has it,
// so that nothing on the page depends on rounding.
type cell struct {
	Text, Class  string
	Instead, Why string // of a refused figure: the text shown while the switch is off, and the reason
	Tip          string // index of its hint
	Right        bool
	Key          string
	V, Low, High string
	Ratio        string
	RatioLow     string
	RatioHigh    string
	Rounds       string
}

// cell returns the number as a cell of a table that shows a text.
func (n number) cell(text string) cell {
	c := cell{Text: text, Right: true, Key: n.key(), Tip: n.sheet.tip(n.tip()).Value, Rounds: strconv.Itoa(n.e.Rounds)}
	if n.e.Known {
		c.V = exact(n.e.Value)
	} else {
		c.Class, c.Why = "refused", n.e.Why
	}
	if n.e.Interval() {
		c.Low, c.High = exact(n.e.Low), exact(n.e.High)
	}
	if n.d != nil && n.d.Known {
		c.Ratio, c.RatioLow, c.RatioHigh = exact(n.d.Ratio), exact(n.d.Low), exact(n.d.High)
	}
	return c
}

// words returns a cell that contains no number.
func words(text string) cell { return cell{Text: text} }

func figures(text string) cell { return cell{Text: text, Right: true} }

// exact writes a number so that reading it gives the same number.
func exact(v float64) string { return report.Exact(v) }
