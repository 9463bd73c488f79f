package markdown

import (
	"bufio"
	"io"

	"wirelab/lab/result"
	"wirelab/results/report"
)

// WriteExplanation writes what makes the arms of a result differ: the
// sentences, the shares of differences, each factor's effects and which act
// together. a is r's analysis. The error is w's.
func WriteExplanation(w io.Writer, r *result.Result, a *result.Analysis, e *result.Explanation) error {
	p := &page{out: bufio.NewWriter(w)}
	r, a = report.Marked(r, a)
	facts := report.Facts(r, a)
	if len(facts) > 0 && facts[0].Name == "question" {
		p.line("## Why arms differ: " + escape(facts[0].Text))
		p.line("")
		facts = facts[1:]
	}
	for i := range e.Loads {
		p.explained(r, e, &e.Loads[i])
	}
	p.early(r)
	p.refused(r, a)
	p.line("### How it was measured")
	p.line("")
	for _, f := range facts {
		p.line("- **" + f.Name + "**: " + escape(f.Text))
	}
	p.line("- **factors**: " + escape(report.Factors(r, e)))
	p.line("")
	p.line(escape(report.ExplainMethod(r)))
	return p.out.Flush() // remembers the first error of all writes
}

// refused lists the refused values that are to be printed; nothing where none are.
func (p *page) refused(r *result.Result, a *result.Analysis) {
	lines := report.RefusedFigures(r, a)
	if len(lines) == 0 {
		return
	}
	p.line("### Measured, and refused by a check")
	p.line("")
	for _, line := range lines {
		p.line("- " + escape(line))
	}
	p.line("")
	p.line("None of these is in anything said above: they are not to be compared or quoted.")
	p.line("")
}

func (p *page) explained(r *result.Result, e *result.Explanation, l *result.LoadExplanation) {
	p.line("### " + escape(report.LoadName(r.Plan, l.Load)))
	p.line("")
	for _, text := range report.Explained(r, e, l) {
		p.line("- **" + escape(text) + "**")
	}
	p.line("")
	p.shares(r, l)
	p.effects(e, l)
	for _, note := range report.ExplainedNotes(r, e, l) {
		p.line("- " + escape(note))
	}
	p.line("")
}

// shares writes the shares of every difference in every metric.
func (p *page) shares(r *result.Result, l *result.LoadExplanation) {
	started := false
	for i := range l.Metrics {
		x := &l.Metrics[i]
		m, err := result.MetricByID(x.Metric)
		if err != nil {
			continue
		}
		for k := range x.Attributions {
			at := &x.Attributions[k]
			if at.Total == nil {
				continue
			}
			if !started {
				started = true
				p.row([]string{"metric", "difference", "share", "from → to", "points", "95 % CI", "amount", "95 % CI", "verdict"})
				p.row([]string{"---", "---", "---", "---", "---:", "---", "---:", "---", "---"})
			}
			unit := report.UnitFor(m.Dimension, at.Base.Value)
			rows := append(append([]result.Share{}, at.Shares...), *at.Total)
			for n := range rows {
				s := &rows[n]
				title, corners, name, step := "", "", s.Factor, s.LevelFrom+" → "+s.LevelTo
				if n == 0 {
					title, corners = m.Title, escape(r.ArmName(at.From)+" to "+r.ArmName(at.To))
				}
				if name == "" {
					name, step = "**together**", ""
				}
				amount, interval := report.ShareAmount(s.Amount, at.Base.Value, unit)
				p.row([]string{
					title, corners, name, escape(step), report.Points(s), escape(report.Interval(s.Difference)),
					amount + " " + unit.Name, escape(interval), report.Verdict(m, s.Difference),
				})
			}
		}
	}
	if started {
		p.line("")
	}
}

// effects writes main effects and interactions.
func (p *page) effects(e *result.Explanation, l *result.LoadExplanation) {
	for i := range l.Metrics {
		x := &l.Metrics[i]
		m, err := result.MetricByID(x.Metric)
		if err != nil || len(x.Effects) == 0 {
			continue
		}
		if i == 1 {
			p.line("<details><summary>More metrics</summary>")
			p.line("")
		}
		p.row([]string{m.Title, "change", "95 % CI", "verdict"})
		p.row([]string{"---", "---:", "---", "---"})
		for k := range x.Effects {
			f := &x.Effects[k]
			verdict := "cannot be told"
			if f.Difference != nil {
				verdict = report.Verdict(m, f.Difference)
			}
			p.row([]string{escape(report.EffectName(e, f)), report.Change(f.Difference), escape(report.Interval(f.Difference)), verdict})
		}
		for k := range x.Interactions {
			f := &x.Interactions[k]
			p.row([]string{escape(report.EffectName(e, f)), report.Change(f.Difference), escape(report.Interval(f.Difference)), report.Interacts(f.Difference)})
		}
		p.line("")
		if i > 0 && i == len(l.Metrics)-1 {
			p.line("</details>")
			p.line("")
		}
	}
}
