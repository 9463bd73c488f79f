package terminal

import (
	"io"

	"wirelab/lab/result"
	"wirelab/results/report"
)

// WriteRefused lists what was measured and refused by a check, each value marked and
// with its reason, after what has no table of them: an explanation, a replay. The
// error is w's.
func WriteRefused(w io.Writer, r *result.Result, a *result.Analysis, s Style) error {
	p := newPage(w, s)
	r, a = report.Marked(r, a)
	p.blank()
	all := report.RefusedBlocks(r, a.WithRefused())
	if len(all) == 0 {
		p.wrapped("", "No check refused a figure.", plain)
	}
	p.blocks(all)
	return p.out.Flush()
}
