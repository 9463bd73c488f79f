package report

import (
	"wirelab/lab/result"
	"wirelab/results/report/block"
)

// Blocks are the parts of a report that every form has, in the order of a page.
func Blocks(r *result.Result, a *result.Analysis) []block.Block {
	r, a = Marked(r, a)
	var all []block.Block
	for i := range a.Loads {
		l := &a.Loads[i]
		if InCurve(a, l.Load) || Empty(l) {
			continue
		}
		for _, t := range append(Accounts(l), StreamTable(l), ClientTable(l), CountTable(l)) {
			if t != nil {
				all = append(all, t)
			}
		}
	}
	return all
}
