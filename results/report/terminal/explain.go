package terminal

import (
	"fmt"
	"io"

	"wirelab/lab/result"
	"wirelab/results/report"
)

// WriteExplanation writes what makes the arms of a result differ: for each load
// the sentences, what the difference between two arms is made of, each factor's
// effect on each metric, and which factors act together. With a, which is r's
// analysis or nil, it begins with how the result came about. The error is w's.
func WriteExplanation(w io.Writer, r *result.Result, a *result.Analysis, e *result.Explanation, s Style) error {
	p := newPage(w, s)
	r, a = report.Marked(r, a)
	if a != nil {
		for _, f := range report.Facts(r, a) {
			p.wrapped(fmt.Sprintf("%-10s", f.Name), f.Text, plain)
		}
		p.wrapped("factors   ", report.Factors(r, e), plain)
		p.blank()
	}
	for i := range e.Loads {
		l := &e.Loads[i]
		if i > 0 {
			p.blank()
		}
		p.title("why, " + report.LoadName(r.Plan, l.Load))
		for _, text := range report.Explained(r, e, l) {
			p.wrapped("", text, bold)
		}
		p.explained(r, e, l)
		p.blank()
		for _, note := range report.ExplainedNotes(r, e, l) {
			p.wrapped("· ", note, plain)
		}
	}
	p.blank()
	p.early(r)
	p.wrapped("", report.ExplainMethod(r), faint)
	return p.out.Flush() // remembers the first error of all writes
}

// explained writes the tables of a load: of its primary metric whole, of the
// others in brief.
func (p *page) explained(r *result.Result, e *result.Explanation, l *result.LoadExplanation) {
	if len(l.Metrics) == 0 {
		return
	}
	x := &l.Metrics[0]
	m, err := result.MetricByID(x.Metric)
	if err != nil {
		return
	}
	for a := range x.Attributions {
		if at := &x.Attributions[a]; at.Total != nil {
			p.attribution(r, m, at)
			p.otherShares(l, a)
		}
	}
	p.mainEffects(e, m, x)
	p.otherEffects(e, l)
	p.interactions(e, x)
}

// otherShares writes the shares of the same difference in the other metrics.
func (p *page) otherShares(l *result.LoadExplanation, a int) {
	var columns [][]cell
	for i := 1; i < len(l.Metrics); i++ {
		x := &l.Metrics[i]
		m, err := result.MetricByID(x.Metric)
		if err != nil || a >= len(x.Attributions) || x.Attributions[a].Total == nil {
			continue
		}
		at := &x.Attributions[a]
		if len(columns) == 0 {
			names := []cell{{text: "points of"}}
			for k := range at.Shares {
				names = append(names, cell{text: at.Shares[k].Factor})
			}
			columns = append(columns, append(names, cell{text: "together"}))
		}
		column := []cell{{text: m.Short, right: true}}
		for k := range at.Shares {
			column = append(column, shareCell(&at.Shares[k]))
		}
		columns = append(columns, append(column, shareCell(at.Total)))
	}
	if len(columns) > 1 {
		p.side(columns)
	}
}

func shareCell(s *result.Share) cell {
	return cell{text: report.Points(s) + " " + spaced(mark(s.Difference.Verdict)), in: of(s.Difference.Verdict), right: true}
}

// spaced is a mark, or as much room.
func spaced(mark string) string {
	if mark == "" {
		return " "
	}
	return mark
}

// side writes columns beside each other, in as many tables as the width asks
// for; the first names the lines of each.
func (p *page) side(columns [][]cell) {
	names, rest := columns[0], columns[1:]
	for len(rest) > 0 {
		p.blank()
		var t table
		n := 0
		for n < len(rest) {
			next := grid(append([][]cell{names}, rest[:n+1]...))
			widths := next.widths()
			if n > 0 && sum(widths)+gap*(len(widths)-1) > p.style.Width {
				break
			}
			t = next
			n++
		}
		p.fitted(t, nil, 0)
		rest = rest[n:]
	}
}

// attribution writes the shares of one difference.
func (p *page) attribution(r *result.Result, m result.Metric, at *result.Attribution) {
	p.blank()
	unit := report.UnitFor(m.Dimension, at.Base.Value)
	title := m.Title + " from " + r.ArmName(at.From) + " to " + r.ArmName(at.To)
	p.line(p.paint(cut(title, p.style.Width), bold))
	head := unit.Name
	if head == "" {
		head = "amount"
	}
	t := table{head: [][]cell{{
		{text: "share"},
		{text: "from → to"},
		{text: "points", right: true},
		{text: "95 % CI"},
		{text: head, right: true},
		{text: "95 % CI"},
		{text: "verdict"},
	}}}
	rows := append(append([]result.Share{}, at.Shares...), *at.Total)
	for i := range rows {
		s := &rows[i]
		name, step := s.Factor, s.LevelFrom+" → "+s.LevelTo
		if name == "" {
			name, step = "together", ""
		}
		amount, interval := report.ShareAmount(s.Amount, at.Base.Value, unit)
		t.body = append(t.body, []cell{
			{text: name},
			{text: step},
			{text: report.Points(s), right: true},
			{text: report.Interval(s.Difference)},
			{text: amount, right: true},
			{text: interval},
			{text: report.Verdict(m, s.Difference), in: of(s.Difference.Verdict)},
		})
	}
	p.fitted(t, []int{5}, 1)
}

// fitted writes a table, without the columns that may go if it is too wide,
// and then with one column cut.
func (p *page) fitted(t table, spare []int, long int) {
	over := func() int {
		widths := t.widths()
		return sum(widths) + gap*(len(widths)-1) - p.style.Width
	}
	for _, column := range spare {
		if over() <= 0 {
			break
		}
		for _, rows := range [][][]cell{t.head, t.body} {
			for i := range rows {
				rows[i] = append(rows[i][:column:column], rows[i][column+1:]...)
			}
		}
	}
	if more := over(); more > 0 {
		most := max(t.widths()[long]-more, shortestName)
		for _, row := range t.body {
			row[long].text = cut(row[long].text, most)
		}
	}
	p.table(t)
}

// mainEffects writes each factor's effect on the primary metric.
func (p *page) mainEffects(e *result.Explanation, m result.Metric, x *result.MetricExplanation) {
	if len(x.Effects) == 0 {
		return
	}
	p.blank()
	p.wrapped("", m.Title+": each factor, on average over the others", bold)
	t := table{head: [][]cell{{{text: "effect"}, {text: "change", right: true}, {text: "95 % CI"}, {text: "verdict"}}}}
	for i := range x.Effects {
		f := &x.Effects[i]
		row := []cell{{text: report.EffectName(e, f)}, {text: report.Change(f.Difference), right: true}, {text: report.Interval(f.Difference)}, {text: "cannot be told", in: faint}}
		if f.Difference != nil {
			row[3] = cell{text: report.Verdict(m, f.Difference), in: of(f.Difference.Verdict)}
		}
		t.body = append(t.body, row)
	}
	p.fitted(t, nil, 0)
}

// otherEffects writes each factor's effect on the other metrics, a column for
// each, in as many tables as the width asks for.
func (p *page) otherEffects(e *result.Explanation, l *result.LoadExplanation) {
	if len(l.Metrics) < 2 || len(l.Metrics[0].Effects) == 0 {
		return
	}
	names := []cell{{text: "effect on"}}
	for k := range l.Metrics[0].Effects {
		names = append(names, cell{text: report.EffectName(e, &l.Metrics[0].Effects[k])})
	}
	columns := [][]cell{names}
	for i := 1; i < len(l.Metrics); i++ {
		x := &l.Metrics[i]
		m, err := result.MetricByID(x.Metric)
		if err != nil || len(x.Effects) != len(l.Metrics[0].Effects) {
			continue // its arms are others; the notes say why
		}
		column := []cell{{text: m.Short, right: true}}
		for k := range x.Effects {
			c := cell{text: report.Absent + "  ", right: true}
			if d := x.Effects[k].Difference; d != nil && d.Known {
				c = cell{text: report.Change(d) + " " + spaced(mark(d.Verdict)), in: of(d.Verdict), right: true}
			}
			column = append(column, c)
		}
		columns = append(columns, column)
	}
	p.side(columns)
	p.wrapped("", "* difference claimed, = equivalent, ? undecided, ! nothing claimed", faint)
}

// grid makes a table of columns, the first cell of each its head.
func grid(columns [][]cell) table {
	var t table
	for i := range columns[0] {
		var row []cell
		for _, column := range columns {
			row = append(row, column[i])
		}
		if i == 0 {
			t.head = append(t.head, row)
		} else {
			t.body = append(t.body, row)
		}
	}
	return t
}

// interactionsShown is how many interactions are shown; of more, those that
// are no more than nothing are left out.
const interactionsShown = 12

func (p *page) interactions(e *result.Explanation, x *result.MetricExplanation) {
	if len(x.Interactions) == 0 {
		return
	}
	p.blank()
	p.wrapped("", "act together: what both do beyond what each does by itself", bold)
	t := table{head: [][]cell{{{text: "interaction"}, {text: "change", right: true}, {text: "95 % CI"}, {text: "verdict"}}}}
	hidden := 0
	for i := range x.Interactions {
		f := &x.Interactions[i]
		if d := f.Difference; len(x.Interactions) > interactionsShown && d != nil && d.Verdict == result.Equivalent {
			hidden++
			continue
		}
		in := faint
		if f.Difference != nil {
			if in = of(f.Difference.Verdict); f.Difference.Verdict == result.Better || f.Difference.Verdict == result.Worse {
				in = bold // which way it goes is neither good nor bad
			}
		}
		t.body = append(t.body, []cell{
			{text: report.EffectName(e, f)},
			{text: report.Change(f.Difference), right: true},
			{text: report.Interval(f.Difference)},
			{text: report.Interacts(f.Difference), in: in},
		})
	}
	if len(t.body) > 0 {
		p.fitted(t, nil, 0)
	}
	if hidden > 0 {
		p.wrapped("", report.HiddenInteractions(hidden), faint)
	}
}
