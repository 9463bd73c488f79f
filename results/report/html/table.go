package html

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	phrases "wirelab/lab/result/words"
	"wirelab/results/report"
	"wirelab/results/report/block"
)

func itoa(n int) string { return strconv.Itoa(n) }

func itoa64(n uint64) string { return strconv.FormatUint(n, 10) }

// grid is the table of a load: a row for each arm, a column for each of its main metrics.
type grid struct {
	*block.Metrics
	OnlyRefused []bool // by column: there are only refused figures
	Cells       [][]cell
	// Many reports whether there are too many columns for the descriptions of arms, which are then below.
	Many bool
}

// many is the number of columns from which on Many is set.
const many = 7

// mainTable returns the table of the main metrics.
func (s *sheet) mainTable(l *claim.LoadAnalysis, b *block.Metrics) grid {
	n := len(b.Columns)
	g := grid{Metrics: b, Cells: make([][]cell, len(b.Arms))}
	g.Many = n >= many || report.ShapeOf(l.Kind).Wide && n == many-1 // brokers have long descriptions
	for i, m := range b.Columns {
		metric, _ := kinds.MetricOf(l, m.ID) // known: it is one of the load's
		refused := !m.Primary
		for a, number := range s.numbers(l, metric) {
			refused = refused && !(number.e.Known && (!m.Counted || number.e.Value > 0))
			f := &b.Columns[i].Figures[a]
			if f.Change == report.Absent {
				f.Change = ""
			}
			if !number.e.Known {
				f.Floor = ""
			}
			g.Cells[a] = append(g.Cells[a], number.cell(f.Value+f.Marks))
		}
		g.OnlyRefused = append(g.OnlyRefused, refused)
	}
	return g
}

// toneClass returns the class of a figure's verdict.
func toneClass(f block.Measured) string {
	switch {
	case f.Tone == block.Good:
		return "better"
	case f.Tone == block.Bad && f.Claimed():
		return "worse"
	case f.Tone == block.Same:
		return "same"
	case f.Tone == block.Open:
		return "open"
	}
	return "none"
}

// manyNumbers is how many numbers the tables of a page show. With ten times as many, the page would be too large to
// open.
const manyNumbers = 4000

// large reports whether a result has more numbers than a page can show. Exports have them all.
func (s *sheet) large() bool {
	n := 0
	for i := range s.a.Loads {
		n += len(s.a.Loads[i].Arms) * len(s.a.Loads[i].Rows)
	}
	return n > manyNumbers
}

// allNumbers is the table of every metric of every arm, with the details of each number.
func (s *sheet) allNumbers(l *claim.LoadAnalysis) *figure {
	f := &figure{ID: fmt.Sprintf("numbers-%d", l.Load+1), Title: "Every number, with its interval, rounds and checks"}
	f.Head = []string{
		"metric", "arm", "value", "95 % CI", "difference", "95 % CI", "verdict", "rounds", "calls",
		"checks",
	}
	raw := [][]string{{
		"metric", "arm", "value", "low", "high", "unit", "ratio", "ratio_low", "ratio_high", "verdict",
		"p_adjusted", "rounds", "calls", "checks", "refused",
	}}
	if s.large() {
		f.Title = "The numbers of the metric that decides, with their intervals, rounds and checks; the others are " +
			"too many for a page, and in wirelab report --format json"
	}
	for _, row := range l.Rows {
		m, err := kinds.MetricOf(l, row.Metric)
		if err != nil {
			continue
		}
		if s.large() && m.ID != l.Primary {
			continue
		}
		for a, n := range s.numbers(l, m) {
			title := ""
			if a == 0 {
				title = m.Title
			}
			c := n.cell(n.value())
			if m.Counted && m.Dimension == metric.Number && n.e.Known {
				c.Text = phrases.Thousands(uint64(n.e.Value))
			}
			line := []string{
				m.ID, n.state().Name, c.V, c.Low, c.High, report.BaseUnit(m.Dimension), c.Ratio,
				c.RatioLow, c.RatioHigh, "", "", c.Rounds, strconv.FormatUint(n.state().Requests, 10), n.gates(),
				n.refused(),
			}
			change, within := "", ""
			if n.d != nil {
				change, within, line[9] = report.Change(n.d), report.Interval(n.d), string(n.d.Verdict)
				if n.d.Known {
					line[10] = exact(n.d.Adjusted)
				}
			}
			checks := n.gates()
			if why := n.refused(); why != "" {
				checks = "refused: " + why
			}
			f.Rows = append(f.Rows, []cell{
				words(title), words(n.state().Name), c, figures(n.interval()), figures(change), figures(within),
				words(n.verdict()),
				figures(itoa(n.e.Rounds)), figures(phrases.Thousands(n.state().Requests)), words(checks),
			})
			raw = append(raw, line)
		}
	}
	f.data(s.file("numbers", l), raw)
	return f
}

// table converts a block's table for the page; nil for none. l is the load that it belongs to.
func (s *sheet) table(l *claim.LoadAnalysis, t *block.Table) *figure {
	if t == nil {
		return nil
	}
	f := &figure{ID: t.ID, Title: t.Title, Caption: t.Caption, Notes: t.Notes.Lines}
	if l != nil {
		f.ID = fmt.Sprintf("%s-%d", t.ID, l.Load+1)
	}
	for _, c := range t.Columns {
		f.Head = append(f.Head, c.Name())
	}
	for _, row := range t.Rows {
		line := make([]cell, len(row))
		for i, c := range row {
			line[i] = cell{Text: c.Text, Why: c.Why, Right: t.Columns[i].Right}
		}
		f.Rows = append(f.Rows, line)
	}
	if len(t.Data) > 0 {
		f.data(s.file(cmp.Or(t.File, t.ID), l), t.Data)
	}
	return f
}

// short writes a number of an axis, without trailing zeros.
func short(v float64, digits int) string {
	text := report.Significant(v, digits)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Tied puts no-break spaces between numbers and their units, and within the names of intervals.
func Tied(text string) string { return tie.Replace(text) }

var tie = strings.NewReplacer(" %", "\u00a0%", " CI", "\u00a0CI", " µs", "\u00a0µs", " ms", "\u00a0ms", " ns",
	"\u00a0ns", " kB", "\u00a0kB", " ×", "\u00a0×")
