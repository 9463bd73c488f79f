package result_test

import (
	"testing"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/resulttest"
)

// Slices are assigned to the halves of a round. One in the middle is in neither.
func TestHalvesOfSlices(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slices        int
		first, second uint64 // calls; slice n has 10^n
	}{{1, 0, 0}, {2, 1, 10}, {3, 1, 100}, {4, 11, 1100}, {5, 11, 11000}} {
		var h *result.Halves
		calls := uint64(1)
		for n := range c.slices {
			h = h.Add(n, c.slices, plan.Duration(2*calls), calls)
			calls *= 10
		}
		if h.First.Calls != c.first || h.Second.Calls != c.second || uint64(h.First.CPU) != 2*c.first ||
			uint64(h.Second.CPU) != 2*c.second {
			t.Errorf("%d slices: %+v", c.slices, h)
		}
	}
}

// A server that becomes cheaper within nearly every round was not warm. One that becomes more expensive is marked. A
// change that is random or small is ignored.
func TestServerThatMovesWithinRounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		change  func(round int) float64
		verdict claim.Verdict
		marked  bool
	}{
		{"level", func(int) float64 { return 1 }, "", false},
		{"half", func(int) float64 { return 0.5 }, claim.Unsteady, false},
		{"double", func(int) float64 { return 2 }, "", true},
		{"one round goes the other way", func(n int) float64 { return 0.8 + 0.4*float64(n/9) }, "", false},
		{"to and fro", func(n int) float64 { return 0.7 + 0.6*float64(n%2) }, "", false},
		{"by little", func(int) float64 { return 0.98 }, "", false},
	} {
		r := resulttest.Closed()
		for n := range r.Rounds {
			for i := range r.Rounds[n].Trials {
				trial := &r.Rounds[n].Trials[i]
				half := result.Stretch{CPU: trial.Server.CPU / 4, Calls: trial.Calls() / 4}
				trial.Halves = &result.Halves{First: half, Second: half}
				trial.Halves.Second.CPU = plan.Duration(float64(half.CPU) * c.change(n))
			}
		}
		arm := analyse.Result(r).Loads[0].Arms[1]
		m := kinds.MustMetric(plan.ServerCPU)
		if got := arm.Spoiled(m); got != c.verdict {
			t.Errorf("%s: %q, want %q: %+v", c.name, got, c.verdict, arm.Failed())
		}
		if got := len(arm.Marks(m)) > 0; got != c.marked {
			t.Errorf("%s: marked %v, want %v", c.name, got, c.marked)
		}
	}
}
