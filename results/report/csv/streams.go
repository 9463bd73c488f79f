package csv

import (
	"fmt"
	"strconv"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/stat"
	"wirelab/results/report"
)

// streams are the rows of a trial's streams, one by one.
func streams(r *result.Result, l *result.LoadAnalysis, round int, t *result.Trial) [][]string {
	s := t.Streams
	if s == nil || t.Window <= 0 {
		return nil
	}
	var all [][]string
	add := func(metric, value, unit, invalid string) {
		all = append(all, line(r, round+1, t.Arm, l.Name, metric, value, unit, strconv.FormatBool(t.Steady), invalid))
	}
	arm := &l.Arms[t.Arm]
	why := func(id string) string { return arm.Why(result.MustMetric(id)) }
	if s.Ends > 0 {
		mean := func(n uint64) string { return report.Exact(float64(n) / float64(s.Ends)) }
		whole := append(arm.Invalid(), "")[0]
		add("due", mean(s.Due), "", "")
		add("sent", mean(s.Sent), "", whole)
		add("decoded", mean(s.Decoded), "", whole)
		add("buffered", mean(s.Buffered()), "", whole)
		add("pushed-back", mean(s.PushedBack()), "", whole)
		add("dropped", mean(s.Dropped), "", whole)
	}
	seconds := time.Duration(t.Window).Seconds()
	for i, c := range s.Clients {
		name := fmt.Sprintf("stream-%d-", i+1)
		add(name+"rate", report.Exact(float64(c.Completed)/seconds), "/s", why(plan.EventRate))
		add(name+"missing", strconv.FormatUint(c.Missing, 10), "", "")
		add(name+"duplicated", strconv.FormatUint(c.Duplicated, 10), "", "")
		add(name+"reordered", strconv.FormatUint(c.Reordered, 10), "", "")
		for _, q := range []struct {
			metric, gated string
			of            *stat.Histogram
		}{{"delivery-p99", plan.DeliveryP99, c.Delivery}, {"jitter-p99", plan.JitterP99, c.Jitter}} {
			if q.of != nil && q.of.Count() >= 1000 { // ten beyond it
				add(name+q.metric, report.Exact(float64(q.of.Quantile(0.99))), "ns", why(q.gated))
			}
		}
	}
	return all
}
