package benchmark_test

import (
	"testing"

	"wirelab/lab/result/history"
	"wirelab/lab/result/resulttest"
	"wirelab/results/store/benchmark"
)

// What a check refuses of an arm no figure of its run holds, whatever the kind of its result: neither metrics, nor the
// least and the most, nor the driver's CPU, nor what an open loop achieved.
func TestRefusedFiguresAreNotThere(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, r := range resulttest.Refused() {
		loads := history.Estimates(r)
		for _, u := range benchmark.Gather(r) {
			l := benchmark.Load(loads, u)
			f := u.Figures(l)
			for figure, value := range map[string]*float64{
				"throughput": f.Throughput, "mean": f.Mean, "p50": f.P50, "p90": f.P90, "p99": f.P99, "p999": f.P999,
				"least": f.Least, "most": f.Most, "cpu": f.CPU,
			} {
				if u.Arm == 1 && value != nil {
					t.Errorf("%s, load %d: the refused %s is %v", name, u.Load, figure, *value)
				}
			}
			if u.Arm == 1 && (f.Refused == "" || !f.TimesWithheld || !f.CPUWithheld) {
				t.Errorf("%s, load %d: %+v does not say that all is refused", name, u.Load, f)
			}
			if u.Arm == 0 && f.Least != nil && f.CPU == nil {
				t.Errorf("%s, load %d: the arm that is not refused has no CPU", name, u.Load)
			}
		}
	}
}
