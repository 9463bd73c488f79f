package csv

import (
	"fmt"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/results/report"
)

// steps adds the rows of a trial's chains: the times of each step.
func (t *trial) steps() {
	for i, s := range t.Steps {
		for _, q := range []struct {
			name, gated string
			at          float64
			least       uint64 // the number of calls with ten beyond the quantile
		}{{"p50", plan.ServiceP50, 0.5, 20}, {"p90", plan.ServiceP90, 0.9, 100}, {"p99", plan.ServiceP99, 0.99, 1000}} {
			if s.Times.Count() < q.least {
				continue
			}
			metric := fmt.Sprintf("step-%d-%s-%s", i+1, s.Name, q.name)
			t.add(metric, report.Exact(float64(s.Times.Quantile(q.at))), "ns", t.arm.Why(kinds.MustMetric(q.gated)))
		}
	}
}
