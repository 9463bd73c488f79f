package csv

import (
	"fmt"
	"strconv"
	"time"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/kind/streams"
	"wirelab/lab/plan"
	"wirelab/lab/stat"
	"wirelab/results/report"
)

// streams adds the rows of a trial's streams, one by one.
func (t *trial) streams() {
	s := streams.Of(t.Trial)
	if t.Window <= 0 {
		return
	}
	why := func(id string) string { return t.arm.Why(kinds.MustMetric(id)) }
	if s.Ends > 0 {
		mean := func(n uint64) string { return report.Exact(float64(n) / float64(s.Ends)) }
		whole := append(t.arm.Invalid(), "")[0]
		t.add("due", mean(s.Due), "", "")
		t.add("sent", mean(s.Sent), "", whole)
		t.add("decoded", mean(s.Decoded), "", whole)
		t.add("buffered", mean(s.Buffered()), "", whole)
		t.add("pushed-back", mean(s.PushedBack()), "", whole)
		t.add("dropped", mean(s.Dropped), "", whole)
	}
	seconds := time.Duration(t.Window).Seconds()
	for i, c := range s.Clients {
		name := fmt.Sprintf("stream-%d-", i+1)
		t.add(name+"rate", report.Exact(float64(c.Completed)/seconds), "/s", why(plan.EventRate))
		t.add(name+"missing", strconv.FormatUint(c.Missing, 10), "", "")
		t.add(name+"duplicated", strconv.FormatUint(c.Duplicated, 10), "", "")
		t.add(name+"reordered", strconv.FormatUint(c.Reordered, 10), "", "")
		for _, q := range []struct {
			metric, gated string
			of            *stat.Histogram
		}{{"delivery-p99", plan.DeliveryP99, c.Delivery}, {"jitter-p99", plan.JitterP99, c.Jitter}} {
			if q.of != nil && q.of.Count() >= 1000 { // ten beyond the quantile
				t.add(name+q.metric, report.Exact(float64(q.of.Quantile(0.99))), "ns", why(q.gated))
			}
		}
	}
}
