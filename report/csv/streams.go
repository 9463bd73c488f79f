package csv

import (
	"fmt"
	"strconv"
	"time"

	"wirelab/result"
	"wirelab/stat"
)

// streams are the rows of a trial's streams, one by one.
func streams(r *result.Result, l *result.LoadAnalysis, round int, t *result.Trial) [][]string {
	s := t.Streams
	if s == nil || t.Window <= 0 {
		return nil
	}
	var all [][]string
	add := func(metric, value, unit string) {
		all = append(all, line(r, round+1, t.Arm, l.Name, metric, value, unit, strconv.FormatBool(t.Steady), ""))
	}
	if s.Ends > 0 {
		mean := func(n uint64) string { return figure(float64(n) / float64(s.Ends)) }
		add("due", mean(s.Due), "")
		add("sent", mean(s.Sent), "")
		add("decoded", mean(s.Decoded), "")
		add("buffered", mean(s.Buffered()), "")
		add("pushed-back", mean(s.PushedBack()), "")
		add("dropped", mean(s.Dropped), "")
	}
	seconds := time.Duration(t.Window).Seconds()
	for i, c := range s.Clients {
		name := fmt.Sprintf("stream-%d-", i+1)
		add(name+"rate", figure(float64(c.Completed)/seconds), "/s")
		add(name+"missing", strconv.FormatUint(c.Missing, 10), "")
		add(name+"duplicated", strconv.FormatUint(c.Duplicated, 10), "")
		add(name+"reordered", strconv.FormatUint(c.Reordered, 10), "")
		for _, q := range []struct {
			metric string
			of     *stat.Histogram
		}{{"delivery-p99", c.Delivery}, {"jitter-p99", c.Jitter}} {
			if q.of != nil && q.of.Count() >= 1000 { // ten beyond it
				add(name+q.metric, figure(float64(q.of.Quantile(0.99))), "ns")
			}
		}
	}
	return all
}
