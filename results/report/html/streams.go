package html

import (
	"fmt"

	"wirelab/lab/result"
	"wirelab/results/report"
)

// streams is what is to be seen of streams beside metrics; nil of calls.
func (s *sheet) streams(l *result.LoadAnalysis) *figure {
	return s.columns(l, "streams", "What was delivered", report.StreamCaption(l), report.StreamColumns(l))
}

// clients is each stream by itself; nil where there is nothing of the kind.
func (s *sheet) clients(l *result.LoadAnalysis) *figure {
	rows := report.Clients(l)
	if len(rows) == 0 {
		return nil
	}
	f := &figure{ID: fmt.Sprintf("clients-%d", l.Load+1), Title: "Each stream by itself", Head: report.ClientHead()}
	raw := [][]string{{"arm", "stream", "target", "achieved", "events", "missing", "duplicated", "reordered", "wrong", "delivery_p50_ns", "delivery_p99_ns", "jitter_p99_ns"}}
	var arm *result.ArmState
	for _, row := range rows {
		line := []cell{words(row[0])}
		if arm = armOf(l, row[0], arm); arm == nil {
			continue // not reached: the first line of an arm names it
		}
		for _, text := range row[1:] {
			line = append(line, figures(text).because(refusedBecause(arm)))
		}
		f.Rows = append(f.Rows, line)
	}
	for a := range l.Arms {
		arm := &l.Arms[a]
		if arm.Streams == nil {
			continue
		}
		for i, c := range arm.Streams.Clients {
			raw = append(raw, []string{
				arm.Name, itoa(i + 1), exact(c.Target), plain(c.Refused, "achieved", c.Achieved), itoa64(c.Events),
				itoa64(c.Missing), itoa64(c.Duplicated), itoa64(c.Reordered), itoa64(c.Wrong),
				plain(c.Refused, "delivery_p50", c.DeliveryP50), plain(c.Refused, "delivery_p99", c.DeliveryP99), plain(c.Refused, "jitter_p99", c.JitterP99),
			})
		}
	}
	f.data(s.file("streams", l), raw)
	return f
}
