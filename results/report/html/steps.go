package html

import (
	"fmt"

	"wirelab/lab/result"
	"wirelab/results/report"
)

// steps is how long each call of a chain takes; nil where calls are single ones.
func (s *sheet) steps(l *result.LoadAnalysis) *figure {
	rows := report.Steps(l)
	if len(rows) == 0 {
		return nil
	}
	f := &figure{
		ID: fmt.Sprintf("steps-%d", l.Load+1), Title: report.StepTitle, Caption: report.StepCaption, Head: report.StepHead(l),
	}
	var arm *result.ArmState
	for _, row := range rows {
		line := []cell{words(row[0]), words(row[1])}
		if arm = armOf(l, row[0], arm); arm == nil {
			continue // not reached: the first line of an arm names it
		}
		for _, text := range row[2:] {
			line = append(line, figures(text).because(refusedBecause(arm)))
		}
		f.Rows = append(f.Rows, line)
	}
	raw := [][]string{{"arm", "step", "name", "p50_ns", "p90_ns", "p99_ns", "share"}}
	known := func(e result.Estimate) string {
		if !e.Known {
			return ""
		}
		return exact(e.Value)
	}
	for a := range l.Arms {
		for i, step := range l.Arms[a].Steps {
			raw = append(raw, []string{
				l.Arms[a].Name, itoa(i + 1), step.Name, known(step.P50), known(step.P90), known(step.P99), known(step.Share),
			})
		}
	}
	f.data(s.file("steps", l), raw)
	return f
}
