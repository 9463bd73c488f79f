package markdown

import (
	"strconv"

	"wirelab/lab/result"
	"wirelab/results/report"
)

// curve writes response times over offered rates, a table for each arm.
func (p *page) curve(r *result.Result, c *result.Curve) {
	p.line("### " + escape(report.CurveTitle(c)))
	p.line("")
	p.line(escape(report.CurveSetting(c)))
	p.line("")
	for _, text := range report.CurveSentences(c) {
		p.line("- **" + escape(text) + "**")
	}
	for arm := range c.Arms {
		p.line("")
		p.line("**" + escape(c.Arms[arm].Name) + "**")
		p.line("")
		p.row([]string{"offered", "answered /s", "p50", "p99", "95 % CI", "", "server CPU/req", "cores"})
		p.row([]string{"---:", "---:", "---:", "---:", "---", "---", "---:", "---:"})
		for _, row := range report.CurveRows(c, arm) {
			p.row([]string{row.Offered, row.Answered, row.P50, row.P99, escape(row.P99Interval), row.Marks, row.CPU, row.Cores})
		}
	}
	p.line("")
	p.line(escape(report.CurveLegend))
	p.line("")
	for _, note := range report.CurveNotes(r, c) {
		p.line("- " + escape(note))
	}
	p.line("")
}

// capacity writes what was found of the highest rates.
func (p *page) capacity(r *result.Result, c *result.CapacityAnalysis) {
	p.line("### Capacity under " + escape(c.Objective))
	p.line("")
	p.line("**" + escape(report.Capacities(c)) + "**")
	p.line("")
	p.row([]string{"arm", "capacity", "ratio to the first", "95 % CI", "verdict", "closed loop", "probes", "by round"})
	p.row([]string{"---", "---:", "---:", "---", "---", "---:", "---:", "---"})
	for i := range c.Arms {
		a := &c.Arms[i]
		ratio, interval := report.CapacityRatio(a.Difference)
		verdict, probes := "", 0
		if a.Difference != nil {
			verdict = report.CapacityWord(a.Difference)
		}
		for _, round := range a.Rounds {
			probes += round.Probes
		}
		p.row([]string{
			escape(a.Name), escape(report.CapacityCell(a)), ratio, escape(interval), verdict, report.RateOf(a.Closed),
			strconv.Itoa(probes), escape(report.CapacityRounds(a)),
		})
	}
	p.line("")
	for _, text := range append(report.CapacitySentences(c), report.CapacityNotes(r, c)...) {
		p.line("- " + escape(text))
	}
	p.line("")
	p.line(escape(report.CapacityMethod(r)))
	p.line("")
}
