package markdown

import (
	"wirelab/lab/result"
	"wirelab/results/report"
)

// scenarios writes one table over several scenarios.
func (p *page) scenarios(r *result.Result, a *result.Analysis) {
	rows := report.Scenarios(r, a)
	if len(rows) == 0 {
		return
	}
	p.line("### All scenarios")
	p.line("")
	p.row([]string{"scenario", "arm", "place", "decides", "", "delivered p50", "p99", "messages/s", "outage", "account"})
	p.row([]string{"---", "---", "---:", "---", "---:", "---:", "---:", "---:", "---:", "---"})
	for _, row := range rows {
		p.row([]string{escape(row.Scenario), escape(row.Name), row.Place, row.Decides, row.Figure, row.P50, row.P99, row.Rate, row.Outage, row.Account})
	}
	p.line("")
	p.line(escape(report.ScenarioCaption))
	p.line("")
	p.early(r)
}

// early says what the mark behind names means, where any has it.
func (p *page) early(r *result.Result) {
	lines := report.EarlyLegend(r)
	for _, line := range lines {
		p.line("- " + escape(line))
	}
	if len(lines) > 0 {
		p.line("")
	}
}
