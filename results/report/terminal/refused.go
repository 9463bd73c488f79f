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
	lines := report.RefusedFigures(r, a.WithRefused())
	p.blank()
	if len(lines) == 0 {
		p.wrapped("", "No check refused a figure.", plain)
		return p.out.Flush()
	}
	p.title("measured, and refused by a check")
	for _, line := range lines {
		p.wrapped("· ", line, plain)
	}
	p.wrapped("", "None of these is in anything said above: they are not to be compared or quoted.", faint)
	return p.out.Flush()
}
