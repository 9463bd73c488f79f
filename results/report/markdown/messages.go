package markdown

import (
	"wirelab/lab/result"
	"wirelab/results/report"
	"wirelab/results/report/block"
)

// scenarios writes one table over several scenarios.
func (p *page) scenarios(r *result.Result, a *result.Analysis) {
	t := report.ScenarioTable(r, a)
	if t == nil {
		return
	}
	p.line("### " + t.Title)
	p.line("")
	p.table(t)
	p.early(r)
}

// early says what the mark behind names means, where any has it.
func (p *page) early(r *result.Result) {
	p.blocks([]block.Block{block.Notes{Lines: report.EarlyLegend(r)}})
}
